# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Commands of a session as values, and how they travel: a batch is a line of JSON and the bytes that writes bring.

::

    {"n": 7, "do": "create", "buffer": 3, "bytes": 4096, "at": 262144}  {"n": 8, "do": "release", "buffer": 3}
    {"n": 9, "do": "write", "buffer": 3, "offset": 0, "bytes": 16}  {"n": 10, "do": "read", ...the same...}
    {"n": 11, "do": "copy", "source": 3, "target": 4, "source_offset": 0, "target_offset": 64, "bytes": 16}
    {"n": 12, "do": "fill", "buffer": 3, "offset": 0, "bytes": 64, "pattern": "AAAAAA=="}
    {"n": 13, "do": "launch", "program": "<id>", "kernel": "saxpy", "global": [1024], "local": null, "offset": null,
     "arguments": [{"buffer": 3, "offset": 0}, {"value": 2.5}, {"bytes": "AACAPw=="}, {"local": 64}, {"null": true},
                   {"buffer": 4, "shape": [64, 64, 4], "image": ["rgba", "unorm_int8"]}]}
    {"n": 14, "do": "start", "buffer": 3, "offset": 0, "argument": {"buffer": 4, "offset": 64}, "module": "gpu_2c4w4t",
     "cores": 2}
    {"n": 15, "do": "marker"}   {"n": 16, "do": "barrier"}

Each may have `after`: numbers of commands that must have succeeded first. Numbers are the client's and count up by one,
so a batch that is sent twice is done once. A `read`, `write`, `copy` or `fill` of a box has `shape` (bytes of a row,
rows, slices) and `pitch` (bytes from row to row, and from slice to slice) instead of `bytes`.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeGuard

from eddy.core.errors import InvalidRequest
from eddy.core.sessions import MAX_AFTER
from eddy.core.units import format_bytes
from eddy.gpu.launches.request import MAX_ARGUMENTS, MAX_RECORD_BYTES
from eddy.gpu.programs.image import Texels
from eddy.gpu.programs.ndrange import Local

MAX_COMMANDS = 512
"""Commands of one batch."""
MAX_NUMBER = (1 << 40) - 1
MAX_PATTERN = 128
_PROGRAM = re.compile(r"[0-9a-f]{32}\Z")
_NAME = re.compile(r"[A-Za-z_]\w{0,127}\Z")
MAX_CORES = 64
"""Cores that a started image may think it has."""


@dataclass(frozen=True, slots=True)
class Box:
    """Bytes of a buffer: a range, or rows and slices of one.

    Attributes:
        shape: Bytes of a row, rows, slices.
        pitch: Bytes from row to row, and from slice to slice.
    """

    buffer: int
    offset: int
    shape: tuple[int, int, int]
    pitch: tuple[int, int] = (0, 0)

    @property
    def bytes(self) -> int:
        """How many they are."""
        return math.prod(self.shape)

    @property
    def end(self) -> int:
        """One past the last byte's offset."""
        row, rows, slices = self.shape
        return self.offset + (slices - 1) * self.pitch[1] + (rows - 1) * self.pitch[0] + row

    def spans(self) -> Iterator[tuple[int, int]]:
        """Offset and size of each run of bytes that lie one after the other."""
        row, rows, slices = self.shape
        if rows > 1 and self.pitch[0] == row:
            row, rows = row * rows, 1
        for plane in range(slices):
            for line in range(rows):
                yield self.offset + plane * self.pitch[1] + line * self.pitch[0], row


@dataclass(frozen=True, slots=True)
class Create:
    """A buffer, named by the client.

    Attributes:
        at: Where it begins in the session's memory, which is at `REGION_BASE` for kernels; None for anywhere.
    """

    buffer: int
    bytes: int
    at: int | None = None


@dataclass(frozen=True, slots=True)
class Release:
    """A buffer is not used any more; its name is never used again."""

    buffer: int


@dataclass(frozen=True, slots=True)
class Write:
    """Bytes come into a buffer."""

    box: Box
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Read:
    """Bytes go out."""

    box: Box


