# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""No function of OpenCL C 1.2 takes a double and computes it as float: each is right in double, or refused in words.

The errors of functions of double are in test_builtins_math.py, their edges in test_builtins_edges.py.
"""

from __future__ import annotations

import math
import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from eddy.core.errors import CompilationFailed
from eddy.gpu.compilation import toolchain
from eddy.gpu.compilation.builtins import sections
from eddy.gpu.compilation.prelude import complete
from eddy.gpu.launches.launch import Local, launch
from eddy.gpu.programs.shape import ClusterShape
from unit.gpu_kit import cluster, compiled, compiler
from unit.opencl_table import MATH, NATIVE, SPECIFICATION, WITH_INTEGER

Array = npt.NDArray[Any]
WIDTHS = ("", "2", "3", "4", "8", "16")
INTEGERS = ("char", "uchar", "short", "ushort", "int", "uint", "long", "ulong")
DTYPES = dict(zip(INTEGERS, ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"), strict=True))

# ---- Every overload of float has one of double

_DECLARED = re.compile(
    r"__attribute__\(\((?:overloadable, always_inline, unused|overloadable, unavailable\([^)]*\))\)\)"
    r"(?:\s+static inline)?(?:\s+__attribute__\(\(enable_if\(1, \"\"\)\)\))?\s+\w+ (\w+)\(([^()]*)\)"
)
_SPACES = {"__private", "__global", "__local", "__constant", "const", "volatile"}
FLOAT_ONLY = {
    **dict.fromkeys(("read_imagef", "read_imagei", "read_imageui"), "a vector of coordinates, or the scalar of a line"),
    **dict.fromkeys(("write_imagef",), "a vector of channels"),
    **dict.fromkeys(("atomic_xchg", "atom_xchg"), "the word that the pointer says is replaced by one of its own type"),
}
"""Functions with no `double` in the standard whose argument of float is no number to compute with."""


def overloads() -> dict[str, set[tuple[str, ...]]]:
    """The types of the parameters of every function before a source that uses double, by name."""
    text = complete(f"/* {' '.join(sections())} */ #define A(x) x##x", {}, doubles=True)
    command = [toolchain.executable(), "clang", *toolchain.machine(True), *toolchain.OPENCL, *toolchain.DOUBLE]
    done = subprocess.run([*command, "-w", "-E", "-P", "-"], input=text, capture_output=True, check=True)
    found: dict[str, set[tuple[str, ...]]] = {}
    for name, given in _DECLARED.findall(done.stdout.decode()):
        found.setdefault(name, set()).add(tuple(map(_type, given.split(","))))
    return found


def _type(parameter: str) -> str:
    """A parameter's type, without its name."""
    words = parameter.replace("*", " * ").split()
    names = [word for word in words if word not in {*_SPACES, "*"}]
    return " ".join(word for word in words if word not in {"const", *names[1:]})


def test_every_overload_of_float_has_one_of_double() -> None:
    found = overloads()
    checked = 0
    for name, forms in found.items():
        if name in FLOAT_ONLY or name.startswith(("vload", "atomic_", "eddy_atomic")):
            continue
        for types in forms:
            twin = tuple(re.sub(r"\bfloat(?=\d|\b)", "double", one) for one in types)
            if twin != types and not any("double" in one for one in types):
                # Vectors of tests and selections have integers as wide as their elements.
                wide = tuple(re.sub(r"\bint(?=\d)", "long", re.sub(r"\buint(?=\d|\b)", "ulong", one)) for one in twin)
                longs = tuple(re.sub(r"\bint\b", "long", one) for one in wide)
                assert forms & {twin, wide, longs}, (name, types)
                checked += 1
    assert checked > 500
    assert {"exp", "fract", "mix", "vstore_half8_rtp", "async_work_group_strided_copy", "native_sin"} <= found.keys()


# ---- Every function of the specification with arguments of double

