# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Tasks that start an item together, because it goes from slot to slot; and when they do not."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from eddy.board.port.port import Cause, SlotPhase, SlotState
from eddy.core.applications import Application, StreamedEdge, TaskSpec
from eddy.core.jobs import JobState
from eddy.core.slots import Pool, PreemptReason
from eddy.hypervisor.engine import recovery
from eddy.hypervisor.jobs import messages as m
from eddy.hypervisor.jobs.slot import MachineSlot, Phase
from eddy.hypervisor.machine.machine import Machine
from eddy.policy.dispatch.views.view import Configure, Preempt
from machine_kit import ONE, TWO, Bench

EDGE = ("", (StreamedEdge(0, 1, "between"),))
FASTER = replace(TWO, tasks=(replace(TWO.tasks[0], estimate_s=2e-3), TWO.tasks[1]))
"""Its reader is the faster of both."""


class Streams(Bench):
    """A machine with a job of two tasks that may stream."""

    def __init__(self, batch: int = 3, app: Application = TWO) -> None:
        super().__init__()
        self.step(m.Arrive(m.JobSpec(1, "a", app, batch, streams=(EDGE,))))

    def pair(self) -> m.StepResult:
        """Both tasks have slots, and start the second item together."""
        self.load(1, 0, 0)
        self.load(1, 1, 1)
        self.done(0)
        return self.done(1)


def launches(result: m.StepResult) -> list[tuple[int, int, tuple[tuple[str, int], ...]]]:
    return [(c.slot, c.item, c.streams) for c in result.commands if isinstance(c, m.LaunchItem)]


def test_the_first_item_goes_through_memory_and_the_others_from_slot_to_slot() -> None:
    bench = Streams()
    assert launches(bench.load(1, 0, 0)) == [(0, 0, ())], "the other has no slot yet"
    bench.step(decide=[Configure(1, 1, 1)])
    assert launches(bench.done(0)) == [], "the slower one is being loaded: waiting costs nothing"
    assert launches(bench.load_ends(1)) == [(1, 0, ())]
    started = bench.done(1)
    # Who reads is started first.
    assert launches(started) == [(1, 1, (("between", 0),)), (0, 1, (("between", 1),))]
    assert [entry.detail for entry in started.log if entry.what.value == "launch"] == [
        "reads from slot 0",
        "writes to slot 1",
    ]
    assert launches(bench.done(0)) == [], "its reader has the rest to take"
    assert launches(bench.done(1)) == [(1, 2, (("between", 0),)), (0, 2, (("between", 1),))]
    bench.done(0)
    assert bench.done(1).ended == [1]


def test_both_start_with_the_first_item_where_both_are_there() -> None:
    bench = Streams()
    bench.pair()
    for _ in range(2):
        bench.done(0)
        bench.done(1)
    # The modules are resident: a second job gets both slots in one turn.
    bench.step(m.Arrive(m.JobSpec(2, "a", TWO, 1, streams=(EDGE,))))
    started = bench.step(decide=[Configure(2, 0, 0), Configure(2, 1, 1)])
    assert launches(started) == [(1, 0, (("between", 0),)), (0, 0, (("between", 1),))]


@pytest.mark.parametrize("failing", [0, 1])
def test_a_pair_fails_as_a_pair(failing: int) -> None:
    bench = Streams()
    bench.pair()
    result = bench.step(m.ItemEnded(failing, bench.now_s, bench.now_s, Cause.MODULE_ERROR, "broke"))
    assert [c for c in result.commands if isinstance(c, m.StopItem)] == [m.StopItem(1 - failing)]
    bench.step(m.ItemEnded(1 - failing, bench.now_s, bench.now_s, Cause.STOPPED))
    assert bench.machine.job(1).state is JobState.FAILED


