# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The state machine, one rule at a time."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import pytest
from eddy.board.port.port import Cause
from eddy.core.applications import Application, TaskSpec
from eddy.core.jobs import TRANSITIONS, JobState
from eddy.core.records import JobEventKind
from eddy.core.slots import PreemptReason
from eddy.core.submission_options import Retries, SubmissionOptions
from eddy.hypervisor.jobs import messages as m
from eddy.hypervisor.jobs.diagram import state_diagram
from eddy.hypervisor.jobs.job_records import record_of
from eddy.hypervisor.machine.board_reports import MAX_LOAD_ATTEMPTS
from eddy.policy.dispatch.views.view import Configure, Decision, Preempt, SlotView
from machine_kit import ONE, TWO, Bench


def whats(outcome: m.StepResult) -> list[JobEventKind]:
    return [event.what for event in outcome.log]


def test_a_job_goes_from_queue_to_success_along_the_table() -> None:
    bench = Bench()
    bench.arrive(memory=True, collects=m.OutputCollection.EVERY_ITEM)
    assert bench.step(decide=[Configure(1, 0, 0)]).commands == [m.Allocate(1)]
    loaded = bench.step(m.Allocated(1), decide=[Configure(1, 0, 0)])
    assert loaded.commands == [m.Load(0, "x0")]
    launched = bench.step(m.Configured(0, bench.now_s, bench.now_s))
    assert launched.commands == [m.LaunchItem(0, 1, 0, 0)]
    ran = bench.done(0)
    assert ran.commands == [m.Collect(1, 0)]
    assert ran.ended == [], "its outputs are still on the board"
    asked = len(bench.script.seen)
    ended = bench.step(m.Collected(1, 0, bench.now_s))
    assert ended.commands == [m.Free(1)]
    assert ended.ended == [1]
    assert [e.what for e in ended.log] == [JobEventKind.RESULT, JobEventKind.STATE]
    assert len(bench.script.seen) == asked, "a policy has nothing to decide about that"
    states = [e.state for o in (loaded, launched, ran, ended) for e in o.log if e.state]
    assert states == [JobState.PLACED, JobState.RECONFIGURING, JobState.RUNNING, JobState.SUCCEEDED]


@pytest.mark.parametrize("batch", [1, 2])
def test_outputs_of_a_job_cancelled_in_the_same_step_are_not_asked_for(batch: int) -> None:
    """Its work is forgotten when the step is committed, before any command is carried out."""
    bench = Bench()
    bench.arrive(batch=batch, collects=m.OutputCollection.EVERY_ITEM)
    bench.load(1, 0, 0)
    over = bench.step(m.ItemEnded(0, bench.now_s, bench.now_s), m.Cancel(1, 0.0))
    assert over.ended == [1]
    assert over.commands == []


def test_memory_is_not_asked_for_where_a_job_is_cancelled_in_the_same_step() -> None:
    bench = Bench()
    for number in (1, 2, 3):
        bench.arrive(number, memory=True)
    bench.step(decide=[Configure(1, 0, 0)])
    bench.step(m.Allocated(1), decide=[Configure(1, 0, 0), Configure(2, 0, 1)])
    refused = bench.step(m.NoMemory(2, "full"), decide=[Configure(3, 0, 1)])
    assert m.Allocate(3) not in refused.commands, "it stands behind the one that was refused"
    bench.step(m.Configured(0, bench.now_s, bench.now_s))
    freed = bench.step(m.ItemEnded(0, bench.now_s, bench.now_s), m.Cancel(2, 0.0))
    assert freed.ended == [1, 2]
    assert [each for each in freed.commands if isinstance(each, m.Allocate)] == [m.Allocate(3)]


def test_a_job_whose_outputs_cannot_be_read_fails_along_the_table() -> None:
    bench = Bench()
    bench.arrive(batch=2, collects=m.OutputCollection.EVERY_ITEM)
    bench.load(1, 0, 0)
    bench.done(0)
    assert bench.machine.jobs[1].items.committed == 0, "an item counts when its outputs are stored"
    bench.step(m.Collected(1, 0, bench.now_s))
    assert bench.machine.jobs[1].items.committed == 1
    assert bench.done(0).commands == [m.Collect(1, 1)]
    failed = bench.step(m.JobFault(1, "internal-error", "torn", 1))
    assert [e.state for e in failed.log if e.state] == [JobState.FAILED]
    record = record_of(bench.machine.job(1))
    assert (record.items_done, record.failed_item, record.cause) == (1, 1, "internal-error")
    assert bench.step(m.Collected(1, 1, bench.now_s)).log == [], "what comes too late changes nothing"


