# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Programs: logs, options, headers, binaries, compile and link; what is told of kernels."""

from __future__ import annotations

import ctypes
import struct
from pathlib import Path

import numpy as np
import pytest
from eddy.opencl.standard import number
from opencl_kit import Handle, Host, Refused, handles, sizes

ADD = "kernel void add(global int *x) { x[get_global_id(0)] += N; }"
TYPE = number("CL_PROGRAM_BINARY_TYPE")


def run(host: Host, context: Handle, queue: Handle, program: Handle, name: str) -> int:
    buffer = host.buffer(context, 4, data=np.int32(5).tobytes())
    kernel = host.kernel(program, name, buffer)
    host.release(Event=host.launch(queue, kernel, [1]))
    found = int(np.frombuffer(host.read(queue, buffer, 4), np.int32)[0])
    host.release(Kernel=kernel, MemObject=buffer)
    return found


def binary(host: Host, program: Handle) -> bytes:
    size = host.ask("clGetProgramInfo", program, number("CL_PROGRAM_BINARY_SIZES"), form=ctypes.c_uint64)
    room = ctypes.create_string_buffer(size)
    pointer = (ctypes.c_void_p * 1)(ctypes.addressof(room))
    host.call("clGetProgramInfo", program, number("CL_PROGRAM_BINARIES"), ctypes.c_size_t(8), pointer, None)
    return room.raw


def from_binary(host: Host, context: Handle, data: bytes) -> Handle:
    lengths, texts = (ctypes.c_size_t * 1)(len(data)), (ctypes.c_char_p * 1)(data)
    return host.make("clCreateProgramWithBinary", context, 1, handles(host.device), lengths, texts, None)


def test_a_refusal_has_the_compilers_words(host: Host, context: Handle) -> None:
    program = host.source(context, "kernel void k(global int *x) { x[0] = nothing; }")
    with pytest.raises(Refused, match="CL_BUILD_PROGRAM_FAILURE"):
        host.call("clBuildProgram", program, 0, None, b"", None, None)
    assert "kernel.cl:1:39: error: use of undeclared identifier 'nothing'" in host.log(program)
    with pytest.raises(Refused, match="CL_INVALID_PROGRAM_EXECUTABLE"):
        host.kernel(program, "k")
    with pytest.raises(Refused, match="CL_INVALID_BUILD_OPTIONS"):
        host.call("clBuildProgram", program, 0, None, b"-no-such-option", None, None)
    host.release(Program=program)


def test_options_binaries_and_builds_again(host: Host, context: Handle, queue: Handle) -> None:
    program = host.program(context, ADD, "-D N=4")
    assert run(host, context, queue, program, "add") == 9
    host.call("clBuildProgram", program, 0, None, b"-DN=6", None, None)
    assert run(host, context, queue, program, "add") == 11
    kept = binary(host, program)
    again = from_binary(host, context, kept)
    executable = number("CL_PROGRAM_BINARY_TYPE_EXECUTABLE")
    assert host.ask("clGetProgramBuildInfo", again, host.device, TYPE) == executable
    host.call("clBuildProgram", again, 0, None, b"", None, None)
    assert run(host, context, queue, again, "add") == 11
    for wrong in (b"ELF", kept[:-1], kept[:40] + b"?" + kept[41:], b"EDDYCLB0" + kept[8:]):
        with pytest.raises(Refused, match="CL_INVALID_BINARY"):
            from_binary(host, context, wrong)
    kernel = host.kernel(program, "add")
    with pytest.raises(Refused, match="CL_INVALID_OPERATION"):
        host.call("clBuildProgram", program, 0, None, b"", None, None)
    host.release(Kernel=kernel, Program=[program, again])


def test_headers_come_from_the_hosts_disk(host: Host, context: Handle, queue: Handle, tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "n.h").write_text('#include "deep/m.h"\n#define N M\n')
    (tmp_path / "deep" / "m.h").write_text('#include "l.h"\n')
    (tmp_path / "deep" / "l.h").write_text("#define M 8\n")
    program = host.program(context, f'#include "n.h"\n{ADD}', f"-I {tmp_path}")
    assert run(host, context, queue, program, "add") == 13
    absolute = host.program(context, f'#include "{tmp_path}/n.h"\n{ADD}')
    assert run(host, context, queue, absolute, "add") == 13
    host.release(Program=[program, absolute])


