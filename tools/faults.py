# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Seeds of the deterministic fault simulation: hypervisor, store, API and a board in virtual time, with faults drawn.

    make faults ARGS="--seeds 10000 [--first N]"

A seed that breaks a promise is printed with what was broken; the exit status is 1 then.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

import structlog

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from eddy.host.memory_tuning import freeze_objects
from faultsim.parts import parts
from faultsim.world import World


def main() -> int:
    """Run the seeds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=200, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the first one")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)  # every fault is logged, and there are thousands
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    broken, crashes, ended = list[int](), Counter[str](), Counter[str]()
    jobs = restarts = torn = done = 0
    board_s, began_s = 0.0, time.perf_counter()
    with parts() as made:
        freeze_objects()  # else a seventh of the time goes into looking through what every seed shares
        for seed in range(options.first, options.first + options.seeds):
            try:
                found = World(seed, made).run()
            except Exception:
                broken.append(seed)
                print(f"seed {seed}:", file=sys.stderr)
                traceback.print_exc()
                continue
            done += 1
            jobs, restarts, torn = jobs + found.jobs, restarts + found.restarts, torn + found.torn
            board_s += found.board_s
            crashes.update(found.crashes)
            ended.update(found.ended)
            if done % 100 == 0:
                print(f"{done} seeds, {time.perf_counter() - began_s:.0f} s", file=sys.stderr, flush=True)
    print(
        f"{done} of {options.seeds} seeds hold every promise: {jobs} jobs ({dict(sorted(ended.items()))}),"
        f" {crashes['process']} crashes, {crashes['power']} losses of power, {restarts} restarts of the board,"
        f" {torn} torn files; {board_s / 3600:.1f} h of board time in {time.perf_counter() - began_s:.0f} s"
    )
    if broken:
        print(f"broken: {broken}")
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main())
