# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The model board against the simulated one: what an item and a swap take, and so when jobs end.

Tasks run one after another here. In company items wait for each other's bursts, which the model does not know: there
items took up to 1.7 times as long, and only the order of ends is compared (`test_preemption_rtl`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import mean

import pytest
from eddy.board.port.port import BoardPort
from eddy.board.remote.factory import open_board
from eddy.cli.demo.demo_plan import Order, digits, photograph
from eddy.core.records import JobEventKind, JobRecord
from eddy.policy.dispatch import POLICIES
from eddy_sim.reference import lenet, optical_flow
from system.jobs.live_rig import CATALOGUE, Arrival, Calibration, Live, measure, predict

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("simulated board")]
ALONE = POLICIES["exclusive"](pipelined=False)
"""One application of a tenant at a time, one task after another."""
JOBS = (Arrival(0.0, photograph("ada", 1, 0, 3)), Arrival(0.0, digits("ada", 3, 0, 2)))


@pytest.fixture(scope="module")
def board() -> Iterator[BoardPort]:
    opened = open_board("rtl", "tiny")
    yield opened
    opened.release()


TASK_BOUND = 0.01
"""How much a task's items may differ between the boards: they wait for memory, no two items alike."""


def cycles_of(live: Live, records: Sequence[JobRecord], clocks: Sequence[float]) -> dict[str, list[float]]:
    """Cycles of every item by module: a slot's clock is its own, and what counts is how many of its cycles pass."""
    found: dict[str, list[float]] = defaultdict(list)
    for record in records:
        tasks = CATALOGUE.application(record.application).tasks
        for event in live.log(record):
            if event.what is JobEventKind.ITEM_DONE and event.started_s is not None:
                assert event.task is not None
                assert event.slot is not None
                found[tasks[event.task].module].append((event.at_s - event.started_s) * clocks[event.slot])
    return found


def test_items_and_swaps_take_what_the_model_says(board: BoardPort, tmp_path: Path) -> None:
    clocks = [slot.clk_hz for slot in board.describe().slots]
    latency: dict[str, float] = {}
    loads: dict[int, list[float]] = defaultdict(list)
    cycles: dict[str, list[float]] = {}
    # Calibrated from each application alone, on data of its own.
    for number, order in enumerate((photograph("ada", 1, 9, 11), digits("ada", 1, 6, 8))):
        live = Live(board, ALONE, tmp_path / str(number))
        records = live.play([Arrival(0.0, order)])
        measured = measure(live, records)
        latency.update(measured.latency_s)
        cycles.update(cycles_of(live, records, clocks))
        for slot, load_s in measured.load_s.items():
            loads[slot].append(load_s)
    calibration = Calibration(latency, {slot: mean(times) for slot, times in loads.items()})
    # Checked on other data, one application after the other.
    live = Live(board, ALONE, tmp_path / "after")
    records = live.play(JOBS)
    items = [
        item / mean(cycles[module]) - 1 for module, all_ in cycles_of(live, records, clocks).items() for item in all_
    ]
    swaps = [load_s / calibration.load_s[slot] - 1 for slot, load_s in measure(live, records).load_s.items()]
    foretold = predict(board, calibration, ALONE, JOBS)
    responses = [
        (foretold.jobs[number].response_s or 0.0) / (record.response_s or 0.0) - 1
        for number, record in enumerate(records)
    ]
    print(f"items {min(items):+.2%} to {max(items):+.2%}, swaps {min(swaps):+.2%} to {max(swaps):+.2%}, {responses}")
    assert len(items) == 3 * 6 + 2 * 3
    assert len(swaps) == 2
    assert max(map(abs, items)) < 0.03
    assert max(map(abs, swaps)) < 0.01
    assert max(map(abs, responses)) < 0.05


def digit(number: int) -> Order:
    """A held-out digit for LeNet: four tasks, two on each of two modules."""
    image = lenet.held_out()[0][number]
    result = lenet.run_item({"image": image})["result"]
    return Order("ada", "lenet", 3, {"image": image[None]}, {"result": result[None]}, lambda _: "")


def motion(number: int) -> Order:
    """Frames for optical flow: nine tasks on seven modules."""
    pixels = optical_flow.sequences()[number]
    flow = optical_flow.run_item({"pixels": pixels})["flow"]
    return Order("ada", "optical_flow", 3, {"pixels": pixels[None]}, {"flow": flow[None]}, lambda _: "")


@pytest.mark.parametrize(("of", "apart"), [(digit, 1.3), (motion, 1.0)])
def test_tasks_that_share_a_module_each_take_what_the_model_says(
    board: BoardPort, tmp_path: Path, of: Callable[[int], Order], apart: float
) -> None:
    learned, checked = Live(board, ALONE, tmp_path / "learned"), Live(board, ALONE, tmp_path / "checked")
    calibration = measure(learned, learned.play([Arrival(0.0, of(0))]))
    arrivals = [Arrival(0.0, of(3))]
    records = checked.play(arrivals)
    assert checked.right(records[0], arrivals[0].order)
    true_s = measure(checked, records).task_s
    application = CATALOGUE.application(records[0].application)
    foretold_s: dict[str, float] = {}
    for event in predict(board, calibration, ALONE, arrivals).log:
        if event.what is JobEventKind.ITEM_DONE and event.task is not None and event.started_s is not None:
            foretold_s[application.task_name(event.task)] = event.at_s - event.started_s
    errors = {task: foretold_s[task] / took_s - 1 for task, took_s in true_s.items()}
    print(", ".join(f"{task} {true_s[task] * 1e6:.1f} us {error:+.2%}" for task, error in errors.items()))
    assert len(errors) == len(application.tasks)
    assert max(map(abs, errors.values())) < TASK_BOUND
    shared: dict[str, list[float]] = defaultdict(list)
    for task in application.tasks:
        shared[task.module].append(true_s[application.task_name(task.id)])
    assert max(max(times) / min(times) for times in shared.values()) > apart, "one figure a module would not do"
