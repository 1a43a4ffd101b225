# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a head keeps of jobs that have not ended, against a look at all of them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from eddy.core.submission_options import ArrayPlace, Condition, Predecessor
from eddy.pool.jetstream.jobs import JobEntry
from eddy.pool.mirror.job_inputs import InputLocations
from eddy.pool.mirror.mirror import Mirror
from eddy.pool.mirror.open_jobs import OpenJobs
from eddy.pool.records.record_json import to_json
from eddy.pool.records.records import CANCELLED, FAILED, FINAL, QUEUED, RUNNING, SUCCEEDED, PoolJob

WEIGHTS = {"ada": 3.0, "grace": 0.5}


class UnindexedJobs:
    """The same answers from all jobs each time: sorted and filtered, with nothing kept but the records."""

    def __init__(self) -> None:
        self.jobs: dict[int, PoolJob] = {}

    def standing(self, now_s: float) -> tuple[list[PoolJob], list[tuple[int, str]]]:
        jobs = sorted((job for job in self.jobs.values() if job.state not in FINAL), key=lambda job: job.id)
        ready, failing = [], []
        for job in jobs:
            asked, verdicts = job.request, [self.verdict(each) for each in job.after]
            late = asked.get("late") == "end" and now_s > job.submitted_unix_s + asked["deadline_s"]
            in_vain = [each for each in verdicts if each.startswith("dependency")]
            if late:
                failing.append((job.id, "deadline-passed"))
            elif job.state == QUEUED and in_vain:
                failing.append((job.id, in_vain[0]))
            if job.state == QUEUED and not any(verdicts) and self.has_its_turn(job):
                ready.append((job, late))
        return [job for job, late in ready if not late], failing

    def verdict(self, each: Predecessor) -> str:
        """ "" where what is wanted of another is so, "waits", or why it never will be."""
        others = [
            job for job in self.jobs.values() if each.id in ((job.array and job.array.id,) if each.array else (job.id,))
        ]
        bad = any(job.is_ended and job.state != SUCCEEDED for job in others)
        if each.wanted is Condition.SUCCESS and bad:
            return "dependency-failed"
        if not all(job.is_ended for job in others):
            return "waits"
        return "dependency-never" if each.wanted is Condition.FAILURE and not bad else ""

    def has_its_turn(self, job: PoolJob) -> bool:
        """Whether fewer of its array are on boards, or ready before it, than may be."""
        if job.array is None or job.max_running is None:
            return True
        mine = [
            each for each in self.jobs.values() if each.array and each.array.id == job.array.id and not each.is_ended
        ]
        ready = [each for each in mine if each.state == QUEUED and not any(map(self.verdict, each.after))]
        before = sum(each.id < job.id for each in ready) + sum(bool(each.board) for each in mine)
        return before < job.max_running

    def in_turn(self, given: Iterable[PoolJob], most: int, fits: Callable[[PoolJob], bool]) -> list[int]:
        """One after another, each time the least of all that are left."""
        has = Counter(job.tenant for job in given)
        left = [job for job in self.standing(0.0)[0] if fits(job)]
        found: list[int] = []
        while left and len(found) < most:
            first = min(left, key=lambda job: (*turn(job, has), job.id))
            left.remove(first)
            has[first.tenant] += 1
            found.append(first.id)
        return found


def turn(job: PoolJob, has: Mapping[str, int]) -> tuple[int, float, str]:
    return -job.request.get("priority", 1), (has[job.tenant] + 1) / WEIGHTS.get(job.tenant, 1.0), job.tenant