def test_only_the_last_item_is_collected_where_outputs_are_the_whole_jobs() -> None:
    bench = Bench()
    bench.arrive(batch=2, collects=m.OutputCollection.LAST_ITEM)
    bench.load(1, 0, 0)
    assert bench.done(0).commands == [m.LaunchItem(0, 1, 0, 1)]
    assert bench.machine.jobs[1].items.committed == 1
    assert bench.done(0).commands == [m.Collect(1, 1)]
    assert bench.step(m.Collected(1, 1, bench.now_s)).ended == [1]


def test_a_second_load_waits_for_the_first() -> None:
    bench = Bench()
    bench.arrive(1)
    bench.arrive(2)
    outcome = bench.step(decide=[Configure(1, 0, 0), Configure(2, 0, 1)])
    assert outcome.commands == [m.Load(0, "x0")]
    (dropped,) = [event for event in outcome.log if event.what is JobEventKind.DROPPED]
    # Its tenant reads this, to whom jobs are told by other numbers.
    assert (dropped.job, dropped.detail) == (2, "give slot 1 to task 0: the configuration port is busy")


@pytest.mark.parametrize(
    ("decision", "reason"),
    [
        (Configure(9, 0, 1), ""),
        (Configure(1, 7, 1), "no such job or task"),
        (Configure(1, 0, 0), "the slot is not free"),
        (Configure(1, 0, 1), "the task has a slot"),
        (Configure(1, 0, 5), "the slot is not free"),
        (Preempt(1, PreemptReason.RANK), ""),
    ],
)
def test_a_decision_that_does_not_fit_is_dropped_and_recorded_once(decision: Decision, reason: str) -> None:
    bench = Bench()
    bench.arrive(1)
    bench.load(1, 0, 0)
    first, second = bench.step(decide=[decision]), bench.step(decide=[decision])
    assert first.commands == second.commands == []
    assert [e.detail.split(": ")[-1] for e in first.log] == ([reason] if reason else [])
    assert second.log == []


def test_items_of_a_successor_wait_for_the_same_item_of_its_predecessor() -> None:
    bench = Bench()
    bench.arrive(1, TWO, batch=2, collects=m.OutputCollection.EVERY_ITEM)
    assert m.LaunchItem(0, 1, 0, 0) in bench.load(1, 0, 0).commands
    assert bench.load(1, 1, 1).commands == []
    assert bench.done(0).commands == [m.LaunchItem(0, 1, 0, 1), m.LaunchItem(1, 1, 1, 0)]
    assert bench.done(1).commands == [m.Collect(1, 0)]
    assert bench.done(0).commands == [m.LaunchItem(1, 1, 1, 1)]


def preemptions(outcome: m.StepResult) -> list[str]:
    """Why slots were taken, as the event log has it."""
    return [event.detail for event in outcome.log if event.what is JobEventKind.PREEMPT]


def test_a_slot_is_taken_at_the_boundary_and_the_task_goes_on_elsewhere() -> None:
    bench = Bench()
    bench.arrive(1, batch=3)
    bench.load(1, 0, 0)
    assert bench.step(decide=[Preempt(0, PreemptReason.RANK)]).commands == []
    assert bench.machine.slots[0].snapshot()["leaving"] == "rank", "a restart tells it, too"
    bench.step(decide=[Preempt(0, PreemptReason.ALLOCATION)])
    taken = bench.done(0)
    assert preemptions(taken) == ["rank"], "who decided it first"
    assert bench.machine.jobs[1].state is JobState.PREEMPTED
    restored = bench.load(1, 0, 1)
    assert restored.commands == [m.LaunchItem(1, 1, 0, 1)], "the finished item stays finished"
    record = record_of(bench.machine.job(1))
    assert (record.preemptions, record.reconfigurations) == (1, 2)
    assert record.waiting_s["preempted"] > 0.0


def test_a_slot_that_waits_is_taken_at_once() -> None:
    bench = Bench()
    bench.arrive(1, TWO)
    bench.load(1, 1, 1)
    assert preemptions(bench.step(decide=[Preempt(1, PreemptReason.STALLED)])) == ["stalled"]


