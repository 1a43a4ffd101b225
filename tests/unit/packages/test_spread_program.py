# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Which programs may be spread over clusters: those whose machine code has no atomic instruction."""

from __future__ import annotations

import pytest
from unit.gpu_kit import compiler

PLAIN = "kernel void k(global uint *y) { y[get_global_id(0)] += 1; }"
PRINTS = 'kernel void k(global uint *y) { printf("%u", y[get_global_id(0)]); }'
ATOMIC = "kernel void k(global uint *y) { atomic_add(y, get_global_id(0)); }"
SWAPS = "kernel void k(global uint *y) { atomic_cmpxchg(y, 0, get_global_id(0)); }"


@pytest.mark.parametrize("fpu", [True, False])
@pytest.mark.parametrize(("source", "has"), [(PLAIN, False), (PRINTS, False), (ATOMIC, True), (SWAPS, True)])
def test_atomic_instructions_are_seen_in_the_machine_code(source: str, has: bool, fpu: bool) -> None:
    assert compiler().compile(source, fpu=fpu).uses_global_atomics is has
