# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A session's memory as a whole: what it holds when the board gives it, and how it lies in a file meanwhile.

A file holds the directory, then the bytes of each buffer in order of their offsets, as the directory has them; so the
directory says how long it is, and a file that was cut short is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from eddy.board.port.port import BoardEvent
from eddy.board.port.port import Launch as BoardLaunch
from eddy.core.applications import BufferSpec
from eddy.core.errors import NotFound
from eddy.hypervisor.jobs import messages as m
from eddy.hypervisor.jobs.buffers import Content, Pieces
from eddy.hypervisor.jobs.work import Fetch, JobMemory
from eddy.hypervisor.sessions.directory import DIRECTORY_BYTES, Found, read_directory
from eddy.hypervisor.sessions.launches import DIRECTORY
from eddy.hypervisor.sessions.moves import PIECE_BYTES
from eddy.hypervisor.sessions.session import Session


class KeptMemory(Protocol):
    """Where a session's memory is while it is not on the board."""

    def read_memory(self, session: int) -> bytes | None:
        """What was kept of a session's memory; None where nothing is."""


@dataclass(frozen=True, slots=True)
class Unpacked:
    """What a file holds."""

    directory: Found
    packed: bytes

    def pieces(self) -> Iterator[tuple[int, bytes]]:
        """Offset in the region and bytes of what its buffers hold."""
        at = DIRECTORY_BYTES
        for offset, size in sorted(self.directory.buffers.values()):
            for begin in range(0, size, PIECE_BYTES):
                end = min(begin + PIECE_BYTES, size)
                yield offset + begin, self.packed[at + begin : at + end]
            at += size


def pack_memory(session: Session) -> Iterator[bytes]:
    """What a session holds, for a file, piece by piece; nothing of it may change meanwhile."""
    yield session.directory.image()
    for at, size in session.spans():
        yield session.read_piece(at, size)


def unpack_memory(packed: bytes, region_bytes: int) -> Unpacked | None:
    """What a file holds; None where it is not what was written."""
    if len(packed) < DIRECTORY_BYTES:
        return None
    found = read_directory(lambda at, size: packed[at : at + size], region_bytes)
    if found is None or len(packed) != DIRECTORY_BYTES + sum(size for _, size in found.buffers.values()):
        return None
    return Unpacked(found, packed)


class SessionMemory:
    """A session as work of the engine: it has memory filled, and runs nothing; see `BoardWork`.

    Args:
        kept: Has what is to be put in.
    """

    def __init__(self, session: Session, kept: KeptMemory) -> None:
        self._session, self._kept = session, kept

    def contents(self, fetch: Fetch) -> Content:
        """What was in it when it was last on the board; zeros at first."""
        record = self._session.record
        packed = self._kept.read_memory(record.number)
        found = None if packed is None else unpack_memory(packed, record.options.memory_bytes)

        def content(spec: BufferSpec, _item: int) -> Pieces:
            if spec.name == DIRECTORY:
                return [(0, self._session.directory.image())]
            return [] if found is None else found.pieces()

        return content

    def launch(self, memory: JobMemory, launch: m.LaunchItem) -> BoardLaunch:
        """None: its launches are jobs of their own."""
        raise NotFound("a session runs nothing by itself", field="job")

    def outputs(self, memory: JobMemory, item: int) -> Iterable[tuple[str, bytes]]:
        """Nothing."""
        return ()

    def log(self, memory: JobMemory) -> bytes:
        """Nothing."""
        return b""

    def explain(self, event: BoardEvent, module: str) -> str:
        """Nothing."""
        return ""
