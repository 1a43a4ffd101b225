# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Functions and kernels with more arguments than registers hold: right, whatever their types and linkage."""

from __future__ import annotations

import numpy as np
import pytest
from eddy.core.errors import InvalidRequest
from eddy.gpu.compilation import toolchain
from eddy.gpu.compilation.calling_convention import with_standard_calls
from eddy.gpu.compilation.prelude import complete
from eddy.gpu.launches.launch import launch
from eddy.gpu.programs.shape import ClusterShape
from unit.gpu_kit import cluster, compiled, compiler
from unit.many_arguments import ITEMS, KINDS, arrays, functions

FUNCTIONS = functions()


@pytest.mark.parametrize(("name", "fpu"), [(name, at % 2 == 0) for at, name in enumerate(FUNCTIONS)])
def test_functions_get_the_arguments_they_were_called_with(name: str, fpu: bool) -> None:
    function = FUNCTIONS[name]
    x, y = arrays(len(name))
    wanted = function.wanted(x, y)
    size = (4,) if function.waits else None
    launch(
        cluster(ClusterShape(1, 2, 2, fpu=fpu)), compiled(function.source(), fpu), "f", x.shape, [x, y], local_size=size
    )
    np.testing.assert_array_equal(y, wanted)


def test_the_twelfth_word_is_where_registers_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eleven words, the item's own among them, keep the compiler's own calls; more get the standard ones."""
    made: list[str] = []

    def noted(ir: str) -> str:
        made.append(ir)
        return with_standard_calls(ir)

    monkeypatch.setattr("eddy.gpu.compilation.compiler.with_standard_calls", noted)
    for words, standard in ((10, False), (11, True)):
        given = ", ".join(f"uint a{k}" for k in range(words))
        total = " + ".join(f"a{k} * {k + 2}" for k in range(words))
        call = ", ".join(f"a[{k}]" for k in range(words))
        source = f"__attribute__((noinline)) uint g({given}) {{ return ({total}) * get_global_id(0); }}\n"
        source += f"kernel void f(global uint *a) {{ a[0] = g({call}) + g({call.replace('a[0]', 'a[9]')}); }}"
        program = compiler()._compile(complete(source, {}), True, "not kept", toolchain.SINGLE)
        assert bool(made) == standard
        assert "f" in program.kernels


def test_kernels_call_kernels_with_many_arguments() -> None:
    names = [f"a{k}" for k in range(22)]
    given = "global uint *o, " + ", ".join(
        f"{'ulong' if k % 5 == 4 else 'uint'} {name}" for k, name in enumerate(names)
    )
    total = " + ".join(f"{k + 1} * (uint){name}" for k, name in enumerate(names))
    source = f"""
    kernel void inner({given}, local uint *t) {{
      for (uint k = 0; k < (a1 & 3) + 1; k++) {{
        t[get_local_id(0)] = k * ({total}); barrier(CLK_LOCAL_MEM_FENCE);
        o[get_global_id(0)] += t[(get_local_id(0) + 1) % get_local_size(0)] + a0; barrier(CLK_LOCAL_MEM_FENCE);
      }}
    }}
    kernel void outer({given}) {{
      local uint t[8];
      inner(o, {", ".join(names)}, t); inner(o, {", ".join(reversed(names))}, t);
    }}
    kernel void other({given}) {{ local uint t[8]; inner(o, {", ".join(names)}, t); o[get_global_id(0)] ^= a21; }}"""
    values = [int(v) for v in np.random.default_rng(1).integers(0, 1 << 31, 22)]

    def inner(o: int, given: list[int]) -> int:
        total = sum((k + 1) * v for k, v in enumerate(given))
        return sum(k * total + given[0] for k in range((given[1] & 3) + 1)) + o

    once = inner(0, values)
    for kernel, wanted in (("outer", inner(once, values[::-1])), ("other", (once ^ values[21]))):
        o = np.zeros(8, "u4")
        launch(cluster(ClusterShape(1, 2, 2)), compiled(source), kernel, (8,), [o, *values], local_size=(8,))
        if kernel == "other":
            wanted = (once % (1 << 32)) ^ values[21]
        assert o.tolist() == [wanted % (1 << 32)] * 8


def test_only_definitions_and_calls_are_rewritten() -> None:
    ir = (
        '@.str = private constant [10 x i8] c"  call fastcc  "\n'
        "define internal fastcc noundef i32 @g(i32 %0) unnamed_addr #0 {\n"
        "  %1 = tail call fastcc i32 @h(i32 %0)\n"
        '  %"odd name" = call nnan fastcc float @k(float 1.0)\n'
        '  call void asm sideeffect "call fastcc x", ""()\n'
        "}\n"
    )
    assert with_standard_calls(ir) == ir.replace("internal fastcc", "internal").replace(
        "tail call fastcc", "tail call"
    ).replace("nnan fastcc", "nnan")


ENUMS = """
typedef enum { A, B, C } mode_t;
enum sign { MINUS = -5, PLUS = 5 };
typedef enum __attribute__((packed)) { LOW, HIGH = 200 } small;
typedef enum __attribute__((packed)) { UNDER = -100, OVER = 100 } narrow;
typedef enum { TOP = 0x80000000u, NEXT } flag;
typedef enum { WIDE = 0x100000000L } wide;
typedef struct { enum sign s; mode_t m[2]; float x; } state;
kernel void f(global int *o, const mode_t m, enum sign s, small a, narrow b, flag c, wide d, state by,
              global mode_t *at, constant enum sign *signs, global const state *states, volatile mode_t again) {
  o[0] = m == C; o[1] = s; o[2] = a; o[3] = b; o[4] = c == NEXT; o[5] = d == WIDE; o[6] = by.s + by.m[1] + (int)by.x;
  o[7] = at[1]; o[8] = signs[2]; o[9] = states[1].s; o[10] = states[1].m[0]; o[11] = again; at[0] = B;
}"""


def test_enums_are_integers() -> None:
    state = np.dtype([("s", "i4"), ("m", "i4", 2), ("x", "f4")], align=True)
    by = np.array([(-5, (1, 2), 7)], state)[0]
    states = np.array([(5, (0, 0), 1), (-5, (2, 1), 0)], state)
    o, at = np.zeros(12, "i4"), np.array([0, 2], "i4")
    program = compiled(ENUMS)
    kinds = [(a.element, a.size, a.enumeration) for a in program.kernel("f").arguments]
    assert kinds[1:7] == [
        *(("i4", 4, True), ("i4", 4, True), ("u1", 1, True), ("i1", 1, True), ("i4", 4, True), ("i8", 8, True))
    ]
    signs = np.array([5, 5, -5], "i4")
    launch(cluster(), program, "f", (1,), [o, 2, -5, 200, -100, 0x80000001, 1 << 32, by, at, signs, states, 1])
    assert o.tolist() == [1, -5, 200, -100, 1, 1, 4, 2, -5, -5, 2, 1]
    assert at.tolist() == [1, 2]
    with pytest.raises(InvalidRequest, match="300, which uint8 cannot hold"):
        launch(cluster(), program, "f", (1,), [o, 2, -5, 300, -100, 0, 0, by, at, signs, states, 1])


def test_every_type_is_tried() -> None:
    assert len(FUNCTIONS) > 40
    assert {kind for function in FUNCTIONS.values() for kind in function.kinds} == set(KINDS)
    assert ITEMS == 8
