# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""XRT as a faked kernel answers for it: one device, and buffers in contiguous memory that tests may limit or shift."""

from __future__ import annotations

import mmap
import socket
from collections.abc import Callable, Mapping
from typing import Any

from eddy_sim.kernel.fabric import KernelFabric

Calls = Mapping[str, Callable[..., Any]]
"""What can be asked for, by name: each is called with the connection that asks, and its arguments."""


class Xrt:
    """The device that `pyxrt` opens, and its buffers.

    Args:
        fabric: Its memory and caches are the board's.

    Attributes:
        counts: How often what was asked: `syncs`, `bytes_synced`, `xclbins`.
        calls: What `pyxrt` asks for, and what tests change of it.
    """

    def __init__(self, fabric: KernelFabric) -> None:
        self._fabric = fabric
        dram = fabric.profile.dram
        self._dram_base, self._begin = dram.base, fabric.profile.arena.base
        self._end, self._next = dram.base + dram.bytes, self._begin
        self._shift = 0
        self._there = True
        self._holders = set[socket.socket]()
        """Processes that have buffers."""
        self.counts = {"syncs": 0, "bytes_synced": 0, "xclbins": 0}
        self.calls: Calls = {
            "open": self._open,
            "xclbin": self._load_xclbin,
            "allocate": self._allocate,
            "sync": self._sync,
            "without_xrt": self._remove,
            "shift_memory": self._shift_memory,
            "limit_memory": self._limit_memory,
        }

    def release(self, client: socket.socket) -> None:
        """A process ended, and XRT gives its buffers back."""
        if client in self._holders:
            self._holders.discard(client)
            if not self._holders:
                self._next = self._begin

    def _open(self, _: socket.socket, index: int) -> None:
        if not self._there or index:
            raise RuntimeError(f"No such device {index}")

    def _load_xclbin(self, _: socket.socket, bytes: int) -> None:
        del bytes
        self.counts["xclbins"] += 1

    def _allocate(self, client: socket.socket, bytes: int) -> tuple[int, int]:
        """The address of a new buffer, as the fabric sees it, and its offset in memory."""
        address, size = self._next, -(-bytes // mmap.PAGESIZE) * mmap.PAGESIZE
        if address + size > self._end:
            raise RuntimeError("Cannot allocate memory")
        self._next += size
        self._holders.add(client)
        offset = address - self._dram_base
        self._fabric.memory[offset : offset + size] = 0
        self._fabric.board.flush(address, size)
        return address + self._shift, offset

    def _sync(self, _: socket.socket, direction: int, address: int, bytes: int) -> None:
        self.counts["syncs"] += 1
        self.counts["bytes_synced"] += bytes
        board = self._fabric.board
        (board.invalidate if direction else board.flush)(address - self._shift, bytes)

    def _remove(self, _: socket.socket) -> None:
        """Boot without XRT's device."""
        self._there = False

    def _shift_memory(self, _: socket.socket, bytes: int) -> None:
        """Give out buffers at addresses beyond what the profile calls memory."""
        self._shift = bytes

    def _limit_memory(self, _: socket.socket, bytes: int) -> None:
        """Boot with so little contiguous memory."""
        self._end = self._begin + bytes
