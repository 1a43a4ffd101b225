"""An accelerator with Vivado HLS register semantics (UG902, "AXI4-Lite slave interface": ap_ctrl_hs).

`AP_CTRL.done` clears when it is read; an `ISR` bit toggles when a one is written to it. The interrupt is a level.
"""

from __future__ import annotations

from typing import Any

from pynq import DefaultIP

AP_CTRL = 0x00
START, DONE, IDLE, READY, AUTO_RESTART = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 7
GIE = 0x04
IER = 0x08
ISR = 0x0C
IRQ_DONE = 1 << 0

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

    def start(self) -> None:
        """Enable the completion interrupt and start; arguments must be written before."""
        self.put(GIE, 1)
        self.put(IER, IRQ_DONE)
        self.put(AP_CTRL, START)

    def take_done(self) -> bool:
        """Whether the last start has finished; if so, both the done bit and the interrupt are cleared."""
        if not self.get(AP_CTRL) & DONE:
            return False
        if self.get(ISR) & IRQ_DONE:
            # Writing a one to a cleared bit would set it, so only what is set is written.
            self.put(ISR, IRQ_DONE)
        return True

    def quiesce(self) -> None:
        """No restart after the current item, no interrupt. HLS has no way to stop an item half-way."""
        self.put(AP_CTRL, 0)
        self.put(GIE, 0)
