# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A token bucket: what a sender may send now, and how long it has to wait before it sends more."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class TokenBucket:
    """Bounds a rate; time is given, so that it is the same in tests and in virtual time.

    Attributes:
        rate_bps: Bits per second; 0 for no bound.
        burst_bits: What may be sent at once after a pause.
        level_bits: What may be sent now; below 0 where that was sent in advance.
        at_s: When that was.
    """

    rate_bps: float
    burst_bits: float
    at_s: float
    level_bits: float = field(init=False)

    def __post_init__(self) -> None:
        self.level_bits = self.burst_bits

    def wait_s(self, bits: float, now_s: float) -> float:
        """Take `bits`, and say how long to wait before they may be sent; more than the burst is sent in debt."""
        if self.rate_bps <= 0:
            return 0.0
        self.level_bits = min(self.burst_bits, self.level_bits + (now_s - self.at_s) * self.rate_bps)
        self.at_s = now_s
        self.level_bits -= bits
        return max(0.0, -self.level_bits / self.rate_bps)