class Drawn:
    """A pool whose jobs arrive, are placed, taken back, end well and badly, and are told of again and out of order."""

    def __init__(self, seed: int) -> None:
        self.chance, self.now_s, self.number = random.Random(seed), 100.0, 0
        self.late: list[PoolJob] = []

    def arrival(self) -> PoolJob:
        chance = self.chance
        self.number += 1
        asked: dict[str, object] = {"application": chance.choice("abc"), "batch": 3}
        if chance.random() < 0.2:
            asked = {"kernel": {"kernel": chance.choice(("k", "l"))}}
        if chance.random() < 0.3:
            # Of some, the record comes after that of the job that waits for them.
            asked["after"] = [chance.randint(1, self.number + 2) for _ in range(chance.randint(1, 3))]
            asked["after"] = [each for each in asked["after"] if each != self.number]  # type: ignore[attr-defined]
        if chance.random() < 0.2:
            ways, number = (Condition.SUCCESS, Condition.END, Condition.FAILURE), self.number
            named = [(chance.choice(ways), *self.other(number)) for _ in range(chance.randint(1, 2))]
            asked["waits"] = [[other, wanted.value, array] for wanted, other, array in named]
        array = None
        if chance.random() < 0.4:
            # Of an array, some of whose jobs come much later, or never.
            array = ArrayPlace(1000 + self.number // 8, self.number % 8, 8)
            if array.id % 2:
                asked["max_running"] = 1 + array.id % 3
        if chance.random() < 0.3:
            asked |= {"deadline_s": chance.uniform(0.0, 60.0), "late": chance.choice(("end", "tell"))}
        asked["priority"] = chance.choice((1, 1, 1, 5))
        return PoolJob(self.number, chance.choice(("ada", "grace", "lin")), asked, self.now_s, array=array)

    def other(self, number: int) -> tuple[int, bool]:
        """A job, or an array, that another one may wait for."""
        array = self.chance.random() < 0.6
        return (1000 + self.chance.randint(0, number // 8) if array else self.chance.randint(1, number)), array

    def change(self, jobs: Mapping[int, PoolJob]) -> PoolJob:
        chance = self.chance
        self.now_s += chance.uniform(-0.5, 2.0)
        if self.late and chance.random() < 0.3:
            return self.late.pop(chance.randrange(len(self.late)))
        if not jobs or chance.random() < 0.4:
            new = self.arrival()
            if chance.random() < 0.2:
                self.late.append(new)
                return self.change(jobs)
            return new
        job = jobs[chance.choice(sorted(jobs))]
        if job.is_ended:
            return job
        if job.state == QUEUED:
            return chance.choice((job, job.cancelled(self.now_s), job.place_on(chance.choice("xyz"), 0.0, {})))
        ways = (
            lambda: job.recall("why", self.now_s),
            lambda: job.start(job.token, self.now_s) if job.state != RUNNING else job,
            lambda: replace(job, state=SUCCEEDED),
            lambda: replace(job, state=FAILED),
        )
        return chance.choice(ways)()


@pytest.mark.parametrize("seed", range(8))
def test_what_is_kept_is_what_a_look_at_all_finds(seed: int) -> None:
    drawn, kept, looked = Drawn(seed), OpenJobs(), UnindexedJobs()
    for _ in range(400):
        job = drawn.change(looked.jobs)
        kept.add_record(job)
        looked.jobs[job.id] = job
        open_jobs = {number: each for number, each in looked.jobs.items() if not each.is_ended}
        assert dict(kept) == open_jobs
        ready, failing = looked.standing(drawn.now_s)
        ending = kept.jobs_to_end(drawn.now_s)
        assert [(each.job.id, each.error["cause"]) for each in ending] == failing
        assert all((each.state == CANCELLED) == (each.error["cause"] == "dependency-never") for each in ending)
        given = sorted((each for each in open_jobs.values() if each.board), key=lambda each: each.id)
        assert kept.jobs_on_boards == given
        for board in "xyz":
            assert kept.on(board) == [each for each in given if each.board == board]
        for tenant in ("ada", "grace", "lin"):
            assert kept.count_tenant(tenant) == sum(each.tenant == tenant for each in open_jobs.values())
        # What is late may be placed until it is ended: a head ends it first.
        late = {number for number, cause in failing if cause == "deadline-passed"}
        assert [each for each in kept.placeable_jobs if each.id not in late] == ready
        works = set(drawn.chance.sample(["a", "b", "c", "kernels"], 2))

        def fits(each: PoolJob, works: frozenset[str] = frozenset(works)) -> bool:
            return "kernels" in works if each.request.get("kernel") else each.work in works

        most = drawn.chance.choice((0, 1, 3, 1000))
        wanted = looked.in_turn(given, most, fits)
        assert [each.id for each in kept.in_turn(given, WEIGHTS, most, fits)] == wanted
    for number in sorted(kept):
        kept.add_record(looked.jobs[number].cancelled(0.0))
    left = (kept._ready, kept._on, kept._followers, kept._lost, kept._of, kept._members, kept._turns)
    assert not any(left), "what has ended is filed nowhere"


def test_inputs_are_there_until_a_board_may_have_lost_them() -> None:
    def job(number: int, *shas: str) -> PoolJob:
        return PoolJob(number, "ada", {"application": "a", "inputs": {"x": shas}}, 0.0)

    there, both = InputLocations(most=3), job(1, "s", "t")
    there.record_sent("x", both)
    there.record_sent("x", both)
    there.record_sent("y", job(2, "s"))
    assert there.inputs_by_board([both]) == {"x": {("ada", "s"), ("ada", "t")}, "y": {("ada", "s")}}
    assert there.inputs_by_board([replace(both, tenant="grace")]) == {}
    there.forget("x")
    assert there.inputs_by_board([both]) == {"y": {("ada", "s")}}
    there.record_sent("x", job(3, "t", "u"))
    assert there.inputs_by_board([both]) == {"x": {("ada", "t")}, "y": {("ada", "s")}}
    there.record_sent("x", job(4, "v"))
    assert there.inputs_by_board([both]) == {"x": {("ada", "t")}}, "of more than so many, the first is forgotten"


@pytest.mark.parametrize("ends", [(SUCCEEDED, FAILED), (FAILED, SUCCEEDED)])
def test_another_end_of_a_job_counts_where_the_servers_lost_the_first(ends: tuple[str, str]) -> None:
    """A job that another waits for has a second end in servers that were put back to before the first."""
    link: Any = SimpleNamespace(reconnects=0)
    mirror = Mirror(link, "head")
    first = PoolJob(1, "ada", {"application": "a"}, 1.0)
    second = PoolJob(2, "ada", {"application": "a", "after": [1]}, 1.0)
    told = [second, *(replace(first, state=state, ended_unix_s=2.0) for state in ends)]
    for revision, job in enumerate(told, 1):
        mirror._heard_of_job(JobEntry(str(job.id), job, revision, revision, to_json(job)))
    fails = ends[1] == FAILED
    assert [each.job.id for each in mirror.jobs.jobs_to_end(0.0)] == [2] * fails
    assert [job.id for job in mirror.jobs.placeable_jobs] == [2] * (not fails)
