# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Stacks: as large as a kernel needs, never overrun; what has no bound is refused with line, function and number."""

from __future__ import annotations

import struct
from dataclasses import replace

import numpy as np
import pytest
from eddy.core.errors import CompilationFailed, ModuleFault, QuotaExceeded
from eddy.core.units import format_bytes
from eddy.gpu.compilation.stack import StackNeeds
from eddy.gpu.launches.executor import Execution
from eddy.gpu.launches.launch import launch
from eddy.gpu.launches.packing import Packing
from eddy.gpu.programs.layout import (
    BLOCK,
    LINE_BYTES,
    LOCAL_BASE,
    MAX_STACK_BYTES,
    REGION_BASE,
    ROW_BYTES,
    STACK_BYTES,
    align,
    rows_bytes,
    stack_stride,
)
from eddy.gpu.programs.ndrange import Local, arrange_ndrange
from eddy.gpu.programs.program import Program, flat_image, symbols
from eddy.gpu.programs.rv32 import decode
from eddy.gpu.programs.shape import ClusterShape
from unit.gpu_kit import SHAPES, cluster, compiled, compiler

FILL = 0xA5

PRIVATE = """
kernel void f(global const int *x, global int *y, global int *untouched) {
  volatile int mine[WORDS];
  uint i = get_global_id(0);
  for (int k = 0; k < WORDS; k++) mine[k] = x[i] + k * 3;
  int s = 0;
  for (int k = 0; k < WORDS; k++) s = s * 31 + mine[(k * 7) % WORDS];
  y[i] = s;
}
"""
DEEP = """
__attribute__((noinline)) int leaf(global int *a, int n) { volatile int t[40]; t[n % 40] = n; return t[a[0] % 40] + n; }
__attribute__((noinline)) int middle(global int *a, int n) {
  volatile int t[300];
  t[n] = leaf(a, n);
  return t[n] + leaf(a, n + 1);
}
kernel void f(global int *a) { volatile int t[10]; t[a[1] % 10] = middle(a, 2); a[2] = t[a[1] % 10]; }
"""
ALIGNED = """
kernel void f(global int *a) {
  volatile float16 v[4]; volatile char c[a_odd]; volatile long16 w[2];
  v[a[0] & 3] = a[1]; c[a[0] & 3] = a[2]; w[a[0] & 1] = a[3];
  a[4] = (int)v[1].s3 + c[2] + (int)w[1].s7;
}
""".replace("a_odd", "37")
SWITCH = """
kernel void f(global int *a) {
  volatile int t[2000];
  switch (a[0]) {
    case 0: t[a[1]] = a[3]; break; case 1: t[3] *= 4; break; case 2: t[5] += a[6]; break; case 3: t[2] = a[9]; break;
    case 4: t[4] = 2; break; case 5: t[7] = a[8]; break; case 6: t[1] = t[6]; break; case 7: t[8] = 1;
  }
  a[1] = t[a[2]];
}
"""
PRINTS = """
kernel void f(global int *a) {
  printf("%d %f %s\\n", a[0], sin((float)a[0]), "x");
  a[1] = (int)pow((float)a[0], 2.5f);
}
"""


class Watched:
    """A cluster that fills the stacks before a run, and finds how deep each was written."""

    def __init__(self, shape: ClusterShape, packing: Packing) -> None:
        self.shape, self._packing, self.deepest = shape, packing, 0
        self._inner = cluster(shape)

    def execute(self, region: bytearray, entry: int, argument: int, limit: int) -> Execution:
        words = struct.unpack_from(f"<{len(BLOCK)}I", self._packing.block(0, 1)[1])
        base, stride = (words[BLOCK.index(name)] for name in ("stack_base", "stack_stride"))
        at, harts = base - REGION_BASE, self.shape.harts
        region[at : at + harts * stride] = bytes([FILL]) * (harts * stride)
        run = self._inner.execute(region, entry, argument, limit)
        for lane in range(harts):
            stack = bytes(region[at + lane * stride : at + (lane + 1) * stride])
            self.deepest = max(self.deepest, len(stack.lstrip(bytes([FILL]))))
        return run


