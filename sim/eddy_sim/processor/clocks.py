# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The clock registers of the simulated processing system, as `pynq.Clocks` reads and writes them.

Two pages of a Zynq UltraScale+ (Ref: UG1087, CRL_APB and CRF_APB): the PLLs and the dividers behind them. PL clock 0
is the shell's clock, which is fixed by the profile: another rate is refused. PL clocks 1 to 3 lead nowhere and can be
set to anything.
"""

from __future__ import annotations

from eddy.core.errors import InvalidRequest

from eddy_sim.design.hwh import PLL_MHZ, clock_divisor
from eddy_sim.processor.registers import RegisterArray

CRL_APB, CRF_APB, PAGE_BYTES = 0xFF5E_0000, 0xFD1A_0000, 0x100
_PL0 = CRL_APB + 0xC0
_ACTIVE = 1 << 24


def _pll(multiplier: int) -> int:
    """A PLL's control word: reference times `multiplier`, halved."""
    return 1 << 16 | multiplier << 8


def _divider(divisor: int, active: bool = True) -> int:
    """A PL clock's control word: IO PLL over `divisor`."""
    return (_ACTIVE if active else 0) | 1 << 16 | divisor << 8


class ProcessorClocks:
    """The pages, as words by physical address.

    Args:
        shell_hz: Rate of PL clock 0.
    """

    def __init__(self, shell_hz: float) -> None:
        self._divisor = clock_divisor(shell_hz)
        self._words = {
            CRL_APB + 0x20: _pll(90),
            CRL_APB + 0x30: _pll(64),
            CRL_APB + 0xC0: _divider(self._divisor),
            CRL_APB + 0xC4: _divider(15, active=False),
            CRL_APB + 0xC8: _divider(15, active=False),
            CRL_APB + 0xCC: _divider(15, active=False),
            CRF_APB + 0x20: _pll(72),
            CRF_APB + 0x2C: _pll(64),
            CRF_APB + 0x38: _pll(90),
            CRF_APB + 0x60: 1 << 8,
        }

    def mmap(self, base: int, length: int) -> RegisterArray | None:
        """The registers of a range; None where it is not inside one of the pages."""
        for page in (CRL_APB, CRF_APB):
            if page <= base and base + length <= page + PAGE_BYTES:
                return RegisterArray(self._read, self._write, base, length // 4)
        return None

    def _read(self, address: int) -> int:
        return self._words.get(address, 0)

    def _write(self, address: int, value: int) -> None:
        if address == _PL0:
            self._check_shell_clock(value)
        self._words[address] = value

    def _check_shell_clock(self, word: int) -> None:
        divisor = (word >> 8 & 0x3F) * (word >> 16 & 0x3F)
        if not word & _ACTIVE or divisor != self._divisor:
            asked = PLL_MHZ / divisor if word & _ACTIVE and divisor else 0.0
            rate = PLL_MHZ / self._divisor
            raise InvalidRequest(
                f"PL clock 0 is the shell's clock, fixed by the profile at {rate:.3f} MHz, not {asked:.3f} MHz;"
                " slot clocks are set by their clocking wizards, the shell's by shell_hz in a profile",
                field="fclk0_mhz",
                asked=asked,
                achievable=rate,
            )
