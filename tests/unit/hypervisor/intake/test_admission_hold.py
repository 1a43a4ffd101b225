# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Jobs outside the machine: what holds them back, what lets them in, and in which order."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Collection, Mapping
from typing import Any

import pytest
from eddy.board.port.port import READY, Preparation
from eddy.core.jobs import JobState
from eddy.core.numbering import Numbering
from eddy.core.records import JobEvent, JobEventKind
from eddy.core.submission_options import ArrayPlace, Condition, Predecessor, SubmissionOptions
from eddy.hypervisor.intake.admission_hold import AdmissionHold, hold_reason
from eddy.hypervisor.intake.array_hold import ArrayHold
from eddy.hypervisor.intake.dependency_hold import CAUSE, MAX_ARRAYS, NEVER, DependencyHold
from eddy.hypervisor.intake.preparation_hold import PreparationHold
from eddy.hypervisor.jobs import messages as m
from eddy.hypervisor.jobs.job_spec import JobSpec
from eddy.store.db.numbers import Numbers
from hypervisor_kit import CHAIN

PLAIN = Numbers(Numbering(b"", 12, 1 << 62), Numbering(b"", 15, 1 << 62))


class Known:
    """Jobs as a store has them."""

    def __init__(self, states: Mapping[int, JobState]) -> None:
        self._states = states

    def states(self, jobs: Collection[int]) -> Mapping[int, JobState]:
        return {job: self._states[job] for job in jobs if job in self._states}

    def states_of_array(self, array: int) -> Mapping[int, JobState]:
        return {job: state for job, state in self._states.items() if array < job < array + 10}


class Builder:
    """A board that has what jobs need when a test says so."""

    def __init__(self, answer: Preparation) -> None:
        self.answer = answer

    def prepare(self, module: str) -> Preparation:
        return self.answer


class Rig:
    """What a `AdmissionHold` is made of, and what it says."""

    def __init__(self, states: Mapping[int, JobState] | None = None, answer: Preparation = READY) -> None:
        board: Any = Builder(answer)
        self.board = board
        self.notes: list[JobEvent] = []
        self.came: list[int] = []
        self.clock_s = 0.0
        preparing = PreparationHold(board, lambda: self.clock_s)
        self.dependencies = DependencyHold(Known(states or {}), PLAIN, preparing.doing)
        self.bounds = ArrayHold(PLAIN, preparing.doing)
        self.doing = preparing.doing
        self.holding = AdmissionHold(preparing, self.dependencies, self.bounds, self.notes.append, self.came.append)

    def let_in(self, *messages: m.Input, known: Collection[int] = (), now_s: float = 0.0) -> list[m.Input]:
        return self.holding.take_admitted(messages, known, now_s)


def job(number: int, after: tuple[int, ...] = (), deadline_s: float | None = None) -> JobSpec:
    return JobSpec(
        number,
        "t",
        CHAIN,
        deadline_s=deadline_s,
        asked=SubmissionOptions(after=tuple(map(Predecessor, after)), late="continue" if deadline_s is None else "end"),
    )


def test_a_job_nothing_holds_is_let_in_at_once_and_one_the_machine_has_is_not() -> None:
    rig = Rig()
    first, second = m.Arrive(job(1)), m.Arrive(job(2))
    assert rig.let_in(first, second, known={2}) == [first]
    assert (rig.came, rig.notes, rig.holding.pending) == ([1], [], False)


def test_a_job_waits_for_others_and_its_log_says_so() -> None:
    rig = Rig({1: JobState.RUNNING})
    assert rig.let_in(m.Arrive(job(2, after=(1,)))) == []
    (note,) = rig.notes
    assert (note.job, note.what, note.detail) == (2, JobEventKind.WAIT, "waiting for job 1 to succeed")
    rig.dependencies.release_dependents(1, JobState.SUCCEEDED, 5.0)
    assert rig.holding.pending
    (arrival,) = rig.let_in(now_s=5.0)
    assert isinstance(arrival, m.Arrive)
    assert (arrival.job.id, arrival.ready_s) == (2, 5.0)
    assert not rig.holding.pending


