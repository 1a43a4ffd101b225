# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A small file system in user space (FUSE): the files of sysfs whose reads and writes the kernel answers by code.

A write to `firmware` loads a bitstream and comes back when that has ended, with an errno where it failed; a regular
file cannot do that. The same file system holds the faked `/dev/mem`: a file of a terabyte that has no bytes, so that an
access to a mapping of it raises SIGBUS (`cpp/mem_trap.cpp` does the rest).

Ref: Linux `include/uapi/linux/fuse.h`, protocol 7.31. No caching.
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
    """A mounted folder, of files and of folders that whoever uses it makes and removes.

    Args:
        folder: Where it is mounted.
        files: By name.
        made: What a folder of a name holds from the moment it is made; None where nobody may make one.
        removed: Told of the name of a folder that was removed, with all that is in it.

    Raises:
        OSError: The kernel does not let this user mount it.
    """

    def __init__(
        self,
        folder: Path,
        files: Mapping[str, File],
        made: Callable[[str], Mapping[str, File]] | None = None,
        removed: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._files, self._made, self._removed = dict(files), made, removed
        self._folders = {""}
        self._paths: dict[int, str] = {_ROOT: ""}
        self._nodes: dict[str, int] = {"": _ROOT}
        self._fd = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        mount("eddy", folder, "fuse", f"fd={self._fd},rootmode=40000,user_id=0,group_id=0,allow_other")
        self._answers: dict[int, Callable[[int, bytes], bytes]] = {
            1: self._lookup,
            3: lambda node, _: struct.pack("<QII", 0, 0, 0) + self._attributes(node),
            4: lambda node, _: struct.pack("<QII", 0, 0, 0) + self._attributes(node),
            9: self._make,
            11: self._remove,
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
        path = self._paths[node]
        if path in self._folders:
            size, mode = 0, 0o40755
        elif path in self._files:
            size, mode = self._files[path].bytes or 4096, 0o100644
        else:
            raise FileNotFoundError(errno.ENOENT, path)
        return _ATTR.pack(node, size, 0, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)

    def _lookup(self, node: int, data: bytes) -> bytes:
        return self._entry(self._below(node, data))

    def _below(self, node: int, name: bytes) -> str:
        return f"{self._paths[node]}/{name.rstrip(bytes(1)).decode()}".lstrip("/")

    def _entry(self, path: str) -> bytes:
        if path not in self._folders and path not in self._files:
            raise FileNotFoundError(errno.ENOENT, path)
        node = self._nodes.setdefault(path, len(self._nodes) + _ROOT)
        self._paths[node] = path
        return struct.pack("<4Q2I", node, 0, 0, 0, 0, 0) + self._attributes(node)

    def _make(self, node: int, data: bytes) -> bytes:
        path = self._below(node, data[8:])
        if self._made is None or node != _ROOT:
            raise PermissionError(errno.EPERM, path)
        self._folders.add(path)
        self._files |= {f"{path}/{name}": file for name, file in self._made(path).items()}
        return self._entry(path)

    def _remove(self, node: int, data: bytes) -> bytes:
        path = self._below(node, data)
        self._folders.remove(path)
        self._files = {name: file for name, file in self._files.items() if not name.startswith(f"{path}/")}
        self._removed(path)
        return b""

    def _open(self, node: int, _data: bytes) -> bytes:
        mapped = self._files[self._paths[node]].bytes
        return struct.pack("<QII", 0, 0 if mapped else _DIRECT_IO, 0)

    def _read(self, node: int, data: bytes) -> bytes:
        _, offset, size = struct.unpack_from("<QQI", data)
        file = self._files[self._paths[node]]
        if file.bytes:
            raise OSError(errno.EIO, "no bytes")
        return file.read()[offset : offset + size]

    def _write(self, node: int, data: bytes) -> bytes:
        _, _, size = struct.unpack_from("<QQI", data)
        write = self._files[self._paths[node]].write
        if write is None:
            raise PermissionError(errno.EACCES, "read only")
        write(data[40 : 40 + size])
        return struct.pack("<II", size, 0)

    def _list(self, node: int, data: bytes) -> bytes:
        _, offset, _ = struct.unpack_from("<QQI", data)
        out, folder = b"", self._paths[node]
        inside = sorted(path for path in {*self._files, *self._folders} - {""} if _parent(path) == folder)
        for index, path in enumerate(inside):
            if index >= offset:
                name, kind = path.rsplit("/", 1)[-1], 4 if path in self._folders else 8
                entry = struct.pack("<QQII", self._nodes.get(path, 2**31), index + 1, len(name), kind) + name.encode()
                out += entry + bytes(-len(entry) % 8)
        return out


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


def mount(what: str, where: Path, kind: str = "", options: str = "", flags: int = 0) -> None:
    """The system call.

    Raises:
        OSError: Refused; says what was to be mounted where.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(what.encode(), str(where).encode(), kind.encode(), ctypes.c_ulong(flags), options.encode() or None):
        number = ctypes.get_errno()
        raise OSError(number, f"mounting {what} on {where}: {os.strerror(number)}")
