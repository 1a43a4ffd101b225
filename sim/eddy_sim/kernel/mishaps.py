# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What goes wrong with a faked board because a test asks for it: loads, the interrupt, device tree, daemons, power."""

from __future__ import annotations

import shutil
import socket
import uuid
from pathlib import Path

from eddy_sim.boards import faults
from eddy_sim.kernel import folder_mounts
from eddy_sim.kernel.fabric import KernelFabric
from eddy_sim.kernel.interrupt_file import InterruptFile
from eddy_sim.kernel.overlays import Overlays
from eddy_sim.kernel.xrt import Calls

LOADER_PID = 1 << 22
"""No process of this machine has it: the kernel's own are below."""
PORT_FAULTS = {
    "fails": faults.FAILED_LOAD,
    "crc": faults.DEAD_IMAGE,
    "wrong-identity": faults.WRONG_IDENTITY,
}
"""What can be wrong with a load, by name; any other name is a behaviour of a rogue module."""


class Mishaps:
    """What tests do to a board.

    Args:
        fabric: The board's.
        interrupt: Of the fabric.

    Attributes:
        overlays: Device-tree overlays in place; they may bring the node of the interrupt back.
        calls: What can be asked for.
    """

    def __init__(self, fabric: KernelFabric, interrupt: InterruptFile) -> None:
        self._fabric, self._interrupt = fabric, interrupt
        self.overlays = Overlays(self._name_interrupt)
        self._has_node = True
        self.calls: Calls = {
            "misload": self._misload,
            "keep_port": self._keep_port,
            "refuse": self._refuse,
            "load_foreign": self._load_foreign,
            "mute_interrupt": self._mute_interrupt,
            "ring_in_vain": self._ring_in_vain,
            "without_uio": self._remove_node,
            "without_symbols": self._remove_symbols,
            "run_loader": self._run_loader,
            "cut_power": self._cut_power,
        }

    # Loads

    def _misload(self, _: socket.socket, slot: int, behaviour: str) -> None:
        """Let something be wrong with the next load of a slot."""
        self._fabric.faults[slot] = PORT_FAULTS.get(behaviour) or faults.rogue(faults.Behaviour(behaviour))

    def _keep_port(self, _: socket.socket) -> None:
        """Let the processor's port keep the device, whatever software asks."""
        self._fabric.keeps_port = True

    def _refuse(self, _: socket.socket, number: int) -> None:
        """Refuse the next load with an errno."""
        self._fabric.refusal = number

    def _load_foreign(self, _: socket.socket, name: str) -> None:
        self._fabric.load_foreign(name)
        folder_mounts.write_log(self._fabric.log)

    # The interrupt and its node

    def _mute_interrupt(self, _: socket.socket, mute: bool) -> None:
        """Lose every interrupt of the fabric on its way to the processor."""
        self._interrupt.mute = mute

    def _ring_in_vain(self, _: socket.socket, times: int) -> None:
        """Let the interrupt's file say that it came, without a cause."""
        for _number in range(times):
            self._interrupt.say()

    def _remove_node(self, _: socket.socket) -> None:
        """Boot a device tree without the node of the fabric's interrupt."""
        self._has_node = False
        self._name_interrupt()

    def _name_interrupt(self) -> None:
        self._interrupt.show_node(self._has_node or self.overlays.has(b"fabric@"))

    def _remove_symbols(self, _: socket.socket) -> None:
        """Boot a device tree whose labels are not known to overlays."""
        self.overlays.unresolved = True

    # The rest of the machine

    def _run_loader(self, _: socket.socket, process: str, runs: bool) -> None:
        """Start, or end, a daemon that loads designs; it is seen in the list of processes alone."""
        folder = Path("/proc") / str(LOADER_PID)
        if runs:
            folder.mkdir()
            (folder / "comm").write_text(f"{process}\n")
        else:
            shutil.rmtree(folder)

    def _cut_power(self, _: socket.socket) -> None:
        """Cut the power and boot again."""
        self._fabric.cut_power()
        folder_mounts.BOOT_ID.write_text(f"{uuid.uuid4()}\n")
        folder_mounts.write_log(self._fabric.log)
