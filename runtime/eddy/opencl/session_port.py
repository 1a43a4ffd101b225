# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the platform needs of a session: the client's, or another that does the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from eddy.gpu.programs.shape import ClusterShape


@dataclass(frozen=True, slots=True)
class Device:
    """What there is to compute with.

    Attributes:
        name: As hosts show it.
        shape: Of a cluster.
        clusters: How many clusters work on one launch.
        memory_bytes: What a context's buffers may have together.
        buffer_bytes: What one buffer may have.
        clock_hz: Of the cores.
        version: The platform's.
        images: Whether kernels take images.
        module: Of the clusters.
        session_bytes: Memory of a session.
    """

    name: str
    shape: ClusterShape
    clusters: int
    memory_bytes: int
    buffer_bytes: int
    clock_hz: int
    version: str
    images: bool = True
    module: str = ""
    session_bytes: int = 0


@dataclass(frozen=True, slots=True)
class BufferPart:
    """A part of a buffer as an argument.

    Attributes:
        buffer: The session's.
        offset: Bytes before it.
        size_bytes: Its size.
    """

    buffer: Any
    offset: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class ImageView:
    """A buffer's texels as an argument.

    Attributes:
        buffer: The session's.
        offset: Bytes before them.
        shape: (width, channels) to (depth, height, width, channels); layers of an array come first.
        order: Channel order, of `eddy.gpu.programs.image.ORDERS`.
        kind: Channel type, of `eddy.gpu.programs.image.KINDS`.
    """

    buffer: Any
    offset: int
    shape: tuple[int, ...]
    order: str
    kind: str


@dataclass(frozen=True, slots=True)
class LocalBytes:
    """Local memory of each work-group as an argument."""

    bytes: int


class CommandEvent(Protocol):
    """A command under way."""

    @property
    def error(self) -> tuple[str, str] | None:
        """Code and message of what failed; None of what did not."""

    @property
    def profile(self) -> tuple[int, int, int, int]:
        """Nanoseconds of board time: queued, submitted, started, ended."""

    @property
    def log(self) -> str:
        """What a kernel printed."""

    def wait(self, timeout_s: float | None = None) -> None:
        """Return once it has ended, well or not.

        Raises:
            TimeoutError: It has not in so many wall seconds.
        """

    def result(self) -> bytes:
        """What was read."""


class Session(Protocol):
    """Memory on a board, and commands on it."""

    def buffer(self, size_bytes: int, at: int | None = None) -> Any:
        """A new buffer, at an offset of the session's memory where one is named, to be given up by its `release`."""

    def write(self, buffer: Any, data: Any, offset: int = 0, after: Sequence[Any] = ()) -> CommandEvent:
        """Bytes to a buffer."""

    def read(
        self, buffer: Any, offset: int = 0, size_bytes: int | None = None, after: Sequence[Any] = ()
    ) -> CommandEvent:
        """Bytes of a buffer."""

    def copy(
        self,
        source: Any,
        target: Any,
        source_offset: int = 0,
        target_offset: int = 0,
        size_bytes: int | None = None,
        after: Sequence[Any] = (),
    ) -> CommandEvent:
        """Bytes from buffer to buffer."""

    def fill(
        self, buffer: Any, pattern: bytes, offset: int = 0, size_bytes: int | None = None, after: Sequence[Any] = ()
    ) -> CommandEvent:
        """A pattern over and over."""

    def write_box(
        self,
        buffer: Any,
        data: Any,
        shape: Sequence[int],
        pitch: Sequence[int],
        offset: int = 0,
        after: Sequence[Any] = (),
    ) -> CommandEvent:
        """Bytes to rows and layers of a buffer: bytes of a row, rows, layers; from row to row, from layer to layer."""

    def read_box(
        self, buffer: Any, shape: Sequence[int], pitch: Sequence[int], offset: int = 0, after: Sequence[Any] = ()
    ) -> CommandEvent:
        """Bytes of rows and layers, end to end."""

    def copy_box(
        self,
        source: Any,
        target: Any,
        shape: Sequence[int],
        source_pitch: Sequence[int],
        target_pitch: Sequence[int],
        source_offset: int = 0,
        target_offset: int = 0,
        after: Sequence[Any] = (),
    ) -> CommandEvent:
        """Rows and layers of one buffer to those of another."""

    def fill_box(
        self,
        buffer: Any,
        pattern: bytes,
        shape: Sequence[int],
        pitch: Sequence[int],
        offset: int = 0,
        after: Sequence[Any] = (),
    ) -> CommandEvent:
        """A pattern over and over in rows and layers."""

    def program(self, source: str, options: str = "", headers: Mapping[str, str] | None = None) -> Any:
        """A program, compiled: `kernels` by name (`eddy.gpu.programs.signature.Kernel`), `build_log`, `local_bytes`."""

    def launch(
        self,
        kernel: Any,
        global_size: Sequence[int],
        arguments: Sequence[Any],
        local_size: Sequence[int] | None = None,
        global_offset: Sequence[int] | None = None,
        after: Sequence[Any] = (),
    ) -> CommandEvent:
        """A kernel over an ND-range; arguments as the classes here, bytes, or None."""

    def start(self, memory: Any, entry: int, argument: int, module: str, cores: int) -> CommandEvent:
        """An image in a buffer on so many cores of a kind of cluster: offsets of its first instruction and of what it
        is told."""

    def flush(self) -> None:
        """Send what waits to be sent."""

    def close(self) -> None:
        """End it and its buffers."""


class SessionSource(Protocol):
    """Where sessions come from."""

    def device(self) -> Device:
        """What there is to compute with."""

    def open(self) -> Session:
        """A session of its own for a context."""
