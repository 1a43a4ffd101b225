# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Why a job waits, where its time went, why slots were taken from it: over HTTP, and to whom what is told."""

from __future__ import annotations

import dataclasses
import random
from typing import Any

import pytest
from eddy.api.answers.job_explanation import REASONS, spent_stretches
from eddy.core.jobs import JobState
from eddy.core.records import JobEvent, JobEventKind, JobRecord
from eddy.core.slots import PreemptReason
from eddy.hypervisor.forecast.estimator import Expectation, JobEstimate
from eddy.hypervisor.forecast.job_standing import JobStanding
from eddy.hypervisor.forecast.waits import WaitNow
from eddy.hypervisor.forecast.whatif import WhatIf
from eddy.store.db.rows import Commit
from eddy.store.job_tables.events import PART

pytestmark = pytest.mark.anyio


def event(job: int, at_s: float, what: JobEventKind, tenant: str = "ada", **fields: Any) -> JobEvent:
    return JobEvent(0, job, tenant, at_s, what, **fields)


async def explained(server: Any, job: int, who: str = "ada") -> Any:
    async with server.client(who) as client:
        answer = await client.get(f"/v1/jobs/{job}/explain")
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_a_job_that_waits_says_why_and_what_would_help(server: Any) -> None:
    job = await server.submit()
    helps = (WhatIf("alone", "no other job", 2.0, 3.0), WhatIf("slot", "one more slot", 5.0, 0.0))
    estimate = JobEstimate(1.0, 5, 2, Expectation(5.0, 7.0), Expectation(8.0, 9.5), True)
    server.hypervisor.standing = JobStanding(1.0, WaitNow("slot", "All 3 slots are taken."), helps, estimate)
    server.hypervisor.clock_s = 3.5
    found = await explained(server, job["id"])
    assert found["wait"] == {"cause": "slot", "words": "All 3 slots are taken."}
    assert (found["life_ns"], found["spent"]) == (2_500_000_000, [{"cause": "slot", "ns": 2_500_000_000}])
    assert [each["what"] for each in found["would_help"]] == ["alone", "slot"]
    assert found["estimate"]["position"] == 2
    assert found["words"] == [
        "It has lived 2.50 s: 2.50 s waiting for a slot.",
        "All 3 slots are taken.",
        "With no other job it would end 3.00 s sooner.",
    ]


async def test_a_job_that_cannot_go_on_says_what_would_let_it(server: Any) -> None:
    job = await server.submit()
    helps = (WhatIf("undrain", "its drained slot in use again", 2.0, None),)
    server.hypervisor.standing = JobStanding(1.0, WaitNow("drain", "Every slot is drained."), helps)
    found = await explained(server, job["id"])
    assert found["would_help"][0]["saves_s"] is None
    assert found["words"][-1] == "It cannot go on; with its drained slot in use again it could."


async def test_a_job_that_ended_says_where_its_time_went(server: Any) -> None:
    job = (await server.submit())["id"]
    record = server.store.jobs.get("ada", job)
    kind = JobEventKind
    log = (
        event(job, 1.25, kind.STATE, state=JobState.PLACED),
        event(job, 1.25, kind.STATE, state=JobState.RECONFIGURING),
        event(job, 1.5, kind.CONFIGURED, slot=0, task=0, started_s=1.25),
        event(job, 1.5, kind.STATE, state=JobState.RUNNING),
        event(job, 1.75, kind.ITEM_DONE, slot=0, task=0, item=0, started_s=1.5),
    )
    server.store.commit(Commit(events=log))
    server.hypervisor.clock_s = 1.875
    server.hypervisor.finish(record, result=bytes(6))
    found = await explained(server, job)
    assert found["wait"] is None
    assert found["estimate"] is None
    assert {part["cause"]: part["ns"] for part in found["spent"]} == {
        "slot": 250_000_000,
        "reconfiguring": 250_000_000,
        "running": 375_000_000,
    }
    assert (found["life_ns"], found["loads_ns"], found["items_ns"]) == (875_000_000, 250_000_000, 250_000_000)
    assert found["would_help"][0] == {
        "what": "resident",
        "words": "no other job, and its modules in the slots already",
        "saves_s": 0.75,
    }


