"""What a backlog costs: steps with few jobs waiting and with many, in turns, and taking up many after a restart.

The engine runs on the `model` board with a store on disk; jobs are a chain of two tasks without buffers, two items
each, so that a step does the same work whoever's turn it is. With `--json`, one object on standard output.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

from eddy.board.model.model import SHELL, ModelBoard
from eddy.board.model.model_images import model_images
from eddy.board.port.port import BoardDescription
from eddy.core.applications import Application, TaskSpec
from eddy.core.records import JobRequest
from eddy.core.slots import Pool, SlotDescription
from eddy.core.tenants import Quota
from eddy.hypervisor.engine.engine import Engine
from eddy.packages.modules import ModuleKind, ModuleManifest
from eddy.policy.dispatch import POLICIES
from eddy.store import Store
from yardstick import python_turns_per_s

FEW, MANY, TURNS, STEPS = 100, 10_000, 15, 40
GOAL_GROWTH = 2.0
"""How many times as long a step may take with many jobs waiting."""
GOAL_TURNS = 40e6
"""Turns of the Python yardstick that taking up many jobs may take: some 2 to 3 s."""
MODULES = ("first", "second")
APPLICATION = Application(
    "bench", tuple(TaskSpec(i, name, name, (), 1e-3, 1.0) for i, name in enumerate(MODULES)), ((0, 1),), max_batch=8
)


def board() -> ModelBoard:
    """Four slots."""
    slots = tuple(SlotDescription(i, f"slot{i}", Pool.PIPELINE, 1000, 1e8) for i in range(4))
    described = BoardDescription("model", "bench", SHELL, 1e8, slots, 1 << 20, 1e6, False)
    return ModelBoard(described, model_images(described, MODULES), dict.fromkeys(MODULES, 1e-3), real_memory=False)


def engine(store: Store, on: ModelBoard) -> Engine:
    """An engine that has recovered from store and board."""
    manifests = {name: ModuleManifest(name, ModuleKind.HLS, name, Path("x.f"), (1, 0), 1e8, ()) for name in MODULES}
    made = Engine(on, POLICIES["eddy"](), store, {APPLICATION.name: APPLICATION}, manifests)
    made.start()
    return made


def fill(made: Engine, waiting: int) -> None:
    """Let jobs come until so many have not ended."""
    short = waiting - len(made.machine.jobs)
    numbers = range(short)
    for begin in range(0, short, 200):
        asked = [
            JobRequest(f"t{n % 4}", APPLICATION.name, 2, priority=(1, 3, 9)[n % 3])
            for n in numbers[begin : begin + 200]
        ]
        answers = made.intake.accept_all([(each, None) for each in asked])
        refused = [each for each in answers if isinstance(each, Exception)]
        if refused:
            raise refused[0]
    for _ in range(STEPS):
        made.step()  # who came is looked at for the first time


def step_us(made: Engine, waiting: int) -> float:
    """Microseconds of a step with so many jobs waiting, on average."""
    fill(made, waiting)
    began_s = time.perf_counter()
    for _ in range(STEPS):
        made.step()
    return (time.perf_counter() - began_s) / STEPS * 1e6


def measure(folder: Path) -> dict[str, float]:
    """Everything, few and many in turns."""
    stores = [Store(folder / name, Quota(max_jobs=MANY)) for name in ("few", "many")]
    boards = [board(), board()]
    few, many = (engine(store, on) for store, on in zip(stores, boards, strict=True))
    times = [(step_us(few, FEW), step_us(many, MANY)) for _ in range(TURNS)]
    stores[1].close()
    began_s = time.perf_counter()
    again = engine(Store(folder / "many", Quota(max_jobs=MANY)), boards[1])
    took_s = time.perf_counter() - began_s
    return {
        "few_us": statistics.median(each for each, _ in times),
        "many_us": statistics.median(each for _, each in times),
        "growth": statistics.median(after / before for before, after in times),
        "taken_up": len(again.machine.jobs),
        "restart_s": took_s,
        "restart_turns": took_s * python_turns_per_s(),
    }


def main() -> int:
    """Measure, print, and say whether the goals are met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder))
    if options.json:
        json.dump(found, sys.stdout)
        return 0
    met = {
        f"a step with {MANY} jobs waiting beside one with {FEW}: {found['many_us']:.0f} us beside"
        f" {found['few_us']:.0f} us, {found['growth']:.2f} times (goal {GOAL_GROWTH:g})": found["growth"] < GOAL_GROWTH,
        f"taking up {found['taken_up']:.0f} jobs after a restart: {found['restart_s']:.2f} s,"
        f" {found['restart_turns'] / 1e6:.1f} M turns of the Python loop (goal {GOAL_TURNS / 1e6:.0f} M)": (
            found["restart_turns"] < GOAL_TURNS
        ),
    }
    for what, good in met.items():
        print(f"{what}: {'met' if good else 'missed'}")
    return int(not all(met.values()))


if __name__ == "__main__":
    sys.exit(main())
