"""Compares the GPU's RTL with the model of its instruction set on random programs.

python -m eddy_sim.gpu.check --programs 1000 [--seed N] [--cores C --warps W --threads T --no-fpu]
"""

from __future__ import annotations

import argparse
import sys

from eddy_sim.gpu.cluster_build import Shape
from eddy_sim.gpu.compare import compare
from eddy_sim.gpu.random_programs import DATA, SHARED, Options, random_program


def main() -> int:
    """Run the comparison; exit 0 where nothing differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("programs", 100), ("seed", 1000), ("cores", 1), ("warps", 4), ("threads", 4)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--no-fpu", action="store_true")
    options = parser.parse_args()
    shape = Shape(options.cores, options.warps, options.threads, not options.no_fpu, starve_bound=100)
    lanes = cycles = 0
    for seed in range(options.seed, options.seed + options.programs):
        program = random_program(seed, Options(shape.threads, shape.warps, shape.fpu))
        regions = ((DATA, 0x4000), (SHARED, 0x80000))
        stall, latency = seed % 3 * 40, 1 + seed % 7 * 5
        outcome = compare(program, shape, all_cores=True, stall=stall, latency=latency, seed=seed + 1, regions=regions)
        lanes, cycles = lanes + outcome.lane_records, cycles + outcome.cycles
        if outcome.difference:
            print(f"seed {seed}: {outcome.difference}")
            return 1
    print(f"{options.programs} programs, {lanes} instructions of lanes, {cycles} cycles: no difference")
    return 0


if __name__ == "__main__":
    sys.exit(main())