def deepest(program: Program, arguments: list[object], items: int, shape: ClusterShape = SHAPES[1]) -> int:
    """Bytes of the deepest stack a run really wrote, with ample room."""
    extents = [as_extent(value) for value in arguments]
    arrangement = arrange_ndrange(shape, program, "f", (items,), extents)
    packing = Packing(shape, program, "f", arrangement, extents, stack_bytes=MAX_STACK_BYTES)
    watched = Watched(shape, packing)
    launch(watched, program, "f", (items,), arguments, stack_bytes=MAX_STACK_BYTES)
    return watched.deepest


def as_extent(value: object) -> object:
    from eddy.gpu.launches.launch import extent

    return extent(value) if isinstance(value, np.ndarray) else value


def need(program: Program) -> int:
    at = symbols(program.elf)
    return StackNeeds(flat_image(program.elf), at).of_kernel(program.kernels["f"].stub)


@pytest.mark.parametrize("fpu", [True, False])
@pytest.mark.parametrize("source", [DEEP, ALIGNED, SWITCH, PRINTS], ids=["deep", "aligned", "switch", "prints"])
def test_no_lane_writes_deeper_than_was_computed(source: str, fpu: bool) -> None:
    program = compiled(source, fpu)
    wrote = deepest(program, [np.zeros(16, "i4")], 5, ClusterShape(1, 2, 4, fpu))
    assert 0 < wrote <= need(program) <= program.kernels["f"].stack_bytes


def test_the_bound_is_tight_where_everything_is_written() -> None:
    program = compiled(PRIVATE.replace("WORDS", "1000"))
    x = np.arange(24, dtype="i4")
    wrote = deepest(program, [x, np.zeros_like(x), np.zeros(4, "i4")], x.size)
    assert 4000 <= wrote <= need(program) < 4100


@pytest.mark.parametrize("words", [100, 512, 1024, 5000, 60000])
@pytest.mark.parametrize("shape", SHAPES[1:3], ids=lambda s: s.name)
def test_large_private_arrays_are_right_and_touch_nothing_else(words: int, shape: ClusterShape) -> None:
    program = compiler().compile(PRIVATE, defines={"WORDS": words})
    items = 3 if words > 5000 else 11
    x = np.random.default_rng(words).integers(-1000, 1000, items).astype("i4")
    y, untouched = np.zeros_like(x), np.arange(4096, dtype="i4")
    launch(cluster(shape), program, "f", x.shape, [x, y, untouched])
    wanted = np.zeros_like(x)
    with np.errstate(over="ignore"):
        for k in range(words):
            wanted = wanted * np.int32(31) + x + np.int32((k * 7) % words * 3)
    np.testing.assert_array_equal(y, wanted)
    np.testing.assert_array_equal(untouched, np.arange(4096))


APART = "__attribute__((noinline)) "
UNBOUNDED = {
    "recursion": (
        "int r(int n) { volatile int t[4]; t[n & 3] = n; return n < 2 ? t[n] : r(n - 1) + r(n - 2) * t[n & 3]; }",
        "recursive (r -> r)",
    ),
    "mutual recursion": (
        f"int q(int n);\n{APART}int r(int n) {{ return n < 2 ? n : q(n - 1) * 3 + 1; }}\n"
        f"{APART}int q(int n) {{ return n < 3 ? n : r(n - 2) + 2 * r(n - 1); }}",
        "recursive",
    ),
    "alloca": (
        "int r(int n) { volatile __private int *p = __builtin_alloca(n); p[2] = n; return p[1]; }",
        "only known as it runs (alloca",
    ),
    "alloca in a loop": (
        "int r(int n) { int s = 0; for (int i = 0; i < n; i++) {\n"
        "volatile __private int *p = __builtin_alloca(64); p[i] = s; s += p[1]; } return s; }",
        "stack pointer in a loop",
    ),
    "assembly sets sp": (
        'int r(int n) { __asm__ volatile("mv sp, %0" : : "r"(n)); return n; }',
        "only known as it runs",
    ),
    "assembly takes stack": (
        APART + 'int r(int n) { __asm__ volatile("addi sp, sp, -2000"); return n; }',
        "returns with another stack pointer",
    ),
    "assembly loads sp": (
        'int r(int n) { __asm__ volatile("lw sp, 0(sp)"); return n; }',
        "only known as it runs",
    ),
    "assembly writes tp": ('int r(int n) { __asm__ volatile("li tp, 0"); return n; }', "gp, tp or t6"),
    "computed jump": ('int r(int n) { __asm__ volatile("jr %0" : : "r"(n)); return n; }', "computed as it runs"),
    "call by address": (
        'int r(int n) { __asm__ volatile("jalr ra, %0, 0" : : "r"(n) : "ra"); return n; }',
        "computed as it runs",
    ),
    "computed goto": (
        "int r(int n) { uint t = n ? (uint)&&one : (uint)&&two; goto *(__private void *)t;\n"
        "one: return 5; two: return n * 3; }",
        "",
    ),
    "naked": (
        '__attribute__((naked)) int r(int n) { __asm__("addi sp, sp, -32\\nret"); }',
        "returns with another stack pointer",
    ),
    "outside any function": (
        '__asm__(".globl r\\n.type r,@function\\nr: sub sp, sp, a0\\nadd sp, sp, a0\\nret"); int r(int n);',
        "only known as it runs",
    ),
    "encoded": (
        APART + 'int r(int n) { __asm__ volatile(".word 0x80010113"); return n; }',
        "returns with another stack pointer",
    ),
}


