# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What XRT's Python module offers, as far as stock PYNQ uses it: a device, buffers, and their caches.

It also installs what a process cannot have from outside: the handler of accesses to the faked `/dev/mem`. PYNQ imports
this module before it maps anything.
"""

from __future__ import annotations

import ctypes
import enum
import json
import mmap
import os
import socket
from pathlib import Path
from typing import Any

_ROOT = Path(os.environ["EDDY_FAKE_KERNEL"])


def _connect(name: str, kind: int) -> socket.socket:
    found = socket.socket(socket.AF_UNIX, kind)
    found.connect(str(_ROOT / name))
    return found


_calls = _connect("calls.sock", socket.SOCK_SEQPACKET)
_accesses = _connect("accesses.sock", socket.SOCK_SEQPACKET)
_refused = ctypes.CDLL(str(_ROOT / "mem_trap.so")).eddy_trap_install(_accesses.fileno())
if _refused:
    raise OSError(_refused, "the handler of accesses to /dev/mem cannot be installed")


def _call(what: str, **arguments: Any) -> Any:
    _calls.send(json.dumps({"what": what, **arguments}).encode())
    answer = json.loads(_calls.recv(1 << 16))
    if "error" in answer:
        raise RuntimeError(answer["error"])
    return answer["value"]


xrt_info_device = enum.Enum(
    "xrt_info_device",
    "bdf dynamic_regions electrical host m2m max_clock_frequency_mhz mechanical memory name pcie_info thermal vmr",
)


class xclBOSyncDirection(enum.Enum):
    """Which way a buffer is brought in step."""

    XCL_BO_SYNC_BO_TO_DEVICE = 0
    XCL_BO_SYNC_BO_FROM_DEVICE = 1


class device:
    """A device.

    Raises:
        RuntimeError: The machine has no zocl driver.
    """

    def __init__(self, index: int) -> None:
        _call("open", index=index)

    def get_info(self, what: xrt_info_device) -> str:
        """Something about it."""
        return "edge" if what is xrt_info_device.name else ""

    def load_xclbin(self, path: str) -> str:
        """Take the memories of a design."""
        _call("xclbin", bytes=Path(path).stat().st_size)
        return "uuid"


class bo:
    """A buffer in memory that the kernel keeps in one piece (CMA)."""

    class flags(enum.Enum):
        """How it is mapped."""

        normal = 0
        cacheable = 1

    def __init__(self, handle: device, size: int, flags: flags, bank: int) -> None:
        del handle, flags, bank
        self._bytes = size
        self._address, offset = _call("allocate", bytes=size)
        with (_ROOT / "memory").open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), size, offset=offset)

    def size(self) -> int:
        """Bytes."""
        return self._bytes

    def address(self) -> int:
        """Physical address."""
        return int(self._address)

    def map(self) -> memoryview:
        """Its bytes."""
        return memoryview(self._map)

    def sync(self, direction: xclBOSyncDirection, size: int | None = None, offset: int = 0) -> None:
        """Write back or drop the processor's cache lines of a range; all of it where none is given."""
        size = self._bytes if size is None else size
        _call("sync", direction=direction.value, address=self._address + offset, bytes=size)
