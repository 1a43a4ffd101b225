# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""An accelerator with the register semantics of Vitis HLS (UG1399, "S_AXILITE Control Register Map").

Of `ap_ctrl_hs`, `AP_CTRL.done` clears when it is read. Of `ap_ctrl_chain`, it stays until a one is written to
`AP_CTRL.continue`, and a start is not taken before. An `ISR` bit toggles when a one is written to it, or clears when it
is read (`-s_axilite_interrupt_mode cor`). The interrupt is a level.
"""

from __future__ import annotations

from typing import Any

from pynq import DefaultIP

AP_CTRL = 0x00
START, DONE, IDLE, READY, CONTINUE, AUTO_RESTART = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 4, 1 << 7
GIE = 0x04
IER = 0x08
ISR = 0x0C
IRQ_DONE = 1 << 0
SETTLE_READS = 16
"""Reads of `AP_CTRL` within which a module that was done is idle."""

KIND = 1
"""The identity block's kind for such a module."""
MAP_MAJOR = 1
"""The register-map version this driver was made for."""


class HlsAccelerator(DefaultIP):  # type: ignore[misc]
    """Driver of one module's register window.

    Args:
        description: What PYNQ knows of the window.
    """

    bindto = ["eddy:ip:slot:1.0"]  # noqa: RUF012 - the form PYNQ reads

    def __init__(self, description: dict[str, Any]) -> None:
        super().__init__(description=description)

    def get(self, offset: int) -> int:
        """Read a register."""
        return int(self.mmio.read(offset))

    def put(self, offset: int, value: int) -> None:
        """Write a register."""
        self.mmio.write(offset, int(value))

    def unready_reason(self) -> str:
        """Why the module would not take a start, or the end of the next run could not be told; "" where it is at rest.

        To be asked before each start: the end of a run before, which nobody took, would pass for the end of this one.
        """
        control = 0
        for _ in range(SETTLE_READS):
            control = self.get(AP_CTRL)
            if control & DONE:
                return "ap_done is still set from a run before"
            if control & (START | IDLE) == IDLE:
                return ""
        return "it has not taken the start before" if control & START else "it never becomes idle"

    def is_at_rest(self) -> bool:
        """Whether the module is idle, with no start to take and no end to tell."""
        return self.get(AP_CTRL) & (START | DONE | IDLE) == IDLE

    def start(self) -> None:
        """Enable the completion interrupt and start; arguments must be written before."""
        self.put(GIE, 1)
        self.put(IER, IRQ_DONE)
        self.put(AP_CTRL, START)

    def acknowledge_done(self, chain: bool = False) -> bool:
        """Whether the last start has finished; if so, both the done bit and the interrupt are cleared.

        Args:
            chain: The module is of protocol `ap_ctrl_chain`.
        """
        if not self.get(AP_CTRL) & DONE:
            return False
        if chain:
            # Before the interrupt, which it raises again as long as it is done.
            self.put(AP_CTRL, CONTINUE)
        if self.get(ISR) & IRQ_DONE:
            # Writing a one to a cleared bit would set it, so only what is set is written.
            self.put(ISR, IRQ_DONE)
        return True

    def quiesce(self) -> None:
        """No restart after the current item, no interrupt. HLS has no way to stop an item half-way."""
        self.put(AP_CTRL, 0)
        self.put(GIE, 0)
