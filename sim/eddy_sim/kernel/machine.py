# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The machine behind a faked kernel: one process that simulates the board and answers for the kernel.

Run in a user and mount namespace of its own (`eddy_sim.kernel.board.FakeBoard` starts it there). It lays the board's
folders over this machine's, mounts sysfs's fpga_manager, gives the interrupt line a UIO file, and answers loads and
stores to `/dev/mem` and the calls of XRT. Board time goes on by itself, at most as fast as real time.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import selectors
import socket
import struct
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from eddy.board.port.profile import load_profile

from eddy_sim.boards.board import StopReason
from eddy_sim.kernel import folder_mounts
from eddy_sim.kernel.fabric import OURS, KernelFabric, Unanswered
from eddy_sim.kernel.filesystem import File, FileSystem
from eddy_sim.kernel.interrupt_file import InterruptFile
from eddy_sim.kernel.mishaps import Mishaps
from eddy_sim.kernel.xrt import Calls, Xrt

MEM_BYTES = 1 << 40
"""Size of the faked /dev/mem: all that a Cortex-A53 can address."""
_LEAST_S, _MOST_S = 20e-6, 20e-3
"""Board time that passes between two looks at who asks."""
_TURN_S = 1e-3
"""Wall time that this should take at most."""
_REQUEST = struct.Struct("<IIQ")
_ANSWER = struct.Struct("<II")


class BoardMachine:
    """Lets board time pass, and hands what comes from processes to the part that answers it.

    Args:
        root: Folder of this run.
        profile: Name of the board profile.
    """

    def __init__(self, root: Path, profile: str) -> None:
        self._root = root
        found = load_profile(profile)
        memory = root / "memory"
        with memory.open("wb") as file:
            file.truncate(found.dram.bytes)
        with memory.open("r+b") as file:
            shared = mmap.mmap(file.fileno(), found.dram.bytes)
        self._fabric = KernelFabric(found, np.frombuffer(shared, dtype=np.uint8))
        self._interrupt = InterruptFile()
        self._xrt, self._mishaps = Xrt(self._fabric), Mishaps(self._fabric, self._interrupt)
        self._calls: Calls = {**self._xrt.calls, **self._mishaps.calls, "counts": self._counts}
        self._hung = ""
        self._selector = selectors.DefaultSelector()

    def prepare(self, board_name: str) -> None:
        """Lay everything out. No process but this one is in the namespace yet."""
        folder_mounts.isolate_mounts()
        self._mount("fs", self._sysfs())
        self._mount("overlays", {}, self._mishaps.overlays.make, self._mishaps.overlays.remove)
        self._watch(self._interrupt.fileno(), self._on_interrupt_file)
        folder_mounts.mount_board(self._root, self._interrupt.path, board_name)
        for name, answer in (("accesses", self._on_access), ("calls", self._on_call)):
            server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            server.bind(str(self._root / f"{name}.sock"))
            server.listen()
            self._watch(server.fileno(), partial(self._accept, server, answer))

    def _mount(self, name: str, *what: Any) -> None:
        folder = self._root / name
        folder.mkdir()
        files = FileSystem(folder, *what)
        self._watch(files.fileno(), files.serve)

    # The loop

    def serve(self) -> None:
        """Answer until the process that started this one lets go of standard input."""
        running = [True]
        self._watch(sys.stdin.fileno(), running.clear)
        board, before_s, most_s = self._fabric.board, time.monotonic(), _LEAST_S
        while running:
            for key, _ in self._selector.select(_LEAST_S if most_s > _LEAST_S else 0.0):
                key.data()
            now_s = time.monotonic()
            board.step_until(board.now_s + min(most_s, now_s - before_s), StopReason.IRQ)
            self._ring()
            # A board at work takes longer to simulate than the time that passes on it; whoever asks must not wait long.
            most_s = min(2 * most_s, _MOST_S) if time.monotonic() - now_s < _TURN_S else max(most_s / 2, _LEAST_S)
            before_s = now_s

    def _watch(self, descriptor: int, then: Callable[[], None]) -> None:
        self._selector.register(descriptor, selectors.EVENT_READ, then)

    def _accept(self, server: socket.socket, answer: Callable[[socket.socket, bytes], bytes]) -> None:
        client, _ = server.accept()
        self._watch(client.fileno(), lambda: self._serve_one(client, answer))

    def _serve_one(self, client: socket.socket, answer: Callable[[socket.socket, bytes], bytes]) -> None:
        data = b""
        with contextlib.suppress(ConnectionError):
            data = client.recv(1 << 16)
            if data:
                client.send(answer(client, data))
                return
        self._selector.unregister(client.fileno())
        client.close()
        self._xrt.release(client)

    # Who asks

    def _on_access(self, _: socket.socket, data: bytes) -> bytes:
        """A load or store to `/dev/mem`."""
        store, value, address = _REQUEST.unpack(data)
        try:
            if store:
                self._fabric.write(address, value)
                return _ANSWER.pack(0, 0)
            return _ANSWER.pack(0, self._fabric.read(address))
        except Unanswered as error:
            self._hung = str(error)
            return _ANSWER.pack(1, 0)

    def _on_interrupt_file(self) -> None:
        self._interrupt.arm()
        self._ring()

    def _ring(self) -> None:
        if self._fabric.design == OURS and self._fabric.board.irq:
            self._interrupt.ring()

    def _sysfs(self) -> dict[str, File]:
        fabric = self._fabric

        def set_flags(data: bytes) -> None:
            fabric.flags = int(data, 16)

        def load(data: bytes) -> None:
            try:
                fabric.load(data.decode().strip())
            finally:
                folder_mounts.write_log(fabric.log)

        return {
            "name": File(lambda: b"Xilinx ZynqMP FPGA Manager\n"),
            "state": File(lambda: fabric.state.encode() + b"\n"),
            "flags": File(lambda: f"{fabric.flags:x}\n".encode(), set_flags),
            "firmware": File(write=load),
            folder_mounts.DEV_MEM: File(bytes=MEM_BYTES),
        }

    def _on_call(self, client: socket.socket, data: bytes) -> bytes:
        """A call of XRT, or of a test."""
        call: dict[str, Any] = json.loads(data)
        try:
            value = self._calls[call.pop("what")](client, **call)
        except (RuntimeError, OSError) as error:
            return json.dumps({"error": str(error)}).encode()
        return json.dumps({"value": value}).encode()

    def _counts(self, _: socket.socket) -> dict[str, Any]:
        fabric = self._fabric
        found = {"loads": fabric.loads, "port_given": fabric.port_given}
        return {**self._xrt.counts, **found, "hung": self._hung, "design": fabric.design}


def main() -> None:
    """Serve; say on standard output when processes can be let in."""
    root, profile, board_name = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    machine = BoardMachine(root, profile)
    machine.prepare(board_name)
    print("ready", flush=True)
    machine.serve()


if __name__ == "__main__":
    main()
