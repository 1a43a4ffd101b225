# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Built-in functions of whole numbers, relations, conversions, permutations and halves, against numpy and Python."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from eddy.gpu.launches.launch import Local, launch
from unit.gpu_kit import cluster, compiled

Array = npt.NDArray[Any]
TYPES = {
    "char": "i1",
    "uchar": "u1",
    "short": "i2",
    "ushort": "u2",
    "int": "i4",
    "uint": "u4",
    "long": "i8",
    "ulong": "u8",
}
WIDER = {"char": "short", "short": "int", "int": "long"}
ITEMS = 96


def limits(kind: str) -> tuple[int, int]:
    info = np.iinfo(TYPES[kind])
    return int(info.min), int(info.max)


def values(kind: str, seed: int) -> Array:
    """Ends, neighbours of ends, and numbers of all sizes."""
    low, high = limits(kind)
    rng = np.random.default_rng(seed)
    ends = [low, low + 1, high, high - 1, 0, 1, 2, 3, max(low, -1), max(low, -2), high // 2, low // 2]
    rest = [int(rng.integers(0, 1 << 62)) >> int(rng.integers(0, 62)) for _ in range(ITEMS - len(ends))]
    found = [*ends, *(min(max(int(rng.choice([-1, 1])) * value, low), high) for value in rest)]
    return np.array([found[k] for k in rng.permutation(ITEMS)], TYPES[kind])


def wrap(value: int, kind: str) -> int:
    low, high = limits(kind)
    return (value - low) % (high - low + 1) + low


def clip(value: int, kind: str) -> int:
    low, high = limits(kind)
    return min(max(value, low), high)


def bits(kind: str) -> int:
    return 8 * np.dtype(TYPES[kind]).itemsize


def unsigned(value: int, kind: str) -> int:
    return value % (1 << bits(kind))


def rotated(x: int, by: int, kind: str) -> int:
    width, plain = bits(kind), unsigned(x, kind)
    by %= width
    return wrap(plain << by | plain >> (width - by), kind)


Exact = Callable[[int, int, int, str], int]
SAME: dict[str, tuple[int, Exact]] = {
    "add_sat": (2, lambda x, y, z, t: clip(x + y, t)),
    "sub_sat": (2, lambda x, y, z, t: clip(x - y, t)),
    "hadd": (2, lambda x, y, z, t: (x + y) >> 1),
    "rhadd": (2, lambda x, y, z, t: (x + y + 1) >> 1),
    "mul_hi": (2, lambda x, y, z, t: (x * y) >> bits(t)),
    "mad_hi": (3, lambda x, y, z, t: wrap(((x * y) >> bits(t)) + z, t)),
    "mad_sat": (3, lambda x, y, z, t: clip(x * y + z, t)),
    "rotate": (2, lambda x, y, z, t: rotated(x, y, t)),
    "clz": (1, lambda x, y, z, t: bits(t) - unsigned(x, t).bit_length()),
    "popcount": (1, lambda x, y, z, t: unsigned(x, t).bit_count()),
    "min": (2, lambda x, y, z, t: min(x, y)),
    "max": (2, lambda x, y, z, t: max(x, y)),
    "clamp": (3, lambda x, y, z, t: min(max(x, min(y, z)), max(y, z))),
    "bitselect": (3, lambda x, y, z, t: wrap((x & ~z) | (y & z), t)),
}
ORDERED = {"clamp": "clamp(x, min(y, z), max(y, z))"}


def columns(kind: str) -> list[Array]:
    return [values(kind, seed) for seed in (1, 2, 3)]


@dataclass(frozen=True)
class Asked:
    """An expression of x, y and z: its type, and the width of the vectors it is made with."""

    expression: str
    result: str
    width: int = 1

    def kernel(self, name: str, kind: str) -> str:
        n = str(self.width) if self.width > 1 else ""
        read = ", ".join(f"{v} = " + (f"vload{n}(i, {v}_)" if n else f"{v}_[i]") for v in "xyz")
        write = f"vstore{n}(r, i, o)" if n else "o[i] = r"
        pointers = "".join(f"global const {kind} *{v}_, " for v in "xyz")
        return (
            f"kernel void {name}({pointers}global {self.result} *o) {{ uint i = get_global_id(0);\n"
            f"{kind}{n} {read}; {self.result}{n} r = {self.expression}; {write}; }}\n"
        )


def run(kind: str, asked: list[Asked], arrays: list[Array]) -> list[Array]:
    """What each expression gives for every row of the arrays; one program for all of them."""
    program = compiled("".join(one.kernel(f"k{k}", kind) for k, one in enumerate(asked)))
    found = []
    for k, one in enumerate(asked):
        out = np.zeros(ITEMS, TYPES.get(one.result, "f4"))
        launch(cluster(), program, f"k{k}", (ITEMS // one.width,), [*arrays, out])
        found.append(out)
    return found


@pytest.mark.parametrize("kind", TYPES)
def test_functions_of_whole_numbers(kind: str) -> None:
    arrays = columns(kind)
    rows = list(zip(*(array.tolist() for array in arrays), strict=True))
    asked, wanted = [], []
    for k, (name, (arity, exact)) in enumerate(SAME.items()):
        expression = ORDERED.get(name, f"{name}({', '.join('xyz'[:arity])})")
        asked += [Asked(expression, kind, width) for width in (1, (2, 3, 4, 8, 16)[k % 5])]
        wanted += [[exact(x, y, z, kind) for x, y, z in rows]] * 2
    fellow = "u" + kind.removeprefix("u")
    asked += [Asked("abs(x)", fellow, 4), Asked("abs_diff(x, y)", fellow, 2)]
    wanted += [[abs(x) for x, _, _ in rows], [abs(x - y) for x, y, _ in rows]]
    if bits(kind) < 64:
        signed = kind.removeprefix("u")
        result = ("u" if kind == fellow else "") + WIDER[signed]
        for n in ("", "4"):
            asked.append(Asked(f"upsample(x, as_u{signed}{n}(y))", result, int(n or 1)))
            wanted.append([(x << bits(kind)) | unsigned(y, kind) for x, y, _ in rows])
    for one, got, right in zip(asked, run(kind, asked, arrays), wanted, strict=True):
        assert got.tolist() == right, (one, kind)


@pytest.mark.parametrize("kind", ["int", "uint"])
def test_products_of_24_bits(kind: str) -> None:
    rng = np.random.default_rng(7)
    low = -(1 << 11) if kind == "int" else 0
    arrays = [rng.integers(low, 1 << 11, ITEMS).astype(TYPES[kind]) for _ in range(3)]
    x, y, z = arrays
    product, summed = run(kind, [Asked("mul24(x, y)", kind, 8), Asked("mad24(x, y, z)", kind)], arrays)
    np.testing.assert_array_equal(product, x * y)
    np.testing.assert_array_equal(summed, x * y + z)


RELATIONS: dict[str, Callable[[Array, Array], Array]] = {
    "isequal": lambda x, y: x == y,
    "isnotequal": lambda x, y: x != y,
    "isgreater": lambda x, y: x > y,
    "isgreaterequal": lambda x, y: x >= y,
    "isless": lambda x, y: x < y,
    "islessequal": lambda x, y: x <= y,
    "islessgreater": lambda x, y: (x < y) | (x > y),
    "isordered": lambda x, y: ~(np.isnan(x) | np.isnan(y)),
    "isunordered": lambda x, y: np.isnan(x) | np.isnan(y),
    "isfinite": lambda x, y: np.isfinite(x),
    "isinf": lambda x, y: np.isinf(x),
    "isnan": lambda x, y: np.isnan(x),
    "isnormal": lambda x, y: np.isfinite(x) & (np.abs(x) >= np.float32(2.0**-126)),
    "signbit": lambda x, y: np.signbit(x),
}
FLOATS = np.resize(np.array([0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e-45, -1e-40, 3e38, 2.5], "f4"), ITEMS)


def test_relations() -> None:
    arrays = [FLOATS, np.roll(FLOATS, 5)[::-1].copy(), FLOATS]
    asked, wanted = [], []
    for k, (name, relation) in enumerate(RELATIONS.items()):
        for width in (1, (2, 3, 4, 8, 16)[k % 5]):
            asked.append(Asked(f"{name}(x{', y' if k < 9 else ''})", "int", width))
            with np.errstate(all="ignore"):
                wanted.append(relation(arrays[0], arrays[1]) * (1 if width == 1 else -1))
    for one, got, right in zip(asked, run("float", asked, arrays), wanted, strict=True):
        assert got.tolist() == right.tolist(), one


@pytest.mark.parametrize("kind", ["char", "short", "int", "long"])
def test_any_all_and_select(kind: str) -> None:
    x, y, z = columns(kind)
    groups = z.reshape(-1, 4) < 0
    tests = f"({kind}4)(any(z), all(z), all(({kind}4)(-1)), any(({kind}2)(1)))"
    asked = [Asked(tests, kind, 4), Asked("select(x, y, z)", kind, 4), Asked(f"select(x, y, as_u{kind}4(z))", kind, 4)]
    found, signed, plain, scalar = run(kind, [*asked, Asked("select(x, y, z)", kind)], [x, y, z])
    rows = [groups.any(axis=1), groups.all(axis=1), np.ones(len(groups)), np.zeros(len(groups))]
    np.testing.assert_array_equal(found.reshape(-1, 4), np.stack(rows, axis=1))
    np.testing.assert_array_equal(signed, np.where(z < 0, y, x))
    np.testing.assert_array_equal(plain, np.where(z < 0, y, x))
    np.testing.assert_array_equal(scalar, np.where(z != 0, y, x))


ROUND: dict[str, Callable[[Fraction], int]] = {
    "rte": round,
    "rtz": math.trunc,
    "rtp": math.ceil,
    "rtn": math.floor,
}
SOURCES = np.array(
    [0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.4, -0.6, 126.5, 127.5, 128, -128.5, -129, 254.5, 255.5, 32766.5, -32769,
     65535.5, 1e9, -1e9, 2147483520, 2147483648, -2147483648, 4294967040, 5e9, 9.2e18, -9.3e18, 1.8e19, 3e20, -3e20,
     1e-40, -0.0],
    "f4",
)  # fmt: skip


def fits(value: int, kind: str) -> bool:
    return limits(kind)[0] <= value <= limits(kind)[1]


@pytest.mark.parametrize("kind", TYPES)
def test_conversions_of_floats(kind: str) -> None:
    x = np.resize(np.concatenate([SOURCES, np.array([np.nan, np.inf, -np.inf], "f4")]), ITEMS)
    asked, wanted = [], []
    for mode in ("", *ROUND):
        nearest, ending = ROUND[mode or "rtz"], mode and f"_{mode}"
        whole = [
            nearest(Fraction(v)) if math.isfinite(v) else 0 if math.isnan(v) else limits(kind)[v > 0]
            for v in x.tolist()
        ]
        for n in ("", "4"):
            asked += [Asked(f"convert_{kind}{n}{end}{ending}(x)", kind, int(n or 1)) for end in ("_sat", "")]
            wanted += [whole] * 2
    finite = np.isfinite(x)
    for one, got, right in zip(asked, run("float", asked, [x, x, x]), wanted, strict=True):
        if "_sat" in one.expression:
            assert got.tolist() == [clip(value, kind) for value in right], one
        else:
            inside = [k for k, value in enumerate(right) if finite[k] and fits(value, kind)]
            assert [int(got[k]) for k in inside] == [right[k] for k in inside], one


@pytest.mark.parametrize("other", TYPES)
def test_conversions_between_whole_numbers(other: str) -> None:
    arrays = [values(other, 9)] * 3
    x = arrays[0].tolist()
    asked = [Asked(f"convert_{kind}3_sat_rtn(x)", kind, 3) for kind in TYPES]
    asked += [Asked(f"convert_{kind}(x)", kind) for kind in TYPES]
    found = run(other, asked, arrays)
    for kind, saturated, plain in zip(TYPES, found[: len(TYPES)], found[len(TYPES) :], strict=True):
        assert saturated.tolist() == [clip(value, kind) for value in x], (kind, other)
        assert plain.tolist() == [wrap(value, kind) for value in x], (kind, other)


def nearest_floats(value: int, mode: str) -> float:
    """A whole number in binary32, rounded in a mode."""
    near = np.float32(value)
    below = near if int(near) <= value else np.nextafter(near, np.float32(-np.inf))
    above = near if int(near) >= value else np.nextafter(near, np.float32(np.inf))
    toward = {"rtn": below, "rtp": above, "rtz": below if value > 0 else above, "rte": near}
    return float(toward[mode])


@pytest.mark.parametrize("kind", TYPES)
def test_conversions_to_floats_round(kind: str) -> None:
    arrays = [values(kind, 11)] * 3
    x = arrays[0].tolist()
    found = run(kind, [Asked(f"convert_float2_{mode}(x)", "float", 2) for mode in ROUND], arrays)
    for mode, got in zip(ROUND, found, strict=True):
        # numpy rounds 64 bits to binary64 first.
        rows = [(float(g), nearest_floats(v, mode)) for g, v in zip(got, x, strict=True) if abs(v) < 1 << 53]
        assert [g for g, _ in rows] == [exact for _, exact in rows], (kind, mode)


def test_halves_are_those_of_numpy() -> None:
    every = np.arange(1 << 16, dtype="u2")
    source = """
    kernel void load(global const half *h, global float *o) { uint i = get_global_id(0); o[i] = vload_half(i, h); }
    kernel void store(global const float *x, global half *o) { uint i = get_global_id(0); vstore_half(x[i], i, o); }
    kernel void modes(global const float *x, global half *o) {
      uint i = get_global_id(0);
      vstore_half_rtz(x[i], 4 * i, o); vstore_half_rtp(x[i], 4 * i + 1, o); vstore_half_rtn(x[i], 4 * i + 2, o);
      vstore_half_rte(x[i], 4 * i + 3, o);
    }
    kernel void vectors(global const half *h, global half *o, local half *t) {
      vstorea_half3(vloada_half3(0, h), 0, t); vstore_half4(vload_half4(0, t), 0, o);
      vstore_half8_rtz(vload_half8(1, h), 1, o); vstore_half2(vload_half2(2, h), 2, o);
      vstorea_half16(vloada_half16(1, h), 1, o);
    }"""
    program, where = compiled(source), cluster()
    wide = np.zeros(every.size, "f4")
    launch(where, program, "load", every.shape, [every.view("f2"), wide])
    np.testing.assert_array_equal(wide, every.view("f2").astype("f4"))
    rng = np.random.default_rng(3)
    near = every.view("f2")[np.isfinite(every.view("f2"))].astype("f8")
    x = np.concatenate(
        [rng.choice(near, 3000) * rng.uniform(0.999, 1.001, 3000), (near[:-1:7] + near[1::7]) / 2, FLOATS]
    )
    x = np.concatenate([x, np.exp2(rng.uniform(-30, 20, 500))]).astype("f4")
    narrow = np.zeros(x.size, "f2")
    launch(where, program, "store", x.shape, [x, narrow])
    with np.errstate(over="ignore"):
        wanted = x.astype("f2")
    np.testing.assert_array_equal(narrow, wanted)
    modes = np.zeros((x.size, 4), "f2")
    launch(where, program, "modes", x.shape, [x, modes])
    finite = np.isfinite(x)
    zero, up, down, nearest = (modes[:, k][finite].astype("f8") for k in range(4))
    exact = x[finite].astype("f8")
    assert (down <= exact).all()
    assert (up >= exact).all()
    np.testing.assert_array_equal(zero, np.where(exact < 0, up, down))
    np.testing.assert_array_equal(nearest, wanted[finite].astype("f8"))
    with np.errstate(over="ignore"):
        tight = np.nextafter(modes[:, 2][finite], np.float16(np.inf)).astype("f8")
    assert (tight > exact).all()
    h, out = np.arange(32, dtype="f4").astype("f2"), np.zeros(32, "f2")
    launch(where, program, "vectors", (1,), [h, out, Local(64)])
    assert out[:6].tolist() == [0, 1, 2, 0, 4, 5]
    assert out[8:].tolist() == list(range(8, 32))


@pytest.mark.parametrize("n", [2, 3, 4, 8, 16])
def test_vectors_in_memory(n: int) -> None:
    """Every load and store of a width: elements two vectors on, and nothing beside them."""
    endings = ("", "_rte", "_rtz", "_rtp", "_rtn")
    pairs = [(f"vload{n}", f"vstore{n}", "float")]
    pairs += [(f"vload{a}_half{n}", f"vstore{a}_half{n}{end}", "half") for a in ("", "a") for end in endings]
    source = "".join(
        f"kernel void k{k}(global const {kind} *p, global {kind} *o) {{ {store}({load}(2, p), 1, o); }}\n"
        for k, (load, store, kind) in enumerate(pairs)
    )
    program = compiled(source)
    for k, (load, _, kind) in enumerate(pairs):
        step = 4 if n == 3 and "a_" in load else n
        p = np.arange(80, dtype="f4" if kind == "float" else "f2")
        o = np.full_like(p, -1)
        launch(cluster(), program, f"k{k}", (1,), [p, o])
        wanted = np.full_like(p, -1)
        wanted[step : step + n] = p[2 * step : 2 * step + n]
        np.testing.assert_array_equal(o, wanted, err_msg=pairs[k][1])


def test_permutations() -> None:
    source = """kernel void f(global const float *x, global float *o, global const uchar *c, global uchar *q) {
      float4 a = vload4(0, x), b = vload4(1, x);
      vstore8(shuffle2(a, b, (uint8)(7, 0, 5, 2, 3, 9, 1, 15)), 0, o);
      vstore2(shuffle(a, (uint2)(3, 6)), 4, o);
      vstore16(shuffle(vload2(0, c), (uchar16)(0, 1, 2, 3, 1, 1, 0, 0, 1, 0, 1, 0, 1, 0, 1, 255)), 0, q);
    }"""
    x, out = np.arange(8, dtype="f4"), np.zeros(10, "f4")
    c, q = np.array([5, 9], "u1"), np.zeros(16, "u1")
    launch(cluster(), compiled(source), "f", (1,), [x, out, c, q])
    assert out.tolist() == [7, 0, 5, 2, 3, 1, 1, 7, 3, 2]
    assert q.tolist() == [5, 9, 5, 9, 9, 9, 5, 5, 9, 5, 9, 5, 9, 5, 9, 9]


def test_groups_copy_together() -> None:
    source = """kernel void f(global const float *x, global float *y, local float *t, global const int2 *p,
                            global int2 *q, local int2 *s) {
      uint g = get_group_id(0), n = 24;
      event_t e = async_work_group_copy(t, x + g * n, n, 0);
      e = async_work_group_strided_copy(s, p + g * 2 * n, n, 2, e);
      prefetch(x, n);
      wait_group_events(1, &e);
      float sum = 0;
      for (uint k = 0; k < n; k++) sum += t[k];
      mem_fence(CLK_LOCAL_MEM_FENCE); read_mem_fence(CLK_GLOBAL_MEM_FENCE); write_mem_fence(CLK_LOCAL_MEM_FENCE);
      barrier(CLK_LOCAL_MEM_FENCE);
      if (get_local_id(0) == 0) t[0] = sum;
      barrier(CLK_LOCAL_MEM_FENCE);
      event_t done = async_work_group_copy(y + g * n, t, n, 0);
      done = async_work_group_strided_copy(q + g * 2 * n, s, n, 2, done);
      wait_group_events(1, &done);
    }"""
    x, y = np.arange(72, dtype="f4"), np.zeros(72, "f4")
    p, q = np.arange(288, dtype="i4").reshape(144, 2), np.zeros((144, 2), "i4")
    done = launch(cluster(), compiled(source), "f", (24,), [x, y, Local(96), p, q, Local(192)], local_size=(8,))
    wanted = x.reshape(3, 24).copy()
    wanted[:, 0] = wanted.sum(axis=1)
    np.testing.assert_array_equal(y, wanted.ravel())
    np.testing.assert_array_equal(q[::2], p[::2])
    assert not q[1::2].any()
    assert done.arrangement.group_items == 8


def test_standard_macros() -> None:
    source = """
    #if __OPENCL_VERSION__ != 120 || CL_VERSION_1_2 != 120 || __OPENCL_C_VERSION__ != 120 || !__ENDIAN_LITTLE__
    #error versions
    #endif
    #if CHAR_BIT != 8 || SCHAR_MIN != -128
    #error characters
    #endif
    #if INT_MAX != 0x7fffffff || ULONG_MAX != 0xffffffffffffffffUL || FLT_RADIX != 2
    #error limits
    #endif
    __kernel_exec(16, float4) void f(global float *o, global int *k) {
      o[0] = M_PI_F; o[1] = M_E_F; o[2] = M_2_SQRTPI_F; o[3] = HUGE_VALF; o[4] = FLT_MAX; o[5] = FLT_EPSILON;
      k[0] = FLT_MAX_10_EXP; k[1] = FLT_MIN_10_EXP; k[2] = FP_ILOGB0; k[3] = FP_ILOGBNAN; k[4] = NULL == 0;
      k[5] = vec_step(float3);
    }"""
    out, whole = np.zeros(6, "f4"), np.zeros(6, "i4")
    launch(cluster(), compiled(source), "f", (1,), [out, whole])
    np.testing.assert_array_equal(
        out, np.array([np.pi, np.e, 2 / np.sqrt(np.pi), np.inf, 3.40282347e38, 2.0**-23], "f4")
    )
    assert whole.tolist() == [38, -37, -(1 << 31), (1 << 31) - 1, 1, 4]