@pytest.mark.parametrize(
    ("tenant", "who", "words"),
    [
        ("grace", "ada", "a job of another tenant had it next"),
        ("ada", "ada", "job 99, yours too, had it next"),
        ("grace", "operator", "job 99 of grace had it next"),
        ("", "ada", "nobody has it yet"),
    ],
)
async def test_who_took_a_slot_is_told_to_whom_it_may_be(server: Any, tenant: str, who: str, words: str) -> None:
    job = (await server.submit())["id"]
    log = [event(job, 1.5, JobEventKind.PREEMPT, slot=1, task=0)]
    if tenant:
        log += [event(98, 1.5, JobEventKind.CONFIGURE, "grace", slot=0, task=0)]
        log += [event(99, 1.5, JobEventKind.CONFIGURE, tenant, slot=1, task=0)]
    server.store.commit(Commit(events=tuple(log)))
    (taken,) = (await explained(server, job, who))["preempted"]
    assert taken["slot"] == 1
    assert words in taken["words"]
    if who == "ada" and tenant == "grace":
        assert "99" not in taken["words"]
        assert "grace" not in taken["words"]


@pytest.mark.parametrize(
    ("detail", "reason", "words"),
    [
        ("rank", "rank", "The dispatch policy (now fcfs) took slot 1 for a task that it ranks higher,"),
        ("allocation", "allocation", "The dispatch policy (now fcfs) took slot 1, as the job had more slots"),
        ("stalled", "stalled", "The dispatch policy (now fcfs) took slot 1, where a task waited"),
        ("fair-share", "fair-share", "Slot 1 was taken for a tenant that was served less"),
        ("overdue", "overdue", "Slot 1 was taken for an older job of the same tenant"),
        ("drained", "drained", "Slot 1 was drained,"),
        ("maintenance", "maintenance", "Slot 1 was drained for maintenance,"),
        ("quarantined", "quarantined", "Slot 1 was quarantined,"),
        ("leased", "leased", "Slot 1 was given to a person's lease,"),
        ("", "", "The dispatch policy (now fcfs) took slot 1, between"),
        ("of a later version", "", "The dispatch policy (now fcfs) took slot 1, between"),
    ],
)
async def test_why_a_slot_was_taken_is_told_by_its_reason(server: Any, detail: str, reason: str, words: str) -> None:
    job = (await server.submit())["id"]
    server.store.commit(Commit(events=(event(job, 1.5, JobEventKind.PREEMPT, slot=1, task=0, detail=detail),)))
    (taken,) = (await explained(server, job, "ada"))["preempted"]
    assert taken["reason"] == reason
    assert taken["words"].startswith(words)


def test_every_reason_has_words() -> None:
    assert set(REASONS) == set(PreemptReason)


async def test_nobody_elses_job_is_explained(server: Any) -> None:
    job = (await server.submit())["id"]
    async with server.client("grace") as client:
        other, none = await client.get(f"/v1/jobs/{job}/explain"), await client.get("/v1/jobs/12345/explain")
    assert other.status_code == none.status_code == 404
    assert other.json()["code"] == none.json()["code"]


async def test_while_the_board_is_away_the_past_is_explained(server: Any) -> None:
    job = (await server.submit())["id"]
    server.hypervisor.lost = "boardd does not answer"
    found = await explained(server, job)
    assert found["wait"] is None
    assert found["spent"] == []


def test_parts_add_up_to_the_nanosecond_whatever_the_log() -> None:
    rng = random.Random(4)
    kind, states = JobEventKind, [state for state in JobState if not state.is_final]
    for _ in range(200):
        begin_s = rng.uniform(0, 1e5)
        times = sorted(begin_s + rng.expovariate(1.0) for _ in range(12))
        log = [
            event(1, at_s, kind.STATE, state=rng.choice(states))
            if rng.random() < 0.7
            else event(1, at_s, kind.WAIT, detail=rng.choice(["memory", "waiting for job 3 to succeed", "building x"]))
            for at_s in times
        ]
        rng.shuffle(log[-2:])
        end_s = times[-1] + 0.1
        record = JobRecord(1, "ada", "invert", 1, 1, JobState.SUCCEEDED, 0.0, begin_s, ended_s=end_s)
        life_ns, spent = spent_stretches(record, log, 0.0)
        assert sum(part.ns for part in spent) == life_ns == round(end_s * 1e9) - round(begin_s * 1e9)
        assert all(part.ns > 0 for part in spent)
        assert len({part.cause for part in spent}) == len(spent)
    waiting = dataclasses.replace(record, state=JobState.QUEUED, ended_s=None)
    assert spent_stretches(waiting, (), begin_s)[1] == []


async def test_a_job_with_a_long_log_is_explained_to_its_end(server: Any) -> None:
    job = (await server.submit())["id"]
    items = 2 * PART + 3
    log = [event(job, 2.0, JobEventKind.ITEM_DONE, slot=0, task=0, item=item, started_s=1.0) for item in range(items)]
    server.store.commit(Commit(events=(*log, event(job, 3.0, JobEventKind.PREEMPT, slot=0, task=0))))
    found = await explained(server, job)
    assert found["items_ns"] == items * 10**9
    assert [each["at_s"] for each in found["preempted"]] == [3.0]
