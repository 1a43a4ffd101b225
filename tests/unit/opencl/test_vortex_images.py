# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Images for Vortex hosts on the model of the instruction set: grids, barriers, mathematics, and what they print."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from eddy.core.errors import InvalidRequest
from eddy.gpu.launches.executor import Execution
from eddy.gpu.programs.layout import REGION_BASE
from eddy.gpu.programs.shape import ClusterShape
from eddy.opencl.vortex.build import STARTUP_ADDRESS, build_image
from eddy_sim.gpu.executors import IsaExecutor

REGION_BYTES = 2 << 20
RECORD, STATES, PRINTED, STACKS, SLICE = 0x100000, 0x100400, 0x101000, 0x110000, 0x1000
ARGUMENTS, OUT = 0x2000, 0x10000
CYCLES, INSTRUCTIONS, EXIT = 68, 76, 84

GRID = """
#include <vx_spawn.h>
struct asked { uint32_t grid[3], block[3]; int *out; };
static void body(void *given) {
    struct asked *asked = (struct asked *)given;
    uint32_t items = blockDim.x * blockDim.y * blockDim.z;
    uint32_t block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    uint32_t item = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    int value = (int)(block * 1000 + item), *local = (int *)__local_mem(items * sizeof(int));
    for (volatile uint32_t k = 0; k < block % 5 + item % 3; k++) {}
    if (items > 1) {
        local[item] = value;
        __syncthreads();
        value = local[items - 1 - item];
        __syncthreads();
    }
    asked->out[block * items + item] += value;
}
int main() {
    struct asked *asked = (struct asked *)csr_read(VX_CSR_MSCRATCH);
    return vx_spawn_threads(3, asked->grid, asked->block, body, asked);
}
"""
PRINT = r"""
#include <vx_print.h>
#include <vx_spawn.h>
int main() {
    vx_printf("%d|%5d|%-5d|%05d|%+d|%u|%x|%#X|%o|%lld|%c|%s|%.2s|%8s|%%\n", -7, 42, 42, -42, 7, 4000000000u, 255, 255,
              8, -1234567890123ll, 'c', "text", "text", "right");
    vx_printf("%f|%.2f|%8.3f|%e|%g|%g|%f\n", 3.25, -2.675, 1.0 / 3, 12345.678, 0.0001, 1e20, 1e10);
    vx_putint(-12, 10);
    vx_putchar('\n');
    return 5;
}
"""
MATH = """
#include <algorithm>
#include <cmath>
#include <vx_spawn.h>
__attribute__((noinline)) static float apart(float x) { return std::sin(x) + std::floor(x) + sqrtf(x) + expf(-x); }
static void body(float *x) { x[blockIdx.x] = std::max(apart(x[blockIdx.x]), 0.25f); }
int main() {
    uint32_t count = 64;
    return vx_spawn_threads(1, &count, nullptr, (vx_kernel_func_cb)body, (void *)csr_read(VX_CSR_MSCRATCH));
}
"""


class Run:
    """An image run for some cores one after the other."""

    def __init__(
        self,
        image: bytes,
        contents: dict[int, bytes],
        arguments: int,
        cores: int = 1,
        shape: ClusterShape | None = None,
    ) -> None:
        first, last = struct.unpack_from("<2Q", image)
        assert (first, last >= first + len(image) - 16) == (STARTUP_ADDRESS, True)
        self.region = bytearray(REGION_BYTES)
        for at, data in {first - REGION_BASE: image[16:], **contents}.items():
            self.region[at : at + len(data)] = data
        record = REGION_BASE + arguments, REGION_BASE + STATES, REGION_BASE + STACKS, 4096, REGION_BASE + PRINTED
        struct.pack_into("<5I", self.region, RECORD, *record)
        struct.pack_into("<4I", self.region, SLICE, REGION_BASE + RECORD, 0, cores, cores)
        executor = IsaExecutor(shape or ClusterShape(1, 4, 4))
        self.done: Execution = executor.execute(self.region, first, REGION_BASE + SLICE, 5_000_000)
        assert (self.done.finished, self.done.faults) == (True, ())

    def word(self, core: int, offset: int) -> int:
        """A word of a core's state."""
        return int(struct.unpack_from("<I", self.region, STATES + 128 * core + offset)[0])

    @property
    def printed(self) -> str:
        """By the first core."""
        (size,) = struct.unpack_from("<I", self.region, PRINTED)
        return self.region[PRINTED + 4 : PRINTED + 4 + size].decode()


