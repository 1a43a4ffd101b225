# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Programs whose functions take more arguments than registers hold, and what they leave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

ITEMS = 8
LINKAGES = ("static", "", "inline", "static inline", "extern")
Words = npt.NDArray[np.uint32]


@dataclass(frozen=True)
class Kind:
    """A type of argument.

    Attributes:
        made: An expression of it, of the whole number `{n}`.
        read: The uint of an argument `{a}`.
        parts: What it is worth, by that number.
    """

    name: str
    made: str
    read: str
    parts: Sequence[tuple[int, int]] = ((1, 0),)

    def value(self, number: Words) -> Words:
        """What is read of it: a sum of `scale * number + offset`, modulo 2^32."""
        total: Words = np.zeros_like(number)
        for scale, offset in self.parts:
            total += np.uint32(scale) * number + np.uint32(offset)
        return total


HEAD = """
typedef struct { uint x; ulong y; } pair;
typedef struct { uint v[9]; } many;
typedef union { uint u; float f; } either;
typedef enum { NONE, SOME = 70000 } level;
pair pair_of(uint n) { pair p = {n, (ulong)n << 32}; return p; }
many many_of(uint n) { many m; for (int i = 0; i < 9; i++) m.v[i] = n + i; return m; }
either either_of(uint n) { either e; e.u = n; return e; }
"""
KINDS: dict[str, Kind] = {
    "int": Kind("int", "(int){n}", "(uint){a}"),
    "uint": Kind("uint", "{n}", "{a}"),
    "short": Kind("short", "(short)({n} & 1023)", "(uint){a}"),
    "uchar": Kind("uchar", "(uchar)({n} & 127)", "(uint){a}"),
    "long": Kind("long", "(long){n} << 20", "(uint)({a} >> 20)"),
    "ulong": Kind("ulong", "(ulong){n} << 31", "(uint)({a} >> 31)"),
    "float": Kind("float", "(float)({n} & 1023)", "(uint){a}"),
    "uchar16": Kind("uchar16", "(uchar16)({n} & 15) + EACH", "(uint){a}.s0 + {a}.sf", ((1, 0), (1, 15))),
    "int4": Kind("int4", "(int4)((int){n}, 1, 2, 3)", "(uint)({a}.x + {a}.w)", ((1, 3),)),
    "float3": Kind("float3", "(float3)({n} & 1023, 5, 6)", "(uint)({a}.x + {a}.z)", ((1, 6),)),
    "pair": Kind("pair", "pair_of({n})", "{a}.x + (uint)({a}.y >> 32)", ((2, 0),)),
    "many": Kind("many", "many_of({n})", "{a}.v[0] + {a}.v[8]", ((1, 0), (1, 8))),
    "either": Kind("either", "either_of({n})", "{a}.u"),
    "level": Kind("level", "(level)({n} & 3)", "(uint){a}"),
    "pointer": Kind("global const uint *", "x + ({n} & 7)", "*{a}"),
    "double": Kind("double", "(double)({n} & 65535) * 0.5", "(uint)({a} * 2)"),
}
_BITS = {"short": 1023, "uchar": 127, "float": 1023, "uchar16": 15, "float3": 1023, "level": 3, "double": 65535}


def worth(kind: str, number: Words, x: Words) -> Words:
    """What is read of an argument made of a number."""
    if kind == "pointer":
        found: Words = x[number & np.uint32(7)]
        return found
    return KINDS[kind].value(number & np.uint32(_BITS.get(kind, 0xFFFFFFFF)))


@dataclass(frozen=True)
class Function:
    """A function that is called and not put in place.

    Attributes:
        kinds: Of its arguments, in order.
        waits: Whether it has a barrier, so that items of a lane take turns in it.
    """

    kinds: tuple[str, ...]
    linkage: str = "static"
    waits: bool = False

    def source(self) -> str:
        """It, and a kernel `f` that calls it twice."""
        names = [f"a{k}" for k in range(len(self.kinds))]
        given = ", ".join(f"{KINDS[kind].name} {name}" for kind, name in zip(self.kinds, names, strict=True))
        total = " + ".join(
            f"{2 * k + 1}u * ({KINDS[kind].read.format(a=name)})"
            for k, (kind, name) in enumerate(zip(self.kinds, names, strict=True))
        )
        wait = (
            "t[get_local_id(0)] = 1; barrier(CLK_LOCAL_MEM_FENCE); r += t[get_local_size(0) - 1]; "
            if self.waits
            else ""
        )

        def call(of: str) -> str:
            made = ", ".join(KINDS[kind].made.format(n=f"({of} + {k}u)") for k, kind in enumerate(self.kinds))
            return f"g({made}{', t' if self.waits else ''})"

        each = "#define EACH (uchar16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)\n"
        local = ", local uint *t" if self.waits else ""
        return (
            f"{HEAD}{each}__attribute__((noinline)) {self.linkage} uint g({given}{local}) {{\n"
            f"uint r = get_global_id(0); {wait}r = r * 3 + {total}; return r; }}\n"
            f"kernel void f(global const uint *x, global uint *y) {{ local uint t[64]; uint i = get_global_id(0);\n"
            f"y[i] = {call('x[i]')} * 5 + {call('(y[i] + i)')}; if (y[i] == 1) y[i] = t[0]; }}\n"
        )

    def wanted(self, x: Words, y: Words) -> Words:
        """What the kernel leaves in `y`."""
        i = np.arange(x.size, dtype="u4")

        def call(of: Words) -> Words:
            total = (i + np.uint32(self.waits)) * np.uint32(3)
            for k, kind in enumerate(self.kinds):
                total += np.uint32(2 * k + 1) * worth(kind, of + np.uint32(k), x)
            return total

        return call(x) * np.uint32(5) + call(y + i)


def arrays(seed: int) -> tuple[Words, Words]:
    """`x` and `y` of the kernel."""
    rng = np.random.default_rng(seed)
    x: Any = rng.integers(0, 1 << 32, ITEMS, dtype="u4")
    return x, rng.integers(0, 1 << 32, ITEMS, dtype="u4")


def functions() -> dict[str, Function]:
    """Every number of words about the border, every type, mixtures, and linkages."""
    found = {
        f"{n} ints": Function(("int",) * n, LINKAGES[n % len(LINKAGES)]) for n in (7, 8, 9, 10, 11, 12, 13, 14, 17, 31)
    }
    found |= {f"three of {kind}": Function((kind,) * 3) for kind in KINDS}
    found |= {f"many of {kind}": Function((kind,) * 14) for kind in KINDS if kind not in ("many", "uchar16")}
    mixed = tuple(kind for kind in KINDS if kind != "double")
    found |= {f"all, from {mixed[k]}": Function((*mixed[k:], *mixed[:k]), LINKAGES[k % 5]) for k in (0, 5, 9)}
    found |= {
        "with a barrier": Function((*mixed, "int"), waits=True),
        "floats": Function(("float",) * 25 + ("int",) * 3),
    }
    return found