ONE, TWO, THREE = "{f}(d{n})", "{f}(d{n}, e{n})", "{f}(d{n}, e{n}, g{n})"
RIGHT: dict[str, tuple[str, ...]] = {
    **{name: ((ONE, TWO, THREE)[entry.arity - 1],) for name, entry in MATH.items()},
    **dict.fromkeys(WITH_INTEGER, ("{f}(d{n}, k{n})",)),
    **dict.fromkeys(("fract", "modf", "sincos"), ("{f}(d{n}, &r{n})",)),
    **dict.fromkeys(("frexp", "lgamma_r"), ("{f}(d{n}, &k{n})",)),
    **dict.fromkeys(("lgamma", "logb", "degrees", "radians", "sign"), (ONE,)),
    **dict.fromkeys(("nextafter", "min", "max", "step"), (TWO,)),
    **dict.fromkeys(("clamp", "mix", "smoothstep", "bitselect"), (THREE,)),
    "select": ("select(d{n}, e{n}, w{n})", "select(d{n}, e{n}, as_ulong{n}(w{n}))"),
    "remquo": ("remquo(d{n}, e{n}, &k{n})",),
    "nan": ("nan(as_ulong{n}(w{n}))",),
}
"""What gives double, of every width: by formats of the width `n` and the name `f`."""
SHORT = {"cross": (TWO, ("3", "4")), "normalize": (ONE, ("", "2", "3", "4"))}
"""The same with other widths: format and widths."""
LENGTHS = {"dot": TWO, "distance": TWO, "length": ONE}
"""What gives one double of vectors up to four."""
TESTS = {
    **dict.fromkeys(("isfinite", "isinf", "isnan", "isnormal", "signbit"), ONE),
    **dict.fromkeys(
        ("isequal", "isnotequal", "isgreater", "isgreaterequal", "isless", "islessequal", "islessgreater"), TWO
    ),
    **dict.fromkeys(("isordered", "isunordered"), TWO),
}
"""What gives int of a number, and long of each element of a vector."""
WHOLE = {"ilogb": ONE}
"""What gives int of each number."""
REFUSED: dict[str, str] = {
    **dict.fromkeys((f"{kind}_{name}" for kind in ("half", "native") for name in NATIVE), ONE),
    **dict.fromkeys((f"{kind}_{name}" for kind in ("half", "native") for name in ("divide", "powr")), TWO),
    **dict.fromkeys(("fast_length", "fast_normalize"), ONE),
    "fast_distance": TWO,
    **dict.fromkeys(("abs", "clz", "popcount", "any", "all"), ONE),
    **dict.fromkeys(("abs_diff", "add_sat", "hadd", "rhadd", "mul_hi", "rotate", "sub_sat", "upsample", "mul24"), TWO),
    **dict.fromkeys(("mad_hi", "mad_sat", "mad24"), THREE),
}
"""What is for float, or for integers, only."""
NO_NUMBERS = {
    *SPECIFICATION["Work-items (6.12.1)"],
    *SPECIFICATION["Together (6.12.8, 6.12.9)"],
    *SPECIFICATION["Atomics (6.12.11)"],
    *(n for title, names in SPECIFICATION.items() if "(6.12.14)" in title or "Subgroups" in title for n in names),
    *SPECIFICATION["Conversions (6.2.3, 6.2.4)"],
    *("vec_step", "printf", "prefetch", "wait_group_events"),
    *(set(SPECIFICATION["Integer dot products (`cl_khr_integer_dot_product`)"]) - {"dot"}),
}
"""What computes nothing with a number, or (conversions, printf, dot products of integers, subgroups) has tests of
its own."""
IN_MEMORY = {
    *SPECIFICATION["Vectors and arrays (6.12.7)"],
    *("async_work_group_copy", "async_work_group_strided_copy", "shuffle", "shuffle2"),
}


def test_every_function_of_the_specification_is_one_of_these() -> None:
    every = {name for names in SPECIFICATION.values() for name in names}
    assert every == {*RIGHT, *SHORT, *LENGTHS, *TESTS, *WHOLE, *REFUSED, *NO_NUMBERS, *IN_MEMORY}


@dataclass(frozen=True)
class Call:
    """A call of a function of the specification.

    Attributes:
        text: With vectors of the width; `element` is the same with numbers.
        width: "" for numbers.
        kind: The type it gives.
    """

    text: str
    element: str
    width: str
    kind: str


def calls() -> Iterator[Call]:
    def forms() -> Iterator[tuple[str, str, tuple[str, ...], str]]:
        for name, several in RIGHT.items():
            yield from ((name, form, WIDTHS, "double{n}") for form in several)
        yield from ((name, form, widths, "double{n}") for name, (form, widths) in SHORT.items())
        yield from ((name, form, WIDTHS[:4], "double") for name, form in LENGTHS.items())
        yield from ((name, form, WIDTHS, "long{n}") for name, form in TESTS.items())
        yield from ((name, form, WIDTHS, "int{n}") for name, form in WHOLE.items())

    for name, form, widths, kind in forms():
        for n in widths:
            given = "int" if not n and name in TESTS else kind.format(n=n)
            yield Call(form.format(f=name, n=n), form.format(f=name, n=""), n, given)


