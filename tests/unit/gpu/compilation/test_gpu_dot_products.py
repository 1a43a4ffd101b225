# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Integer dot products (`cl_khr_integer_dot_product`), every form, against whole numbers of Python."""

from __future__ import annotations

import numpy as np
import pytest
from eddy.gpu.launches.launch import launch
from eddy.gpu.programs.shape import ClusterShape
from eddy_sim.gpu.executors import IsaExecutor, RtlExecutor
from unit.gpu_kit import build_quickly, compiled

FORMS = {"uu": ("uchar", "uchar", "uint"), "ss": ("char", "char", "int")}
FORMS |= {"us": ("uchar", "char", "int"), "su": ("char", "uchar", "int")}
COUNT = 64


def source() -> str:
    """A kernel for each form: vectors, packed ones, and both with a sum."""
    kernels = []
    for form, (a, b, r) in FORMS.items():
        x, y, packed = f"as_{a}4(x[i])", f"as_{b}4(y[i])", f"dot_4x8packed_{form}_{r}(x[i], y[i])"
        values = [
            *(f"dot({x}, {y})", packed, f"dot_acc_sat({x}, {y}, s[i])"),
            f"dot_acc_sat_4x8packed_{form}_{r}(x[i], y[i], s[i])",
        ]
        body = " ".join(f"out[4 * i + {k}] = {value};" for k, value in enumerate(values))
        kernels.append(
            f"kernel void {form}(global {r} *out, global const uint *x, global const uint *y, global const {r} *s) "
            f"{{ size_t i = get_global_id(0); {body} }}"
        )
    return "\n".join(kernels)


def expected(form: str, x: int, y: int, s: int) -> list[int]:
    """By hand: bytes, their products, the sum, and the sum with another one kept in 32 bits."""
    signs, (least, most) = FORMS[form], ((0, 2**32 - 1) if form == "uu" else (-(2**31), 2**31 - 1))

    def parts(word: int, kind: str) -> list[int]:
        each = [word >> 8 * k & 255 for k in range(4)]
        return [v - 256 if kind == "char" and v > 127 else v for v in each]

    plain = sum(a * b for a, b in zip(parts(x, signs[0]), parts(y, signs[1]), strict=True))
    kept = min(max(plain + s, least), most)
    return [plain, plain, kept, kept]


@pytest.mark.parametrize("where", ["model", pytest.param("rtl", marks=pytest.mark.rtl)])
def test_every_form_of_a_dot_product(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    build_quickly(monkeypatch)
    shape = ClusterShape(1, 2, 2, fpu=False)
    executor = IsaExecutor(shape) if where == "model" else RtlExecutor(shape)
    program, random = compiled(source(), fpu=False), np.random.default_rng(7)
    edges = [0, 0x7F7F7F7F, 0x80808080, 0xFFFFFFFF, 0x80FF7F01]
    pairs = [(a, b) for a in edges for b in edges]
    more = random.integers(0, 1 << 32, (COUNT - len(pairs), 2), "u8").tolist()
    x, y = np.array([*pairs, *more], "u4").T.copy()
    for form, (_, _, result) in FORMS.items():
        kind = np.dtype("u4" if result == "uint" else "i4")
        bounds = np.iinfo(kind)
        s = np.resize(np.array([0, bounds.max, bounds.min, bounds.max - 5, bounds.min + 5], kind), COUNT)
        out = np.zeros(4 * COUNT, kind)
        launch(executor, program, form, (COUNT,), [out, x, y, s])
        told = [expected(form, *map(int, each)) for each in zip(x, y, s, strict=True)]
        assert out.reshape(COUNT, 4).tolist() == told, form