def source(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return build_image([source(tmp_path_factory.mktemp("image"), "grid.c", GRID)])


@pytest.mark.parametrize("cores", [1, 3])
@pytest.mark.parametrize(
    ("size", "block"),
    [
        ((37, 1, 1), (1, 1, 1)),
        ((5, 3, 2), (1, 1, 1)),
        ((64, 1, 1), (1, 1, 1)),
        ((7, 1, 1), (4, 1, 1)),
        ((3, 2, 1), (3, 2, 1)),
        ((2, 2, 2), (2, 3, 2)),
        ((2, 1, 1), (16, 1, 1)),
        ((11, 1, 1), (5, 1, 1)),
    ],
)
def test_every_thread_of_a_grid_runs_once(
    grid: bytes, size: tuple[int, ...], block: tuple[int, ...], cores: int
) -> None:
    asked = struct.pack("<7I", *size, *block, REGION_BASE + OUT)
    run = Run(grid, {ARGUMENTS: asked}, ARGUMENTS, cores)
    blocks, items = int(np.prod(size)), int(np.prod(block))
    found = np.frombuffer(run.region, "<i4", blocks * items, OUT).reshape(blocks, items)
    assert np.array_equal(found, np.arange(blocks)[:, None] * 1000 + np.arange(items)[::-1])
    assert [run.word(core, EXIT) for core in range(cores)] == [0] * cores
    assert all(run.word(core, INSTRUCTIONS) > 10 for core in range(cores))


def test_a_block_that_is_too_large_is_said_and_not_run(grid: bytes) -> None:
    run = Run(grid, {ARGUMENTS: struct.pack("<7I", 1, 1, 1, 17, 1, 1, REGION_BASE + OUT)}, ARGUMENTS)
    assert run.word(0, EXIT) == 0xFFFF_FFFF
    assert run.printed == "a block of 17 threads does not fit a core of 16 lanes\n"
    assert not any(run.region[OUT : OUT + 256])


@pytest.mark.parametrize("shape", [ClusterShape(1, 1, 1), ClusterShape(1, 2, 16), ClusterShape(1, 8, 2)])
def test_images_fit_cores_of_other_shapes(grid: bytes, shape: ClusterShape) -> None:
    run = Run(grid, {ARGUMENTS: struct.pack("<7I", 9, 5, 1, 1, 1, 1, REGION_BASE + OUT)}, ARGUMENTS, shape=shape)
    assert [*np.frombuffer(run.region, "<i4", 45, OUT)] == [1000 * k for k in range(45)]


def test_what_an_image_prints(tmp_path: Path) -> None:
    run = Run(build_image([source(tmp_path, "print.c", PRINT)]), {}, ARGUMENTS)
    whole = "%d|%5d|%-5d|%05d|%+d|%d|%x|%#X|%o|%d|%s|%s|%s|%8s|%%\n"
    values = -7, 42, 42, -42, 7, 4000000000, 255, 255, 8, -1234567890123, "c", "text", "te", "right"
    numbers = 3.25, -2.675, 1 / 3, 12345.678, 0.0001, 1e20, 1e10
    real = "{:f}|{:.2f}|{:8.3f}|{:e}|{:g}|{:g}|{:f}\n".format(*numbers)
    assert run.printed == (whole % values) + real + "-12\n"
    assert run.word(0, EXIT) == 5


@pytest.mark.parametrize("fpu", [True, False])
def test_mathematics_of_c_and_cpp(tmp_path: Path, fpu: bool) -> None:
    x = np.linspace(0, 40, 64).astype("f4")
    image = build_image([source(tmp_path, "math.cpp", MATH)], fpu=fpu)
    run = Run(image, {OUT: x.tobytes()}, OUT, shape=ClusterShape(1, 4, 4, fpu))
    expected = np.maximum(np.sin(x) + np.floor(x) + np.sqrt(x) + np.exp(-x), 0.25)
    assert np.allclose(np.frombuffer(run.region, "<f4", 64, OUT), expected, rtol=1e-6)


def test_what_cannot_be_an_image_is_refused(tmp_path: Path) -> None:
    cases = {
        "a.txt": ("int main;", "none of"),
        "b.c": ("int main(void) { return nothing; }", "use of undeclared identifier 'nothing'"),
        "c.c": ("int other;", "undefined symbol: main"),
        "d.cpp": ("volatile int y; int x = y + 1; int main() { return x; }", "no constructors"),
        "e.c": ("__thread int x[17]; int main(void) { return x[(long)main & 1]; }", "64 bytes in all"),
    }
    for name, (text, why) in cases.items():
        with pytest.raises(InvalidRequest, match=why):
            build_image([source(tmp_path, name, text)])
