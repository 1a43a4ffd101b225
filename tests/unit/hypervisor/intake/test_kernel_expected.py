# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What public OpenCL programs expect and the specification leaves open is what happens."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from eddy.gpu.compilation.build import build
from eddy.gpu.compilation.printf_arguments import fit_printf_arguments
from eddy.gpu.compilation.section_placement import ICACHE_BYTES, section_gaps
from eddy.gpu.launches.launch import ImageArgument, launch
from eddy.gpu.programs.program import symbols
from unit.gpu_kit import cluster, compiler

PRINTED = """__constant char text[] = "%ld,%d|";
kernel void f(global int *a) {
  size_t i = get_global_id(0);
  int small = -3;
  long large = -7 - (1L << 40);
  printf("%lu %d|", i, 5);
  printf("%zu %td %x|", get_global_size(0), &a[1] - a, 255u);
  printf("%ld %d %u|", small, large, (ulong)9);
  printf("%llu %lld %c%%|", 12345678901UL, large, (long)'q');
  printf(text, small, large);
  printf("%5.1f %s %v2d %lu\\n", 1.5f, "s", (int2)(1, 2), (uchar)200);
}
"""


@pytest.mark.parametrize("fpu", [True, False])
@pytest.mark.parametrize("doubles", [False, True])
def test_printf_takes_integers_of_any_width(fpu: bool, doubles: bool) -> None:
    source = PRINTED + ("kernel void g(global double *x) { x[0] = 1; }" if doubles else "")
    low, large = -7, -7 - (1 << 40)
    wanted = f"0 5|1 1 ff|-3 {low} 9|12345678901 {large} q%|-3,{low}|  1.5 s 1,2 200\n"
    program = build(compiler(), source, fpu=fpu)
    assert launch(cluster(), program, "f", (1,), [np.zeros(2, "i4")]).log == wanted


def test_what_is_no_constant_format_is_left_alone() -> None:
    call = "  %c = call i32 (ptr, ...) @printf(ptr noundef %where, i32 noundef 1) #2"
    text = '@.str = private constant [4 x i8] c"%ld\\00", align 1'
    assert fit_printf_arguments(f"{text}\n{call}") == f"{text}\n{call}"
    changed = fit_printf_arguments(f"{text}\n{call.replace('%where', '@.str')}")
    assert "%eddy.printed.0 = sext i32 1 to i64" in changed
    assert "@printf(ptr noundef @.str, i64 noundef %eddy.printed.0) #2" in changed


def test_an_include_may_be_named_by_a_macro() -> None:
    source = "#include HEADER\nkernel void f(global int *a) { a[0] = VALUE; }"
    headers = {"inc/v.h": "#define VALUE 4\n", "other.h": "#define VALUE 5\n"}
    a = np.zeros(1, "i4")
    for text, options in (
        ('#define HEADER "v.h"\n' + source, "-I inc"),
        ("#define HEADER <inc/v.h>\n" + source, ""),
        (source, '-I inc -D HEADER=\\"v.h\\"'),
    ):
        a[:] = 0
        launch(cluster(), build(compiler(), text, includes=headers, options=options), "f", (1,), [a])
        assert a[0] == 4
    two = '#ifdef X\n#define HEADER "other.h"\n#else\n#define HEADER "inc/v.h"\n#endif\n' + source
    for options, value in (("", 4), ("-D X", 5)):
        launch(cluster(), build(compiler(), two, includes=headers, options=options), "f", (1,), [a])
        assert a[0] == value, "which of them the conditions say"


def test_options_of_other_implementations_and_macros_with_parameters() -> None:
    source = "kernel void f(global int *a) { a[0] = SUM(2, 3) * __IMAGE_SUPPORT__; }"
    options = '-O3 -g -cl-nv-verbose -cl-nv-maxrregcount=32 -D"SUM(x, y)=((x) + (y))"'
    a = np.zeros(1, "i4")
    launch(cluster(), build(compiler(), source, options=options), "f", (1,), [a])
    assert a[0] == 5


def test_an_access_to_address_zero_is_an_access() -> None:
    """clang may take it for a place never reached; here it is outside the windows, and the hardware says so."""
    source = "kernel void f(global int *a) { global int *p = 0; if (a[0]) p = a; *p = 1; a[1] = 2; }"
    always = "kernel void g(global int *a) { *(global int *)0 = 1; a[1] = 2; }"
    program, a = build(compiler(), f"{source}\n{always}"), np.zeros(2, "i4")
    for kernel in ("f", "g"):
        a[:] = 0
        launch(cluster(), program, kernel, (1,), [a])
        assert a.tolist() == [0, 2], "the model has memory at address 0"


@pytest.mark.parametrize("kind", ["sampler_t", "const sampler_t", "static const sampler_t", "__constant sampler_t"])
def test_kernels_guarded_by_image_support_are_there(kind: str) -> None:
    source = f"{kind} nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;"
    source += """
#ifdef __IMAGE_SUPPORT__
kernel void f(global float *a, read_only image2d_t from) {
  a[0] = read_imagef(from, nearest, (int2)(9, 0)).x;
}
#endif"""
    a, image = np.zeros(1, "f4"), ImageArgument(np.arange(4, dtype="f4").reshape(1, 4, 1), "r", "float")
    launch(cluster(), build(compiler(), source), "f", (1,), [a, image])
    assert a[0] == 3


def test_no_kernel_shares_cache_lines_with_the_loop_over_groups() -> None:
    body = "for (int k = 0; k < n; k++) a[k] = sqrt(a[k]) / b[k] + a[k + n] * b[k + n];"
    source = "\n".join(f"kernel void f{k}(global float *a, global float *b, int n) {{ {body} }}" for k in range(24))
    at = symbols(build(compiler(), source).elf)
    starts = [at[f"eddy_call_f{k}"] - at["_start"] for k in range(24)]
    loop = range(at["eddy_next"] - at["_start"], at["eddy_finish"] - at["_start"])
    size = min(second - first for first, second in itertools.pairwise(starts))
    assert starts[-1] > 2 * ICACHE_BYTES
    for start in starts:
        lines = {(start + byte) % ICACHE_BYTES for byte in range(0, size, 4)}
        assert not lines & set(range(loop.start, loop.stop, 4))


@pytest.mark.parametrize("size", [4, 400, 3000, 3496, 3500, 5000])
@pytest.mark.parametrize("at", [968, 3000, 4400, 4968, 9000])
def test_gaps_are_as_small_as_can_be(size: int, at: int) -> None:
    loop = range(368, 968)
    sizes = {f"f{k}": size for k in range(9)}
    place = at
    for name, gap in section_gaps(sizes, at, loop):
        assert name in sizes
        touched = {byte % ICACHE_BYTES for byte in range(place, place + size)} & set(loop)
        assert (gap > 0) == bool(touched and size <= ICACHE_BYTES - len(loop))
        place += gap
        if gap:
            assert place % ICACHE_BYTES == loop.stop
        place += size
