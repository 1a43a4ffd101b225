# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Compares the GPU's RTL with the model of its instruction set on random programs, all cores at once.

python -m eddy_sim.gpu.check --programs 1000 [--seed N] [--shapes 1c4w4t 8c4w4t 1c16w16t 2c3w5tx 4c4w4t-l2-4096]

A shape is cores, warps and threads; x: without floating point; -l2-4096: with a second-level cache of so many bytes.
"""

from __future__ import annotations

import argparse
import sys
import time

from eddy.core.errors import InvalidRequest

from eddy_sim.gpu.cluster_build import Shape
from eddy_sim.gpu.compare import Comparison, compare
from eddy_sim.gpu.random_programs import DATA, SHARED, Options, random_program

STARVE_BOUND = 100
"""Low, so that groups of lanes take turns within programs of this length."""
REGIONS = ((DATA, 0x4000), (SHARED, 0x80000))


def check_program(seed: int, shape: Shape) -> Comparison:
    """One random program on every core; stalls and latency of memory follow from the seed."""
    program = random_program(seed, Options(shape.threads, shape.warps, shape.fpu))
    stall, latency = seed % 3 * 40, 1 + seed % 7 * 5
    return compare(program, shape, all_cores=True, stall=stall, latency=latency, seed=seed + 1, regions=REGIONS)


def check_shape(shape: Shape, seeds: range) -> bool:
    """Whether all programs agree; says what was run, or the first difference."""
    lanes = cycles = 0
    begin = time.process_time()
    for seed in seeds:
        outcome = check_program(seed, shape)
        lanes, cycles = lanes + outcome.lane_records, cycles + outcome.cycles
        if outcome.difference:
            print(f"{shape.name()}: seed {seed}: {outcome.difference}")
            return False
    told = f"{len(seeds)} programs, {lanes} instructions of lanes, {cycles} cycles, {time.process_time() - begin:.0f} s"
    print(f"{shape.name()}: {told}: no difference", flush=True)
    return True


def main() -> int:
    """Run the comparison; exit 0 where nothing differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=100, help="of each shape")
    parser.add_argument("--seed", type=int, default=1000, help="of the first program")
    parser.add_argument("--shapes", nargs="+", default=["1c4w4t"], metavar="SHAPE")
    options = parser.parse_args()
    try:
        shapes = [Shape.parse(name, starve_bound=STARVE_BOUND) for name in options.shapes]
    except InvalidRequest as error:
        parser.error(str(error))
    seeds = range(options.seed, options.seed + options.programs)
    return int(not all(check_shape(shape, seeds) for shape in shapes))


if __name__ == "__main__":
    sys.exit(main())
