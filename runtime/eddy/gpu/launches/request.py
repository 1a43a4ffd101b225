# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A kernel job as it travels: source, ND-range and arguments as JSON, arrays by the names of their bytes.

::

    {"source": "...", "kernel": "saxpy", "defines": {"N": "4"},
     "includes": {"shared.h": "..."}, "options": "-D FAST -cl-mad-enable",
     "global_size": [1024], "local_size": null, "offset": null,
     "arguments": [{"buffer": "<sha256>", "dtype": "<f4", "shape": [1024]}, {"value": 2.5},
                   {"local": 64}, {"null": true}, {"argument": 0}, {"bytes": "AQAAAA=="},
                   {"buffer": "<sha256>", "dtype": "|u1", "shape": [64, 64, 4], "image": ["rgba", "unorm_int8"]}]}

`argument` is the array of an earlier argument once more: both share its memory. `bytes` are a structure by value, in
base 64. An array with `image` is an image: its order and type of channels. Headers of more than `PLAIN_BYTES` travel,
and are kept, as the same object deflated (zlib) in base 64: megabytes of them fit a request then.
"""

from __future__ import annotations

import base64
import json
import math
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from eddy.core.errors import InvalidRequest, QuotaExceeded
from eddy.core.units import format_bytes
from eddy.gpu.compilation.build import build
from eddy.gpu.compilation.compiler import Compiler
from eddy.gpu.compilation.includes import MAX_FILES, MAX_HEADER_BYTES
from eddy.gpu.launches.executor import CoreCounters, Executor
from eddy.gpu.launches.launch import Array, ImageArgument, array_of, launch
from eddy.gpu.programs.image import Texels
from eddy.gpu.programs.ndrange import Local

_SHA256 = re.compile(r"[0-9a-f]{64}\Z")
ELEMENTS = re.compile(r"[<|][iuf][1248]\Z")
"""numpy's names of the element types a kernel's array may have."""
MAX_ARGUMENTS = 64
MAX_RECORD_BYTES = 4096
PLAIN_BYTES = 32 << 10
"""Characters of headers that travel as they are."""


@dataclass(frozen=True, slots=True)
class Buffer:
    """An array argument.

    Attributes:
        digest: SHA-256 of its bytes.
        dtype: numpy's name, byte order included.
        shape: Its shape.
        texels: How it is an image; None where it is none.
    """

    digest: str
    dtype: str
    shape: tuple[int, ...]
    texels: Texels | None = None

    @property
    def bytes(self) -> int:
        """Its size."""
        return np.dtype(self.dtype).itemsize * math.prod(self.shape)


@dataclass(frozen=True, slots=True)
class RepeatedArray:
    """The array of an earlier argument once more.

    Attributes:
        argument: Its place, from 0.
    """

    argument: int


ArgumentValue = Buffer | RepeatedArray | Local | float | int | tuple[float, ...] | bytes | None


@dataclass(frozen=True, slots=True)
class KernelRequest:
    """What a tenant asks for.

    Attributes:
        source: OpenCL C.
        kernel: Name of the kernel.
        global_size: Work-items by dimension.
        arguments: In the kernel's order.
        local_size: Work-group size; None for what suits the cluster.
        offset: Global offset; None for zeros.
        defines: Macros.
        includes: Headers by the names the source includes them by.
        options: Build options, as `clBuildProgram` takes them.
    """

    source: str
    kernel: str
    global_size: tuple[int, ...]
    arguments: tuple[ArgumentValue, ...]
    local_size: tuple[int, ...] | None = None
    offset: tuple[int, ...] | None = None
    defines: Mapping[str, str] = field(default_factory=dict)
    includes: Mapping[str, str] = field(default_factory=dict)
    options: str = ""

    @property
    def digests(self) -> tuple[str, ...]:
        """Hashes of its arrays' bytes, once each."""
        return tuple(dict.fromkeys(value.digest for value in self.arguments if isinstance(value, Buffer)))

    def array(self, place: int) -> Buffer | None:
        """The array at a place of the arguments, or None where there is none."""
        value = self.arguments[place]
        value = self.arguments[value.argument] if isinstance(value, RepeatedArray) else value
        return value if isinstance(value, Buffer) else None

    def to_json(self) -> dict[str, Any]:
        """As it travels."""
        return {
            **{"source": self.source, "kernel": self.kernel, "defines": dict(self.defines)},
            **{"global_size": list(self.global_size), "local_size": _listed(self.local_size)},
            **{"offset": _listed(self.offset), "arguments": [_argument_json(value) for value in self.arguments]},
            **({"includes": _deflated(self.includes)} if self.includes else {}),
            **({"options": self.options} if self.options else {}),
        }

    def build_arguments(self) -> dict[str, Any]:
        """What `eddy.gpu.compilation.build.build` is told beside the source and the cores."""
        return {"defines": self.defines, "includes": self.includes, "options": self.options}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> KernelRequest:
        """What travelled.

        Raises:
            InvalidRequest: A field is missing or wrong; `details` names it.
        """
        for name in ("source", "kernel"):
            if not isinstance(raw.get(name), str):
                raise _wrong(name, "text")
        arguments, defines = raw.get("arguments", []), raw.get("defines") or {}
        if not isinstance(arguments, list) or len(arguments) > MAX_ARGUMENTS:
            raise _wrong("arguments", f"a list of at most {MAX_ARGUMENTS}")
        includes, options = _inflated(raw.get("includes") or {}), raw.get("options") or ""
        for name, given in (("defines", defines), ("includes", includes)):
            if not isinstance(given, dict) or not all(isinstance(text, str) for text in given.values()):
                raise _wrong(name, "names and texts")
        if not isinstance(options, str):
            raise _wrong("options", "text")
        sizes = _sizes(raw, "global_size")
        if sizes is None:
            raise _wrong("global_size", "1 to 3 whole numbers")
        values = tuple(_argument(k, value) for k, value in enumerate(arguments))
        for place, value in enumerate(values):
            if isinstance(value, RepeatedArray) and not isinstance(values[value.argument], Buffer):
                raise _wrong(f"arguments[{place}].argument", "the place of an array, a buffer itself")
        local, offset = _sizes(raw, "local_size"), _sizes(raw, "offset")
        return cls(raw["source"], raw["kernel"], sizes, values, local, offset, defines, includes, options)


