# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The identity block that every module carries at 0xF000 of its window."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from eddy_drivers.regs import identity as regs

MAGIC = regs.MAGIC.reset
"""What the block begins with: "EDDY" (hw/regs/identity.rdl)."""


@dataclass(frozen=True)
class Identity:
    """What a module says it is.

    Attributes:
        magic: `MAGIC`, where there is a module.
        kind: Kind of the module, a value of `eddy_drivers.regs.identity.Kind`.
        major: Register map, major version.
        minor: Register map, minor version.
        build: Hash of sources and toolchain, 16 hex digits.
    """

    magic: int
    kind: int
    major: int
    minor: int
    build: str


def read_identity(read: Callable[[int], int]) -> Identity:
    """Read the block through `read`, which takes a byte offset in the module's window."""
    magic, kind = read(regs.MAGIC.offset), regs.KIND.decode(read(regs.KIND.offset))
    low, high = read(regs.BUILD_LO.offset), read(regs.BUILD_HI.offset)
    return Identity(magic, kind["kind"], kind["major"], kind["minor"], f"{high:08x}{low:08x}")