@dataclass(frozen=True, slots=True)
class Copy:
    """From buffer to buffer, or within one."""

    source: Box
    target: Box


@dataclass(frozen=True, slots=True)
class Fill:
    """A pattern, over and over."""

    box: Box
    pattern: bytes


@dataclass(frozen=True, slots=True)
class BufferArgument:
    """A buffer, from an offset on, as a kernel's argument.

    Attributes:
        texels: How it is an image; None where it is none.
    """

    buffer: int
    offset: int = 0
    texels: Texels | None = None


LaunchArgument = BufferArgument | Local | bytes | float | int | tuple[float, ...] | None


@dataclass(frozen=True, slots=True)
class LaunchCommand:
    """A kernel over an ND-range."""

    program: str
    kernel: str
    global_size: tuple[int, ...]
    local_size: tuple[int, ...] | None
    offset: tuple[int, ...] | None
    arguments: tuple[LaunchArgument, ...]


@dataclass(frozen=True, slots=True)
class StartCommand:
    """Machine code that lies in a buffer, run as it is.

    Attributes:
        argument: The address it is given.
        module: The kind of cluster it was built for.
        cores: How many cores it is to think there are; as many as are free run it.
    """

    buffer: int
    offset: int
    argument: BufferArgument
    module: str
    cores: int


@dataclass(frozen=True, slots=True)
class Marker:
    """Ends once those before it have; a `barrier` is begun by nothing after it before."""

    barrier: bool


@dataclass(frozen=True, slots=True)
class Refused:
    """What is no command: it fails, and the others of its batch are not concerned."""

    message: str


Body = Refused | Create | Release | Write | Read | Copy | Fill | LaunchCommand | StartCommand | Marker


@dataclass(frozen=True, slots=True)
class Command:
    """A command of a session.

    Attributes:
        after: Commands that must have succeeded.
    """

    number: int
    body: Body
    after: tuple[int, ...] = ()

    @property
    def buffers(self) -> tuple[int, ...]:
        """Buffers it names, each once."""
        body = self.body
        if isinstance(body, (Create, Release)):
            return (body.buffer,)
        if isinstance(body, Copy):
            return tuple({body.source.buffer, body.target.buffer})
        if isinstance(body, LaunchCommand):
            return tuple({each.buffer for each in body.arguments if isinstance(each, BufferArgument)})
        if isinstance(body, StartCommand):
            return tuple({body.buffer, body.argument.buffer})
        return () if isinstance(body, (Marker, Refused)) else (body.box.buffer,)


def parse_commands(raw: object, payload: bytes) -> tuple[Command, ...]:
    """The commands of a batch.

    Args:
        raw: As JSON has them.
        payload: The bytes of its writes, one after the other.

    Raises:
        InvalidRequest: A command has no number, or what writes bring cannot be told apart; nothing of the batch counts.
    """
    if not isinstance(raw, list) or len(raw) > MAX_COMMANDS:
        raise InvalidRequest(f"A batch is a list of at most {MAX_COMMANDS} commands.", field="commands")
    at, found, brought = 0, [], memoryview(payload)
    for place, each in enumerate(raw):
        try:
            command = _Reader(each).command(brought[at:])
        except InvalidRequest as error:
            name = f"commands[{place}].{error.details.get('field', '')}".rstrip(".")
            raise InvalidRequest(f"Command {place} of the batch: {error.message}", field=name) from None
        at += command.body.box.bytes if isinstance(command.body, Write) else _left_out(each, command.body)
        found.append(command)
    if at != len(payload):
        raise InvalidRequest(
            f"Writes of the batch take {format_bytes(at)}; {len(payload)} came with it.", field="commands"
        )
    return tuple(found)


def _left_out(raw: object, body: Body) -> int:
    """Bytes that came for a write that is none."""
    if not isinstance(body, Refused) or not isinstance(raw, dict) or raw.get("do") != "write":
        return 0
    if not _is_whole(raw.get("bytes"), 0, 1 << 30):
        raise InvalidRequest(f"A write says how many bytes it brings. {body.message}", field="commands")
    return int(raw["bytes"])