def test_a_pair_is_preempted_between_items_and_goes_on_through_memory() -> None:
    bench = Streams()
    bench.pair()
    bench.step(decide=[Preempt(1, PreemptReason.RANK)])
    assert all(slot.phase is Phase.RUNNING for slot in bench.machine.slots.values()), "an item is not cut short"
    assert launches(bench.done(0)) == [(0, 2, ())], "its reader leaves: through memory"
    bench.done(1)
    assert bench.machine.slots[1].phase is Phase.FREE


def test_it_waits_for_nobody_where_another_wants_the_slot() -> None:
    bench = Streams()
    bench.load(1, 0, 0)
    bench.step(decide=[Configure(1, 1, 1)])
    bench.arrive(2, ONE, "b")
    assert launches(bench.done(0)) == [(0, 1, ())]


def test_the_slower_one_does_not_wait_for_a_load() -> None:
    bench = Streams(app=FASTER)
    bench.load(1, 0, 0)
    bench.step(decide=[Configure(1, 1, 1)])
    assert launches(bench.done(0)) == [(0, 1, ())]
    # Its reader comes, and has two items to catch up; then one, for which it waits.
    assert launches(bench.load_ends(1)) == [(1, 0, ())]
    assert launches(bench.done(1)) == []
    assert launches(bench.done(0)) == [(1, 1, ())]
    assert launches(bench.done(1)) == [(1, 2, (("between", 0),)), (0, 2, (("between", 1),))]


@pytest.mark.parametrize("leaving", [False, True])
def test_a_writer_that_a_crash_left_out_is_started_for_its_reader(leaving: bool) -> None:
    bench = Streams()
    bench.pair()
    bench.machine.slots[1].leaving = PreemptReason.RANK if leaving else None
    writer = bench.machine.slots[0]
    # What a restarted server finds: the reader runs, the writer's start was not carried out.
    writer.item = writer.feeds = None
    job = bench.machine.jobs[1]
    writer.enter(Phase.HELD, bench.now_s)
    job.running, job.held = job.running - 1, job.held + 1
    assert launches(bench.step()) == [(0, 1, (("between", 1),))]


def test_a_job_without_streams_is_as_before() -> None:
    bench = Bench()
    bench.arrive(1, TWO, batch=2)
    bench.load(1, 0, 0)
    bench.step(decide=[Configure(1, 1, 1)])
    assert launches(bench.done(0)) == [(0, 1, ())]


def test_a_chain_of_three_starts_from_its_end() -> None:
    chain = replace(TWO, tasks=(*TWO.tasks, TaskSpec(2, "v", "x", (), 1e-3, 1.0)), edges=((0, 1), (1, 2)), name="three")
    bench, modules = Bench(), ("x", "y", "x")
    fits = {module: {slot: f"{module}{slot}" for slot in range(3)} for module in modules}
    bench.machine = Machine(dict.fromkeys(range(3), 0.1), bench.script, fits)
    bench.machine.state.pools[Pool.PIPELINE].switch(bench.script)
    edges = (StreamedEdge(0, 1, "p"), StreamedEdge(1, 2, "q"))
    bench.step(m.Arrive(m.JobSpec(1, "a", chain)))
    for task in range(3):
        bench.load(1, task, task)
        bench.done(task)
    # Resident, all get their slots at once.
    bench.step(m.Arrive(m.JobSpec(2, "a", chain, streams=(("", edges),))))
    started = bench.step(decide=[Configure(2, task, task) for task in range(3)])
    assert launches(started) == [(2, 0, (("q", 1),)), (1, 0, (("p", 0), ("q", 2))), (0, 0, (("p", 1),))]


def test_where_a_stream_went_is_known_after_a_restart() -> None:
    """Else the writer's slot would open another stream while its reader still takes the rest of the last one."""
    bench = Streams()
    bench.pair()
    bench.done(0)
    found = json.loads(json.dumps(bench.machine.slots[0].snapshot()))
    slot = MachineSlot(0, 1.0)
    state = SlotState(0, SlotPhase.EMPTY)
    recovery._reconcile(slot, found, state, [], {}, bench.machine)
    assert slot.feeds == bench.machine.slots[0].feeds == (1, 1, 1)
