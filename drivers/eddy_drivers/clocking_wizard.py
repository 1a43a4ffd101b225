# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The clocking wizard that makes a slot's clock (AMD PG065, dynamic reconfiguration over AXI4-Lite).

The MMCM makes a fixed VCO frequency of the reference clock; output 0 divides it by a number with an eighth's
resolution. Only that divider is changed here, so the VCO, and with it the other outputs, stay as built.
"""

from __future__ import annotations

from typing import Any

from pynq import DefaultIP

STATUS = 0x04
LOCKED = 0x1
FEEDBACK = 0x200
"""DIVCLK_DIVIDE [7:0], CLKFBOUT_MULT [15:8], CLKFBOUT_FRAC [25:16] in thousandths (PG065, register space)."""
DIVIDE_0 = 0x208
"""CLKOUT0_DIVIDE [7:0], CLKOUT0_FRAC [17:8] in thousandths."""
LOAD = 0x25C
"""LOAD [0] and SADDR [1]: both set, the new values are taken."""

FALL_READS = 64
"""Reads of the status register within which LOCKED has fallen after a change: the wizard's state machine resets the
MMCM first of all (PG065). One whose LOCKED does not fall costs them."""

DIVIDE_MIN, DIVIDE_MAX, DIVIDE_STEP = 2.0, 128.0, 0.125


class ClockingWizard(DefaultIP):  # type: ignore[misc]
    """Driver of one `clk_wiz`.

    Args:
        description: What PYNQ knows of the IP; `PRIM_IN_FREQ` in its parameters is the reference in MHz.
    """

    bindto = ["xilinx.com:ip:clk_wiz:6.0"]  # noqa: RUF012 - the form PYNQ reads

    def __init__(self, description: dict[str, Any]) -> None:
        super().__init__(description=description)
        parameters = description.get("parameters") or {}
        self.reference_hz = float(parameters.get("PRIM_IN_FREQ", 0.0)) * 1e6
        """Frequency of the wizard's input; zero where the metadata does not say, until somebody who knows sets it."""

    def vco_hz(self) -> float:
        """Frequency of the oscillator that output 0 divides."""
        word = int(self.mmio.read(FEEDBACK))
        divide, multiply = word & 0xFF, (word >> 8 & 0xFF) + (word >> 16 & 0x3FF) / 1000
        return self.reference_hz * multiply / max(divide, 1)

    def rate_hz(self) -> float:
        """Frequency output 0 is set to."""
        word = int(self.mmio.read(DIVIDE_0))
        return self.vco_hz() / max((word & 0xFF) + (word >> 8 & 0x3FF) / 1000, 1.0)

    def set_rate(self, hz: float) -> float:
        """Set output 0 to the highest frequency it can make that is not above `hz`; answer what that is.

        The output is not to be used until `locked`, which says nothing of the clock before: this comes back when LOCKED
        has fallen, or would have.

        Raises:
            ValueError: Out of the divider's range.
        """
        vco = self.vco_hz()
        # Rounded up, so that a module is never clocked above the rate it was built for; the last term forgives the
        # rounding of a frequency that was given in whole hertz.
        steps = -(-(vco / hz - 1e-6) // DIVIDE_STEP)
        divide = steps * DIVIDE_STEP
        if not DIVIDE_MIN <= divide <= DIVIDE_MAX:
            raise ValueError(f"{hz:.0f} Hz is outside {vco / DIVIDE_MAX:.0f} to {vco / DIVIDE_MIN:.0f} Hz")
        whole = int(divide)
        self.mmio.write(DIVIDE_0, whole | round((divide - whole) * 1000) << 8)
        self.mmio.write(LOAD, 0x3)
        for _ in range(FALL_READS):
            if not self.locked():
                break
        return vco / divide

    def locked(self) -> bool:
        """Whether the output is stable."""
        return bool(int(self.mmio.read(STATUS)) & LOCKED)
