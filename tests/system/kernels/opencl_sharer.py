# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A host that keeps the cores busy: launches a kernel so many times on words that stay, and prints them.

python opencl_sharer.py SOURCE WORDS ROUNDS LAUNCHES SALT
"""

from __future__ import annotations

import sys
from pathlib import Path

from kernel_kit import step_arrays
from opencl_kit import Host


def main() -> None:
    """See the module."""
    words, rounds, launches, salt = map(int, sys.argv[2:])
    y, x = step_arrays(words, salt)
    host = Host()
    context = host.context()
    queue = host.queue(context)
    buffers = [host.buffer(context, 4 * words, data=each.tobytes()) for each in (y, x)]
    program = host.program(context, Path(sys.argv[1]).read_text())
    step = host.kernel(program, "step", *buffers, rounds.to_bytes(4, "little"))
    print("ready", flush=True)
    sys.stdin.readline()
    for _ in range(launches):
        host.release(Event=host.launch(queue, step, [words]))
    print(host.read(queue, buffers[0], 4 * words).hex())


main()
