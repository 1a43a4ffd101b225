# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Where a product and a sum may be rounded once they are, on cores with and without an FPU alike; elsewhere never."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from eddy.gpu.compilation.build import build
from eddy.gpu.compilation.contraction import with_fused_products
from eddy.gpu.launches.launch import launch
from eddy.gpu.programs.shape import ClusterShape
from unit.gpu_kit import cluster, compiler

SOURCE = """
kernel void f(global const float *a, global const float *b, global const float *c, global float *out) {
  uint i = get_global_id(0), n = get_global_size(0);
  out[i] = a[i] * b[i] + c[i];
  out[n + i] = fma(a[i], b[i], c[i]);
  float t = a[i] * b[i]; out[2 * n + i] = t + c[i];
  out[3 * n + i] = mix(a[i], b[i], c[i]);
  float4 v = (float4)(a[i], b[i], c[i], 1.0f) * b[i] + c[i]; out[4 * n + i] = v.x;
}
"""
ON = "#pragma OPENCL FP_CONTRACT ON\n"
N = 64


def computed(source: str, options: str, fpu: bool) -> npt.NDArray[np.float32]:
    rng = np.random.default_rng(3)
    arguments = [rng.uniform(-2, 2, N).astype("f4") for _ in range(3)]
    out = np.zeros(5 * N, "f4")
    program = build(compiler(), source, fpu=fpu, options=options)
    launch(cluster(ClusterShape(1, 2, 4, fpu=fpu)), program, "f", (N,), [*arguments, out])
    return out.reshape(5, N)


def expected(fused: bool) -> npt.NDArray[np.float32]:
    rng = np.random.default_rng(3)
    a, b, c = (rng.uniform(-2, 2, N).astype("f4") for _ in range(3))
    apart = a * b + c
    once = (a.astype("f8") * b.astype("f8") + c.astype("f8")).astype("f4")
    assert (apart != once).sum() > 10
    return np.stack([once if fused else apart, once, apart, a + (b - a) * c, once if fused else apart])


@pytest.mark.parametrize("fpu", [True, False])
@pytest.mark.parametrize(
    ("begin", "options", "fused"),
    [
        ("", "", False),
        ("", "-cl-finite-math-only -cl-no-signed-zeros", False),
        ("", "-cl-mad-enable", True),
        ("", "-cl-fast-relaxed-math", True),
        (ON, "", True),
        ("#pragma OPENCL FP_CONTRACT OFF\n", "-cl-mad-enable", False),
    ],
)
def test_products_are_fused_where_it_is_allowed(fpu: bool, begin: str, options: str, fused: bool) -> None:
    np.testing.assert_array_equal(computed(begin + SOURCE, options, fpu), expected(fused))


def test_a_module_names_each_function_once() -> None:
    both = (
        "  %1 = call float @llvm.fmuladd.f32(float %a, float %b, float %c)\n"
        "declare float @llvm.fmuladd.f32(float, float, float) #1\ndeclare float @llvm.fma.f32(float, float, float) #1\n"
    )
    assert with_fused_products(both).count("declare") == 1
    assert with_fused_products(both).count("@llvm.fma.f32(") == 2
    wide = "declare double @llvm.fmuladd.f64(double, double, double)\n"
    assert with_fused_products(wide) == wide