DECLARED = "".join(
    f"double{n} d{n} = a[{k}], e{n} = a[{k + 6}], g{n} = a[{k + 12}], r{n}; int{n} k{n}; long{n} w{n};\n"
    for k, n in enumerate(WIDTHS)
)


def test_what_takes_double_gives_double() -> None:
    """The type of each call tells which overload was taken: none of float."""
    checks = "".join(
        f'_Static_assert(__builtin_types_compatible_p(__typeof__({call.text}), {call.kind}), "{call.text}");\n'
        for call in calls()
    )
    compiled(f"kernel void f(global double *a) {{ {DECLARED} {checks} a[0] = 1; }}")
    assert sum(1 for _ in calls()) > 480


ELEMENTS = 16
GIVEN = (
    "global const double *x, global const double *y, global const double *z, global const int *q, global const long *c"
)


def both(number: int, call: Call) -> str:
    """A case that leaves the vectors' results, and behind them those of their elements."""
    n, element = call.width, call.kind.removesuffix(call.width)
    # Numbers are selected by whether one is zero, elements by their sign.
    sign = " < 0" if call.text.startswith("select") else ""
    truth = "-(long)" if element == "long" else ""
    return (
        f"case {number}: {{ double{n} d{n} = vload{n}(0, x), e{n} = vload{n}(0, y), g{n} = vload{n}(0, z), r{n};\n"
        f"int{n} k{n} = vload{n}(0, q); long{n} w{n} = vload{n}(0, c);\n"
        f"vstore{n}({call.text}, 0, (global {element} *)(o + {2 * ELEMENTS * number}));\n"
        f"for (int i = 0; i < {n}; i++) {{ double d = x[i], e = y[i], g = z[i], r; int k = q[i]; long w = c[i]{sign};\n"
        f"((global {element} *)(o + {2 * ELEMENTS * number + ELEMENTS}))[i] = {truth}{call.element}; }} break; }}\n"
    )


def test_vectors_are_their_elements() -> None:
    """Each function of vectors gives, bit for bit, what it gives of their elements: two widths of each, in turn."""
    rng = np.random.default_rng(2)
    x, y, z = (rng.uniform(0.05, 0.95, ELEMENTS) for _ in range(3))
    turns = np.arange(ELEMENTS) % 2 == 0  # each is the larger one in turn
    x, y = np.where(turns, np.maximum(x, y), np.minimum(x, y)), np.where(turns, np.minimum(x, y), np.maximum(x, y))
    given = [x, y, z + 1, rng.integers(1, 5, ELEMENTS).astype("i4"), rng.integers(-3, 3, ELEMENTS)]
    alike = [call for call in calls() if call.width and call.kind.endswith(call.width) and "cross" not in call.text]
    alike = [call for call in alike if "normalize" not in call.text]
    names = list(dict.fromkeys(call.element for call in alike))
    chosen = [call for call in alike if (names.index(call.element) + WIDTHS.index(call.width)) % 5 in (0, 2)]
    assert len(chosen) == 2 * len(names) > 150
    for first in range(0, len(chosen), 48):
        some = chosen[first : first + 48]
        cases = "".join(map(both, range(len(some)), some))
        source = f"kernel void f({GIVEN}, global double *o) {{ switch (get_global_id(0)) {{ {cases} }} }}"
        out = np.zeros((len(some), 2, ELEMENTS))
        launch(cluster(ClusterShape(1, 1, 1)), compiled(source), "f", (len(some),), [*given, out])
        for call, (got, wanted) in zip(some, out.view("u8"), strict=True):
            assert got.tolist() == wanted.tolist(), call
            assert got.any() or call.kind.startswith("long") or call.text.startswith(("floor", "trunc")), call


def refusals(bodies: list[str]) -> list[str]:
    """What the compiler says of each body, each in a kernel of its own; "" where it takes it."""
    said = [""] * len(bodies)
    for first in range(0, len(bodies), 15):
        some = bodies[first : first + 15]
        head = f"#define DECLARED {DECLARED.replace(chr(10), ' ')} float f; float2 f2; float4 f4;\n"
        lines = "".join(
            f"kernel void f{k}(global double *a, global float *s) {{ DECLARED {body}; }}\n"
            for k, body in enumerate(some)
        )
        try:
            compiler().compile(head + lines)
        except CompilationFailed as error:
            for entry in error.details["diagnostics"]:
                place = first + int(str(entry["line"])) - 2
                if entry["severity"] == "error":
                    said[place] = said[place] or str(entry["message"])
    return said


