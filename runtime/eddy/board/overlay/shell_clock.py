# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Board time as the shell counts it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pynq
from eddy_drivers.regs import shell as regs_shell
from eddy_drivers.regs import window

from eddy.board.port.profile import Profile


def shell_time_s(profile: Profile, device: Any, configured_s: float) -> Callable[[], float]:
    """Board time by the shell's own cycle counter, which goes on while processes come and go.

    Args:
        profile: At which rate the shell is clocked.
        device: The PYNQ device; its registers are first read when time is first asked for.
        configured_s: When the fabric was configured: cycles count from there.
    """
    bank: list[Any] = []

    def now_s() -> float:
        if not bank:
            bank.append(pynq.MMIO(window.BASE + window.SHELL.offset, window.SHELL.bytes, device=device))
        # Reading the low word latches the high one.
        low = int(bank[0].read(regs_shell.CYCLES_LO.offset))
        return configured_s + (int(bank[0].read(regs_shell.CYCLES_HI.offset)) << 32 | low) / profile.shell_hz

    return now_s