def test_a_job_whose_wait_is_over_still_waits_for_the_board() -> None:
    rig = Rig({1: JobState.RUNNING}, Preparation(False, doing="building the module"))
    rig.let_in(m.Arrive(job(2, after=(1,))))
    rig.dependencies.release_dependents(1, JobState.SUCCEEDED, 5.0)
    assert rig.let_in(now_s=5.0) == []
    assert [note.detail for note in rig.notes] == ["waiting for job 1 to succeed", "building the module"]
    rig.board.answer, rig.clock_s = READY, 60.0
    rig.holding.check_preparations()
    (arrival,) = rig.let_in(now_s=6.0)
    assert isinstance(arrival, m.Arrive)
    assert arrival.job.id == 2


def test_who_is_cancelled_while_held_arrives_before_the_cancellation() -> None:
    rig = Rig({1: JobState.RUNNING})
    rig.let_in(m.Arrive(job(2, after=(1,))))
    found = rig.let_in(m.Cancel(2))
    assert [type(each) for each in found] == [m.Arrive, m.Cancel], "the machine ends only what it has"


def test_a_deadline_ends_a_held_job_and_is_said_once() -> None:
    rig = Rig({1: JobState.RUNNING})
    rig.let_in(m.Arrive(job(2, after=(1,), deadline_s=3.0)))
    assert (rig.holding.next_s, rig.holding.expire_jobs(2.5)) == (3.0, [])
    arrival, fault = rig.holding.expire_jobs(3.0)
    assert isinstance(arrival, m.Arrive)
    assert isinstance(fault, m.JobFault)
    assert (fault.job, fault.cause) == (2, "deadline-passed")
    assert rig.holding.expire_jobs(4.0) == []
    assert rig.holding.next_s == float("inf")


def test_recovered_jobs_keep_their_deadlines_and_clearing_forgets_all() -> None:
    rig = Rig({1: JobState.RUNNING})
    rig.holding.resume([job(7, deadline_s=2.0)])
    (fault,) = rig.holding.expire_jobs(2.0)
    assert isinstance(fault, m.JobFault)
    assert fault.job == 7
    rig.let_in(m.Arrive(job(2, after=(1,), deadline_s=9.0)))
    rig.holding.clear()
    rig.dependencies.release_dependents(1, JobState.SUCCEEDED, 5.0)
    assert (rig.holding.next_s, rig.holding.pending, rig.let_in()) == (float("inf"), False, [])


def test_a_job_that_has_ended_leaves_nothing_behind() -> None:
    rig = Rig({1: JobState.RUNNING})
    rig.let_in(m.Arrive(job(9, deadline_s=5e8)))
    for number in range(10, 110):
        rig.let_in(m.Arrive(job(number, after=(1,), deadline_s=1e9)))
        assert [type(each) for each in rig.let_in(m.Cancel(number))] == [m.Arrive, m.Cancel]
        rig.holding.release_dependents(number, JobState.CANCELLED, 0.0)
    parts = vars(rig.holding)["_deadlines"], rig.dependencies, rig.bounds
    left = {name: len(value) for part in parts for name, value in vars(part).items() if isinstance(value, (list, dict))}
    assert left["_line"] == 1, "the job that waits"
    assert {name for name, length in left.items() if length} == {"_line"}, left
    assert [each.job for each in rig.holding.expire_jobs(1e9) if isinstance(each, m.JobFault)] == [9]


def test_who_waited_for_two_jobs_of_which_one_failed_follows_the_other_no_more() -> None:
    rig = Rig({1: JobState.RUNNING, 3: JobState.RUNNING})
    rig.let_in(m.Arrive(job(4, after=(1, 3))), m.Arrive(job(5, after=(3,))))
    rig.holding.release_dependents(1, JobState.FAILED, 1.0)
    assert [type(each) for each in rig.let_in()] == [m.Arrive, m.JobFault]
    rig.holding.release_dependents(3, JobState.SUCCEEDED, 2.0)
    assert [each.job.id for each in rig.let_in() if isinstance(each, m.Arrive)] == [5]
    assert not vars(rig.dependencies)["_followers"]


# What others must have come to ---------------------------------------------------------------------------------------

ENDS = {None: "gone", JobState.SUCCEEDED: "ok", JobState.FAILED: "bad", JobState.CANCELLED: "bad"}
WANTS = {
    Condition.SUCCESS: {"ok": "goes on", "bad": CAUSE, "gone": CAUSE},
    Condition.END: {"ok": "goes on", "bad": "goes on", "gone": "goes on"},
    Condition.FAILURE: {"ok": NEVER, "bad": "goes on", "gone": CAUSE},
}
"""What becomes of a job, by what it wants of another and what the other came to."""


