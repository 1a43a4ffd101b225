"""Jobs outside the machine: what holds them back, what lets them in, and in which order."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from eddy.board.port import READY, Preparation
from eddy.core.asked import Asked
from eddy.core.jobs import JobState
from eddy.core.numbering import Numbering
from eddy.core.records import JobEvent, JobEventKind
from eddy.hypervisor import messages as m
from eddy.hypervisor.dependencies import Dependencies
from eddy.hypervisor.holding import Holding
from eddy.hypervisor.job_spec import JobSpec
from eddy.hypervisor.preparing import Preparing
from eddy.store.numbers import Numbers
from hypervisor_kit import CHAIN

PLAIN = Numbers(Numbering(b"", 12, 1 << 62), Numbering(b"", 15, 1 << 62))


class Known:
    """Jobs as a store has them."""

    def __init__(self, states: Mapping[int, JobState]) -> None:
        self._states = states

    def states(self, jobs: Collection[int]) -> Mapping[int, JobState]:
        return {job: self._states[job] for job in jobs if job in self._states}


class Builder:
    """A board that has what jobs need when a test says so."""

    def __init__(self, answer: Preparation) -> None:
        self.answer = answer

    def prepare(self, module: str) -> Preparation:
        return self.answer


class Rig:
    """What a `Holding` is made of, and what it says."""

    def __init__(self, states: Mapping[int, JobState] | None = None, answer: Preparation = READY) -> None:
        board: Any = Builder(answer)
        self.board = board
        self.notes: list[JobEvent] = []
        self.came: list[int] = []
        self.clock_s = 0.0
        preparing = Preparing(board, lambda: self.clock_s)
        self.dependencies = Dependencies(Known(states or {}), PLAIN, preparing.doing)
        self.holding = Holding(preparing, self.dependencies, self.notes.append, self.came.append)

    def let_in(self, *messages: m.Input, known: Collection[int] = (), now_s: float = 0.0) -> list[m.Input]:
        return self.holding.let_in(messages, known, now_s)


def job(number: int, after: tuple[int, ...] = (), deadline_s: float | None = None) -> JobSpec:
    return JobSpec(
        number, "t", CHAIN, deadline_s=deadline_s, asked=Asked(after=after, ends_late=deadline_s is not None)
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
    rig.dependencies.ended(1, JobState.SUCCEEDED, 5.0)
    assert rig.holding.pending
    (arrival,) = rig.let_in(now_s=5.0)
    assert isinstance(arrival, m.Arrive)
    assert (arrival.job.id, arrival.ready_s) == (2, 5.0)
    assert not rig.holding.pending


def test_a_job_whose_wait_is_over_still_waits_for_the_board() -> None:
    rig = Rig({1: JobState.RUNNING}, Preparation(False, doing="building the module"))
    rig.let_in(m.Arrive(job(2, after=(1,))))
    rig.dependencies.ended(1, JobState.SUCCEEDED, 5.0)
    assert rig.let_in(now_s=5.0) == []
    assert [note.detail for note in rig.notes] == ["waiting for job 1 to succeed", "building the module"]
    rig.board.answer, rig.clock_s = READY, 60.0
    rig.holding.look()
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
    assert (rig.holding.next_s, rig.holding.late(2.5)) == (3.0, [])
    arrival, fault = rig.holding.late(3.0)
    assert isinstance(arrival, m.Arrive)
    assert isinstance(fault, m.JobFault)
    assert (fault.job, fault.cause) == (2, "deadline-passed")
    assert rig.holding.late(4.0) == []
    assert rig.holding.next_s == float("inf")


def test_recovered_jobs_keep_their_deadlines_and_clearing_forgets_all() -> None:
    rig = Rig({1: JobState.RUNNING})
    rig.holding.resume([job(7, deadline_s=2.0)])
    (fault,) = rig.holding.late(2.0)
    assert isinstance(fault, m.JobFault)
    assert fault.job == 7
    rig.let_in(m.Arrive(job(2, after=(1,), deadline_s=9.0)))
    rig.holding.clear()
    rig.dependencies.ended(1, JobState.SUCCEEDED, 5.0)
    assert (rig.holding.next_s, rig.holding.pending, rig.let_in()) == (float("inf"), False, [])


def test_a_job_that_has_ended_leaves_nothing_behind() -> None:
    rig = Rig({1: JobState.RUNNING})
    rig.let_in(m.Arrive(job(9, deadline_s=5e8)))
    for number in range(10, 110):
        rig.let_in(m.Arrive(job(number, after=(1,), deadline_s=1e9)))
        assert [type(each) for each in rig.let_in(m.Cancel(number))] == [m.Arrive, m.Cancel]
        rig.holding.ended(number, JobState.CANCELLED, 0.0)
    parts = vars(rig.holding)["_deadlines"], rig.dependencies
    left = {name: len(value) for part in parts for name, value in vars(part).items() if isinstance(value, (list, dict))}
    assert left["_line"] == 1, "the job that waits"
    assert left["_followers"] == left["_left"] == left["_held"] == 0
    assert [each.job for each in rig.holding.late(1e9) if isinstance(each, m.JobFault)] == [9]


def test_who_waited_for_two_jobs_of_which_one_failed_follows_the_other_no_more() -> None:
    rig = Rig({1: JobState.RUNNING, 3: JobState.RUNNING})
    rig.let_in(m.Arrive(job(4, after=(1, 3))), m.Arrive(job(5, after=(3,))))
    rig.holding.ended(1, JobState.FAILED, 1.0)
    assert [type(each) for each in rig.let_in()] == [m.Arrive, m.JobFault]
    rig.holding.ended(3, JobState.SUCCEEDED, 2.0)
    assert [each.job.id for each in rig.let_in() if isinstance(each, m.Arrive)] == [5]
    assert not vars(rig.dependencies)["_followers"]