@dataclass(frozen=True, slots=True)
class KernelResult:
    """What a kernel job leaves.

    Attributes:
        outputs: Bytes of every array it may have written, by argument name.
        log: What it printed.
        cycles: Clock cycles; 0 where the executor has no clock.
        counters: Of each core.
    """

    outputs: Mapping[str, bytes]
    log: str
    cycles: int
    counters: tuple[CoreCounters, ...]


def execute(
    request: KernelRequest,
    fetch: Callable[[str], bytes],
    executor: Executor,
    compiler: Compiler,
    slice_groups: int | None = None,
) -> KernelResult:
    """Compile and run a kernel job.

    Args:
        request: The job.
        fetch: Gives the bytes of a digest.
        executor: Where.
        compiler: With which.
        slice_groups: Work-groups between two chances to stop.

    Raises:
        EddyError: As `Compiler.compile` and `launch`; and `InvalidRequest` where bytes and shape disagree.
    """
    program = build(compiler, request.source, fpu=executor.shape.fpu, **request.build_arguments())
    values: list[object] = []
    for value in request.arguments:
        made = _given(value, fetch(value.digest)) if isinstance(value, Buffer) else value
        values.append(values[value.argument] if isinstance(value, RepeatedArray) else made)
    done = launch(
        executor,
        program,
        request.kernel,
        request.global_size,
        values,
        local_size=request.local_size,
        offset=request.offset,
        slice_groups=slice_groups,
    )
    written = zip(program.kernel(request.kernel).arguments, values, strict=True)
    arrays = ((argument, array_of(value)) for argument, value in written)
    outputs = {a.name: array.tobytes() for a, array in arrays if array is not None and not a.const}
    return KernelResult(outputs, done.log, done.cycles, done.counters)


def _given(buffer: Buffer, data: bytes) -> Array | ImageArgument:
    array, texels = _array(buffer, data), buffer.texels
    return array if texels is None else ImageArgument(array, texels.order, texels.kind)


def _array(buffer: Buffer, data: bytes) -> Array:
    if len(data) != buffer.bytes:
        message = f"A buffer of {format_bytes(len(data))} is not {buffer.dtype} of shape {list(buffer.shape)}."
        raise InvalidRequest(message, field="arguments", allowed=format_bytes(buffer.bytes))
    return np.frombuffer(data, buffer.dtype).reshape(buffer.shape).copy()


