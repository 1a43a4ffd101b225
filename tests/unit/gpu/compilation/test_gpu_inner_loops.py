# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The way to address is chosen by the length of the innermost loops."""

from __future__ import annotations

import numpy as np
import pytest
from eddy.gpu.compilation import toolchain
from eddy.gpu.compilation.compiler import Compiler
from eddy.gpu.compilation.prelude import complete
from eddy.gpu.launches.launch import launch
from eddy.gpu.work_items import inner_loops
from eddy.gpu.work_items.item_parameter import STUB
from unit.gpu_kit import cluster, compiler

ASSEMBLY = """
f:                                      # @f
# %bb.0:
\tli\ta0, 4
.LBB0_1:                                # outer
\tlw\ta1, 8(a0)
.LBB0_2:                                # first inner
\tlw\ta2, 12(sp)                        # 4-byte Folded Reload
\tbeqz\ta2, .LBB0_4
# %bb.3:
\t#APP
\taddi\ta2, a2, 1
\t#NO_APP
\tj\t.LBB0_2
.LBB0_4:
\taddi\ta1, a1, -1
.LBB0_5:                                # second inner
\tflw\tfa0, -8(sp)
\tbltu\ta1, a2, .LBB0_5
# %bb.6:
\tbnez\ta1, .LBB0_1
\tret
.Lfunc_end0:
\t.size\tf, .Lfunc_end0-f
"""
POINTS = """
kernel void gain(global const float *x, global const float *w, global float *y, global int *to, uint at) {
  const uint i = get_global_id(0);
  float sum = 0;
  for (uint d = 0; d < 24; d++) {
    const float gap = x[d * 1000 + i] - x[d * 1000 + at];
    sum += gap * gap;
  }
  if (sum * w[i] < 1) y[i] = sum; else y[i + 1000] = to[to[i]];
}
"""


def test_innermost_loops_of_a_text() -> None:
    assert list(inner_loops.find_innermost_loops(ASSEMBLY, "f")) == [(4, 1), (2, 1)]
    assert not inner_loops.has_register_pressure(ASSEMBLY, ["f"])
    more = ASSEMBLY.replace("\tflw", 4 * "\tlw\ta3, 4(sp)\n" + "\tflw")
    assert inner_loops.has_register_pressure(more, ["f"])
    assert inner_loops.has_shorter_loops(more, ASSEMBLY, ["f"])
    assert not inner_loops.has_shorter_loops(ASSEMBLY, more, ["f"])
    assert not inner_loops.has_shorter_loops(ASSEMBLY, ASSEMBLY, ["f"])


def test_a_crowded_loop_takes_the_shorter_way_and_computes_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty-four arrays walked through at once: more addresses than registers."""
    made: list[str] = []
    generate = Compiler._generate

    def watched(self: Compiler, code: tuple[str, ...], ir: str, said: list[bytes]) -> str:
        made.append(generate(self, code, ir, said))
        return made[-1]

    monkeypatch.setattr(Compiler, "_generate", watched)
    program = compiler()._compile(complete(POINTS, {}), True, "", toolchain.SINGLE)
    lengths = [sum(length for length, _ in inner_loops.find_innermost_loops(text, f"{STUB}gain")) for text in made]
    assert len(lengths) == 2
    assert lengths[1] < lengths[0]
    monkeypatch.setattr(inner_loops, "MAX_RELOADS", 1000)
    assert compiler()._compile(complete(POINTS, {}), True, "", toolchain.SINGLE).elf != program.elf
    rng = np.random.default_rng(5)
    x, w = rng.random((24, 1000), "f4"), rng.random(1000, "f4")
    y, to = np.zeros(2000, "f4"), rng.integers(0, 1000, 1000).astype("i4")
    launch(cluster(), program, "gain", (1000,), [x, w, y, to, 7])
    total = np.zeros(1000, "f4")
    for row in x:
        total += (row - row[7]) ** 2
    near = total * w < 1
    np.testing.assert_array_equal(y[:1000], np.where(near, total, 0))
    np.testing.assert_array_equal(y[1000:], np.where(near, 0, to[to].astype("f4")))
    assert 100 < near.sum() < 900
