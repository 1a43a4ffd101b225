# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The helper's side of a Vortex host's device: a session whose memory is one buffer, which the library divides."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any

from eddy.gpu.programs.layout import LINE_BYTES, REGION_BASE
from eddy.opencl.session_port import Device, Session
from eddy.opencl.vortex.build import STARTUP_ADDRESS
from eddy.opencl.wire import Operation, Reader

OVERHEAD_BYTES = STARTUP_ADDRESS - REGION_BASE + (64 << 10)
"""Of a session's memory: what comes before images, and what starts need besides."""
_LETTERS, _LOCAL_MEMORY, _CACHES = "AIM", 1 << 36, 3 << 32


class VortexDevice:
    """An open device.

    Args:
        session: Its own.
        device: What there is to compute with.
        arena: Memory shared with the library.
    """

    def __init__(self, session: Session, device: Device, arena: memoryview) -> None:
        self._session, self._device, self._arena = session, device, arena
        size = device.session_bytes - OVERHEAD_BYTES
        self._memory = session.buffer(size, STARTUP_ADDRESS - REGION_BASE)
        self._started: Any = None
        self._calls: Mapping[Operation, Callable[[Reader], bytes]] = {
            Operation.DEVICE_WRITE: self._write,
            Operation.DEVICE_READ: self._read,
            Operation.DEVICE_FILL: self._fill,
            Operation.DEVICE_START: self._start,
            Operation.DEVICE_WAIT: self._wait,
        }
        shape, letters = device.shape, _LETTERS + ("F" if device.shape.fpu else "")
        isa = sum(1 << ord(letter) - ord("A") for letter in letters) | 1 << 30 | _LOCAL_MEMORY | _CACHES
        numbers = shape.threads, shape.warps, shape.cores, shape.local_bytes, LINE_BYTES
        self.description = struct.pack("<3Q5I", STARTUP_ADDRESS, size, isa, *numbers)
        """As the library reads it: first address, bytes, instruction set, lanes, warps, cores, and two sizes."""

    def call(self, operation: Operation, reader: Reader) -> bytes:
        """Do what the library asks, and wait for it.

        Raises:
            EddyError: It failed.
        """
        return self._calls[operation](reader)

    def _write(self, reader: Reader) -> bytes:
        at, size, block = reader.numbers("3Q")
        return self._ended(self._session.write(self._memory, self._arena[block : block + size], at))

    def _read(self, reader: Reader) -> bytes:
        at, size, block = reader.numbers("3Q")
        self._session.flush()
        self._arena[block : block + size] = self._session.read(self._memory, at, size).result()
        return b""

    def _fill(self, reader: Reader) -> bytes:
        at, size = reader.numbers("2Q")
        return self._ended(self._session.fill(self._memory, b"\0", at, size))

    def _start(self, reader: Reader) -> bytes:
        entry, argument, cores = reader.numbers("3Q")
        self._started = self._session.start(self._memory, entry, argument, self._device.module, cores)
        self._session.flush()
        return b""

    def _wait(self, reader: Reader) -> bytes:
        """One byte: whether what was started has ended."""
        if self._started is None:
            return b"\1"
        try:
            self._started.wait(reader.u64() / 1e3)
        except TimeoutError:
            return b"\0"
        ended, self._started = self._started, None
        return self._ended(ended) + b"\1"

    def _ended(self, event: Any) -> bytes:
        self._session.flush()
        event.wait()
        if event.error:
            raise RuntimeError(f"{event.error[0]}: {event.error[1]}")
        return b""

    def close(self) -> None:
        """Give its memory back."""
        self._session.close()
