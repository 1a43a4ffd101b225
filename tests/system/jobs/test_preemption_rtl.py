# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Preemption for real: a slot is taken at a batch boundary, the task goes on later, and no bit is wrong.

Priorities order a tenant's own jobs, so all are one tenant's. And the same sequence of jobs, live on RTL and foretold
by the model board, ends in the same order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from eddy.board.port.port import BoardPort
from eddy.board.remote.factory import open_board
from eddy.cli.demo.demo_plan import digits, photograph
from eddy.core.jobs import JobState
from eddy.core.records import JobEvent, JobEventKind
from eddy.policy.dispatch import POLICIES
from system.jobs.live_rig import CATALOGUE, Arrival, Calibration, Live, measure, predict

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("simulated board")]
US = 1e-6
SEQUENCE = (
    Arrival(0 * US, photograph("ada", 1, 0, 6)),
    Arrival(400 * US, digits("ada", 9, 0, 1)),
    Arrival(700 * US, photograph("ada", 3, 6, 7)),
    Arrival(1000 * US, digits("ada", 1, 1, 4)),
    Arrival(1600 * US, photograph("ada", 9, 7, 9)),
    Arrival(2000 * US, digits("ada", 3, 4, 6)),
)


@pytest.fixture(scope="module")
def board() -> Iterator[BoardPort]:
    opened = open_board("rtl", "tiny")
    yield opened
    opened.release()


@pytest.fixture(scope="module")
def calibration(board: BoardPort, tmp_path_factory: pytest.TempPathFactory) -> Calibration:
    """Latencies and load times, each application alone on the board."""
    found = []
    for order in (photograph("ada", 1, 9, 11), digits("ada", 1, 6, 8)):
        live = Live(board, POLICIES["fcfs"](), tmp_path_factory.mktemp("alone"))
        found.append(measure(live, live.play([Arrival(0.0, order)])))
    return Calibration(
        {module: takes_s for each in found for module, takes_s in each.latency_s.items()},
        {slot: takes_s for each in found for slot, takes_s in each.load_s.items()},
    )


def items_once(log: tuple[JobEvent, ...]) -> bool:
    """Whether every item of every task was started once and ended once."""
    started = Counter((event.task, event.item) for event in log if event.what is JobEventKind.LAUNCH)
    ended = Counter((event.task, event.item) for event in log if event.what is JobEventKind.ITEM_DONE)
    return set(started.values()) == {1} and started == ended


@pytest.mark.parametrize("policy", ["nimblock", "eddy"])
def test_a_task_is_preempted_between_items_and_restored(board: BoardPort, policy: str, tmp_path: Path) -> None:
    long, urgent = photograph("ada", 1, 0, 6), digits("ada", 9, 0, 2)
    live = Live(board, POLICIES[policy](), tmp_path)
    # The urgent job comes while the long one holds both slots and has items behind and before it.
    first, second = live.play([Arrival(0.0, long), Arrival(400 * US, urgent)])
    assert (first.state, second.state) == (JobState.SUCCEEDED, JobState.SUCCEEDED)
    assert live.right(first, long)
    assert live.right(second, urgent)
    log = live.log(first)
    assert items_once(log)
    assert items_once(live.log(second))
    assert first.preemptions == sum(event.what is JobEventKind.PREEMPT for event in log) >= 1
    assert any(check_restored(log, event) for event in log if event.what is JobEventKind.PREEMPT)
    assert second.ended_s is not None
    assert first.ended_s is not None
    assert second.ended_s < first.ended_s


def check_restored(log: tuple[JobEvent, ...], preempted: JobEvent) -> bool:
    """Whether a task lost its slot in the middle of its batch, none of its items running, and went on with the next."""
    task, batch = preempted.task, max(event.item or 0 for event in log) + 1
    mine = [event for event in log if event.task == task and event.item is not None]
    before = [event for event in mine if event.seq < preempted.seq]
    after = [event for event in mine if event.seq > preempted.seq and event.what is JobEventKind.LAUNCH]
    assert sum(e.what is JobEventKind.LAUNCH for e in before) == sum(e.what is JobEventKind.ITEM_DONE for e in before)
    done = [event.item for event in before if event.what is JobEventKind.ITEM_DONE]
    assert [event.item for event in after] == list(range(len(done), batch))
    loads = [event for event in log if event.task == task and event.what is JobEventKind.CONFIGURED]
    assert any(event.seq > preempted.seq for event in loads), "it came back by a load of its own"
    return bool(done and after)


@pytest.mark.parametrize("policy", ["nimblock", "eddy", "fcfs"])
def test_live_jobs_end_in_the_order_the_model_foretells(
    board: BoardPort, calibration: Calibration, policy: str, tmp_path: Path
) -> None:
    live = Live(board, POLICIES[policy](), tmp_path)
    records = live.play(SEQUENCE)
    assert all(live.right(record, arrival.order) for record, arrival in zip(records, SEQUENCE, strict=True))
    foretold = predict(board, calibration, POLICIES[policy](), SEQUENCE)
    ends_s = [record.ended_s or 0.0 for record in records]
    foretold_s = [foretold.jobs[number].ended_s or 0.0 for number in range(len(SEQUENCE))]
    print([round((end_s - live.begin_s) * 1e6) for end_s in ends_s], [round(end_s * 1e6) for end_s in foretold_s])
    assert sorted(range(len(ends_s)), key=ends_s.__getitem__) == sorted(range(len(ends_s)), key=foretold_s.__getitem__)


def test_every_module_was_measured(calibration: Calibration) -> None:
    modules = {
        task.module for name in ("image_compression", "digit_recognition") for task in CATALOGUE.application(name).tasks
    }
    assert set(calibration.latency_s) == modules
    assert set(calibration.load_s) == {0, 1}
    assert all(takes_s > 0 for takes_s in calibration.latency_s.values())
