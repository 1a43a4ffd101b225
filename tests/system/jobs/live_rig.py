# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The hypervisor's engine on a board, turned by hand: jobs with real inputs, put in when their time has come."""

from __future__ import annotations

import hashlib
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import mean

import numpy as np
from eddy.board.model.model import LoadTime, ModelBoard
from eddy.board.model.model_images import model_images
from eddy.board.port.port import BoardPort
from eddy.cli.demo.demo_plan import Order
from eddy.core.records import JobEvent, JobEventKind, JobRecord, JobRequest
from eddy.hypervisor.engine.engine import Engine
from eddy.hypervisor.intake.preparation_hold import LOOK_S
from eddy.hypervisor.jobs.messages import JobSpec
from eddy.hypervisor.machine.virtual import VirtualRun, run_virtual
from eddy.packages.catalogue import load_catalogue
from eddy.policy.dispatch.views.view import DispatchPolicy
from eddy.store import Store

ROOT = Path(__file__).parents[3]
CATALOGUE = load_catalogue(ROOT / "bitstreams")
# Task by task: what is compared is slots that change hands, not which tasks were fused.
UNFUSED = {name: replace(application, fused=()) for name, application in CATALOGUE.applications.items()}


@dataclass(frozen=True, slots=True)
class Arrival:
    """A job and when it comes, in board seconds after the first step."""

    at_s: float
    order: Order


class Live:
    """An engine on a board.

    Args:
        board: Any board with images of the applications' modules.
        policy: Who gets which slot.
    """

    def __init__(self, board: BoardPort, policy: DispatchPolicy, folder: Path) -> None:
        self.store = Store(folder / "eddy.sqlite")
        self.engine = Engine(board, policy, self.store, UNFUSED, CATALOGUE.modules, CATALOGUE.constants)
        self.engine.start()
        # The board may have a past; its time goes on.
        self.engine.step(0.0)
        self.begin_s = self.engine.now_s

    def submit(self, order: Order) -> JobRecord:
        """Put a job in, with its inputs."""
        application = CATALOGUE.application(order.application)
        roles = {buffer.name: buffer for buffer in application.buffers}
        inputs: dict[str, tuple[str, ...]] = {}
        constants: dict[str, str] = {}
        for name, array in order.inputs.items():
            data = np.ascontiguousarray(array.astype(roles[name].dtype)).tobytes()
            sha256 = hashlib.sha256(data).hexdigest()
            self.store.blobs.put(order.tenant, sha256, data)
            if roles[name].role.value == "constant":
                constants[name] = sha256
            else:
                inputs[name] = (sha256,)
        request = JobRequest(order.tenant, order.application, order.batch, inputs, constants, order.priority)
        return self.engine.intake.accept(request)

    def play(self, arrivals: Sequence[Arrival]) -> list[JobRecord]:
        """Put every job in at its time, and run all of them to their end."""
        records = []
        for arrival in arrivals:
            while (left_s := self.begin_s + arrival.at_s - self.engine.now_s) > 0:
                self.engine.step(left_s)
            records.append(self.submit(arrival.order))
        self.finish()
        return [self.store.jobs.get(record.tenant, record.id) for record in records]

    def finish(self) -> None:
        """Run until nothing is left to do."""
        run_out(self.engine)

    def right(self, record: JobRecord, order: Order) -> bool:
        """Whether every output equals the reference, bit for bit."""
        application = CATALOGUE.application(order.application)
        dtypes = {buffer.name: buffer.dtype for buffer in application.buffers}
        return all(
            self.store.outputs.read(record.tenant, record.id, name) == expected.astype(dtypes[name]).tobytes()
            for name, expected in order.expected.items()
        )

    def log(self, record: JobRecord) -> tuple[JobEvent, ...]:
        """What happened to a job."""
        return tuple(self.store.events.list_events(record.tenant, record.id, limit=10_000))


LONGEST_S = 5.0
"""Board seconds within which everything has ended, once every module is built."""


def run_out(engine: Engine) -> None:
    """Step until nothing is left to do; while modules are being built, wall time has to pass."""
    engine.step(0.0)  # The board's time may have gone on since the last step, in another engine's hands.
    until_s = None
    while not engine.is_idle or engine.preparing.waiting:
        if engine.preparing.waiting:
            time.sleep(LOOK_S)
            engine.step(LONGEST_S)
            until_s = None
            continue
        until_s = engine.now_s + LONGEST_S if until_s is None else until_s
        assert engine.now_s < until_s, f"jobs {sorted(engine.machine.jobs)} do not end"
        engine.step(LONGEST_S)
    assert not engine.stalled


@dataclass(frozen=True, slots=True)
class Calibration:
    """What was measured: seconds an item of each module takes, and of each task, and a load of each slot."""

    latency_s: Mapping[str, float]
    load_s: Mapping[int, float]
    task_s: Mapping[str, float] = field(default_factory=dict)


def measure(live: Live, records: Sequence[JobRecord]) -> Calibration:
    """What the log of some jobs says of latencies and load times."""
    items: dict[str, list[float]] = defaultdict(list)
    by_task: dict[str, list[float]] = defaultdict(list)
    loads: dict[int, list[float]] = defaultdict(list)
    for record in records:
        application = CATALOGUE.application(record.application)
        tasks = application.tasks
        for event in live.log(record):
            if event.started_s is None:
                continue
            if event.what is JobEventKind.ITEM_DONE and event.task is not None:
                items[tasks[event.task].module].append(event.at_s - event.started_s)
                by_task[application.task_name(event.task)].append(event.at_s - event.started_s)
            elif event.what is JobEventKind.CONFIGURED and event.slot is not None and event.at_s > event.started_s:
                loads[event.slot].append(event.at_s - event.started_s)
    return Calibration(
        {module: mean(times) for module, times in items.items()},
        {slot: mean(times) for slot, times in loads.items()},
        {task: mean(times) for task, times in by_task.items()},
    )


def predict(
    board: BoardPort, calibration: Calibration, policy: DispatchPolicy, arrivals: Sequence[Arrival]
) -> VirtualRun:
    """The same sequence on the model board, with latencies and load times as measured."""
    description = board.describe()
    model = ModelBoard(
        description,
        model_images(description, calibration.latency_s),
        {**calibration.latency_s, **calibration.task_s},
        load_times={slot: LoadTime(0.0, load_s) for slot, load_s in calibration.load_s.items()},
        real_memory=False,
    )
    jobs = [
        JobSpec(
            number,
            arrival.order.tenant,
            UNFUSED[arrival.order.application],
            arrival.order.batch,
            arrival.order.priority,
            arrival.at_s,
            needs_memory=True,
        )
        for number, arrival in enumerate(arrivals)
    ]
    return run_virtual(model, policy, jobs)
