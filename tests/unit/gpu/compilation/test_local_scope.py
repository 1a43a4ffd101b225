# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`__local` variables of inner blocks: where clang refuses them they are moved, and nothing else is."""

from __future__ import annotations

import numpy as np
import pytest
from eddy.core.errors import CompilationFailed
from eddy.gpu.compilation.build import build
from eddy.gpu.compilation.local_scope import hoist_declarations
from eddy.gpu.launches.launch import launch
from unit.gpu_kit import cluster, compiler

SOURCE = """
#define N 8 // { not code
/* { nor this */
kernel void other(global int *a) { a[0] = 1; }
kernel void f(global int *a, int on)
{
  int l = get_local_id(0);
  if (on) {
    __local int t[N],
                u[N];
    t[l] = a[l]; u[l] = '{';
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 1; k++) {
      local int s;
      if (l == 0) s = t[1] + u[2];
      barrier(CLK_LOCAL_MEM_FENCE);
      a[l] = t[7 - l] + s;
    }
  }
}
"""


def test_a_variable_of_an_inner_block_is_the_kernels() -> None:
    a = np.arange(8, dtype="i4")
    launch(cluster(), build(compiler(), SOURCE), "f", (8,), [a, 1], local_size=(8,))
    np.testing.assert_array_equal(a, np.arange(8)[::-1] + 1 + ord("{"))


def test_lines_keep_their_numbers() -> None:
    words = "error: variables in the local address space can only be declared in the outermost scope"
    text = hoist_declarations(
        "kernel void f() {\n  {\n    local int t\n    [4];\n    t[0] = 1;\n  }\n}\n", f"kernel.cl:3:15: {words}"
    )
    assert text == "kernel void f() { local int t     [4];\n  {\n    \n\n    t[0] = 1;\n  }\n}\n"


@pytest.mark.parametrize("body", ["if (a[0]) { local int t = 4; a[1] = t; }", "{ local int t[2]; t[0] = missing; }"])
def test_other_errors_stay(body: str) -> None:
    with pytest.raises(CompilationFailed):
        build(compiler(), "kernel void f(global int *a) { " + body + " }")


def test_blocks_have_variables_of_one_name() -> None:
    """Each its own, also where the name is a constant's elsewhere, a member's, or an inner block's once more."""
    source = """
    constant int s[4] = {5, 6, 7, 8};
    kernel void f(global int *a, int on) {
      struct { int s; } pair = {s[1]};
      int l = get_local_id(0);
      if (on) {
        local int t[8], s;
        if (l == 2) s = 40;
        t[l] = l + pair.s;
        { local int t[8]; t[l] = 100 * l; barrier(CLK_LOCAL_MEM_FENCE); a[l] = t[7 - l]; }
        a[l] += t[(l + 1) % 8] + s;
      } else {
        local short t[8]; t[l] = -l; barrier(CLK_LOCAL_MEM_FENCE); a[l] = t[7 - l];
      }
      a[l] += s[3];
    }"""
    program, at = build(compiler(), source), np.arange(8)
    for on, wanted in ((1, 100 * (7 - at) + (at + 1) % 8 + 6 + 40 + 8), (0, at - 7 + 8)):
        a = np.zeros(8, "i4")
        launch(cluster(), program, "f", (8,), [a, on], local_size=(8,))
        np.testing.assert_array_equal(a, wanted)
