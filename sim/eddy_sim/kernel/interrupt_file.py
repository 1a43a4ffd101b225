# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The file of the fabric's interrupt, `/dev/uio0`: a read waits for the interrupt, a write arms it again."""

from __future__ import annotations

import os
import struct
import tty
from pathlib import Path

NAME = Path("/sys/class/uio/uio0/name")
"""What the kernel calls the interrupt, after its node of the device tree."""


class InterruptFile:
    """A pseudoterminal in place of the UIO file; its other end writes the count of interrupts, as the driver does.

    Attributes:
        mute: Whether every interrupt is lost on its way to the processor.
    """

    def __init__(self) -> None:
        self._kernel_end, user_end = os.openpty()
        tty.setraw(user_end)
        self.path = os.ttyname(user_end)
        self.mute = False
        self._armed, self._count = False, 0

    def fileno(self) -> int:
        """Readable where a program has armed the interrupt."""
        return self._kernel_end

    def arm(self) -> None:
        """Take what a program wrote."""
        os.read(self._kernel_end, 64)
        self._armed = True

    def ring(self) -> None:
        """The line is high: say so once, where it is armed."""
        if self._armed and not self.mute:
            self._armed = False
            self.say()

    def say(self) -> None:
        """Say that an interrupt came, whether or not it has a cause."""
        self._count += 1
        os.write(self._kernel_end, struct.pack("<I", self._count))

    def show_node(self, there: bool) -> None:
        """Name the interrupt as a kernel does whose device tree has the fabric's node, or lacks it."""
        NAME.write_text("fabric\n" if there else "axi-pmon\n")
