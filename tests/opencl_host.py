# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The helper of the OpenCL platform over sessions in its own process, on the model of the instruction set: what a host
does with the platform, without a server. `EDDY_OPENCL_HELPER=opencl_host` has the library start it."""

from __future__ import annotations

import dataclasses
import os
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from eddy.core.errors import EddyError
from eddy.gpu.compilation.build import build
from eddy.gpu.compilation.compiler import Compiler
from eddy.gpu.launches.launch import ImageArgument, Local, launch
from eddy.gpu.programs.image import KINDS
from eddy.gpu.programs.layout import REGION_BASE
from eddy.gpu.programs.program import Program
from eddy.gpu.programs.shape import ClusterShape
from eddy.gpu.programs.signature import Argument
from eddy.opencl.helper import serve
from eddy.opencl.session_port import BufferPart, Device, ImageView, LocalBytes
from eddy.opencl.vortex.build import STARTUP_ADDRESS
from eddy_sim.gpu.executors import IsaExecutor

CACHE = Path(__file__).resolve().parents[1] / "build" / "kernels"
MEMORY_BYTES, BUFFER_BYTES = 256 << 20, 128 << 20


@dataclass
class LocalBuffer:
    """Bytes; none once released."""

    size_bytes: int
    data: bytearray = field(default_factory=bytearray)

    def __post_init__(self) -> None:
        self.data = bytearray(self.size_bytes)

    def release(self) -> None:
        self.data = bytearray()


@dataclass
class Ended:
    """A command that was done at once."""

    profile: tuple[int, int, int, int]
    data: bytes = b""
    log: str = ""
    error: tuple[str, str] | None = None

    def wait(self, timeout_s: float | None = None) -> None:
        pass

    def result(self) -> bytes:
        return self.data


@dataclass(frozen=True)
class LocalKernel:
    program: Program
    name: str


@dataclass(frozen=True)
class LocalProgram:
    made: Program

    @property
    def kernels(self) -> Mapping[str, Any]:
        return self.made.kernels

    @property
    def build_log(self) -> str:
        return self.made.warnings

    @property
    def local_bytes(self) -> int:
        return self.made.local_bytes

    def kernel(self, name: str) -> LocalKernel:
        return LocalKernel(self.made, name)


class LocalSession:
    """A session whose commands are done as they are given."""

    def __init__(self, executor: IsaExecutor, compiler: Compiler) -> None:
        self._executor, self._compiler, self._now_ns = executor, compiler, 1000

    def _ended(self, data: bytes = b"", log: str = "", error: tuple[str, str] | None = None) -> Ended:
        begin = self._now_ns
        self._now_ns += 1000
        return Ended((begin, begin + 100, begin + 200, begin + 900), data, log, error)

    def buffer(self, size_bytes: int, at: int | None = None) -> LocalBuffer:
        return LocalBuffer(size_bytes)

    def write(self, buffer: LocalBuffer, data: Any, offset: int = 0, after: Sequence[Any] = ()) -> Ended:
        buffer.data[offset : offset + len(data)] = data
        return self._ended()

    def read(
        self, buffer: LocalBuffer, offset: int = 0, size_bytes: int | None = None, after: Sequence[Any] = ()
    ) -> Ended:
        end = len(buffer.data) if size_bytes is None else offset + size_bytes
        return self._ended(bytes(buffer.data[offset:end]))

    def copy(
        self,
        source: LocalBuffer,
        target: LocalBuffer,
        source_offset: int = 0,
        target_offset: int = 0,
        size_bytes: int | None = None,
        after: Sequence[Any] = (),
    ) -> Ended:
        size = source.size_bytes - source_offset if size_bytes is None else size_bytes
        target.data[target_offset : target_offset + size] = source.data[source_offset : source_offset + size]
        return self._ended()

    def fill(
        self,
        buffer: LocalBuffer,
        pattern: bytes,
        offset: int = 0,
        size_bytes: int | None = None,
        after: Sequence[Any] = (),
    ) -> Ended:
        size = buffer.size_bytes - offset if size_bytes is None else size_bytes
        buffer.data[offset : offset + size] = pattern * (size // len(pattern))
        return self._ended()

    def write_box(
        self,
        buffer: LocalBuffer,
        data: Any,
        shape: Sequence[int],
        pitch: Sequence[int],
        offset: int = 0,
        after: Sequence[Any] = (),
    ) -> Ended:
        for place, at in enumerate(_rows(shape, pitch, offset)):
            buffer.data[at : at + shape[0]] = data[place * shape[0] : (place + 1) * shape[0]]
        return self._ended()

    def read_box(
        self,
        buffer: LocalBuffer,
        shape: Sequence[int],
        pitch: Sequence[int],
        offset: int = 0,
        after: Sequence[Any] = (),
    ) -> Ended:
        return self._ended(b"".join(bytes(buffer.data[at : at + shape[0]]) for at in _rows(shape, pitch, offset)))

    def copy_box(
        self,
        source: LocalBuffer,
        target: LocalBuffer,
        shape: Sequence[int],
        source_pitch: Sequence[int],
        target_pitch: Sequence[int],
        source_offset: int = 0,
        target_offset: int = 0,
        after: Sequence[Any] = (),
    ) -> Ended:
        data = self.read_box(source, shape, source_pitch, source_offset).result()
        return self.write_box(target, data, shape, target_pitch, target_offset)

    def fill_box(
        self,
        buffer: LocalBuffer,
        pattern: bytes,
        shape: Sequence[int],
        pitch: Sequence[int],
        offset: int = 0,
        after: Sequence[Any] = (),
    ) -> Ended:
        data = pattern * (shape[0] * shape[1] * shape[2] // len(pattern))
        return self.write_box(buffer, data, shape, pitch, offset)

    def program(self, source: str, options: str = "", headers: Mapping[str, str] | None = None) -> LocalProgram:
        fpu = self._executor.shape.fpu
        return LocalProgram(build(self._compiler, source, fpu=fpu, options=options, includes=headers or {}))

    def launch(
        self,
        kernel: LocalKernel,
        global_size: Sequence[int],
        arguments: Sequence[Any],
        local_size: Sequence[int] | None = None,
        global_offset: Sequence[int] | None = None,
        after: Sequence[Any] = (),
    ) -> Ended:
        signature = kernel.program.kernel(kernel.name).arguments
        views: dict[object, Any] = {}
        values = [_value(*pair, views) for pair in zip(signature, arguments, strict=True)]
        try:
            done = launch(
                self._executor,
                kernel.program,
                kernel.name,
                global_size,
                values,
                local_size=local_size,
                offset=global_offset,
            )
        except EddyError as error:
            return self._ended(error=(error.code, error.message))
        return self._ended(log=done.log)

    def start(self, memory: LocalBuffer, entry: int, argument: int, module: str, cores: int) -> Ended:
        """One core is all of them, one after the other; the memory begins where images do."""
        begin = STARTUP_ADDRESS - REGION_BASE
        words = begin + len(memory.data)
        region = bytearray(begin) + memory.data + struct.pack("<4I", STARTUP_ADDRESS + argument, 0, cores, cores)
        shape = dataclasses.replace(self._executor.shape, cores=1)
        done = IsaExecutor(shape).execute(region, STARTUP_ADDRESS + entry, REGION_BASE + words, 100_000_000)
        memory.data[:] = region[begin:words]
        return self._ended(error=(done.faults[0].cause, "a core was stopped") if done.faults else None)

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass


def _value(argument: Argument, given: Any, views: dict[object, Any]) -> Any:
    """An argument as `launch` takes it: arrays lie in the buffers themselves, one for each part of a buffer."""
    if isinstance(given, LocalBytes):
        return Local(given.bytes)
    if isinstance(given, ImageView):
        count = int(np.prod(given.shape))
        array = np.frombuffer(given.buffer.data, KINDS[given.kind][1], count, given.offset)
        return ImageArgument(array.reshape(given.shape), given.order, given.kind)
    if isinstance(given, BufferPart):
        dtype_name = argument.element or "u1"
        count = given.size_bytes // np.dtype(dtype_name).itemsize
        key = (id(given.buffer), given.offset, dtype_name, count)
        if key not in views:
            views[key] = np.frombuffer(given.buffer.data, dtype_name, count, given.offset)
        return views[key]
    if given is None or argument.is_structure:
        return given
    return tuple(np.frombuffer(given, argument.element, argument.count).tolist())


def _rows(shape: Sequence[int], pitch: Sequence[int], offset: int) -> list[int]:
    """Where the rows of a box begin."""
    return [offset + z * pitch[1] + y * pitch[0] for z in range(shape[2]) for y in range(shape[1])]


class LocalSessions:
    """Sessions on one cluster of the model."""

    def __init__(self) -> None:
        cores, warps, threads = map(int, os.environ.get("EDDY_TEST_CLUSTER", "2,4,4").split(","))
        self._executor, self._compiler = IsaExecutor(ClusterShape(cores, warps, threads)), Compiler(CACHE)

    def device(self) -> Device:
        shape = self._executor.shape
        known = f"Eddy {shape.name} (model)", shape, 1, MEMORY_BYTES, BUFFER_BYTES, 100_000_000, "test"
        return Device(*known, module="model", session_bytes=4 << 20)

    def open(self) -> LocalSession:
        return LocalSession(self._executor, self._compiler)


if __name__ == "__main__":
    serve(LocalSessions())
