# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Buffers, their parts and regions, fills and maps; images likewise. numpy says what is right."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest
from eddy.opencl.standard import number
from opencl_kit import Handle, Host, Refused, handles, sizes

SIDE = 12
RGBA8 = struct.pack("<II", number("CL_RGBA"), number("CL_UNSIGNED_INT8"))


def square(salt: int = 0) -> npt.NDArray[np.uint8]:
    """Three layers of twelve rows of twelve bytes."""
    return ((np.arange(3 * SIDE * SIDE) * 7 + salt) % 251).astype(np.uint8).reshape(3, SIDE, SIDE)


def rect(host: Host, call: str, queue: Handle, *what: object) -> None:
    host.call(f"clEnqueue{call}BufferRect", queue, *what, 0, None, None)


def pitches(*given: int) -> tuple[ctypes.c_size_t, ...]:
    return tuple(map(ctypes.c_size_t, given))


def test_regions_are_numpys(host: Host, context: Handle, queue: Handle) -> None:
    whole, other = square(), square(99)
    buffer, second = host.buffer(context, whole.size, data=whole.tobytes()), host.buffer(context, whole.size)
    host.write(queue, second, other.tobytes())
    region = sizes(5, 4, 2)
    room = np.zeros((2, 6, 8), np.uint8)
    at = (sizes(3, 2, 1), sizes(1, 1, 0), region, *pitches(SIDE, SIDE * SIDE, 8, 48))
    rect(host, "Read", queue, buffer, 1, *at, room.ctypes.data_as(ctypes.c_void_p))
    expected = np.zeros_like(room)
    expected[:, 1:5, 1:6] = whole[1:3, 2:6, 3:8]
    assert (room == expected).all()
    rect(host, "Write", queue, second, 1, *at, room.ctypes.data_as(ctypes.c_void_p))
    other[1:3, 2:6, 3:8] = whole[1:3, 2:6, 3:8]
    assert host.read(queue, second, other.size) == other.tobytes()
    rect(host, "Copy", queue, buffer, second, sizes(0, 0, 0), sizes(7, 8, 1), region, *pitches(SIDE, 144, SIDE, 144))
    other[1:3, 8:12, 7:12] = whole[0:2, 0:4, 0:5]
    assert host.read(queue, second, other.size) == other.tobytes()
    beyond = (sizes(8, 0, 2), sizes(0, 0, 0), sizes(5, 12, 1), *pitches(SIDE, 144, 0, 0))
    with pytest.raises(Refused, match="CL_INVALID_VALUE"):
        rect(host, "Read", queue, buffer, 1, *beyond, room.ctypes.data_as(ctypes.c_void_p))
    with pytest.raises(Refused, match="CL_MEM_COPY_OVERLAP"):
        rect(
            host, "Copy", queue, buffer, buffer, sizes(0, 0, 0), sizes(4, 3, 0), region, *pitches(SIDE, 144, SIDE, 144)
        )
    rect(host, "Copy", queue, buffer, buffer, sizes(0, 0, 0), sizes(5, 3, 0), region, *pitches(SIDE, 144, SIDE, 144))
    host.release(MemObject=[buffer, second])


ROUND = 1 << 63
"""Twice this is 0 to who counts in 64 bits."""


@pytest.mark.parametrize(
    ("origin", "region", "row", "layer"),
    [
        ((0, 0, 0), (2, 1, ROUND + 1), 2, 2),
        ((0, 0, 0), (1, ROUND + 1, 1), 2, 0),
        ((0, 0, 2), (1, 1, 1), 1, ROUND),
        ((0, 2, 0), (1, 1, 1), ROUND, 0),
        ((2**64 - 1, 1, 0), (1, 1, 1), 1, 1),
    ],
)
def test_regions_whose_ends_have_more_than_64_bits_are_refused(
    host: Host, context: Handle, queue: Handle, origin: Sequence[int], region: Sequence[int], row: int, layer: int
) -> None:
    buffer, room = host.buffer(context, 64), ctypes.create_string_buffer(64)
    at = (sizes(*origin), sizes(0, 0, 0), sizes(*region), *pitches(row, layer, 0, 0))
    for call, arguments in (("Read", (1, *at, room)), ("Write", (1, *at, room)), ("Copy", (buffer, *at))):
        with pytest.raises(Refused, match="CL_INVALID_VALUE"):
            rect(host, call, queue, buffer, *arguments)
    host.release(MemObject=buffer)


