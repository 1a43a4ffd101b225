# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a launch that holds a slot, and the register accesses of who holds it, must be; the same on every board."""

from __future__ import annotations

from eddy.board.port.kernels import check_no_kernel
from eddy.board.port.port import MAX_ACCESSES, WINDOW_BYTES, Launch, RegisterAccess
from eddy.core.errors import InvalidRequest


def check_held(slot: int, launch: Launch) -> None:
    """Check what a launch that holds a slot must be.

    Raises:
        InvalidRequest: It is a kernel, or asks for more than to hold the slot.
    """
    check_no_kernel(slot, launch)
    if launch.registers or launch.results or launch.status != -1:
        raise InvalidRequest("an item that holds a slot has no registers, results or status", field="held")


def check_accesses(accesses: tuple[RegisterAccess, ...]) -> None:
    """Check register accesses before any of them is done.

    Raises:
        InvalidRequest: There are too many, or one is outside the window or no word of 32 bits.
    """
    if len(accesses) > MAX_ACCESSES:
        message = f"{len(accesses)} register accesses at once; {MAX_ACCESSES} at most"
        raise InvalidRequest(message, field="accesses", allowed=MAX_ACCESSES)
    for access in accesses:
        if access.offset % 4 or not 0 <= access.offset < WINDOW_BYTES:
            raise InvalidRequest(
                f"register offset {access.offset:#x} is not in the slot's window",
                field="offset",
                allowed=f"multiples of 4 from 0 to below {WINDOW_BYTES:#x}",
            )
        if access.value is not None and not 0 <= access.value < 1 << 32:
            raise InvalidRequest(f"register value {access.value} has more than 32 bits", field="value")
