# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Launches of an empty kernel on pocl, by an interpreter that has pyopencl: prints launches a second of wall and of
processor time as JSON, or says why there are none and ends with code 3."""

from __future__ import annotations

import json
import sys
import time

SOURCE = "kernel void empty(global uint *x) {}"


def measure(launches: int) -> dict[str, float]:
    """Rates of launches in an in-order queue.

    Raises:
        LookupError: There is no pocl.
    """
    import pyopencl as cl  # type: ignore[import-not-found]

    devices = [
        device
        for platform in cl.get_platforms()
        if "Portable Computing" in platform.name
        for device in platform.get_devices()
    ]
    if not devices:
        raise LookupError("no OpenCL platform of pocl is found")
    context = cl.Context(devices[:1])
    queue = cl.CommandQueue(context)
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 1 << 20)
    kernel = cl.Kernel(cl.Program(context, SOURCE).build(), "empty")
    kernel.set_args(buffer)
    for _ in range(100):
        cl.enqueue_nd_range_kernel(queue, kernel, (1,), (1,))
    queue.finish()
    began_s, cpu_s = time.monotonic(), time.process_time()
    for _ in range(launches):
        cl.enqueue_nd_range_kernel(queue, kernel, (1,), (1,))
    queue.finish()
    return {"wall": launches / (time.monotonic() - began_s), "processor": launches / (time.process_time() - cpu_s)}


if __name__ == "__main__":
    try:
        print(json.dumps(measure(int(sys.argv[1]))))
    except (ImportError, LookupError) as error:
        print(error, file=sys.stderr)
        sys.exit(3)
