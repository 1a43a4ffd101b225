# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""How long and how large the testbed is beside the instance it runs."""

from __future__ import annotations

from dataclasses import dataclass

PIECE_BYTES = 2048
"""What a sender sends, and a port lets through, at once."""
BURST_S = 0.05
"""What a port lets through at once after a pause, in wall seconds of its rate."""
BEHIND_S = 0.25
"""What a sender that was not scheduled in time makes up for, in wall seconds of its rate."""
SPARE = 1.02
"""A port's rate over what plans take it for. Plans book ports to the last bit, and time that is lost at such a port is
never made up for."""
HEADER_BYTES = 4
"""Number of the job, before its bytes."""


@dataclass(frozen=True, slots=True)
class Scales:
    """Factors from an instance to this machine.

    Attributes:
        wall_s: Wall seconds of a second of the instance.
        bits: Bits sent of a bit of the instance.
    """

    wall_s: float
    bits: float

    def bytes_of(self, bits: float) -> int:
        """Bytes sent for bits of the instance; at least one where there are any."""
        return max(round(bits * self.bits / 8), 1) if bits else 0

    def bps_of(self, bps: float) -> float:
        """Bits per wall second of a rate of the instance."""
        return bps * self.bits / self.wall_s


def content(job: int, size_bytes: int) -> bytes:
    """What a job's input is: other bytes for each job, so that mixed up ones are noticed."""
    word = (job * 2654435761 & 0xFFFFFFFF).to_bytes(4, "little")
    return (word * (size_bytes // 4 + 1))[:size_bytes]