def test_copies_and_fills(host: Host, context: Handle, queue: Handle) -> None:
    buffer, other = (
        host.buffer(context, 16, data=b"0123456789abcdef"),
        host.buffer(context, 16, data=b"................"),
    )

    def copy(source: Handle, target: Handle, come: int, go: int, size: int) -> None:
        host.call("clEnqueueCopyBuffer", queue, source, target, *pitches(come, go, size), 0, None, None)

    copy(buffer, other, 10, 2, 6)
    copy(buffer, buffer, 0, 8, 8)
    assert host.read(queue, other, 16) == b"..abcdef........"
    assert host.read(queue, buffer, 16) == b"0123456701234567"
    with pytest.raises(Refused, match="CL_MEM_COPY_OVERLAP"):
        copy(buffer, buffer, 0, 7, 8)
    with pytest.raises(Refused, match="CL_INVALID_VALUE"):
        copy(buffer, other, 12, 0, 5)
    host.call("clEnqueueFillBuffer", queue, buffer, b"xy", *pitches(2, 4, 6), 0, None, None)
    assert host.read(queue, buffer, 16) == b"0123xyxyxy234567"
    for size, offset, length in ((3, 0, 6), (2, 1, 4), (2, 0, 3), (0, 0, 4), (256, 0, 256)):
        with pytest.raises(Refused, match="CL_INVALID_VALUE"):
            host.call("clEnqueueFillBuffer", queue, buffer, bytes(size), *pitches(size, offset, length), 0, None, None)
    host.release(MemObject=[buffer, other])


def test_a_part_is_its_buffers_bytes(host: Host, context: Handle, queue: Handle) -> None:
    buffer = host.buffer(context, 512, data=bytes(512))
    kind, flags = number("CL_BUFFER_CREATE_TYPE_REGION"), ctypes.c_uint64(0)

    def part(origin: int, size: int, of: Handle = buffer) -> Handle:
        return host.make("clCreateSubBuffer", of, flags, kind, struct.pack("<QQ", origin, size))

    half = part(256, 128)
    host.write(queue, half, b"part", offset=4)
    assert host.read(queue, buffer, 12, offset=256) == b"\0\0\0\0part\0\0\0\0"
    assert host.ask("clGetMemObjectInfo", half, number("CL_MEM_OFFSET"), form=ctypes.c_uint64) == 256
    program = host.program(context, "kernel void k(global char *x) { x[get_global_id(0)] += 1; }")
    kernel = host.kernel(program, "k", half)
    host.release(MemObject=buffer)  # the part keeps the bytes
    host.release(Event=host.launch(queue, kernel, [8]))
    assert host.read(queue, half, 8) == b"\1\1\1\1qbsu"
    for origin, size, code in (
        (64, 64, "CL_MISALIGNED_SUB_BUFFER_OFFSET"),
        (384, 256, "CL_INVALID_VALUE"),
        (0, 0, "CL_INVALID_BUFFER_SIZE"),
    ):
        again = host.buffer(context, 512)
        with pytest.raises(Refused, match=code):
            part(origin, size, again)
        host.release(MemObject=again)
    with pytest.raises(Refused, match="CL_INVALID_MEM_OBJECT"):
        part(0, 64, half)
    host.release(MemObject=half, Kernel=kernel, Program=program)


def test_maps_are_read_and_written_back(host: Host, context: Handle, queue: Handle) -> None:
    buffer, read, write = host.buffer(context, 8, data=b"01234567"), number("CL_MAP_READ"), number("CL_MAP_WRITE")
    count = number("CL_MEM_MAP_COUNT")

    def mapped(flags: int, offset: int, size: int, of: Handle = buffer) -> int:
        where = (ctypes.c_uint64(flags), *pitches(offset, size))
        return host.make("clEnqueueMapBuffer", queue, of, 1, *where, 0, None, None).value or 0

    def unmap(pointer: int, of: Handle = buffer) -> None:
        host.call("clEnqueueUnmapMemObject", queue, of, ctypes.c_void_p(pointer), 0, None, None)

    first, second = mapped(read, 0, 4), mapped(read | write, 4, 4)
    assert ctypes.string_at(first, 4) + ctypes.string_at(second, 4) == b"01234567"
    assert host.ask("clGetMemObjectInfo", buffer, count) == 2
    ctypes.memmove(first, b"lost", 4)
    ctypes.memmove(second, b"kept", 4)
    unmap(first)
    unmap(second)
    assert host.read(queue, buffer, 8) == b"0123kept"
    assert host.ask("clGetMemObjectInfo", buffer, count) == 0
    with pytest.raises(Refused, match="CL_INVALID_VALUE"):
        unmap(second)
    over = mapped(number("CL_MAP_WRITE_INVALIDATE_REGION"), 0, 2)
    ctypes.memmove(over, b"ab", 2)
    unmap(over)
    assert host.read(queue, buffer, 8) == b"ab23kept"
    own = ctypes.create_string_buffer(b"my own", 8)
    used = host.make("clCreateBuffer", context, ctypes.c_uint64(number("CL_MEM_USE_HOST_PTR")), *pitches(8), own)
    assert mapped(read, 2, 4, used) == ctypes.addressof(own) + 2
    unmap(ctypes.addressof(own) + 2, used)
    host.release(MemObject=[buffer, used])