def test_a_task_that_finishes_at_the_boundary_is_not_counted_as_preempted() -> None:
    bench = Bench()
    bench.arrive(1)
    bench.load(1, 0, 0)
    bench.step(decide=[Preempt(0, PreemptReason.RANK)])
    assert JobEventKind.RELEASE in whats(bench.done(0))


@pytest.mark.parametrize(
    ("tenant", "scrubbed", "command"),
    [
        ("a", (), m.LaunchItem(0, 2, 0, 0)),
        ("a", ("x",), m.LaunchItem(0, 2, 0, 0)),
        ("b", (), m.Load(0, "x0")),
        ("b", ("x",), m.ScrubSlot(0)),
    ],
)
def test_a_resident_module_serves_its_tenant_again_and_others_once_it_is_scrubbed_or_loaded(
    tenant: str, scrubbed: Sequence[str], command: m.Command
) -> None:
    bench = second(scrubbed, tenant)
    outcome = bench.step(decide=[Configure(2, 0, 0)])
    assert outcome.commands == [command]
    assert bench.machine.jobs[2].reuses == (not isinstance(command, m.Load))
    assert bench.machine.jobs[2].reconfigurations == isinstance(command, m.Load)


def second(scrubbed: Sequence[str] = ("x",), tenant: str = "b") -> Bench:
    """A bench on which one tenant's job has ended in slot 0, and another's waits."""
    bench = Bench(scrubbed)
    bench.arrive(1)
    bench.load(1, 0, 0)
    bench.done(0)
    bench.arrive(2, tenant=tenant)
    return bench


def test_no_item_of_the_next_tenant_starts_before_the_module_is_scrubbed() -> None:
    bench = second()
    bench.step(decide=[Configure(2, 0, 0)])
    assert bench.machine.busy
    assert bench.step().commands == []
    outcome = bench.step(m.Configured(0, bench.now_s, bench.now_s))
    assert outcome.commands == [m.LaunchItem(0, 2, 0, 0)]
    assert [event.detail for event in outcome.log if event.what is JobEventKind.CONFIGURED] == ["scrub"]


def test_a_scrub_leaves_the_port_to_others_and_what_is_known_of_loads_alone() -> None:
    bench = second()
    bench.arrive(3, tenant="c")
    outcome = bench.step(decide=[Configure(2, 0, 0), Configure(3, 0, 1)])
    assert outcome.commands == [m.ScrubSlot(0), m.Load(1, "x1")]
    before_s = bench.machine.slots[0].load_s
    bench.step(m.Configured(0, bench.now_s, bench.now_s - 1e-6))
    assert bench.machine.slots[0].load_s == before_s
    assert bench.script.seen[-1].port_busy
    bench.step(m.Configured(1, bench.now_s, bench.now_s))
    assert not bench.script.seen[-1].port_busy


def test_a_scrub_that_fails_is_a_load_from_then_on() -> None:
    bench = second()
    bench.step(decide=[Configure(2, 0, 0)])
    bench.step(m.LoadFailed(0, bench.now_s, "not-scrubbed"))
    assert bench.machine.jobs[2].ending is None
    slot = bench.machine.slots[0]
    assert (slot.module, slot.tenant, slot.scrubs) == ("", "", False)
    bench.now_s += 1.0
    assert bench.step(decide=[Configure(2, 0, 0)]).commands == [m.Load(0, "x0")]
    bench.step(m.Configured(0, bench.now_s, bench.now_s))
    bench.done(0)
    bench.arrive(4, tenant="d")
    assert bench.step(decide=[Configure(4, 0, 0)]).commands == [m.Load(0, "x0")]


def test_policies_see_which_modules_are_anyones() -> None:
    assert bench_slots(second(("x",)))[0].scrubs
    assert not bench_slots(second(()))[0].scrubs


def bench_slots(bench: Bench) -> tuple[SlotView, ...]:
    bench.step()
    return bench.script.seen[-1].slots


def test_a_job_cancelled_while_its_slot_is_scrubbed_gives_it_back() -> None:
    bench = second()
    bench.step(decide=[Configure(2, 0, 0)])
    bench.step(m.Cancel(2))
    outcome = bench.step(m.Configured(0, bench.now_s, bench.now_s))
    assert outcome.commands == []
    slot = bench.machine.slots[0]
    assert (slot.phase.value, slot.scrubbing, slot.job) == ("free", False, None)


