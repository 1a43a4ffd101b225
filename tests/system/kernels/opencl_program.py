# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A host program of OpenCL, which knows nothing of Eddy but where the platform is: prints what it found, as JSON."""

from __future__ import annotations

import ctypes
import json
import struct
import sys
from collections.abc import Callable

import numpy as np
from eddy.opencl.standard import number
from opencl_kit import Handle, Host, Refused, sizes

SOURCE = """
#include "step.h"
kernel void step_all(global uint *x, uint by) { uint i = get_global_id(0); x[i] = STEP(x[i], by); }
kernel void sums(global const uint *x, global uint *out, local uint *t) {
  uint l = get_local_id(0);
  t[l] = x[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (l == 0) { uint s = 0; for (uint k = 0; k < get_local_size(0); k++) s += t[k]; out[get_group_id(0)] = s; }
}
kernel void say(uint n) { printf("%u\\n", n); }
kernel void brighten(read_only image2d_t in, sampler_t how, write_only image2d_t out) {
  int2 at = (int2)(get_global_id(0), get_global_id(1));
  write_imageui(out, at, read_imageui(in, how, at + 1) + 1u);
}
kernel void wild(global uint *x) { *(global volatile uint *)((uint)x | 1) = 1; }
"""


def refused(call: Callable[[], object]) -> str:
    """The code of a call that is refused."""
    try:
        call()
    except Refused as error:
        return error.name
    return "CL_SUCCESS"


def word(value: int) -> bytes:
    return value.to_bytes(4, "little")


def compute(host: Host, context: Handle, queue: Handle, found: dict[str, object]) -> None:
    """Launches on resident buffers, local memory, what is printed, profile."""
    x, out = host.buffer(context, 256, data=np.arange(64, dtype="<u4").tobytes()), host.buffer(context, 16)
    program = host.program(context, SOURCE, f"-I {sys.argv[1]}")
    step = host.kernel(program, "step_all", x, word(3))
    events = [host.launch(queue, step, [64]) for _ in range(3)]
    host.release(Event=host.launch(queue, host.kernel(program, "sums", x, out, 64), [64], [16]))
    host.release(Event=host.launch(queue, host.kernel(program, "say", word(77)), [1]))
    found["sums"] = np.frombuffer(host.read(queue, out, 16), "<u4").tolist()
    names = [number("CL_PROFILING_COMMAND_QUEUED") + k for k in range(4)]
    found["times"] = [
        [host.ask("clGetEventProfilingInfo", event, name, form=ctypes.c_uint64) for name in names] for event in events
    ]
    found["image"] = brighten(host, context, queue, program)
    wild = host.launch(queue, host.kernel(program, "wild", x), [1])
    host.call("clFinish", queue)
    found["wild"] = host.status(wild)
    host.release(Event=[*events, wild], MemObject=out)
    found["part"] = host.read(queue, x, 4, offset=252).hex()
    found["again"] = host.launch(queue, step, [64]) and host.read(queue, x, 4, offset=4).hex()


def brighten(host: Host, context: Handle, queue: Handle, program: Handle) -> str:
    """A kernel on images: texels of the next row and column, and one more."""
    texels = np.arange(8 * 4, dtype="u1").reshape(2, 4, 4).tobytes()
    form = struct.pack("<II", number("CL_RGBA"), number("CL_UNSIGNED_INT8"))
    sides = struct.pack("<I4x9Q", number("CL_MEM_OBJECT_IMAGE2D"), 4, 2, *[0] * 7)
    flags = ctypes.c_uint64(number("CL_MEM_COPY_HOST_PTR"))
    images = [host.make("clCreateImage", context, flags, form, sides, texels) for _ in range(2)]
    sampler = host.make("clCreateSampler", context, 0, number("CL_ADDRESS_CLAMP_TO_EDGE"), number("CL_FILTER_NEAREST"))
    kernel = host.kernel(program, "brighten", images[0], sampler, images[1])
    host.release(Event=host.launch(queue, kernel, [4, 2]))
    room = ctypes.create_string_buffer(32)
    where = (sizes(0, 0, 0), sizes(4, 2, 1), ctypes.c_size_t(0), ctypes.c_size_t(0), room)
    host.call("clEnqueueReadImage", queue, images[1], 1, *where, 0, None, None)
    host.release(MemObject=images, Sampler=sampler, Kernel=kernel)
    return room.raw.hex()


def main() -> None:
    host = Host()
    name = host.ask("clGetDeviceInfo", host.device, number("CL_DEVICE_NAME"), form=bytes)
    found: dict[str, object] = {"device": name.decode().rstrip("\0")}
    context = host.context()
    queue = host.queue(context, "PROFILING_ENABLE")
    compute(host, context, queue, found)
    most = host.ask("clGetDeviceInfo", host.device, number("CL_DEVICE_MAX_MEM_ALLOC_SIZE"), form=ctypes.c_uint64)
    kept: list[Handle] = []
    found["full"] = refused(lambda: kept.extend(host.buffer(context, most) for _ in range(100)))
    found["kept"] = len(kept)
    bad = host.source(context, "kernel void k() { nothing; }")
    found["bad"] = refused(lambda: host.call("clBuildProgram", bad, 0, None, b"", None, None))
    found["log"] = host.log(bad)
    print(json.dumps(found), flush=True)
    sys.stdin.readline()  # the server goes away meanwhile
    last = host.make("clCreateUserEvent", context)
    late = host.write(queue, kept[0], b"late", after=[last])
    host.call("clSetUserEventStatus", last, 0)
    host.call("clFinish", queue)
    print(json.dumps({"late": host.status(late), "buffer": refused(lambda: host.buffer(context, 64))}), flush=True)


if __name__ == "__main__":
    main()
