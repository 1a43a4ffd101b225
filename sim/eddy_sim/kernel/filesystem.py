"""A small file system in user space (FUSE): the files of sysfs whose reads and writes the kernel answers by code.

A write to `firmware` loads a bitstream and comes back when that has ended, with an errno where it failed; a regular
file cannot do that. The same file system holds the faked `/dev/mem`: a file of a terabyte that has no bytes, so that an
access to a mapping of it raises SIGBUS (`cpp/mem_trap.cpp` does the rest).

Ref: Linux `include/uapi/linux/fuse.h`, protocol 7.31. One flat folder, no caching.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

_IN = struct.Struct("<IIQQIIII")
_OUT = struct.Struct("<IiQ")
_ATTR = struct.Struct("<6Q10I")
_ROOT = 1
_DIRECT_IO = 1
_BUFFER_BYTES = (1 << 17) + 4096
_NO_ANSWER = frozenset({2, 36, 42})
"""FORGET, INTERRUPT, BATCH_FORGET."""
_EMPTY = frozenset({18, 20, 25, 29, 34, 38})
"""RELEASE, FSYNC, FLUSH, RELEASEDIR, ACCESS, DESTROY: nothing to do."""


@dataclass(frozen=True)
class File:
    """A file whose contents are code.

    Attributes:
        read: What it says.
        write: Told what was written; what it raises (`OSError`) is what the writer gets.
        bytes: Its size where it can be mapped, and then it has no contents; 0 for an attribute of sysfs.
    """

    read: Callable[[], bytes] = lambda: b""
    write: Callable[[bytes], None] | None = None
    bytes: int = 0


class FileSystem:
    """A mounted folder.

    Args:
        folder: Where it is mounted.
        files: By name.

    Raises:
        OSError: The kernel does not let this user mount it.
    """

    def __init__(self, folder: Path, files: Mapping[str, File]) -> None:
        self._names = {_ROOT + 1 + index: name for index, name in enumerate(files)}
        self._nodes = {name: node for node, name in self._names.items()}
        self._files = files
        self._fd = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        mount("eddy", folder, "fuse", f"fd={self._fd},rootmode=40000,user_id=0,group_id=0,allow_other")
        self._answers: dict[int, Callable[[int, bytes], bytes]] = {
            1: self._lookup,
            3: lambda node, _: struct.pack("<QII", 0, 0, 0) + self._attributes(node),
            4: lambda node, _: struct.pack("<QII", 0, 0, 0) + self._attributes(node),
            14: self._open,
            15: self._read,
            16: self._write,
            17: lambda node, _: bytes(80),
            26: self._init,
            27: lambda node, _: struct.pack("<QII", 0, 0, 0),
            28: self._list,
        }

    def fileno(self) -> int:
        """The kernel's requests come from here."""
        return self._fd

    def serve(self) -> None:
        """Answer one request."""
        data = os.read(self._fd, _BUFFER_BYTES)
        _, code, unique, node, *_ = _IN.unpack_from(data)
        if code in _NO_ANSWER:
            return
        number, body = 0, b""
        try:
            if code in self._answers:
                body = self._answers[code](node, data[_IN.size :])
            elif code not in _EMPTY:
                number = errno.ENOSYS
        except OSError as error:
            number = error.errno or errno.EIO
        try:
            os.write(self._fd, _OUT.pack(_OUT.size + len(body), -number, unique) + body)
        except FileNotFoundError:
            return  # whoever asked was killed meanwhile

    def _init(self, _node: int, _data: bytes) -> bytes:
        return struct.pack("<4I2H2I2HI28x", 7, 31, 0, 0, 0, 0, 1 << 16, 1, 0, 0, 0)

    def _attributes(self, node: int) -> bytes:
        if node == _ROOT:
            size, mode = 0, 0o40755
        else:
            file = self._files[self._names[node]]
            size, mode = file.bytes or 4096, 0o100644
        return _ATTR.pack(node, size, 0, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)

    def _lookup(self, _node: int, data: bytes) -> bytes:
        name = data.rstrip(b"\0").decode()
        if name not in self._nodes:
            raise FileNotFoundError(errno.ENOENT, name)
        node = self._nodes[name]
        return struct.pack("<4Q2I", node, 0, 0, 0, 0, 0) + self._attributes(node)

    def _open(self, node: int, _data: bytes) -> bytes:
        mapped = self._files[self._names[node]].bytes
        return struct.pack("<QII", 0, 0 if mapped else _DIRECT_IO, 0)

    def _read(self, node: int, data: bytes) -> bytes:
        _, offset, size = struct.unpack_from("<QQI", data)
        file = self._files[self._names[node]]
        if file.bytes:
            raise OSError(errno.EIO, "no bytes")
        return file.read()[offset : offset + size]

    def _write(self, node: int, data: bytes) -> bytes:
        _, _, size = struct.unpack_from("<QQI", data)
        write = self._files[self._names[node]].write
        if write is None:
            raise PermissionError(errno.EACCES, "read only")
        write(data[40 : 40 + size])
        return struct.pack("<II", size, 0)

    def _list(self, _node: int, data: bytes) -> bytes:
        _, offset, _ = struct.unpack_from("<QQI", data)
        out = b""
        for index, (name, node) in enumerate(self._nodes.items()):
            if index >= offset:
                entry = struct.pack("<QQII", node, index + 1, len(name), 8) + name.encode()
                out += entry + bytes(-len(entry) % 8)
        return out


def mount(what: str, where: Path, kind: str = "", options: str = "", flags: int = 0) -> None:
    """The system call.

    Raises:
        OSError: Refused; says what was to be mounted where.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(what.encode(), str(where).encode(), kind.encode(), ctypes.c_ulong(flags), options.encode() or None):
        number = ctypes.get_errno()
        raise OSError(number, f"mounting {what} on {where}: {os.strerror(number)}")