def test_a_map_that_is_unmapped_before_it_is_there_writes_nothing_and_lands_nowhere(
    host: Host, context: Handle, queue: Handle
) -> None:
    buffer, gate = host.buffer(context, 8, data=b"01234567"), host.make("clCreateUserEvent", context)
    flags = ctypes.c_uint64(number("CL_MAP_READ") | number("CL_MAP_WRITE"))
    mapped = host.make("clEnqueueMapBuffer", queue, buffer, 0, flags, *pitches(0, 8), 1, handles(gate), None)
    host.call("clEnqueueUnmapMemObject", queue, buffer, mapped, 0, None, None)
    assert host.ask("clGetMemObjectInfo", buffer, number("CL_MEM_MAP_COUNT")) == 0
    host.call("clSetUserEventStatus", gate, 0)
    assert host.read(queue, buffer, 8) == b"01234567"
    host.release(Event=gate, MemObject=buffer)


def test_what_waits_for_the_host_is_taken_when_it_is_sent(host: Host, context: Handle, queue: Handle) -> None:
    """Bytes of writes that a user event holds back, by rows and of a map too; a pattern and arguments at once."""
    flat, rows, filled = (host.buffer(context, 8, data=b"........") for _ in range(3))
    gate, data = host.make("clCreateUserEvent", context), ctypes.create_string_buffer(b"too soon", 8)
    write = ctypes.c_uint64(number("CL_MAP_WRITE_INVALIDATE_REGION"))
    mapped = host.make("clEnqueueMapBuffer", queue, flat, 1, write, *pitches(4, 4), 0, None, None)
    ctypes.memmove(mapped.value or 0, b"maps", 4)
    host.call("clEnqueueWriteBuffer", queue, flat, 0, *pitches(0, 8), data, 1, handles(gate), None)
    box = (sizes(1, 0, 0), sizes(2, 0, 0), sizes(2, 2, 1), *pitches(4, 8, 4, 8))
    host.call("clEnqueueWriteBufferRect", queue, rows, 0, *box, data, 0, None, None)
    host.call("clEnqueueFillBuffer", queue, filled, data, *pitches(4, 0, 8), 0, None, None)
    host.call("clEnqueueUnmapMemObject", queue, flat, mapped, 0, None, None)
    data.raw = b"abcdefgh"
    host.call("clSetUserEventStatus", gate, 0)
    assert host.read(queue, flat, 8) == b"abcdmaps"
    assert host.read(queue, rows, 8) == b".cd..gh."
    assert host.read(queue, filled, 8) == b"too too "
    host.release(Event=gate, MemObject=[flat, rows, filled])


def test_flags_of_the_host(host: Host, context: Handle, queue: Handle) -> None:
    hidden, given = host.buffer(context, 8, "HOST_NO_ACCESS"), host.buffer(context, 8, "HOST_WRITE_ONLY")
    for buffer in (hidden, given):
        with pytest.raises(Refused, match="CL_INVALID_OPERATION"):
            host.read(queue, buffer, 8)
    host.release(Event=host.write(queue, given, b"12345678"))
    with pytest.raises(Refused, match="CL_INVALID_OPERATION"):
        host.write(queue, hidden, b"12345678")
    for flags in (("READ_ONLY", "WRITE_ONLY"), ("HOST_READ_ONLY", "HOST_WRITE_ONLY")):
        with pytest.raises(Refused, match="CL_INVALID_VALUE"):
            host.buffer(context, 8, *flags)
    with pytest.raises(Refused, match="CL_INVALID_HOST_PTR"):
        host.buffer(context, 8, "USE_HOST_PTR")
    host.release(MemObject=[hidden, given])