def test_what_does_not_take_double_refuses_it_in_words() -> None:
    bodies = [form.format(f=name, n=n) for name, form in REFUSED.items() for n in ("", "2", "4")]
    for body, words in zip(bodies, refusals(bodies), strict=True):
        assert re.search(r"is unavailable: it takes float only|is ambiguous|no matching function", words), (body, words)
        if body.startswith(("native_", "half_", "fast_")):
            assert "for double use the function without that beginning, or cast to float" in words


def test_integers_have_the_functions_for_float_as_before() -> None:
    """A refusal of double must not make the call of an integer ambiguous."""
    source = """kernel void f(global float *o, global double *unused, int k, uint u, long l, uchar c) {
      float r; o[0] = native_sqrt(k); o[1] = half_exp2(u); o[2] = native_divide(k, k); o[3] = native_recip(c);
      o[4] = fast_length(k); o[5] = native_powr(o[6], 2); o[7] = modf(k, &r) + r; o[8] = native_log2(l); }"""
    out = np.zeros(9, "f4")
    out[6] = 3
    launch(cluster(), compiled(source), "f", (1,), [out, np.zeros(1), 9, 3, 8, 4])
    assert out.tolist() == [3, 8, 1, 0.25, 9, 9, 3, 9, 3]


MIXED = [
    *(f"{name}({', '.join(of[: entry.arity])})" for name, entry in MATH.items() for of in ("dfd", "fdf")
      if entry.arity > 1),
    *("nextafter(d, f)", "min(d, f)", "max(f, d)", "clamp(d, f, f)", "mix(f, f, d)", "step(f, d)"),
    "smoothstep(f, d, d)",
    *("bitselect(d, f, d)", "select(d, f, w)", "isless(d, f)", "isequal(f, d)", "dot(d, f)", "distance(f, d)"),
    *("sincos(d, &f)", "modf(d, &f)", "fract(d, &f)", "sincos(d2, &f2)", "frexp(d, &d)", "remquo(d, e, &d)"),
    *("pow(d2, f2)", "fmax(d4, f4)", "isless(d2, f2)", "dot(d4, f4)", "fma(d2, d2, f2)", "mix(f2, f2, d2)"),
    *("max(d, 1)", "min(1, d)", "select(d, e, d > e)", "select(d, e, k)", "nan(5)", "sin(1)", "sqrt(k)"),
]  # fmt: skip
"""Two formats in one call, and what the standard leaves open beside double: refused as by other compilers."""


def test_mixtures_of_float_and_double_are_refused() -> None:
    for body, words in zip(MIXED, refusals(MIXED), strict=True):
        assert re.search(r"ambiguous|no matching|unavailable|incompatible pointer", words), (body, words)
    assert len(MIXED) > 50


def test_a_refused_mixture_says_what_to_do() -> None:
    for call in ("pow(d, f)", "sqrt(2)"):
        with pytest.raises(CompilationFailed) as caught:
            compiler().compile(f"kernel void f(global double *a, float f) {{ double d = a[0]; a[1] = {call}; }}")
        assert caught.value.message.endswith("cast the arguments to one type")
        assert "call to" in str(caught.value.details["diagnostics"][0]["message"])


def test_integers_and_scalars_beside_double_are_made_double() -> None:
    source = """kernel void f(global double *a, int k, float h) {
      double x = a[0], y = a[1]; double2 v = (double2)(x, y); int n = 0;
      a[n++] = pow(x, k); a[n++] = fmax(k, y); a[n++] = fma(x, k, k); a[n++] = hypot(x, 3); a[n++] = atan2(1, x);
      a[n++] = fmax(v, y).x; a[n++] = min(v, x).y; a[n++] = clamp(v, x, y).y; a[n++] = mix(v, v + 1, y).x;
      a[n++] = step(y, v).y; a[n++] = smoothstep(0.0, 2.0, v).x; a[n++] = fmax(v, h).x; a[n++] = ldexp(v, 3).y;
      a[n++] = pow(v, h).y; a[n++] = mix(v, v, k).x; a[n++] = max(v, 1).y; a[n++] = fmod(v, 0.3).x; }"""
    x, y, k, h = 1.1, 0.7, 3, np.float32(0.1)
    out = np.zeros(17)
    out[:2] = x, y
    launch(cluster(), compiled(source), "f", (1,), [out, k, h])
    wide = float(h)
    t = x / 2
    wanted = [x**3, 3, x * 3 + 3, math.hypot(x, 3), math.atan2(1, x), x, y, max(min(y, y), x) if x < y else y, x + 0.7]
    wanted += [1, t * t * (3 - 2 * t), max(x, wide), y * 8, y**wide, x, 1, math.fmod(x, 0.3)]
    np.testing.assert_allclose(out, wanted, rtol=1e-15)


