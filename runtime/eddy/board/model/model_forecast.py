# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What items and loads of the `model` board take, and how they end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from eddy.board.model.model_modules import ModelModule
from eddy.board.port.port import Cause, Launch

Latency = Mapping[str, float] | Callable[[str, str], float]
"""Seconds an item, or a work-group of a kernel that counts them, takes: by task (`Launch.task`), or else by module; or
a function of module and item name."""


@dataclass(frozen=True, slots=True)
class ModelFaults:
    """Faults to inject.

    Attributes:
        items: Item name to the cause it ends with; `TIME_LIMIT` means it never answers.
        loads: Ordinals of loads, from 0 over the board's life, that the configuration port reports as failed.
    """

    items: Mapping[str, Cause] = field(default_factory=dict)
    loads: frozenset[int] = frozenset()


class ModelForecast:
    """How long something will take, and how it will end, known when it starts.

    Args:
        latency: Seconds an item takes.
        faults: What goes wrong; may be exchanged.
    """

    def __init__(self, latency: Latency, faults: ModelFaults) -> None:
        self._latency, self.faults = latency, faults
        self._loads = 0

    def item(self, slot: int, module: ModelModule, name: str, launch: Launch) -> tuple[float, Cause]:
        """Seconds, and the cause it ends with: a fault comes half way, a hang at the limit.

        Args:
            slot: Where.
            module: What is in the slot.
            name: The module's name.
            launch: The item.
        """
        known = self._latency
        if callable(known):
            takes_s = known(name, launch.item)
        else:
            takes_s = known[launch.task] if launch.task in known else known[name]
        takes_s = module.duration_s(slot, launch, takes_s)
        fault = self.faults.items.get(launch.item, Cause.NONE)
        if fault is Cause.TIME_LIMIT or takes_s > launch.time_limit_s:
            return launch.time_limit_s, Cause.TIME_LIMIT
        return (takes_s, fault) if fault is Cause.NONE else (takes_s / 2, fault)

    def knows(self, module: str) -> bool:
        """Whether there are figures of a module."""
        return callable(self._latency) or module in self._latency

    def load_fails(self) -> bool:
        """Whether the load that ends now fails."""
        number, self._loads = self._loads, self._loads + 1
        return number in self.faults.loads
