# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the drivers of the shell's blocks share: a bank of registers that says which map it speaks."""

from __future__ import annotations

from typing import Any

from pynq import DefaultIP

from eddy_drivers.regs.base import Register

MAP_MAJOR = 1
"""Register-map version these drivers were made for."""


class MapMismatch(RuntimeError):
    """The hardware speaks another register map than the driver."""


class Registers(DefaultIP):  # type: ignore[misc]
    """A window of 32-bit registers."""

    def _get(self, offset: int) -> int:
        return int(self.mmio.read(offset))

    def _put(self, offset: int, word: int) -> None:
        self.mmio.write(offset, int(word))

    def _fields(self, register: Register) -> dict[str, int]:
        """All fields of a register, from one read."""
        return register.decode(self._get(register.offset))


class Bank(Registers):
    """A register bank with a block id and a map version at offset 0.

    Args:
        description: What PYNQ knows of the IP.

    Raises:
        MapMismatch: The id word is not the block's, or its major version not the driver's.
    """

    block = 0
    """Block id that offset 0 must carry in its upper half."""

    def __init__(self, description: dict[str, Any]) -> None:
        super().__init__(description=description)
        word = self._get(0)
        block, major = word >> 16, word >> 8 & 0xFF
        if block != self.block:
            raise MapMismatch(
                f"{type(self).__name__} at {self.mmio.base_addr:#x}: ID.block reads {block:#06x}, expected"
                f" {self.block:#06x}; the overlay's metadata does not match what is on the board"
            )
        if major != MAP_MAJOR:
            raise MapMismatch(
                f"{type(self).__name__} at {self.mmio.base_addr:#x}: ID.major reads {major:#x}, expected"
                f" {MAP_MAJOR:#x}; install the drivers of the overlay's release"
            )