def test_a_scalar_beside_a_vector_of_float_is_made_float() -> None:
    """As the language converts an argument to a parameter's type: the vector says which."""
    source = """kernel void f(global float2 *a, global const double *d) {
      _Static_assert(sizeof(fmax(a[0], d[0])) == 8, ""); a[1] = fmax(a[0], d[0]); a[2] = clamp(a[0], 0.0, 1.0);
      a[3] = mix(a[0], a[0] + 1.0f, 0.1); }"""
    a = np.full((4, 2), 0.05, "f4")
    launch(cluster(), compiled(source), "f", (1,), [a, np.array([0.1])])
    one, low, part = (np.float32(v) for v in (1, 0.05, 0.1))
    assert a[1:, 0].tolist() == [part, low, low + ((low + one) - low) * part]


# ---- Relations

EDGES = [
    0,
    -0.0,
    1,
    -1,
    np.inf,
    -np.inf,
    np.nan,
    5e-324,
    -1e-310,
    1e308,
    2.5,
    2.2250738585072014e-308,
    2.2250738585072009e-308,
]
RELATIONS: dict[str, Callable[[Array, Array], Array]] = {
    **{"isequal": np.equal, "isnotequal": np.not_equal, "isgreater": np.greater, "isgreaterequal": np.greater_equal},
    **{"isless": np.less, "islessequal": np.less_equal, "islessgreater": lambda x, y: (x < y) | (x > y)},
    **{"isordered": lambda x, y: ~(np.isnan(x) | np.isnan(y)), "isunordered": lambda x, y: np.isnan(x) | np.isnan(y)},
    **{"isfinite": lambda x, y: np.isfinite(x), "isinf": lambda x, y: np.isinf(x), "isnan": lambda x, y: np.isnan(x)},
    "isnormal": lambda x, y: np.isfinite(x) & (np.abs(x) >= 2.0**-1022),
    "signbit": lambda x, y: np.signbit(x),
}


def test_relations_of_double() -> None:
    assert RELATIONS.keys() == TESTS.keys()
    x = np.repeat(EDGES, len(EDGES))
    y = np.tile(EDGES, len(EDGES))
    body = "".join(f"o[{k} * n + i] = {TESTS[name].format(f=name, n='')};\n" for k, name in enumerate(RELATIONS))
    source = "kernel void f(global const double *a, global const double *b, global int *o) { int i = get_global_id(0), "
    source += f"n = get_global_size(0); double d = a[i], e = b[i]; {body} }}"
    out = np.zeros((len(RELATIONS), x.size), "i4")
    launch(cluster(), compiled(source), "f", x.shape, [x, y, out])
    for (name, relation), got in zip(RELATIONS.items(), out, strict=True):
        np.testing.assert_array_equal(got, relation(x, y).astype("i4"), err_msg=name)


# ---- Conversions

ROUND: dict[str, Callable[[Fraction], int]] = {"rte": round, "rtz": math.trunc, "rtp": math.ceil, "rtn": math.floor}
ENDS = [
    float(v + d) for k in (7, 8, 15, 16, 31, 32, 63, 64) for v in (2.0**k, -(2.0**k)) for d in (-1, -0.5, 0, 0.5, 1)
]
NUMBERS_TO_CONVERT = np.array(
    [*ENDS, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49999999999999994, 16777217.25, 4503599627370495.5, 9007199254740993.0,
     1e300, -1e300, 5e-324, -5e-324, 0.0, -0.0, 1e18 + 128, -1e15 - 0.5, np.nan, np.inf, -np.inf]
)  # fmt: skip


def column(kind: str, expressions: list[str], result: str, dtype: str, given: Array) -> Array:
    """What each expression of `x` gives of every number: rows of a table."""
    body = "".join(f"o[{k} * n + i] = {text};\n" for k, text in enumerate(expressions))
    source = f"kernel void f(global const {kind} *a, global {result} *o) {{ int i = get_global_id(0), "
    source += f"n = get_global_size(0); {kind} x = a[i]; {kind}4 v = ({kind}4)(x, 1, 1, x); {body} }}"
    out = np.zeros((len(expressions), given.size), dtype)
    launch(
        cluster(),
        compiled(source + " /* double */ kernel void other(global double *u) {}"),
        "f",
        given.shape,
        [given, out],
    )
    return out


