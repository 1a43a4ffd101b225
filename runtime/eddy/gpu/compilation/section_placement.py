# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Where kernels lie in a program: none in the lines of the instruction cache that the loop over work-groups uses.

A core's instruction cache is mapped directly, so a kernel a multiple of its size behind `eddy_next` (library/start.S)
and that loop throw each other out at every work-item. A gap before such a kernel costs 600 bytes at most.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from eddy.gpu.programs.program import section_sizes, symbols

ICACHE_BYTES = 4096
"""Size of the cores' instruction cache; of a smaller one nothing can be said, a larger one is served as well."""
_START, _LOOP = ".text.start", "eddy_next"
_STUB = re.compile(r"\.text\.(?:[\w.]+\.)?eddy_(?:call|loop)_\w+\Z", re.A)
_LISTED = "KEEP(*(.text.eddy_call_*"
"""How the line of the linker's script with all kernels begins."""


def section_gaps(sizes: Mapping[str, int], at: int, loop: range) -> Iterator[tuple[str, int]]:
    """Each kernel's section with the bytes to leave before it.

    Args:
        sizes: Bytes of the kernels' sections, in their order.
        at: Where the first lies, from the beginning of the program on.
        loop: Where the loop over work-groups lies.
    """
    for name, size in sizes.items():
        # The first place that has the loop's lines, a multiple of the cache's size behind it, and does not end before.
        turns = max(1, (at - loop.stop) // ICACHE_BYTES + 1) * ICACHE_BYTES
        fits = size <= ICACHE_BYTES - len(loop)
        to = loop.stop + turns if fits and at < loop.stop + turns and at + size > loop.start + turns else at
        yield name, to - at
        at = to + size


def place_kernels(script: str, start: bytes, kernels: bytes) -> str:
    """The linker's script with its kernels one by one, and gaps where they are needed.

    Args:
        script: The library's.
        start: Object file of the start.
        kernels: Object file of the kernels.
    """
    sizes = {name: size for name, size in section_sizes(kernels).items() if _STUB.match(name)}
    end = section_sizes(start)[_START]
    lines = [
        f"    {f'. += {gap}; ' if gap else ''}KEEP(*({name}))\n"
        for name, gap in section_gaps(sizes, end, range(symbols(start)[_LOOP], end))
    ]
    head, found, rest = script.partition(_LISTED)
    return head + "\n" + "".join(lines) + "    " + found + rest
