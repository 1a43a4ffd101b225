"""The machine behind a faked kernel: one process that simulates the board and answers for the kernel.

Run in a user and mount namespace of its own (`eddy_sim.kernel.board.FakeBoard` starts it there). It lays the board's
folders over this machine's, mounts sysfs's fpga_manager, gives the interrupt line a UIO file, and answers loads and
stores to `/dev/mem` and the calls of XRT. Board time goes on by itself, at most as fast as real time.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import mmap
import os
import selectors
import shutil
import socket
import struct
import sys
import time
import tty
import uuid
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from eddy.board.profile import load_profile

from eddy_sim import faults
from eddy_sim.board import StopReason
from eddy_sim.kernel import scenery
from eddy_sim.kernel.fabric import KernelFabric, Unanswered
from eddy_sim.kernel.filesystem import File, FileSystem
from eddy_sim.kernel.overlays import Overlays

MEM_BYTES = 1 << 40
"""Size of the faked /dev/mem: all that a Cortex-A53 can address."""
IRQ = 121
"""What pl_ps_irq0 is to the interrupt controller (Ref: UG1085, table of system interrupts)."""
DFX_MGR_PID = 1 << 22
"""No process of this machine has it: the kernel's own are below."""
_LEAST_S, _MOST_S = 20e-6, 20e-3
"""Board time that passes between two looks at who asks."""
_TURN_S = 1e-3
"""Wall time that this should take at most."""
_REQUEST = struct.Struct("<IIQ")
_ANSWER = struct.Struct("<II")
PORT_FAULTS = {
    "fails": faults.FAILED_LOAD,
    "crc": faults.DEAD_IMAGE,
    "wrong-identity": faults.WRONG_IDENTITY,
}
"""What can be wrong with a load, by name; any other name is a behaviour of a rogue module."""