@pytest.mark.parametrize("kind", INTEGERS)
def test_double_to_integers(kind: str) -> None:
    info, x = np.iinfo(DTYPES[kind]), NUMBERS_TO_CONVERT
    names = [f"convert_{kind}{{}}{sat}{mode and '_'}{mode}" for sat in ("_sat", "") for mode in ("", *ROUND)]
    expressions = [text for name in names for text in (name.format("") + "(x)", name.format("4") + "(v).w")]
    for text, got in zip(expressions, column("double", expressions, kind, DTYPES[kind], x), strict=True):
        nearest = ROUND.get(text.split("(")[0].rpartition("_")[2], math.trunc)
        for number, found in zip(x.tolist(), got.tolist(), strict=True):
            if math.isnan(number):
                assert "_sat" not in text or found == 0
                continue
            whole = nearest(Fraction(number)) if math.isfinite(number) else int(math.copysign(1 << 70, number))
            if "_sat" in text or info.min <= whole <= info.max:
                assert found == min(max(whole, info.min), info.max), (text, number)


def rounded(value: Fraction, mode: str, dtype: str) -> float:
    """The number of a format that is nearest to a value, to even; or next to it, in a direction."""
    info = np.finfo(dtype)
    digits, least = info.nmant, info.minexp - info.nmant
    if not value:
        return 0.0
    size = abs(value)
    exponent = math.floor(math.log2(size.numerator) - math.log2(size.denominator))
    exponent += (size >= Fraction(2) ** (exponent + 1)) - (size < Fraction(2) ** exponent)
    unit = Fraction(2) ** max(exponent - digits, least)
    whole = ROUND[mode](value / unit) * unit
    top = Fraction(float(info.max))
    if abs(whole) > top:
        away = mode == "rte" or ((mode == "rtp") == (value > 0) and mode != "rtz")
        return math.copysign(math.inf if away else float(top), value)
    return float(whole)


TO_NARROW = np.concatenate(
    [
        NUMBERS_TO_CONVERT[np.isfinite(NUMBERS_TO_CONVERT)],
        [
            3.4028235677973366e38,
            3.4028234663852887e38,
            1e39,
            -1e39,
            1e-46,
            -7.006492321624085e-46,
            7.1e-46,
            2.1e-45,
            1e-40,
        ],
        [
            65504,
            65519.999,
            65520,
            -65535,
            2.0**-25,
            2.0**-24,
            3 * 2.0**-26,
            1.5 * 2.0**-24,
            6.1e-5,
            1 + 2.0**-11,
            1 + 2.0**-24,
        ],
        np.random.default_rng(4).normal(size=60) * 2.0 ** np.random.default_rng(5).integers(-160, 130, 60),
        np.random.default_rng(6).normal(size=60) * 2.0 ** np.random.default_rng(7).integers(-28, 17, 60),
    ]
)


def test_double_to_float_rounds_as_asked() -> None:
    expressions = [text for mode in ROUND for text in (f"convert_float_{mode}(x)", f"convert_float4_{mode}(v).w")]
    expressions += ["convert_float(x)", "(float)x"]
    table = column("double", expressions, "float", "f4", TO_NARROW)
    for text, got in zip(expressions, table, strict=True):
        mode = text.split("(")[0].rpartition("_")[2]
        for number, found in zip(TO_NARROW.tolist(), got.tolist(), strict=True):
            assert found == rounded(Fraction(number), mode if mode in ROUND else "rte", "f4"), (text, number)
    special = column("double", ["convert_float_rtz(x)"], "float", "f4", np.array([np.nan, np.inf, -np.inf, -0.0]))[0]
    assert np.isnan(special[0])
    assert special[1:3].tolist() == [np.inf, -np.inf]
    assert np.signbit(special[3])


@pytest.mark.parametrize("kind", [*INTEGERS, "float"])
def test_numbers_to_double_round_as_asked(kind: str) -> None:
    if kind == "float":
        given = np.array([0.1, -0.0, 1e-45, 3.4e38, np.inf, -1e-40], "f4")
    else:
        info = np.iinfo(DTYPES[kind])
        numbers = [
            info.max,
            info.max - 1,
            info.min,
            info.min + 1,
            0,
            1,
            (1 << 53) + 1,
            (1 << 54) + 2,
            (1 << 54) + 6,
            (1 << 62) + 1,
        ]
        given = np.array([v for v in (*numbers, *(-v for v in numbers)) if info.min <= v <= info.max], DTYPES[kind])
    expressions = [text for mode in ROUND for text in (f"convert_double_{mode}(x)", f"convert_double4_{mode}(v).w")]
    expressions += ["convert_double(x)", "convert_double4(v).w"]
    for text, got in zip(expressions, column(kind, expressions, "double", "f8", given), strict=True):
        mode = text.split("(")[0].rpartition("_")[2]
        wanted = [
            rounded(Fraction(v), mode if mode in ROUND else "rte", "f8") if math.isfinite(v) else v
            for v in given.tolist()
        ]
        assert got.tolist() == wanted, text


