# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How a machine treats modules that were left in slots: rules it is given; studies vary them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from eddy.core.applications import Application, FusedTask
from eddy.hypervisor.jobs.slot import MachineSlot
from eddy.hypervisor.slots.config_port import ConfigurationPort


def keep_module(slot: MachineSlot) -> None:
    """The module stays trusted in a slot that was given back: it is used again without a load."""


def reload_always(slot: MachineSlot) -> None:
    """Every task that is given the slot is loaded, as the text of [004] has it (2.1.2)."""
    slot.forget_module()


def reuse_during_load(port: ConfigurationPort) -> bool:
    """A task that needs no load may be given its slot while another one is loaded."""
    return True


def reuse_when_idle(port: ConfigurationPort) -> bool:
    """Slots are given only while the port is idle: configurations in a trace never overlap."""
    return port.loading is None


def always_fuse(application: Application) -> tuple[FusedTask, ...]:
    """A job's tasks are run on modules that cover several of them, where it ends earlier so."""
    return application.fused


def never_fuse(application: Application) -> tuple[FusedTask, ...]:
    """A job's tasks are run one by one."""
    return ()


@dataclass(frozen=True, slots=True)
class Residency:
    """The rules of a machine; the defaults are those of the live hypervisor.

    Attributes:
        given_back: What becomes of the module of a slot that is given back.
        may_give: Whether a slot may be given to a task now, by what the configuration port does.
        fused: The fused tasks that jobs of an application may be run on.
    """

    given_back: Callable[[MachineSlot], None] = keep_module
    may_give: Callable[[ConfigurationPort], bool] = reuse_during_load
    fused: Callable[[Application], tuple[FusedTask, ...]] = always_fuse


LIVE = Residency()
"""The hypervisor's machine."""