class BoardMachine:
    """The machine.

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
        self.fabric = KernelFabric(found, np.frombuffer(shared, dtype=np.uint8))
        self._base, self._cma = found.dram.base, found.arena.base
        self._cma_end = found.dram.base + found.dram.bytes
        self._next = self._cma
        self._buffers: dict[socket.socket, int] = {}
        self._xrt = True
        self._counts = {"syncs": 0, "bytes_synced": 0, "xclbins": 0}
        self._hung = ""
        self._overlays = Overlays(self._name_uio)
        self._has_node = True
        self._uio_armed, self._uio_count, self._mute = False, 0, False
        self._selector = selectors.DefaultSelector()

    # The scenery

    def prepare(self, board_name: str) -> None:
        """Lay everything out. No process but this one is in the namespace yet."""
        root = self._root
        scenery.enter()
        (root / "fs").mkdir()
        files = FileSystem(
            root / "fs",
            {
                "name": File(lambda: b"Xilinx ZynqMP FPGA Manager\n"),
                "state": File(lambda: self.fabric.state.encode() + b"\n"),
                "flags": File(lambda: f"{self.fabric.flags:x}\n".encode(), self._set_flags),
                "firmware": File(write=self._load),
                "eddy-dev-mem": File(bytes=MEM_BYTES),
            },
        )
        self._watch(files.fileno(), files.serve)
        (root / "overlays").mkdir()
        folders = FileSystem(root / "overlays", {}, self._overlays.make, self._overlays.remove)
        self._watch(folders.fileno(), folders.serve)
        self._master, slave = os.openpty()
        tty.setraw(slave)
        self._watch(self._master, self._on_uio)
        self._lay_over(os.ttyname(slave), board_name)
        for name, answer in (("accesses", self._on_access), ("calls", self._on_call)):
            server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            server.bind(str(root / f"{name}.sock"))
            server.listen()
            self._watch(server.fileno(), partial(self._accept, server, answer))

    def _lay_over(self, uio: str, board_name: str) -> None:
        stage, root = scenery.Scenery(self._root), self._root
        pynq = importlib.util.find_spec("pynq")
        assert pynq is not None
        assert pynq.origin is not None
        server = Path(pynq.origin).parent / "pl_server"
        shutil.copy(server / "default.xclbin", root / "default.xclbin")
        stage.own_copy(server)
        firmware = Path("/lib/firmware")
        if firmware.is_dir():
            scenery.empty(firmware)
        else:
            stage.lay_over(firmware.parent.resolve(), {"firmware": None})
        kept_uio = root / "kept" / "dev" / Path(uio).relative_to("/dev")
        stage.lay_over(Path("/dev"), {"mem": root / "fs" / "eddy-dev-mem", "uio0": kept_uio, "kmsg": ""})
        stage.lay_over(
            Path("/proc"),
            {
                "device-tree/chosen/pynq_board": board_name,
                "interrupts": f"           CPU0\n 47:  0  0  0  0  GICv2 {IRQ} Level  fabric\n",
                "sys/kernel/random/boot_id": f"{uuid.uuid4()}\n",
            },
        )
        scenery.empty(Path("/run"))
        stage.lay_over(Path("/sys/class"), {"uio/uio0/name": "fabric\n", "fpga_manager/fpga0": root / "fs"})
        stage.lay_over(Path("/sys/kernel"), {"config/device-tree/overlays": root / "overlays"})

    # The loop

    def serve(self) -> None:
        """Answer until the process that started this one lets go of standard input."""
        running = [True]
        self._watch(sys.stdin.fileno(), running.clear)
        board, before_s, most_s = self.fabric.board, time.monotonic(), _LEAST_S
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
        # XRT gives back the buffers of a process that ended.
        if self._buffers.pop(client, None) is not None and not self._buffers:
            self._next = self._cma

    # Registers and interrupts

    def _on_access(self, _: socket.socket, data: bytes) -> bytes:
        store, value, address = _REQUEST.unpack(data)
        try:
            if store:
                self.fabric.write(address, value)
                return _ANSWER.pack(0, 0)
            return _ANSWER.pack(0, self.fabric.read(address))
        except Unanswered as error:
            self._hung = str(error)
            return _ANSWER.pack(1, 0)

    def _on_uio(self) -> None:
        os.read(self._master, 64)
        self._uio_armed = True
        self._ring()

    def _ring(self) -> None:
        if self._uio_armed and not self._mute and self.fabric.design == "eddy" and self.fabric.board.irq:
            self._uio_armed = False
            self._uio_count += 1
            os.write(self._master, struct.pack("<I", self._uio_count))

    # sysfs

    def _set_flags(self, data: bytes) -> None:
        self.fabric.flags = int(data, 16)

    def _load(self, data: bytes) -> None:
        try:
            self.fabric.load(data.decode().strip())
        finally:
            self._write_log()

    def _write_log(self) -> None:
        lines = [f"6,{index},{index},-;{line}\n" for index, line in enumerate(self.fabric.log)]
        Path("/dev/kmsg").write_text("".join(lines))

    # XRT, and what tests ask

    def _on_call(self, client: socket.socket, data: bytes) -> bytes:
        call: dict[str, Any] = json.loads(data)
        try:
            value = getattr(self, f"_call_{call.pop('what')}")(client, **call)
        except (RuntimeError, OSError) as error:
            return json.dumps({"error": str(error)}).encode()
        return json.dumps({"value": value}).encode()

    def _call_open(self, _: socket.socket, index: int) -> None:
        if not self._xrt or index:
            raise RuntimeError(f"No such device {index}")

    def _call_xclbin(self, _: socket.socket, bytes: int) -> None:
        del bytes
        self._counts["xclbins"] += 1

    def _call_allocate(self, client: socket.socket, bytes: int) -> tuple[int, int]:
        address, size = self._next, -(-bytes // mmap.PAGESIZE) * mmap.PAGESIZE
        if address + size > self._cma_end:
            raise RuntimeError("Cannot allocate memory")
        self._next += size
        self._buffers[client] = self._buffers.get(client, 0) + size
        start = address - self._base
        self.fabric.memory[start : start + size] = 0
        self.fabric.board.flush(address, size)
        return address + self._shift, start

    _shift = 0

    def _call_sync(self, _: socket.socket, direction: int, address: int, bytes: int) -> None:
        self._counts["syncs"] += 1
        self._counts["bytes_synced"] += bytes
        way = self.fabric.board.invalidate if direction else self.fabric.board.flush
        way(address - self._shift, bytes)

    def _call_counts(self, _: socket.socket) -> dict[str, Any]:
        found = {"loads": self.fabric.loads, "port_given": self.fabric.port_given}
        return {**self._counts, **found, "hung": self._hung, "design": self.fabric.design}

    def _call_misload(self, _: socket.socket, slot: int, behaviour: str) -> None:
        fault = PORT_FAULTS.get(behaviour) or faults.rogue(faults.Behaviour(behaviour))
        self.fabric.faults[slot] = fault

    def _call_keep_port(self, _: socket.socket) -> None:
        self.fabric.keeps_port = True

    def _call_refuse(self, _: socket.socket, number: int) -> None:
        self.fabric.refusal = number

    def _call_without_xrt(self, _: socket.socket) -> None:
        self._xrt = False

    def _call_shift_memory(self, _: socket.socket, bytes: int) -> None:
        """Give out buffers at addresses beyond what the profile calls memory."""
        self._shift = bytes

    def _call_limit_memory(self, _: socket.socket, bytes: int) -> None:
        """Boot with so little contiguous memory."""
        self._cma_end = self._cma + bytes

    def _call_mute_interrupt(self, _: socket.socket, mute: bool) -> None:
        """Lose every interrupt of the fabric on its way to the processor."""
        self._mute = mute

    def _call_ring_in_vain(self, _: socket.socket, times: int) -> None:
        """Let the interrupt's file say that it came, without a cause."""
        for _number in range(times):
            self._uio_count += 1
            os.write(self._master, struct.pack("<I", self._uio_count))

    def _call_without_uio(self, _: socket.socket) -> None:
        """Boot a device tree without the node of the fabric's interrupt."""
        self._has_node = False
        self._name_uio()

    def _name_uio(self) -> None:
        has_node = self._has_node or self._overlays.has(b"fabric@")
        Path("/sys/class/uio/uio0/name").write_text("fabric\n" if has_node else "axi-pmon\n")

    def _call_without_symbols(self, _: socket.socket) -> None:
        """Boot a device tree whose labels are not known to overlays."""
        self._overlays.unresolved = True

    def _call_run_dfx_mgr(self, _: socket.socket, runs: bool) -> None:
        """Start, or end, AMD's daemon that loads designs; it is seen in the list of processes alone."""
        process = Path("/proc") / str(DFX_MGR_PID)
        if runs:
            process.mkdir()
            (process / "comm").write_text("dfx-mgrd\n")
        else:
            shutil.rmtree(process)

    def _call_load_foreign(self, _: socket.socket, name: str) -> None:
        self.fabric.load_foreign(name)
        self._write_log()

    def _call_cut_power(self, _: socket.socket) -> None:
        """Cut the power and boot again."""
        self.fabric.cut_power()
        scenery.BOOT_ID.write_text(f"{uuid.uuid4()}\n")
        self._write_log()


def main() -> None:
    """Serve; say on standard output when processes can be let in."""
    root, profile, board_name = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    machine = BoardMachine(root, profile)
    machine.prepare(board_name)
    print("ready", flush=True)
    machine.serve()


if __name__ == "__main__":
    main()