@pytest.mark.parametrize("cancelled", [False, True])
def test_a_job_begins_again_once_it_holds_no_slot_unless_it_is_cancelled_before(cancelled: bool) -> None:
    bench = Bench()
    asked = SubmissionOptions(retries=Retries(1, ("clock-lost",)))
    spec = m.JobSpec(1, "a", TWO, 2, 1, bench.now_s, None, True, asked=asked)
    bench.step(m.Arrive(spec), decide=[Configure(1, 0, 0)])
    bench.step(m.Allocated(1))
    bench.load(1, 0, 0)
    bench.load(1, 1, 1)
    bench.done(0)
    failed = bench.step(m.ItemEnded(1, bench.now_s, bench.now_s, Cause.CLOCK_LOST))
    assert m.StopItem(0) in failed.commands
    assert bench.machine.jobs[1].state is JobState.DRAINING
    if cancelled:
        bench.step(m.Cancel(1, 5.0))
    stopped = bench.step(m.ItemEnded(0, bench.now_s, bench.now_s, Cause.STOPPED))
    assert stopped.commands[0] == m.Free(1)
    record = record_of(bench.machine.job(1))
    assert stopped.ended == ([1] if cancelled else [])
    assert (record.retried, record.cause) == (int(not cancelled), "")
    if cancelled:
        assert (record.state, record.cancel_asked_unix_s) == (JobState.CANCELLED, 5.0)
        return
    assert record.state is JobState.PLACED
    assert JobEventKind.RETRY in whats(stopped)
    assert bench.step(decide=[Configure(1, 0, 0)]).commands == [m.Allocate(1)]
    bench.step(m.Allocated(1))
    assert bench.load(1, 0, 1).commands == [m.LaunchItem(1, 1, 0, 0)], "nothing had come through all tasks"


def test_a_failed_item_closes_its_slot_and_its_job_and_nothing_else() -> None:
    bench = Bench()
    bench.arrive(1, TWO, batch=2)
    bench.load(1, 0, 0)
    bench.arrive(2, ONE)
    bench.load(2, 0, 1)
    outcome = bench.step(m.ItemEnded(0, bench.now_s, bench.now_s, Cause.CLOCK_LOST, "gone"))
    record = record_of(bench.machine.job(1))
    assert (record.state, record.cause, record.failed_task, record.failed_item) == (JobState.FAILED, "clock-lost", 0, 0)
    assert record.detail == "task t, item 0, slot 0: gone"
    assert outcome.ended == [1]
    assert bench.machine.slots[0].module == ""
    assert bench.machine.jobs[2].state is JobState.RUNNING


def test_a_failure_stops_the_jobs_other_items_first() -> None:
    bench = Bench()
    both = Application("both", (ONE.tasks[0], TaskSpec(1, "u", "y", (), 1e-3, 1.0)), ())
    bench.arrive(1, both)
    bench.load(1, 0, 0)
    bench.load(1, 1, 1)
    outcome = bench.step(m.ItemEnded(0, bench.now_s, bench.now_s, Cause.CLOCK_LOST))
    assert outcome.commands == [m.StopItem(1)]
    assert bench.machine.jobs[1].state is JobState.DRAINING
    outcome = bench.step(m.ItemEnded(1, bench.now_s, bench.now_s, Cause.STOPPED))
    assert outcome.ended == [1]
    assert bench.machine.job(1).cause == "clock-lost"


def test_cancelling_while_a_slot_is_loaded_waits_for_the_load() -> None:
    bench = Bench()
    bench.arrive(1)
    bench.step(decide=[Configure(1, 0, 0)])
    assert bench.step(m.Cancel(1)).commands == []
    assert bench.machine.jobs[1].state is JobState.DRAINING
    outcome = bench.step(m.Configured(0, bench.now_s, bench.now_s))
    assert outcome.ended == [1]
    assert bench.machine.slots[0].job is None


def test_loads_that_keep_failing_fail_the_job() -> None:
    bench = Bench()
    bench.arrive(1)
    for attempt in range(MAX_LOAD_ATTEMPTS):
        assert 1 in bench.machine.jobs, attempt
        bench.step(decide=[Configure(1, 0, attempt % 2)])
        bench.step(m.LoadFailed(attempt % 2, bench.now_s, "configuration-error"))
        bench.now_s += 1.0
    assert bench.machine.jobs == {}


