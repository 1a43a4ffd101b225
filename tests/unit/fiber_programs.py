# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Random kernels with barriers in loops, calls and uniform branches, and what they compute, by numpy.

A program is a tree of statements over four variables of each work-item and one word of local memory an item. The model
runs all items of a group side by side as arrays, under a mask: nothing of it knows of lanes, fibers or switches.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

VARIABLES = 4
Words = npt.NDArray[np.uint32]
OPERATIONS: Mapping[str, Callable[[Words, Words], Words]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "^": np.bitwise_xor,
    "|": np.bitwise_or,
}


@dataclass
class Item:
    """Arrays over the items of one group."""

    v: list[Words]
    t: Words
    live: npt.NDArray[np.bool_]
    uniform: int
    local: Words


@dataclass(frozen=True)
class Node:
    """One statement: its OpenCL C, and what it does to arrays under a mask."""

    kind: str
    a: int = 0
    b: int = 0
    c: int = 0
    op: str = "+"
    body: tuple[Node, ...] = ()
    other: tuple[Node, ...] = ()

    def text(self, depth: int = 1) -> str:
        pad, i = "  " * depth, f"i{depth}"
        body = "".join(node.text(depth + 1) for node in self.body)
        other = "".join(node.text(depth + 1) for node in self.other)
        turned = f"v{self.a} = t[(l * {2 * self.c + 1}u + {self.b}u) % n];"
        match self.kind:
            case "set":
                return f"{pad}v{self.a} = v{self.b} {self.op} (v{self.c} + {self.a + 3 * self.c}u);\n"
            case "part":
                return f"{pad}if (v{self.a} & {1 << self.b}u) {{\n{body}{pad}}} else {{\n{other}{pad}}}\n"
            case "own":
                return f"{pad}for (uint {i} = 0, e = v{self.a} & 7; {i} < e; {i}++) {{\n{body}{pad}}}\n"
            case "loop":
                return f"{pad}for (uint {i} = 0; {i} < (u & 3) + {self.b}; {i}++) {{\n{body}{pad}}}\n"
            case "when":
                return f"{pad}if (u & {1 << self.b}) {{\n{body}{pad}}}\n"
            case "swap":
                return f"{pad}t[l] = v{self.b % VARIABLES};\n{pad}{BARRIER}\n{pad}{turned}\n{pad}{BARRIER}\n"
            case "call":
                return f"{pad}v{self.a} = apart(t, l, n, v{self.b % VARIABLES}, {self.c}u);\n"
            case _:
                return f"{pad}if ((v{self.a} & 15) == {self.b % 16}) {{ {OUT} return; }}\n"

    def run(self, at: Item, mask: npt.NDArray[np.bool_]) -> None:
        mask = mask & at.live
        n = at.local.size
        match self.kind:
            case "set":
                right = at.v[self.c] + np.uint32(self.a + 3 * self.c)
                _put(at, self.a, OPERATIONS[self.op](at.v[self.b], right), mask)
            case "part":
                taken = (at.v[self.a] >> np.uint32(self.b) & 1).astype(bool)
                _run(self.body, at, mask & taken)
                _run(self.other, at, mask & ~taken)
            case "own":
                times = at.v[self.a] & 7
                for k in range(7):
                    _run(self.body, at, mask & (times > k))
            case "loop":
                for _ in range((at.uniform & 3) + self.b):
                    _run(self.body, at, mask)
            case "when":
                if at.uniform >> self.b & 1:
                    _run(self.body, at, mask)
            case "swap":
                at.t[mask] = at.v[self.b % VARIABLES][mask]
                _put(at, self.a, at.t[(at.local * (2 * self.c + 1) + self.b) % n], mask)
            case "call":
                at.t[mask] = (at.v[self.b % VARIABLES] * np.uint32(3))[mask]
                _put(at, self.a, at.t[(at.local + self.c) % n] ^ at.v[self.b % VARIABLES], mask)
            case _:
                at.live &= ~(mask & ((at.v[self.a] & 15) == self.b % 16))