def _deflated(includes: Mapping[str, str]) -> dict[str, str] | str:
    """Headers as they travel."""
    if sum(map(len, includes.values())) <= PLAIN_BYTES:
        return dict(includes)
    text = json.dumps(dict(includes), ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def _inflated(raw: object) -> Any:
    """Headers that travelled, whatever they are; of a bound size, whatever they claim to be."""
    if not isinstance(raw, str):
        return raw
    # Names, quotes and what is escaped come on top of the texts.
    most = MAX_HEADER_BYTES + MAX_HEADER_BYTES // 4
    try:
        inflate = zlib.decompressobj()
        text = inflate.decompress(base64.b64decode(raw, validate=True), most + 1)
        if len(text) > most:
            message = f"The headers have more than {format_bytes(most)} as JSON; leave out those that are not included."
            raise QuotaExceeded(message, limit=most, field="kernel.includes")
        # Four quotes a header are not escaped: of more than there may be nothing is made.
        if inflate.eof and text.count(b'"') - text.count(b'\\"') <= 4 * MAX_FILES:
            return json.loads(text)
    except (ValueError, zlib.error, RecursionError):
        pass
    raise _wrong("includes", "names and texts: an object, or one deflated (zlib) in base 64")


def _listed(sizes: Sequence[int] | None) -> list[int] | None:
    return None if sizes is None else list(sizes)


def _argument_json(value: ArgumentValue) -> dict[str, Any]:
    if isinstance(value, Buffer):
        image = {"image": [value.texels.order, value.texels.kind]} if value.texels else {}
        return {"buffer": value.digest, "dtype": value.dtype, "shape": list(value.shape), **image}
    if isinstance(value, Local):
        return {"local": value.bytes}
    if isinstance(value, RepeatedArray):
        return {"argument": value.argument}
    if value is None:
        return {"null": True}
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    return {"value": list(value) if isinstance(value, tuple) else value}


def _argument(place: int, raw: object) -> ArgumentValue:
    where = f"arguments[{place}]"
    array = {"buffer", "dtype", "shape"}
    forms = ({"null"}, {"local"}, {"value"}, {"argument"}, {"bytes"}, array, array | {"image"})
    if not isinstance(raw, dict) or raw.keys() not in forms:
        raise _wrong(where, "one of buffer, value, local, null, argument, bytes")
    if "bytes" in raw:
        return _bytes(where, raw["bytes"])
    if "argument" in raw:
        if type(raw["argument"]) is not int or not 0 <= raw["argument"] < place:
            raise _wrong(f"{where}.argument", "the place of an earlier argument")
        return RepeatedArray(raw["argument"])
    if raw.get("null") is True:
        return None
    if type(raw.get("local")) is int and raw["local"] > 0:
        return Local(raw["local"])
    value = raw.get("value")
    if isinstance(value, bool):
        return int(value)
    if _is_number(value):
        return value
    if isinstance(value, list) and value and all(map(_is_number, value)):
        return tuple(int(each) if isinstance(each, bool) else each for each in value)
    digest, dtype, shape = raw.get("buffer"), raw.get("dtype"), raw.get("shape")
    if not isinstance(digest, str) or not _SHA256.match(digest):
        raise _wrong(where, "one of buffer (a SHA-256), value, local, null, argument")
    if not isinstance(dtype, str) or not ELEMENTS.match(dtype):
        raise _wrong(f"{where}.dtype", "a numpy type such as <f4")
    if not isinstance(shape, list) or not all(type(n) is int and 0 <= n < 1 << 31 for n in shape) or len(shape) > 8:
        raise _wrong(f"{where}.shape", "at most 8 whole numbers")
    image = raw.get("image")
    if "image" not in raw:
        return Buffer(digest, dtype, tuple(shape))
    if not isinstance(image, list) or len(image) != 2 or not all(isinstance(part, str) for part in image):
        raise _wrong(f"{where}.image", "an order and a type of channels, such as rgba and unorm_int8")
    return Buffer(digest, dtype, tuple(shape), Texels(tuple(shape), *image))


def _is_number(value: object) -> bool:
    """Whether it is a number; true and false are 1 and 0, as wherever a value is converted."""
    return isinstance(value, (int, float))


def _bytes(where: str, text: object) -> bytes:
    try:
        if isinstance(text, str) and len(text) <= 2 * MAX_RECORD_BYTES:
            return base64.b64decode(text, validate=True)
    except ValueError:
        pass
    raise _wrong(f"{where}.bytes", f"a structure's bytes in base 64, at most {MAX_RECORD_BYTES}")


def _sizes(raw: Mapping[str, Any], name: str) -> tuple[int, ...] | None:
    sizes = raw.get(name)
    if sizes is None:
        return None
    if not isinstance(sizes, list) or not 1 <= len(sizes) <= 3 or not all(type(n) is int and n >= 0 for n in sizes):
        raise _wrong(name, "1 to 3 whole numbers")
    return tuple(sizes)


def _wrong(name: str, allowed: str) -> InvalidRequest:
    return InvalidRequest(f"Field kernel.{name} must be {allowed}.", field=f"kernel.{name}", allowed=allowed)