def waiting(number: int, *after: Predecessor) -> m.Arrive:
    return m.Arrive(JobSpec(number, "t", CHAIN, asked=SubmissionOptions(after=after)))


def outcome(messages: list[m.Input]) -> str:
    """What a job that was held was told; nothing where it is held still."""
    if not messages:
        return "waits"
    assert isinstance(messages[0], m.Arrive)
    if len(messages) == 1:
        return "goes on"
    (_, fault) = messages
    assert isinstance(fault, m.JobFault)
    assert fault.ends is (JobState.CANCELLED if fault.cause == NEVER else JobState.FAILED)
    return fault.cause


@pytest.mark.parametrize("wanted", WANTS)
@pytest.mark.parametrize("end", ENDS)
def test_each_end_of_a_job_is_what_it_is_to_who_waits(wanted: Condition, end: JobState | None) -> None:
    now = Rig({} if end is None else {1: end})
    assert outcome(now.let_in(waiting(50, Predecessor(1, wanted)))) == WANTS[wanted][ENDS[end]]
    if end is None:
        return
    later = Rig({1: JobState.RUNNING})
    assert outcome(later.let_in(waiting(50, Predecessor(1, wanted)))) == "waits"
    verb = {Condition.SUCCESS: "succeed", Condition.END: "end", Condition.FAILURE: "fail"}[wanted]
    assert later.doing[50] == f"waiting for job 1 to {verb}"
    later.holding.release_dependents(1, end, 1.0)
    assert outcome(later.let_in()) == WANTS[wanted][ENDS[end]]
    assert 50 not in later.doing


@pytest.mark.parametrize("wanted", WANTS)
@pytest.mark.parametrize("ends", [*itertools.product((JobState.SUCCEEDED, JobState.FAILED), repeat=3)])
@pytest.mark.parametrize("before", range(4))
def test_an_array_is_waited_for_whole(wanted: Condition, ends: tuple[JobState, ...], before: int) -> None:
    """Some of its jobs had ended before who waits came; each order of what follows gives the same end."""
    states = {11 + place: end if place < before else JobState.QUEUED for place, end in enumerate(ends)}
    rig = Rig({**states, 99: JobState.RUNNING})
    told = outcome(rig.let_in(waiting(50, Predecessor(10, wanted, array=True))))
    good = all(end is JobState.SUCCEEDED for end in ends)
    for place, end in enumerate(ends):
        seen = ends[: max(place, before)]
        if told == "waits":
            assert len(seen) < 3, "all have ended, and it still waits"
            assert wanted is not Condition.SUCCESS or JobState.FAILED not in seen, "it waits in vain"
        elif wanted is not Condition.SUCCESS or JobState.FAILED not in seen:
            assert len(seen) == 3, "it went on while jobs of the array had not ended"
        if place >= before:
            rig.holding.release_dependents(11 + place, end, 1.0 + place)
            told = outcome(rig.let_in()) if told == "waits" else told
    assert told == WANTS[wanted]["ok" if good else "bad"]


def test_a_job_that_waits_for_several_things_waits_for_all_of_them_and_says_so() -> None:
    rig = Rig({1: JobState.RUNNING, 2: JobState.RUNNING, 11: JobState.QUEUED, 12: JobState.QUEUED})
    others = Predecessor(1), Predecessor(2, Condition.END), Predecessor(10, Condition.FAILURE, array=True)
    assert rig.let_in(waiting(50, *others)) == []
    assert rig.doing[50] == "waiting for job 1 to succeed and job 2 to end and array 10 to fail"
    for number, end in ((11, JobState.FAILED), (1, JobState.SUCCEEDED), (12, JobState.SUCCEEDED)):
        rig.holding.release_dependents(number, end, 1.0)
        assert rig.let_in() == []
    assert rig.doing[50] == "waiting for job 2 to end"
    rig.holding.release_dependents(2, JobState.CANCELLED, 2.0)
    assert outcome(rig.let_in()) == "goes on"


def test_one_thing_may_be_wanted_to_end_and_to_fail() -> None:
    rig = Rig({1: JobState.RUNNING})
    rig.let_in(waiting(50, Predecessor(1, Condition.END), Predecessor(1, Condition.FAILURE)))
    rig.holding.release_dependents(1, JobState.SUCCEEDED, 1.0)
    assert outcome(rig.let_in()) == NEVER