def test_a_slot_whose_loads_fail_rests_for_longer_each_time_and_a_good_load_forgets() -> None:
    bench = Bench()
    bench.arrive(1)

    def offered() -> set[int]:
        bench.step()
        return {slot.index for slot in bench.script.seen[-1].slots}

    def fail() -> float:
        bench.step(decide=[Configure(1, 0, 0)])
        bench.step(m.LoadFailed(0, bench.now_s, "configuration-error"))
        assert offered() == {1}
        assert bench.step(decide=[Configure(1, 0, 0)]).commands == []
        wake_s = bench.machine.wake_s
        assert wake_s is not None
        return wake_s

    failed_s = bench.now_s
    first_s = fail()
    assert 0.1 <= first_s - failed_s < 0.11
    bench.now_s = first_s
    assert offered() == {0, 1}
    failed_s = bench.now_s
    second_s = fail()
    assert 0.2 <= second_s - failed_s < 0.21
    bench.now_s = second_s
    bench.load(1, 0, 0)
    assert bench.machine.slots[0].failed_loads == 0


def test_a_refused_image_is_not_offered_again_and_the_other_slot_is() -> None:
    bench = Bench()
    bench.arrive(1)
    bench.step(decide=[Configure(1, 0, 0)])
    bench.step(m.LoadFailed(0, bench.now_s, "image-refused", refused=True))
    assert bench.script.seen[-1].jobs[0].tasks[0].slots == (1,)
    assert bench.step(decide=[Configure(1, 0, 0)]).commands == []
    bench.step(decide=[Configure(1, 0, 1)])
    outcome = bench.step(m.LoadFailed(1, bench.now_s, "image-refused", refused=True))
    assert outcome.ended == [1]


def test_memory_goes_to_waiting_jobs_in_order_of_arrival() -> None:
    bench = Bench()
    for number in (1, 2, 3):
        bench.arrive(number, memory=True)
    bench.step(decide=[Configure(1, 0, 0)])
    bench.step(m.Allocated(1), decide=[Configure(1, 0, 0)])
    assert bench.step(decide=[Configure(2, 0, 1)]).commands == [m.Allocate(2)]
    bench.step(m.NoMemory(2), decide=[Configure(3, 0, 1)])
    shown = [[job.id for job in view.jobs] for view in bench.script.seen[-2:]]
    assert shown == [[1, 3], [1]], "a job that must wait for memory is hidden, and the policy asked again"
    assert bench.machine.jobs[3].lacks_memory, "a younger job does not overtake, though it might fit"
    bench.step(m.Configured(0, bench.now_s, bench.now_s))
    assert bench.done(0).commands[-2:] == [m.Free(1), m.Allocate(2)]
    assert bench.step(m.Allocated(2)).commands == [m.Allocate(3)]


def test_a_job_that_does_not_fit_an_empty_arena_fails() -> None:
    bench = Bench()
    bench.arrive(1, memory=True)
    bench.step(decide=[Configure(1, 0, 0)])
    outcome = bench.step(m.NoMemory(1, "no room"))
    record = record_of(bench.machine.job(1))
    assert outcome.ended == [1]
    assert (record.state, record.cause, record.detail) == (JobState.FAILED, "memory", "no room")


def test_every_state_is_reachable_and_final_states_are_ends() -> None:
    reached = {JobState.QUEUED}
    for _ in JobState:
        reached |= set(itertools.chain.from_iterable(TRANSITIONS[state] for state in reached))
    assert reached == set(JobState)
    assert {s for s in JobState if s.is_final} == {JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED}


def test_the_policy_sees_what_finished_and_what_it_remembered() -> None:
    bench = Bench()
    bench.arrive(1, TWO)
    bench.load(1, 0, 0)
    bench.done(0)
    view = next(view for view in bench.script.seen if view.observations)
    assert view.observations[0].module == "x"
    assert view.jobs[0].tasks[0].items_done == 1
    assert view.slots[0].module == "x"
    assert view.slots[0].job is None


def test_the_documented_diagram_is_the_transition_table() -> None:
    page = Path(__file__).parents[4] / "docs" / "explanations" / "hypervisor.md"
    assert f"```mermaid\n{state_diagram()}\n```" in page.read_text(encoding="utf-8")
