# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a backlog costs: steps with few jobs waiting and with many, in turns, and taking up many after a restart.

The engine runs on the `model` board with a store on disk; jobs are a chain of two tasks without buffers, two items
each, so that a step does the same work whoever's turn it is.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

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

GROWTH = "a step with many jobs waiting, times one with few"
FEW, MANY, TURNS, STEPS = 100, 10_000, 15, 40
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
        "a step with few jobs waiting, us": statistics.median(each for each, _ in times),
        "a step with many, us": statistics.median(each for _, each in times),
        GROWTH: statistics.median(after / before for before, after in times),
        "jobs taken up": len(again.machine.jobs),
        "taking them up, s": took_s,
        "turns of the Python loop to take up many": took_s * python_turns_per_s(),
    }


MOST = {GROWTH: 2.0, "turns of the Python loop to take up many": 40e6}
"""Goals; the turns take some 2 to 3 s."""


def bench(options: argparse.Namespace) -> dict[str, Any]:
    """Steps and a restart."""
    with tempfile.TemporaryDirectory() as folder:
        return measure(Path(folder))