def test_headers_are_kept_with_what_they_were_compiled_into(
    host: Host, context: Handle, queue: Handle, tmp_path: Path
) -> None:
    header = tmp_path / "n.h"
    header.write_text("#define N 9\n")
    program = host.source(context, f'#include "n.h"\n{ADD}')
    host.call("clCompileProgram", program, 0, None, f"-I{tmp_path}".encode(), 0, None, None, None, None)
    header.unlink()
    linked = host.make("clLinkProgram", context, 0, None, b"", 1, handles(program), None, None)
    assert run(host, context, queue, linked, "add") == 14
    again = from_binary(host, context, binary(host, linked))
    host.call("clBuildProgram", again, 0, None, b"", None, None)
    assert run(host, context, queue, again, "add") == 14
    host.release(Program=[program, linked, again])


def test_extensions_are_macros(host: Host, context: Handle, queue: Handle) -> None:
    told = host.ask("clGetDeviceInfo", host.device, number("CL_DEVICE_EXTENSIONS"), form=bytes).decode().rstrip("\0")
    checks = "".join(f"#if {name} != 1\n#error {name}\n#endif\n" for name in told.split())
    source = f"{checks}kernel void k(global int *x) {{ x[0] = sizeof(double2) + DBL_RADIX + FLT_RADIX; }}"
    program = host.program(context, source)
    assert run(host, context, queue, program, "k") == 20
    host.release(Program=program)


def test_compile_and_link(host: Host, context: Handle, queue: Handle) -> None:
    header = host.source(context, "int twice(int x);\n#define N 3\n")
    main = host.source(context, '#include "api.h"\nkernel void k(global int *x) { x[0] = twice(x[0]) + N + A; }')
    other = host.source(context, "int twice(int x) { return A * x; }")
    names = (ctypes.c_char_p * 1)(b"api.h")
    host.call("clCompileProgram", main, 0, None, b"-DA=100", 1, handles(header), names, None, None)
    host.call("clCompileProgram", other, 0, None, b"-D A=2", 0, None, None, None, None)
    linked = host.make("clLinkProgram", context, 0, None, b"", 2, handles(main, other), None, None)
    assert run(host, context, queue, linked, "k") == 113
    assert host.ask("clGetProgramBuildInfo", main, host.device, TYPE) == number(
        "CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT"
    )
    with pytest.raises(Refused, match="CL_LINK_PROGRAM_FAILURE"):
        host.make("clLinkProgram", context, 0, None, b"", 1, handles(main), None, None)
    with pytest.raises(Refused, match="CL_INVALID_OPERATION"):
        host.make("clLinkProgram", context, 0, None, b"", 1, handles(header), None, None)
    with pytest.raises(Refused, match="CL_INVALID_LINKER_OPTIONS"):
        host.make("clLinkProgram", context, 0, None, b"-x", 2, handles(main, other), None, None)
    bad = host.source(context, "int f( { }")
    with pytest.raises(Refused, match="CL_COMPILE_PROGRAM_FAILURE"):
        host.call("clCompileProgram", bad, 0, None, b"", 0, None, None, None, None)
    host.release(Program=[header, main, other, linked, bad])


def test_what_is_told_of_subgroups(host: Host, context: Handle, queue: Handle) -> None:
    """The query of the extension says what kernels see."""
    source = "kernel void k(global int *x) { x[0] = 100 * get_max_sub_group_size() + get_num_sub_groups(); }"
    program = host.program(context, source)
    kernel, seen = host.kernel(program, "k"), run(host, context, queue, program, "k")
    ask = host.extension("clGetKernelSubGroupInfoKHR")
    value, size = ctypes.c_size_t(), ctypes.c_size_t()

    def query(name: str, *local: int, room: int = 8) -> int:
        local_size = sizes(*local) if local else None
        asked = ctypes.c_uint32(number(f"CL_KERNEL_{name}_KHR"))
        last = (ctypes.c_size_t(8 * len(local)), local_size, ctypes.c_size_t(room))
        return int(ask(kernel, host.device, asked, *last, ctypes.byref(value), ctypes.byref(size)))

    assert query("MAX_SUB_GROUP_SIZE_FOR_NDRANGE", 1) == 0
    warp = value.value
    assert (seen, size.value) == (100 * warp + 1, 8)
    assert query("SUB_GROUP_COUNT_FOR_NDRANGE", 3, 5 * warp) == 0
    assert value.value == 15
    invalid = number("CL_INVALID_VALUE")
    assert query("SUB_GROUP_COUNT_FOR_NDRANGE") == query("SUB_GROUP_COUNT_FOR_NDRANGE", 1, room=4) == invalid
    assert ask(kernel, host.device, ctypes.c_uint32(1), ctypes.c_size_t(8), sizes(1), 0, None, None) == invalid
    host.release(Kernel=kernel, Program=program)


