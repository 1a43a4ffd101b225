# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Where addresses lie in a board's DRAM: the one map that the simulated controller and the monitor follow.

A row's number is its address over the row's bytes. Rows follow each other over the units (banks of all channels, the
channel being the lowest bits). A hashed map adds to every bit of the unit the parity of some bits of the row, so that
strides of a power of two spread over all units, as the permuted maps of [001]'s PAE do (Y. Liu et al., ISCA 2018, there
with measured entropy, here with fixed masks). The row stays as it is: no two addresses meet.
"""

from __future__ import annotations

from eddy.board.port.profile import Dram

UNIT_BITS = 5
"""Bits of a unit's number, at most."""
_ROW_MASKS = (0x9A5D_E2B1, 0x6C3B_97D2, 0xB3E9_4CA4, 0x57D6_B968, 0xE86F_25D0)
"""Which bits of the row are added to each bit of the unit: sixteen or more each, every one with a lowest bit of its
own, so that neighbouring rows of one unit lie in different ones."""


def units(dram: Dram) -> int:
    """Banks of all channels together."""
    return dram.banks * dram.channels


def hash_masks(dram: Dram) -> tuple[int, ...]:
    """For each bit of a unit's number, the address bits (from the memory's base) whose parity is added to it.

    Zeros where the map is not hashed. Measured ones go before those that are fixed here.
    """
    if dram.hash_masks:
        return (*dram.hash_masks, *(0,) * (UNIT_BITS - len(dram.hash_masks)))
    if not dram.hashing:
        return (0,) * UNIT_BITS
    bits = (units(dram) - 1).bit_length()
    shift = (dram.row_bytes * units(dram) - 1).bit_length()
    reach = (1 << max(dram.bytes - 1, 1).bit_length()) - 1
    return tuple((_ROW_MASKS[bit] << shift) & reach if bit < bits else 0 for bit in range(UNIT_BITS))


def place(dram: Dram, address: int) -> tuple[int, int]:
    """The unit an address lies in, and the row of that unit."""
    offset = address - dram.base
    row, unit = divmod(offset // dram.row_bytes, units(dram))
    for bit, mask in enumerate(hash_masks(dram)):
        unit ^= ((offset & mask).bit_count() & 1) << bit
    return unit, row
