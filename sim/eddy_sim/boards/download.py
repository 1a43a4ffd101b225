# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What comes through the processor's configuration port: a whole bitstream, or a partial one for a slot."""

from __future__ import annotations

import errno
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from eddy.board.port.profile import Profile
from eddy.core.slots import SlotDescription
from eddy.packages.modules import ModuleManifest

from eddy_sim.boards.faults import FAILED_LOAD, LoadFault
from eddy_sim.boards.loader import LoadRefused, find_program, read_image
from eddy_sim.design import bitfile


@dataclass(frozen=True, slots=True)
class FullImage:
    """A whole bitstream; `sound` says whether its CRC is right."""

    sound: bool

    def check(self) -> None:
        """Refuse it as the port does.

        Raises:
            LoadRefused: Its CRC is wrong.
        """
        if not self.sound:
            raise LoadRefused(errno.EIO, "the configuration port found a wrong CRC in the bitstream")


@dataclass(frozen=True, slots=True)
class PartialImage:
    """A partial bitstream.

    Attributes:
        slot: Whose it is.
        module: What it brings.
        program: The module's model.
        bytes: Its length.
        shown: Build hash and kind, as the slot will show them.
        sound: Whether its CRC is right.
    """

    slot: SlotDescription
    module: ModuleManifest
    program: Path
    bytes: int
    shown: tuple[int, int]
    sound: bool

    def fault(self, injected: LoadFault | None) -> LoadFault | None:
        """What goes wrong with its load: what it is damaged by, or else what is injected."""
        return injected if self.sound else FAILED_LOAD

    def check_loaded(self, fault: LoadFault | None, error: str) -> None:
        """Say how its load ended.

        Args:
            fault: What went wrong with it.
            error: Why it brought no module; "" where it did.

        Raises:
            LoadRefused: The port reported an error, or the slot got no module.
        """
        if fault is not None and fault.fails:
            raise LoadRefused(errno.EIO, f"the configuration port reported an error while loading {self.slot.region}")
        if error:
            raise LoadRefused(errno.EIO, f"{self.slot.region} got no module: {error}")


def read_download(
    file: Path, partial: bool, profile: Profile, progress: Callable[[str], None]
) -> FullImage | PartialImage:
    """A bitstream's file, checked for a board; the model of a module is built where it is missing.

    Args:
        file: The `.bit` file.
        partial: Whether it is loaded as a partial one.
        profile: What the board is.
        progress: Told what is being built.

    Raises:
        LoadRefused: The file is damaged, for another part or shell, of the other kind, or too large for its slot.
    """
    identity, body = read_image(file, profile)
    if partial != (identity.slot >= 0):
        what = "a partial" if identity.slot >= 0 else "a full"
        raise LoadRefused(errno.EINVAL, f"{file} is {what} bitstream; load it as one")
    if not partial:
        return FullImage(bitfile.crc_ok(body))
    module, program = find_program(identity, profile, progress)
    slot = profile.slots[identity.slot]
    if len(body) > slot.image_bytes:
        raise LoadRefused(
            errno.EINVAL,
            f"the image has {len(body)} bytes, {slot.region} takes up to {slot.image_bytes}; build it for profile"
            f" {profile.name}",
        )
    shown = (int(identity.build, 16), module.kind.identity)
    return PartialImage(slot, module, program, len(body), shown, bitfile.crc_ok(body))