def test_what_is_told_of_kernels(host: Host, context: Handle) -> None:
    source = """typedef struct { int a; float b; } pair;
    __attribute__((reqd_work_group_size(8, 2, 1)))
    kernel void k(global const float *restrict in, constant int *c, local float4 *l, float3 v, pair p,
                  write_only image2d_t im, sampler_t s, global volatile uint *out) {}"""
    program = host.program(context, source, "-cl-kernel-arg-info")
    kernel = host.kernel(program, "k")

    def text(name: str, index: int) -> str:
        asked = host.ask("clGetKernelArgInfo", kernel, index, number(f"CL_KERNEL_ARG_{name}"), form=bytes)
        return str(asked.decode().rstrip("\0"))

    def value(name: str) -> list[int]:
        asked = number(f"CL_KERNEL_ARG_{name}_QUALIFIER")
        return [
            int.from_bytes(host.ask("clGetKernelArgInfo", kernel, k, asked, form=bytes), "little") for k in range(8)
        ]

    named = ["in", "c", "l", "v", "p", "im", "s", "out"]
    typed = ["float*", "int*", "float4*", "float3", "pair", "image2d_t", "sampler_t", "uint*"]
    assert [text("NAME", k) for k in range(8)] == named
    assert [text("TYPE_NAME", k) for k in range(8)] == typed
    where = [number(f"CL_KERNEL_ARG_ADDRESS_{name}") for name in ("GLOBAL", "CONSTANT", "LOCAL", "PRIVATE")]
    assert value("ADDRESS") == [where[k] for k in (0, 1, 2, 3, 3, 0, 3, 0)]
    none, write = number("CL_KERNEL_ARG_ACCESS_NONE"), number("CL_KERNEL_ARG_ACCESS_WRITE_ONLY")
    assert value("ACCESS") == [none] * 5 + [write, none, none]
    assert value("TYPE") == [3, 1, 0, 0, 0, 0, 0, 4]
    assert host.ask("clGetKernelInfo", kernel, number("CL_KERNEL_NUM_ARGS")) == 8
    attributes = host.ask("clGetKernelInfo", kernel, number("CL_KERNEL_ATTRIBUTES"), form=bytes)
    assert attributes == b"reqd_work_group_size(8,2,1)\0"
    group = number("CL_KERNEL_COMPILE_WORK_GROUP_SIZE")
    required = host.ask("clGetKernelWorkGroupInfo", kernel, host.device, group, form=bytes)
    assert np.frombuffer(required, "<u8").tolist() == [8, 2, 1]
    form = struct.pack("<II", number("CL_RGBA"), number("CL_FLOAT"))
    sides = struct.pack("<I4x9Q", number("CL_MEM_OBJECT_IMAGE2D"), 4, 4, *[0] * 7)
    read_only = ctypes.c_uint64(number("CL_MEM_READ_ONLY"))
    image = host.make("clCreateImage", context, read_only, form, sides, None)
    with pytest.raises(Refused, match="CL_INVALID_ARG_VALUE"):
        host.argument(kernel, 5, image)
    with pytest.raises(Refused, match="CL_INVALID_SAMPLER"):
        host.call("clSetKernelArg", kernel, 6, ctypes.c_size_t(8), None)
    host.release(MemObject=image)
    for index, given, code in (
        (8, b"1234", "CL_INVALID_ARG_INDEX"),
        (3, b"1234", "CL_INVALID_ARG_SIZE"),
        (4, bytes(12), "CL_INVALID_ARG_SIZE"),
        (0, bytes(4), "CL_INVALID_ARG_SIZE"),
        (2, b"12345678", "CL_INVALID_ARG_VALUE"),
        (0, b"\1" * 8, "CL_INVALID_MEM_OBJECT"),
    ):
        with pytest.raises(Refused, match=code):
            host.argument(kernel, index, given)
    host.argument(kernel, 0, bytes(8))  # a null pointer
    with pytest.raises(Refused, match="CL_INVALID_KERNEL_NAME"):
        host.kernel(program, "other")
    host.release(Kernel=kernel, Program=program)