class _Reader:
    """Reads one command strictly.

    Args:
        raw: As JSON has it.
    """

    def __init__(self, raw: object) -> None:
        if not isinstance(raw, dict):
            raise InvalidRequest("It is no object.")
        self._raw: Mapping[str, Any] = raw

    def command(self, payload: memoryview) -> Command:
        """The command; what it brings are the first bytes of the payload."""
        number = self._whole("n", 1, MAX_NUMBER)
        after = self._raw.get("after") or []
        fits = isinstance(after, list) and len(after) <= MAX_AFTER
        if not fits or not all(_is_whole(n, 1, number - 1) for n in after):
            raise _wrong("after", f"at most {MAX_AFTER} numbers of earlier commands")
        try:
            make = self._KINDS.get(str(self._raw.get("do")))
            if make is None:
                raise _wrong("do", f"one of {', '.join(self._KINDS)}")
            body = make(self, payload)
        except InvalidRequest as error:
            body = Refused(error.message)
        return Command(number, body, tuple(after))

    def _create(self, _: memoryview) -> Body:
        at = None if self._raw.get("at") is None else self._whole("at", 0, 1 << 30)
        return Create(self._whole("buffer", 1), self._whole("bytes", 1, 1 << 30), at)

    def _release(self, _: memoryview) -> Body:
        return Release(self._whole("buffer", 1))

    def _write(self, payload: memoryview) -> Body:
        box = self._box()
        if len(payload) < box.bytes:
            raise _wrong("bytes", f"no more than came with the batch, {len(payload)}")
        return Write(box, bytes(payload[: box.bytes]))

    def _read(self, _: memoryview) -> Body:
        return Read(self._box())

    def _copy(self, _: memoryview) -> Body:
        return Copy(self._box("source", "source_"), self._box("target", "target_"))

    def _fill(self, _: memoryview) -> Body:
        box, pattern = self._box(), _decoded("pattern", self._raw.get("pattern"))
        if not 1 <= len(pattern) <= MAX_PATTERN or box.bytes % len(pattern):
            raise _wrong("pattern", f"1 to {format_bytes(MAX_PATTERN)} in base 64, of which `bytes` is a multiple")
        return Fill(box, pattern)

    def _launch(self, _: memoryview) -> Body:
        program, kernel = str(self._raw.get("program")), str(self._raw.get("kernel"))
        if not _PROGRAM.match(program):
            raise _wrong("program", "the id of a program")
        if not _NAME.match(kernel):
            raise _wrong("kernel", "the name of a kernel")
        arguments = self._raw.get("arguments", [])
        if not isinstance(arguments, list) or len(arguments) > MAX_ARGUMENTS:
            raise _wrong("arguments", f"at most {MAX_ARGUMENTS} arguments")
        sizes = self._sizes("global", required=True), self._sizes("local"), self._sizes("offset")
        assert sizes[0] is not None
        return LaunchCommand(program, kernel, *sizes, tuple(_argument(each, n) for n, each in enumerate(arguments)))

    def _start(self, _: memoryview) -> Body:
        argument = _argument(self._raw.get("argument"), 0)
        if not isinstance(argument, BufferArgument) or argument.texels is not None:
            raise _wrong("argument", "a buffer with its offset")
        module = self._raw.get("module")
        if not isinstance(module, str) or not _NAME.match(module):
            raise _wrong("module", "the kind of cluster that the image is for")
        offset = self._whole("offset", 0, 1 << 30, 0)
        return StartCommand(self._whole("buffer", 1), offset, argument, module, self._whole("cores", 1, MAX_CORES))

    def _marker(self, _: memoryview) -> Body:
        return Marker(barrier=False)

    def _barrier(self, _: memoryview) -> Body:
        return Marker(barrier=True)

    _KINDS: ClassVar[Mapping[str, Callable[[_Reader, memoryview], Body]]] = {
        **{"create": _create, "release": _release, "write": _write, "read": _read, "copy": _copy, "fill": _fill},
        **{"launch": _launch, "start": _start, "marker": _marker, "barrier": _barrier},
    }

    def _box(self, buffer: str = "buffer", prefix: str = "") -> Box:
        offset, which = self._whole(f"{prefix}offset", 0, 1 << 30, 0), self._whole(buffer, 1)
        shape = self._raw.get("shape")
        if shape is None:
            size = self._whole("bytes", 0, 1 << 30)
            return Box(which, offset, (size, 1, 1), (size, size))
        pitch = self._raw.get(f"{prefix}pitch")
        if not _is_sizes(shape, 3) or math.prod(shape) > 1 << 30:
            raise _wrong("shape", "bytes of a row, rows and slices, 1 GiB together at most")
        if not _is_sizes(pitch, 2) or pitch[0] < shape[0] or pitch[1] < pitch[0] * (shape[1] - 1) + shape[0]:
            raise _wrong(f"{prefix}pitch", "bytes from row to row and from slice to slice, without overlap")
        return Box(which, offset, (shape[0], shape[1], shape[2]), (pitch[0], pitch[1]))

    def _sizes(self, name: str, required: bool = False) -> Any:
        sizes = self._raw.get(name)
        if sizes is None and not required:
            return None
        if not isinstance(sizes, list) or not 1 <= len(sizes) <= 3 or not all(_is_whole(n, 0) for n in sizes):
            raise _wrong(name, "1 to 3 whole numbers")
        return tuple(sizes)

    def _whole(self, name: str, least: int, most: int = (1 << 32) - 1, default: int | None = None) -> int:
        value = self._raw.get(name, default)
        if not _is_whole(value, least, most):
            raise _wrong(name, f"a whole number from {least} to {most}")
        assert isinstance(value, int)
        return value