@pytest.mark.parametrize("name", UNBOUNDED)
def test_what_has_no_bound_is_refused_with_line_and_function(name: str) -> None:
    text, words = UNBOUNDED[name]
    source = f"\n{text}\nkernel void f(global int *a) {{ a[0] = r(a[0]); }}"
    with pytest.raises(CompilationFailed) as caught:
        compiler().compile(source)
    assert words in caught.value.message
    entries = [e for e in caught.value.details["diagnostics"] if e["severity"] == "error"]
    assert entries
    assert name in ("outside any function",) or entries[0]["line"] >= 2
    if name != "computed goto":
        assert (caught.value.details["asked"], caught.value.details["allowed"]) == ("unbounded", MAX_STACK_BYTES)


@pytest.mark.parametrize("size", [MAX_STACK_BYTES + 64, 512 << 20, (2 << 30) - 64, (2 << 30) + 4096, (4 << 30) - 64])
def test_more_than_the_bound_is_refused_with_both_numbers(size: int) -> None:
    source = f"\nkernel void deep(global int *a) {{ volatile char b[{size}u]; b[a[0]] = 1; a[1] = b[a[2]]; }}"
    with pytest.raises(CompilationFailed) as caught:
        compiler().compile(source)
    details = caught.value.details
    assert details["allowed"] == MAX_STACK_BYTES
    if size < 2 << 30:
        assert size <= details["asked"] < size + 64
        assert caught.value.message.startswith("kernel.cl:2:1: error: 'deep' needs ")
        assert format_bytes(details["asked"]) in caught.value.message


def test_a_bounded_alloca_and_balanced_assembly_are_right() -> None:
    source = """
    kernel void f(global int *a) {
      __private int *p = __builtin_alloca(3000);
      uint i = get_global_id(0);
      for (int k = 0; k < 700; k++) p[k] = a[i] ^ k;
      __asm__ volatile("addi sp, sp, -2000\\nsw %0, 0(sp)\\naddi sp, sp, 2000" : : "r"(p) : "memory");
      int s = 0;
      for (int k = 0; k < 700; k++) s += p[k] * k;
      a[i] = s;
    }
    """
    program = compiled(source)
    assert program.kernels["f"].stack_bytes >= 4800
    a = np.arange(16, dtype="i4")
    launch(cluster(), program, "f", a.shape, [a])
    k = np.arange(700)
    np.testing.assert_array_equal(a, [int(((i ^ k) * k).sum()) for i in range(16)])


