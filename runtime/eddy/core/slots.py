# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Slots and what may be put into them."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Access(str, enum.Enum):
    """What a module may do with a buffer."""

    READ = "r"
    WRITE = "w"
    READ_WRITE = "rw"


class Pool(str, enum.Enum):
    """Which decision owns a slot."""

    PIPELINE = "pipeline"
    """Dispatch owns it: tasks of application jobs."""
    GPU = "gpu"
    """Price owns it: GPU clusters."""


MEMORY_BITS = (64, 128)
"""Bits that a slot's port to memory may have."""


class Control(str, enum.Enum):
    """How a module is started and says that it is done (Ref: UG1399, "Block-Level Control Protocols")."""

    HS = "hs"
    """``ap_ctrl_hs``: what says done clears when it is read."""
    CHAIN = "chain"
    """``ap_ctrl_chain``: done stays, and no other run begins, until ``ap_continue``."""
    NONE = "none"
    """``ap_ctrl_none``: it has neither; nothing says when an item has ended, so no task can run on it."""


class PreemptReason(str, enum.Enum):
    """Why a slot is taken from a job before its task is done; whoever decides it says so."""

    RANK = "rank"
    """By the policy's rank, a task that may be given the slot counts enough more than the one that had it."""
    ALLOCATION = "allocation"
    """The job had more slots than the policy allocated to it, and another had fewer."""
    FAIR_SHARE = "fair-share"
    """A tenant that was served less, by weight, asked for a slot."""
    OVERDUE = "overdue"
    """An older job of the same tenant was overdue and had no slot."""
    STALLED = "stalled"
    """The task waited in its slot for others that had none: it would have waited for ever."""
    DRAINED = "drained"
    """An operator drained the slot."""
    MAINTENANCE = "maintenance"
    """The slot was drained for a maintenance window."""
    QUARANTINED = "quarantined"
    """The slot was drained because it kept failing."""
    LEASED = "leased"
    """A person leased the slot."""
    UNRECORDED = ""
    """Unknown: the event was written by a version that did not record which rule of the policy it was."""


@dataclass(frozen=True, slots=True)
class SlotDescription:
    """One reconfigurable partition of a board.

    Attributes:
        index: Position on the board, from 0.
        region: The name `Overlay.pr_download` takes, e.g. ``"slot0"``.
        pool: Which decision owns it.
        image_bytes: Size of the largest partial bitstream for it (images follow the region's area; compression makes
            them differ).
        clk_hz: Highest clock its clocking-wizard output gives.
    """

    index: int
    region: str
    pool: Pool
    image_bytes: int
    clk_hz: float


@dataclass(frozen=True, slots=True)
class Image:
    """A partial bitstream: one module, built for one slot of one shell.

    Attributes:
        sha256: Hex digest of the file; its name in the image store.
        module: Name of the reconfigurable module.
        build: Hash of the module's sources and toolchain, as its identity block reads (64 bits, 16 hex digits).
        shell: Hex identity of the shell it was built for.
        slot: Index of the slot it was built for.
        bytes: Size of the file's payload, as the configuration port takes it.
        clk_hz: Clock the module was built for.
        scrub_build: Build that was verified to keep nothing over a reset which a next tenant could tell, or "".
        checked_build: Build that passed `eddy module check`, or "".
        control: How its module is started and says that it is done.
        signature: Detached Ed25519 signature over the manifest's canonical form, hex; empty where unsigned.
    """

    sha256: str
    module: str
    build: str
    shell: str
    slot: int
    bytes: int
    clk_hz: float
    signature: str = ""
    scrub_build: str = ""
    checked_build: str = ""
    control: Control = Control.HS

    @property
    def scrubs(self) -> bool:
        """Whether a reset makes its module clean for another tenant: verified for this very build."""
        return bool(self.build) and self.scrub_build == self.build

    @property
    def checked(self) -> bool:
        """Whether its module passed the check of the slot contract: on record for this very build."""
        return bool(self.build) and self.checked_build == self.build