BARRIER = "barrier(CLK_LOCAL_MEM_FENCE);"
OUT = "out[i] = v0 + 3 * v1 + 5 * v2 + 7 * v3;"
LINEAR = (
    "get_local_id(0)",
    "get_local_id(1) * get_local_size(0) + get_local_id(0)",
    "(get_local_id(2) * get_local_size(1) + get_local_id(1)) * get_local_size(0) + get_local_id(0)",
)
SIZE = (
    "get_local_size(0)",
    "get_local_size(0) * get_local_size(1)",
    "get_local_size(0) * get_local_size(1) * get_local_size(2)",
)
GROUP = (
    "get_group_id(0)",
    "get_group_id(1) * get_num_groups(0) + get_group_id(0)",
    "(get_group_id(2) * get_num_groups(1) + get_group_id(1)) * get_num_groups(0) + get_group_id(0)",
)
APART = f"""
__attribute__((noinline)) uint apart(local uint *t, uint l, uint n, uint v, uint by) {{
  volatile uint mine[3] = {{v, by, n}};
  t[l] = v * 3;
  {BARRIER}
  uint got = t[(l + mine[1]) % mine[2]] ^ mine[0];
  {BARRIER}
  return got;
}}
"""


@dataclass(frozen=True)
class FiberProgram:
    """A random program."""

    body: tuple[Node, ...]
    early: bool = field(default=False)
    calls: bool = field(default=True)

    def source(self, dimensions: int = 1) -> str:
        """Its OpenCL C; items of more dimensions count as they lie in memory, work-groups one after the other."""
        text = "".join(node.text() for node in self.body)
        return (
            f"{APART if self.calls else ''}\n"
            "kernel void f(global const uint *in, global uint *out, local uint *t, uint u) {\n"
            f"  uint l = {LINEAR[dimensions - 1]}, n = {SIZE[dimensions - 1]}, g = {GROUP[dimensions - 1]};\n"
            "  uint i = g * n + l, v0 = in[i], v1 = g;\n"
            f"  uint v2 = l * 7, v3 = i ^ 85;\n  t[l] = l;\n  {BARRIER}\n{text}  {OUT}\n}}\n"
        )

    def expected(self, data: Words, group: int, uniform: int) -> Words:
        out = np.zeros_like(data)
        local = np.arange(group, dtype=np.uint32)
        with np.errstate(over="ignore"):
            for g in range(data.size // group):
                span = slice(g * group, (g + 1) * group)
                ids = np.arange(span.start, span.stop, dtype=np.uint32)
                v = [data[span].copy(), np.full(group, g, np.uint32), local * np.uint32(7), ids ^ np.uint32(85)]
                at = Item(v, local.copy(), np.ones(group, bool), uniform, local)
                _run(self.body, at, np.ones(group, bool))
                out[span] = v[0] + 3 * v[1] + 5 * v[2] + 7 * v[3]
        return out


def random_program(seed: int, early: bool, calls: bool = True, parts: bool = True) -> FiberProgram:
    """A program of a dozen statements.

    Args:
        early: Whether items may return between barriers of others.
        calls: Whether functions beside the kernel have barriers.
        parts: Whether items part between barriers; otherwise they do once, behind the last one.
    """
    rng = random.Random(seed)

    def leaf() -> Node:
        a, b, c = (rng.randrange(VARIABLES) for _ in range(3))
        return Node("set", a, b, c, rng.choice(list(OPERATIONS)))

    def block(nesting: int, together: bool) -> tuple[Node, ...]:
        kinds = ["set", "set", *(["part", "own"] if parts or not together else [])]
        if together:
            kinds += ["swap", "swap", "loop", "when"] + ["leave"] * early + ["call"] * calls
        return tuple(node(rng.choice(kinds), nesting, together) for _ in range(rng.randrange(1, 4)))

    def node(kind: str, nesting: int, together: bool) -> Node:
        a, b, c = rng.randrange(VARIABLES), rng.randrange(16), rng.randrange(8)
        if kind == "set" or nesting > 3:
            return leaf()
        if kind == "part":
            return Node(kind, a, b % 5, body=block(nesting + 1, False), other=block(nesting + 1, False))
        if kind == "own":
            return Node(kind, a, body=block(nesting + 2, False))
        if kind in ("loop", "when"):
            return Node(kind, b=b % 3, body=block(nesting + 1, True))
        return Node(kind, a, b, c)

    body = [
        Node("swap", 1, 0, 2),
        *block(0, True),
        Node("call" if calls else "swap", 2, 1, 3),
        *block(0, True),
        *block(0, True),
    ]
    if not parts:
        body.append(node("part", 0, False))
    if early:
        body.insert(1, Node("leave", 0, rng.randrange(16)))
        body.append(Node("swap", 3, 1, 1))
    return FiberProgram(tuple(body), early, calls)


def _run(body: tuple[Node, ...], at: Item, mask: npt.NDArray[np.bool_]) -> None:
    for node in body:
        node.run(at, mask)


def _put(at: Item, a: int, value: Words, mask: npt.NDArray[np.bool_]) -> None:
    at.v[a] = np.where(mask, value, at.v[a])
