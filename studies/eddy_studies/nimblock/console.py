# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the published board spent outside its scheduler: its serial console, SD card, register writes, memory.

Read off single intervals of all five published sequences, not fitted to response times (only `CONTENTION` was also
compared with their means, for values from 0 to 0.0025): what an
application waits for its first configuration where a slot is idle; what its loads take above the mean of their slot in
the runs that share nothing; how much longer items take in the runs that share.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eddy_studies.nimblock.artefact.nimblock import State

CHARACTER_S = 10 / 115_200
"""A character on the console of Xilinx' bare-metal platform: ten bits."""
FIFO = 64
"""Characters the Zynq's UART takes before a writer waits."""
RETIREMENT = 82
"""Characters printed when an application ends."""
PROMOTION = 104
"""Characters printed when Nimblock makes an application a candidate."""
PREEMPTION = 170
"""Characters printed when a slot is taken from an application."""
LAUNCH_S = 100e-6
"""Writing an item's registers and starting it; measured, 30 to 180 us."""

ADMISSION_S: Mapping[str, float] = {
    "lenet": 2.9e-3,
    "rendering_3d": 2.6e-3,
    "optical_flow": 3.8e-3,
    "image_compression": 4.1e-3,
    "alexnet": 5.2e-3,
}
"""Building an application's task graph and printing that it came; less for a short name and few tasks."""
ADMISSION_OF_OTHERS_S = 3.5e-3
CARD_S: Mapping[str, float] = {"rendering_3d": 4.8e-3}
"""What an application's images take longer to be found on the SD card than the slot's mean says."""
CONTENTION = 0.002
"""What an item takes longer, relatively, for every other item in the fabric when it starts: the 195 s item of digit
recognition takes 1.2 % longer in the runs that share, optical flow 1.5 %."""


class Contention:
    """What items take on a board whose memory they share.

    Args:
        latency: Seconds an item takes alone, by module.

    Attributes:
        others: How many other items run; to be kept up to date.
    """

    def __init__(self, latency: Mapping[str, float]) -> None:
        self._latency = latency
        self.others = 0

    def __call__(self, module: str, item: str) -> float:
        """Seconds an item of a module takes that starts now."""
        del item
        return self._latency[module] * (1 + CONTENTION * self.others)


class Console:
    """A serial console: whoever writes waits while the FIFO is full."""

    def __init__(self) -> None:
        self._empty_s = 0.0

    def write(self, now_s: float, characters: int) -> float:
        """Write at a board time; answers when the writer goes on."""
        if not characters:
            return now_s
        self._empty_s = max(self._empty_s, now_s) + characters * CHARACTER_S
        return max(now_s, self._empty_s - FIFO * CHARACTER_S)

    def admit(self, now_s: float, application: str) -> float:
        """Admit an application; answers when the loop goes on, the FIFO being full then."""
        done_s = now_s + ADMISSION_S.get(application, ADMISSION_OF_OTHERS_S)
        self._empty_s = done_s + FIFO * CHARACTER_S
        return done_s


def printed(before: Any, after: Any) -> int:
    """Characters that a policy's turn prints, which led from one memory to the other; only Nimblock's does."""
    if not isinstance(before, State) or not isinstance(after, State):
        return 0
    return PROMOTION * len(set(after.candidates) - set(before.candidates))