def test_conversions_alone_ask_for_double() -> None:
    for text in (
        "convert_double(s[0])",
        "convert_double4_rtz(vload4(0, s)).x",
        "as_double2(vload4(0, s)).x",
        "(float)(double)1",
    ):
        assert compiled(f"kernel void f(global float *s) {{ s[0] = {text}; }}").kernels


# ---- Memory


def test_halves_of_double_round_once() -> None:
    """By way of float a number between two halves would be rounded twice."""
    x = np.concatenate([TO_NARROW, [1 + 2.0**-11 + 2.0**-40, 1 + 3 * 2.0**-11 - 2.0**-40, 2.0**-25 + 2.0**-70]])
    modes = ("", "_rte", "_rtz", "_rtp", "_rtn")
    body = "".join(
        f"vstore_half{mode}(x, {k} * n + i, o); vstore_half2{mode}((double2)(x, x), {k + 5} * n + i, o);\n"
        for k, mode in enumerate(modes)
    )
    source = (
        "kernel void f(global const double *a, global half *o) { int i = get_global_id(0), n = get_global_size(0); "
    )
    source += f"double x = a[i]; {body} }}"
    out = np.zeros(20 * x.size, "f2")
    launch(cluster(), compiled(source), "f", x.shape, [x, out])
    singles = out[: 5 * x.size].reshape(5, x.size)
    pairs = out[10 * x.size :].reshape(5, x.size, 2)
    for k, mode in enumerate(modes):
        wanted = [rounded(Fraction(v), mode[1:] or "rte", "f2") for v in x.tolist()]
        assert singles[k].tolist() == wanted, mode
        np.testing.assert_array_equal(pairs[k], np.array(wanted).repeat(2).reshape(-1, 2))


@pytest.mark.parametrize("n", [2, 3, 4, 8, 16])
def test_vectors_of_double_in_memory(n: int) -> None:
    source = f"""kernel void f(global const double *p, global double *o, local double *t, constant double *c) {{
      private double q[32]; vstore{n}(vload{n}(1, p), 0, q); vstore{n}(vload{n}(0, q), 0, t);
      vstore{n}(vload{n}(0, t), 1, o); vstore{n}(vload{n}(0, c), 2, o); }}"""
    p, o = np.random.default_rng(n).normal(size=64), np.zeros(64)
    launch(cluster(), compiled(source), "f", (1,), [p, o, Local(8 * 16), p])
    np.testing.assert_array_equal(o[n : 3 * n], np.concatenate([p[n : 2 * n], p[:n]]))
    assert not o[:n].any()
    assert not o[3 * n :].any()


def test_permutations_and_copies_of_double() -> None:
    source = """kernel void f(global const double *x, global double *y, local double *t, local double2 *s) {
      uint g = get_group_id(0);
      double4 a = vload4(0, x), b = vload4(1, x);
      event_t e = async_work_group_copy(t, x + 8 * g, 8, 0);
      e = async_work_group_strided_copy(s, (const global double2 *)x + g, 3, 2, e);
      wait_group_events(1, &e);
      double8 r = shuffle2(a, b, (ulong8)(7, 0, 5, 2, 3, 9, 1, 15));
      if (get_local_id(0) == 0) { t[0] += r.s0; t[1] += shuffle(r, (ulong2)(3, 8)).y; t[2] += s[2].y; }
      barrier(CLK_LOCAL_MEM_FENCE);
      e = async_work_group_copy(y + 8 * g, t, 8, 0);
      wait_group_events(1, &e);
    }"""
    x, y = np.random.default_rng(9).normal(size=24), np.zeros(16)
    launch(cluster(), compiled(source), "f", (8,), [x, y, Local(64), Local(64)], local_size=(4,))
    wanted = x[:16].copy().reshape(2, 8)
    wanted[:, 0] += x[7]
    wanted[:, 1] += x[7]
    wanted[:, 2] += [x[9], x[11]]
    np.testing.assert_array_equal(y.reshape(2, 8), wanted)