def _argument(raw: object, place: int) -> LaunchArgument:
    """An argument of a launch, from JSON."""
    name = f"arguments[{place}]"
    if isinstance(raw, dict):
        if "buffer" in raw and _is_whole(raw["buffer"], 1) and _is_whole(raw.get("offset", 0), 0):
            return BufferArgument(raw["buffer"], raw.get("offset", 0), _texels(raw, name))
        if "value" in raw and _are_numbers(raw["value"]):
            value = raw["value"]
            return tuple(value) if isinstance(value, list) else value
        if "bytes" in raw:
            data = _decoded(name, raw["bytes"])
            if len(data) <= MAX_RECORD_BYTES:
                return data
        if "local" in raw and _is_whole(raw["local"], 1):
            return Local(raw["local"])
        if raw.get("null") is True:
            return None
    raise _wrong(name, "a buffer with its offset, a value, bytes in base 64, bytes of local memory, or null")


def _texels(raw: Mapping[str, Any], name: str) -> Texels | None:
    """How a buffer is an image."""
    if "image" not in raw:
        return None
    shape, image = raw.get("shape"), raw["image"]
    if not isinstance(shape, list) or not 2 <= len(shape) <= 4 or not _is_sizes(shape, len(shape)):
        raise _wrong(f"{name}.shape", "2 to 4 whole numbers, the last of which are the channels of a texel")
    if not isinstance(image, list) or len(image) != 2 or not all(isinstance(part, str) for part in image):
        raise _wrong(f"{name}.image", "an order and a type of channels, such as rgba and unorm_int8")
    return Texels(tuple(shape), *image)


def _are_numbers(value: object) -> bool:
    numbers = value if isinstance(value, list) and 1 <= len(value) <= 16 else [value]
    return all(isinstance(n, (int, float)) and type(n) is not bool and math.isfinite(n) for n in numbers)


def _is_whole(value: object, least: int, most: int = (1 << 32) - 1) -> bool:
    return type(value) is int and least <= value <= most


def _is_sizes(values: object, count: int) -> TypeGuard[list[int]]:
    return isinstance(values, list) and len(values) == count and all(_is_whole(n, 1, 1 << 30) for n in values)


def _decoded(name: str, text: object) -> bytes:
    try:
        return base64.b64decode(text, validate=True) if isinstance(text, str) else b""
    except ValueError:
        raise _wrong(name, "bytes in base 64") from None


def _wrong(name: str, allowed: str) -> InvalidRequest:
    return InvalidRequest(f"Field {name} must be {allowed}.", field=name, allowed=allowed)