def test_long_chains_of_calls_are_bounded() -> None:
    def chain(length: int) -> str:
        inner = [f"g{k - 1}(t + 1)" if k else "t" for k in range(length)]
        functions = (
            f"{APART}int g{k}(int n) {{ volatile int t = n; return {call} * 3 + n; }}\n" for k, call in enumerate(inner)
        )
        return "".join(functions) + f"kernel void f(global int *a) {{ a[0] = g{length - 1}(a[0]); }}"

    assert compiled(chain(40)).kernels["f"].stack_bytes == STACK_BYTES
    with pytest.raises(CompilationFailed, match="more than 64 functions"):
        compiler().compile(chain(400))


def test_stacks_that_do_not_fit_are_refused_with_their_size() -> None:
    program = compiler().compile(PRIVATE, defines={"WORDS": 60000})
    shape = ClusterShape(8, 16, 16)
    arrangement = arrange_ndrange(shape, program, "f", (1,))
    large = Packing(shape, program, "f", arrangement, [None, None, None])
    assert large.stack_bytes == 8 * 16 * 16 * stack_stride(program.kernels["f"].stack_bytes)
    huge = replace(program, kernels={"f": replace(program.kernels["f"], stack_bytes=1 << 20)})
    with pytest.raises(QuotaExceeded, match=r"stacks of 2048 lanes take \d+ of them"):
        Packing(shape, huge, "f", arrangement, [None, None, None])


def test_the_decoder_follows_the_manual() -> None:
    # addi sp, sp, -2048; jal ra, -4; beq a0, a1, +8; jalr x0, 0(ra); lui a0, 0x12345; tmc x0
    assert (decode(0x80010113, 0).rd, decode(0x80010113, 0).immediate) == (2, -2048)
    assert (decode(0xFFDFF0EF, 0).rd, decode(0xFFDFF0EF, 0).immediate) == (1, -4)
    assert (decode(0x00B50463, 0).kind, decode(0x00B50463, 0).immediate) == ("branch", 8)
    assert (decode(0x00008067, 0).kind, decode(0x00008067, 0).rs1) == ("jump_register", 1)
    assert decode(0x12345537, 0).immediate == 0x12345000
    assert decode(0x12345517, 0x80000000).immediate == 0x92345000
    assert [decode(word, 0).kind for word in (0, 0x0000000B, 0x00000073, 0x30200073)] == ["end"] * 4


@pytest.mark.parametrize(
    "beside",
    ['__asm__(".section .text.start,\\"ax\\"\\nj .\\n.text");', '__attribute__((section(".text.start"))) '],
    ids=["assembly", "attribute"],
)
def test_a_program_begins_with_its_start_whatever_a_source_puts_there(beside: str) -> None:
    program = compiled(beside + "kernel void f(global int *a) { a[get_global_id(0)] = 3; }")
    assert symbols(program.elf)["_start"] == REGION_BASE
    a = np.zeros(8, "i4")
    launch(cluster(), program, "f", a.shape, [a])
    assert a.tolist() == [3] * 8


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_what_the_bound_would_miss_the_cores_catch(shape: ClusterShape) -> None:
    """A kernel said to need a quarter of the stack it uses: a fault that names it, and no array is written over."""
    program = compiled(PRIVATE.replace("WORDS", "2000"))
    less = replace(program.kernel("f"), stack_bytes=STACK_BYTES, frame_bytes=STACK_BYTES)
    x, y, untouched = np.arange(64, dtype="i4"), np.zeros(64, "i4"), np.full(4096, FILL, "i4")
    with pytest.raises(ModuleFault, match=r"stack_overflow in .*f"):
        launch(cluster(shape), replace(program, kernels={"f": less}), "f", (64,), [x, y, untouched])
    assert (untouched == FILL).all()
    assert not y.any()


WAITS = """
kernel void f(global const int *x, global int *y, local int *shared, local int *more) {
  volatile int mine[WORDS];
  local int fixed[32];
  const int l = get_local_id(0), n = get_local_size(0);
  for (int k = 0; k < WORDS; k++) mine[k] = x[get_global_id(0)] + k;
  if (KIND && l == 0) more[0] = 1;
  if (KIND) barrier(CLK_LOCAL_MEM_FENCE);
  if (KIND == 2 && x[get_global_id(0)] == 1 << 30) return;
  shared[l] = mine[WORDS - 1];
  fixed[l % 32] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  y[get_global_id(0)] = shared[n - 1 - l] - mine[0];
}
"""
IN_LOCAL = [
    *((words, kind, group, shape) for words in (3, 40) for kind in (0, 1, 2) for group in (8, 32) for shape in SHAPES),
    *((words, 1, 16, SHAPES[1]) for words in range(216, 232, 4)),
]