def test_what_is_known_of_arrays_that_have_ended_is_bounded() -> None:
    rig = Rig({10 * array + 1: JobState.SUCCEEDED for array in range(1, 300)})
    for array in range(1, 300):
        assert outcome(rig.let_in(waiting(9000 + array, Predecessor(10 * array, array=True)))) == "goes on"
    assert len(vars(rig.dependencies)["_arrays"]) <= MAX_ARRAYS


# Bounds of arrays ----------------------------------------------------------------------------------------------------


def element(place: int, most: int | None = 2, array: int = 10, deadline_s: float | None = None) -> JobSpec:
    asked = SubmissionOptions(
        array=ArrayPlace(array, place, 6), max_running=most, late="continue" if deadline_s is None else "end"
    )
    return JobSpec(array + 1 + place, "t", CHAIN, asked=asked, deadline_s=deadline_s)


def let_in(messages: list[m.Input]) -> list[int]:
    return [each.job.id for each in messages if isinstance(each, m.Arrive)]


def test_so_many_of_an_array_are_in_at_once_and_the_next_follows_an_end() -> None:
    rig = Rig()
    assert let_in(rig.let_in(*(m.Arrive(element(place)) for place in range(5)))) == [11, 12]
    assert let_in(rig.let_in(*(m.Arrive(element(place, None, 20)) for place in range(3)))) == [21, 22, 23]
    assert let_in(rig.let_in(m.Arrive(element(0, 1, 30)))) == [31], "another array has a bound of its own"
    assert rig.doing[13] == "waiting for its turn: at most 2 jobs of array 10 at once"
    assert [hold_reason(note.detail) for note in rig.notes] == ["array"] * 3
    rig.holding.release_dependents(12, JobState.FAILED, 1.0)
    assert rig.holding.pending
    (arrival,) = rig.let_in(now_s=1.0)
    assert isinstance(arrival, m.Arrive)
    assert (arrival.job.id, arrival.ready_s) == (13, 1.0)
    assert 13 not in rig.doing
    rig.holding.release_dependents(12, JobState.FAILED, 1.0)
    assert rig.let_in() == [], "one end lets one in"


def test_one_that_waits_for_its_turn_ends_at_once_and_takes_nobodys_turn() -> None:
    rig = Rig()
    rig.let_in(*(m.Arrive(element(place, 1)) for place in range(3)))
    assert [type(each) for each in rig.let_in(m.Cancel(12))] == [m.Arrive, m.Cancel]
    rig.holding.release_dependents(12, JobState.CANCELLED, 0.5)
    assert rig.let_in() == []
    rig.holding.release_dependents(11, JobState.SUCCEEDED, 1.0)
    assert let_in(rig.let_in()) == [13]
    late = Rig()
    late.let_in(*(m.Arrive(element(place, 1, deadline_s=3.0)) for place in range(2)))
    found = late.holding.expire_jobs(3.0)
    assert [type(each) for each in found] == [m.JobFault, m.Arrive, m.JobFault]


def test_jobs_that_were_in_before_a_restart_count() -> None:
    rig = Rig()
    rig.holding.resume([element(0), element(1)])
    assert rig.let_in(m.Arrive(element(2))) == []
    rig.holding.release_dependents(11, JobState.SUCCEEDED, 1.0)
    assert let_in(rig.let_in()) == [13]
    rig.holding.clear()
    assert not rig.doing
    assert let_in(rig.let_in(*(m.Arrive(element(place)) for place in range(3)))) == [11, 12]


def test_a_job_takes_its_turn_when_it_is_ready_and_not_before() -> None:
    rig = Rig({1: JobState.RUNNING})
    behind = element(0, 1)
    behind = dataclasses.replace(behind, asked=dataclasses.replace(behind.asked, after=(Predecessor(1),)))
    assert rig.let_in(m.Arrive(behind)) == []
    assert let_in(rig.let_in(m.Arrive(element(1, 1)))) == [12], "who waits for others keeps nobody back"
    rig.holding.release_dependents(1, JobState.SUCCEEDED, 1.0)
    assert rig.let_in() == []
    assert hold_reason(rig.doing[11]) == "array"
    rig.holding.release_dependents(12, JobState.SUCCEEDED, 2.0)
    assert let_in(rig.let_in()) == [11]
