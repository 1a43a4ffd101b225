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


class Control(str, enum.Enum):
    """How a module is started and says that it is done (Ref: UG1399, "Block-Level Control Protocols")."""

    HS = "hs"
    """``ap_ctrl_hs``: what says done clears when it is read."""
    CHAIN = "chain"
    """``ap_ctrl_chain``: done stays, and no other run begins, until ``ap_continue``."""
    NONE = "none"
    """``ap_ctrl_none``: it has neither; nothing says when an item has ended, so no task can run on it."""


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