@pytest.mark.parametrize(("words", "kind", "group", "shape"), IN_LOCAL)
def test_stacks_in_local_memory_lie_apart_from_all_else(words: int, kind: int, group: int, shape: ClusterShape) -> None:
    """With loops over items, fibers and one item a lane; sizes around the largest for which there is room, too."""
    program = compiler().compile(WAITS, defines={"WORDS": words, "KIND": kind})
    kernel, x, locals_ = program.kernels["f"], np.arange(96, dtype="i4"), [Local(4 * group), Local(20)]
    extents = [as_extent(x), as_extent(x), *locals_]
    arrangement = arrange_ndrange(shape, program, "f", x.shape, extents, local_size=(group,))
    packing = Packing(shape, program, "f", arrangement, extents)
    word = dict(zip(BLOCK, struct.unpack_from(f"<{len(BLOCK)}I", packing.block(0, 1)[1]), strict=True))
    fibers = arrangement.lane_items if arrangement.lane_items > 1 and not arrangement.lane_grid else 1
    stacks = word["lane_stack"] * shape.lanes
    assert word["lane_stack"] == word["stack_stride"] * fibers >= kernel.frame_bytes
    rows = rows_bytes(shape.lanes, 1) // ROW_BYTES
    taken = [
        (LOCAL_BASE, program.local_bytes),
        (
            LOCAL_BASE,
            (0 if kernel.local_each else program.local_bytes) + word["local_stride"] * arrangement.core_groups,
        ),
        (word["rounds"], LINE_BYTES),
        (word["context_base"], word["context_rows"] * rows),
        (word["fiber_base"], word["fiber_stride"] * arrangement.lane_items),
    ]
    inside = [(at, at + size) for at, size in taken if at >= LOCAL_BASE and size]
    free = word["stack_base"] if word["stack_base"] >= LOCAL_BASE else min(at for at, _ in inside if at > LOCAL_BASE)
    low = max(end for at, end in inside if at == LOCAL_BASE)
    if word["stack_base"] >= LOCAL_BASE:
        assert packing.stack_bytes == word["stack_core"] == 0
        assert all(end <= free or at >= free + stacks for at, end in inside)
        assert low <= free
        assert free + stacks <= LOCAL_BASE + shape.local_bytes
    else:
        assert packing.stack_bytes == shape.cores * word["stack_core"] > 0
        assert free - align(low) < stacks
    y = np.zeros_like(x)
    launch(cluster(shape), program, "f", x.shape, [x, y, *locals_], local_size=(group,))
    np.testing.assert_array_equal(y, x.reshape(-1, group)[:, ::-1].ravel() + words - 1 - x)


class ComparingCluster:
    """A cluster that tells which bytes of the region a run changed."""

    def __init__(self, shape: ClusterShape) -> None:
        self.shape, self.changed = shape, np.zeros(0, bool)

    def execute(self, region: bytearray, entry: int, argument: int, limit: int) -> Execution:
        before = np.frombuffer(bytes(region), "u1")
        run = cluster(self.shape).execute(region, entry, argument, limit)
        self.changed = before != np.frombuffer(region, "u1")
        return run


def test_what_registers_have_no_room_for_is_written_to_memory_only_where_local_memory_is_full() -> None:
    """A store to a stack in the region is one request to memory for each lane."""
    program, changed = compiled(PRIVATE.replace("WORDS", "50")), {}
    for least in (0, STACK_BYTES):
        x, y, untouched = np.arange(16, dtype="i4"), np.zeros(16, "i4"), np.zeros(4, "i4")
        compared = ComparingCluster(ClusterShape(1, 4, 4))
        launch(compared, program, "f", x.shape, [x, y, untouched], stack_bytes=least)
        changed[least] = int(compared.changed.sum())
    assert changed[0] <= y.nbytes < 16 * 50 < changed[STACK_BYTES]