def image(host: Host, context: Handle, kind: str, *side: int, data: bytes | None = None) -> Handle:
    width, height, depth = (*side, *(1,) * (3 - len(side)))
    layers = height if kind == "IMAGE1D_ARRAY" else depth
    described = (number(f"CL_MEM_OBJECT_{kind}"), width, height, depth, layers, 0, 0, 0, 0, 0)
    flags = number("CL_MEM_COPY_HOST_PTR") if data else 0
    return host.make(
        "clCreateImage", context, ctypes.c_uint64(flags), RGBA8, struct.pack("<IxxxxQQQQQQIIQ", *described), data
    )


def texels(
    host: Host, call: str, queue: Handle, of: Handle, origin: tuple[int, ...], region: tuple[int, ...], data: object
) -> None:
    host.call(
        f"clEnqueue{call}Image", queue, of, 1, sizes(*origin), sizes(*region), *pitches(0, 0), data, 0, None, None
    )


@pytest.mark.parametrize(
    ("kind", "sides"),
    [
        ("IMAGE1D", (6,)),
        ("IMAGE2D", (5, 4)),
        ("IMAGE3D", (4, 3, 2)),
        ("IMAGE1D_ARRAY", (5, 3)),
        ("IMAGE2D_ARRAY", (3, 4, 2)),
    ],
)
def test_images_are_numpys(host: Host, context: Handle, queue: Handle, kind: str, sides: tuple[int, ...]) -> None:
    width, height, depth = (*sides, *(1,) * (3 - len(sides)))
    what = ((np.arange(width * height * depth * 4) * 13) % 256).astype(np.uint8).reshape(depth, height, width, 4)
    made = image(host, context, kind, *sides, data=what.tobytes())
    region = (2, min(2, height), min(2, depth))
    room = ctypes.create_string_buffer(4 * region[0] * region[1] * region[2])
    texels(host, "Read", queue, made, (1, 0, 0), region, room)
    assert room.raw == what[: region[2], : region[1], 1:3].tobytes()
    texels(host, "Write", queue, made, (0, height - region[1], 0), region, room)
    what[: region[2], height - region[1] :, :2] = np.frombuffer(room.raw, np.uint8).reshape(*region[::-1], 4)
    colour = struct.pack("<4I", 1, 2, 3, 999)
    host.call("clEnqueueFillImage", queue, made, colour, sizes(width - 1, 0, 0), sizes(1, height, depth), 0, None, None)
    what[:, :, width - 1] = (1, 2, 3, 255)
    buffer = host.buffer(context, what.size)
    whole = (sizes(0, 0, 0), sizes(width, height, depth))
    host.call("clEnqueueCopyImageToBuffer", queue, made, buffer, *whole, *pitches(0), 0, None, None)
    assert host.read(queue, buffer, what.size) == what.tobytes()
    with pytest.raises(Refused, match="CL_INVALID_VALUE"):
        texels(host, "Read", queue, made, (width - 1, 0, 0), region, room)
    with pytest.raises(Refused, match="CL_INVALID_MEM_OBJECT"):
        host.read(queue, made, 4)
    host.release(MemObject=[made, buffer])


def test_kernels_read_and_write_images(host: Host, context: Handle, queue: Handle) -> None:
    source = """kernel void mirror(read_only image2d_t from, write_only image2d_t to, sampler_t s) {
        int2 at = (int2)(get_global_id(0), get_global_id(1));
        write_imageui(to, at, read_imageui(from, s, (int2)(get_image_width(from) - 1 - at.x, at.y)));
    }"""
    what = (np.arange(5 * 4 * 4) * 3).astype(np.uint8).reshape(4, 5, 4)
    come, go = image(host, context, "IMAGE2D", 5, 4, data=what.tobytes()), image(host, context, "IMAGE2D", 5, 4)
    nearest, clamp = number("CL_FILTER_NEAREST"), number("CL_ADDRESS_CLAMP")
    sampler = host.make("clCreateSampler", context, 0, clamp, nearest)
    program = host.program(context, source)
    kernel = host.kernel(program, "mirror", come, go, sampler)
    host.release(Event=host.launch(queue, kernel, [5, 4]))
    room = ctypes.create_string_buffer(what.size)
    texels(host, "Read", queue, go, (0, 0, 0), (5, 4, 1), room)
    assert room.raw == what[:, ::-1].tobytes()
    with pytest.raises(Refused, match="CL_INVALID_SAMPLER"):
        host.argument(kernel, 2, come)
    host.release(Kernel=kernel, Program=program, Sampler=sampler, MemObject=[come, go])