NARROWING = [
    *("vstore2(d2, 0, s)", "vstore4(f4, 0, a)", "vstore2(w2, 0, (global int *)s)", "vstore3(convert_half3, 0, s)"),
    *("shuffle2(f4, d4, (uint4)(0))", "shuffle2(d2, w2, (ulong4)(0))"),
    *(f"{{ local {to} t[4]; async_work_group_{way} }}" for to, way in (("float", "copy(t, a, 4, 0);"),
      ("double", "copy(t, s, 4, 0);"), ("float", "strided_copy(t, a, 4, 1, 0);"))),
    *("atomic_add((global long *)a, 1)", "atom_inc((global ulong *)a)", "atomic_xchg(a, 1.0)", "atomic_min(a, 1)"),
    *("atom_cmpxchg((global long *)a, 1L, 2L)", "atomic_xchg((global double *)a, d)"),
    *("vload_half(0, a)", "as_double(f)", "as_float(d)"),
]  # fmt: skip


def test_integers_of_one_size_are_alike_in_memory() -> None:
    source = """kernel void f(global int *a, global uint *b, local uint *t) {
      vstore2(vload2(0, a), 1, b); vstore2((uchar2)(1, 255), 0, (global char *)(b + 4));
      async_work_group_copy(t, a, 2, 0); barrier(CLK_LOCAL_MEM_FENCE); b[0] = t[1]; }"""
    a, b = np.array([-1, 7], "i4"), np.zeros(5, "u4")
    launch(cluster(), compiled(source), "f", (1,), [a, b, Local(8)])
    assert b.tolist() == [7, 0, 0xFFFFFFFF, 7, 0xFF01]


def test_nothing_is_narrowed_on_its_way_to_memory() -> None:
    for body, words in zip(NARROWING, refusals(NARROWING), strict=True):
        assert words, body
    assert "vstore2: its arguments have elements of different types" in refusals(NARROWING[:1])[0]


def test_printing_has_the_digits_of_double() -> None:
    source = r"""kernel void f(global const double *a, float4 v) {
      printf("%.17g|%a|%5.2f|%e|%lf|%d|%.12G\n", a[0], a[1], 2.5f, a[2], -0.0, 7, a[3]);
      printf("%v2lf|%v4hlf|%.15v3lg|%ld\n", (double2)(a[0], a[1]), v, (double3)(a[2], a[0], 2.0), (long)5);
      printf("%f %F %g %s\n", a[4], a[5], 1.0f, "end");
    }"""
    a = np.array([0.1, 1 / 3, 1e-300, 123456789.125, np.inf, np.nan])
    log = launch(cluster(), compiled(source), "f", (1,), [a, (1, 2, 3, 4)]).log
    assert log.splitlines() == [
        f"0.10000000000000001|{(1 / 3).hex()}| 2.50|1.000000e-300|-0.000000|7|123456789.125",
        "0.100000,0.333333|1.000000,2.000000,3.000000,4.000000|1e-300,0.1,2|5",
        "inf NAN 1 end",
    ]


def test_constants_are_of_the_precision_their_names_say() -> None:
    source = """kernel void f(global double *o, global float *s) {
      _Static_assert(sizeof(M_PI) == 8 && sizeof(M_PI_F) == 4 && sizeof(0.1) == 8 && sizeof(0.1f) == 4, "");
      _Static_assert(sizeof(HUGE_VAL) == 8 && sizeof(MAXFLOAT) == 4 && sizeof(DBL_MAX) == 8, "");
      o[0] = M_E; o[1] = M_LOG2E; o[2] = M_LOG10E; o[3] = M_LN2; o[4] = M_LN10; o[5] = M_PI; o[6] = M_PI_2;
      o[7] = M_PI_4; o[8] = M_1_PI; o[9] = M_2_PI; o[10] = M_2_SQRTPI; o[11] = M_SQRT2; o[12] = M_SQRT1_2;
      o[13] = DBL_MAX; o[14] = DBL_MIN; o[15] = DBL_EPSILON; s[0] = M_PI_F; }"""
    out, single = np.zeros(16), np.zeros(1, "f4")
    launch(cluster(), compiled(source), "f", (1,), [out, single])
    pi, info = math.pi, np.finfo("f8")
    wanted = [
        math.e,
        math.log2(math.e),
        math.log10(math.e),
        math.log(2),
        math.log(10),
        pi,
        pi / 2,
        pi / 4,
        1 / pi,
        2 / pi,
    ]
    wanted += [2 / math.sqrt(pi), math.sqrt(2), math.sqrt(0.5), *map(float, (info.max, info.tiny, info.eps))]
    np.testing.assert_allclose(out, wanted, rtol=2e-16)
    assert single[0] == np.float32(pi)
