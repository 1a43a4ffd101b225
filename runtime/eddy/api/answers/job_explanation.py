# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A job in words over HTTP: why it waits, where its time went, why it was preempted, what would have made it faster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pydantic import Field

from eddy.api.answers.estimates import ExpectedTimes, estimate_answer
from eddy.api.request_bodies import examples
from eddy.api.request_bodies.base import Answer, with_example
from eddy.core.jobs import JobState
from eddy.core.records import JobEvent, JobEventKind, JobRecord, WaitCause
from eddy.core.slots import PreemptReason
from eddy.core.units import format_duration
from eddy.hypervisor.forecast.job_standing import JobAlone, JobStanding
from eddy.hypervisor.intake.admission_hold import hold_reason
from eddy.store.db.numbers import Numbers

NS = 1_000_000_000
LOOKED_THROUGH = 400
"""Entries of the log behind a preemption that are looked through for who had the slot next."""
TOLD = frozenset(
    {
        *(JobEventKind.WAIT, JobEventKind.STATE, JobEventKind.PREEMPT),
        *(JobEventKind.CONFIGURED, JobEventKind.ITEM_DONE),
    }
)
"""Events that an explanation is made of."""
MAX_TAKEN = 20
"""Preemptions that are told, at most; the latest."""
REASONS: Mapping[str, str] = {
    PreemptReason.RANK: "{policy} took slot {slot} for a task that it ranks higher",
    PreemptReason.ALLOCATION: "{policy} took slot {slot}, as the job had more slots than were allocated to it",
    PreemptReason.STALLED: "{policy} took slot {slot}, where a task waited for others that had no slot",
    PreemptReason.FAIR_SHARE: "Slot {slot} was taken for a tenant that was served less for its weight",
    PreemptReason.OVERDUE: "Slot {slot} was taken for an older job of the same tenant, which is overdue",
    PreemptReason.DRAINED: "Slot {slot} was drained",
    PreemptReason.MAINTENANCE: "Slot {slot} was drained for maintenance",
    PreemptReason.QUARANTINED: "Slot {slot} was quarantined, as it kept failing",
    PreemptReason.LEASED: "Slot {slot} was given to a person's lease",
    PreemptReason.UNRECORDED: "{policy} took slot {slot}",
}
"""How a preemption is told, by its reason."""


class WaitShown(Answer):
    """What a job waits for now."""

    cause: str = Field(
        description="`slot`, `load`, `memory`, `preempted`, `maintenance`, `drain`, `predecessor`, `array`, "
        "`building`, `items`, `price-share` or `ending`; at a pool also `board`, `inputs` or `constraint`; empty where "
        "it waits for nothing."
    )
    words: str = Field(description="The same for people.")


class Spent(Answer):
    """A part of a job's life."""

    cause: str = Field(description="A cause of waiting as in `waiting`, `building`, `reconfiguring` or `running`.")
    ns: int = Field(description="Board time, in whole nanoseconds.")


class Taken(Answer):
    """A slot that was taken from a job."""

    at_s: float = Field(description="Board time.")
    slot: int = Field(description="Which slot.")
    reason: PreemptReason = Field(description="Which rule of a policy took it, or who else did.")
    words: str = Field(description="Why, and who had it next, as far as you may know.")


class Change(Answer):
    """What would be if one thing were different."""

    what: str = Field(description="`priority`, `slot`, `undrain`, `resident` or `alone`.")
    words: str = Field(description="The same for people.")
    saves_s: float | None = Field(
        description="Board seconds sooner that it would end; null where now it would not end, or nobody can tell when: "
        "slots are drained, or jobs elsewhere hold the memory."
    )


class Explained(Answer):
    """A job explained."""

    model_config = with_example(examples.EXPLAINED)

    job: int = Field(description="Its number.")
    state: JobState = Field(description="Its state.")
    at_s: float = Field(description="Board time of all this.")
    wait: WaitShown | None = Field(description="What it waits for now; null once it has ended.")
    life_ns: int = Field(description="From its acceptance to its end, or to `at_s`, in whole nanoseconds.")
    spent: list[Spent] = Field(description="Where that went; it adds up to `life_ns` exactly.")
    loads_ns: int = Field(description="Time that slots were loaded for it; several may be at once with items.")
    items_ns: int = Field(description="Time that slots ran its items.")
    preempted: list[Taken] = Field(description=f"Slots that were taken from it, the latest {MAX_TAKEN}.")
    would_help: list[Change] = Field(description="What would have made it faster, by a forecast; most first.")
    estimate: ExpectedTimes | None = Field(description="Its start and end; null once it has ended.")
    words: list[str] = Field(description="All that in sentences.")


def spent_stretches(record: JobRecord, log: Iterable[JobEvent], now_s: float) -> tuple[int, list[Spent]]:
    """A job's life, and where it went: the log's times are rounded once each, so that the parts add up exactly.

    Args:
        now_s: Board time, for a job that has not ended.
    """
    begin = mark = _ns(record.arrival_s)
    end = max(_ns(now_s if record.ended_s is None else record.ended_s), begin)
    cause, parts = WaitCause.SLOT.value, dict[str, int]()
    for event in log:
        following = _cause_after(event)
        if following is None:
            continue
        at = min(max(_ns(event.at_s), mark), end)
        parts[cause] = parts.get(cause, 0) + at - mark
        cause, mark = following, at
    parts[cause] = parts.get(cause, 0) + end - mark
    return end - begin, [Spent(cause=name, ns=ns) for name, ns in parts.items() if ns]


def _ns(time_s: float) -> int:
    return round(time_s * NS)


def _cause_after(event: JobEvent) -> str | None:
    """What a job's time goes into from an event on; None where the event changes nothing about that."""
    if event.what is JobEventKind.WAIT:
        if event.detail in _CAUSES:
            return event.detail
        building = hold_reason(event.detail) == "building"
        return "building" if building else WaitCause.DEPENDENCY.value
    if event.what is not JobEventKind.STATE or event.state is None:
        return None
    if event.state in (JobState.RUNNING, JobState.DRAINING):
        return "running"
    if event.state is JobState.RECONFIGURING:
        return "reconfiguring"
    return WaitCause.PREEMPTED.value if event.state is JobState.PREEMPTED else WaitCause.SLOT.value


_CAUSES = frozenset(cause.value for cause in WaitCause)


def explain_preemption(
    event: JobEvent, after: Iterable[JobEvent], numbers: Numbers, viewer: str, operator: bool, policy: str
) -> Taken:
    """Why a slot was taken.

    Args:
        after: What the log has next, of everyone.
        numbers: What jobs are told as.
        operator: Whether that is an operator.
        policy: Name of the policy in force, which may have been another then.
    """
    assert event.slot is not None
    follower = next((e for e in after if e.what is JobEventKind.CONFIGURE and e.slot == event.slot), None)
    if follower is None:
        whom = "nobody has it yet"
    elif follower.job == event.job:
        whom = "it had it back next"
    elif operator or follower.tenant == viewer:
        told = numbers.job.public_id(follower.job)
        whom = f"job {told}{f' of {follower.tenant}' if operator else ', yours too,'} had it next"
    else:
        whom = "a job of another tenant had it next"
    reason = PreemptReason(event.detail) if event.detail in REASONS else PreemptReason.UNRECORDED
    why = REASONS[reason].format(slot=event.slot, policy=f"The dispatch policy (now {policy})")
    words = f"{why}, between two items; {whom}. Finished items stayed finished."
    return Taken(at_s=event.at_s, slot=event.slot, reason=reason, words=words)


def build_explanation(
    record: JobRecord,
    number: int,
    log: Sequence[JobEvent],
    now_s: float,
    taken: Sequence[Taken],
    standing: JobStanding | None,
    ideal: JobAlone | None,
    everyone: bool,
) -> Explained:
    """A job explained.

    Args:
        number: What the job is told as.
        log: Its events of the kinds `TOLD`, in order.
        now_s: Board time.
        taken: Slots that were taken from it.
        standing: How it stands; None once it has ended.
        ideal: What it would take alone; of one that has ended, where that can be told.
        everyone: Whether its place counts everyone's jobs.
    """
    life_ns, spent = spent_stretches(record, log, now_s)
    timed = [(e.what, _ns(e.at_s) - _ns(e.started_s)) for e in log if e.started_s is not None]
    helps = _list_changes(record, standing, ideal)
    expected = None if standing is None else standing.estimate
    wait = None if standing is None else WaitShown(cause=standing.wait.cause, words=standing.wait.words)
    return Explained(
        job=number,
        state=record.state,
        at_s=now_s,
        wait=wait,
        life_ns=life_ns,
        spent=spent,
        loads_ns=sum(ns for what, ns in timed if what is JobEventKind.CONFIGURED),
        items_ns=sum(ns for what, ns in timed if what is JobEventKind.ITEM_DONE),
        preempted=list(taken),
        would_help=helps,
        estimate=None if expected is None else estimate_answer(expected, everyone),
        words=[*_life(record, life_ns, spent), *([wait.words] if wait else []), *_help_words(record, helps)],
    )


def _list_changes(record: JobRecord, standing: JobStanding | None, ideal: JobAlone | None) -> list[Change]:
    if standing is not None:
        return [Change(what=each.what, words=each.words, saves_s=each.saves_s) for each in standing.would_help]
    if ideal is None or record.response_s is None:
        return []
    found = [
        Change(what="alone", words="no other job", saves_s=record.response_s - ideal.takes_s),
        Change(
            what="resident",
            words="no other job, and its modules in the slots already",
            saves_s=record.response_s - ideal.resident_s,
        ),
    ]
    return sorted(found, key=lambda each: -(each.saves_s or 0.0))


_SAID = {
    "slot": "waiting for a slot",
    "memory": "waiting for memory",
    "preempted": "waiting after its slots were taken",
    "dependency": "waiting for other jobs",
    "maintenance": "waiting for the end of maintenance",
    "building": "waiting for a module to be built",
    "reconfiguring": "while slots were loaded for it",
    "running": "with a loaded slot of its own",
}


def _life(record: JobRecord, life_ns: int, spent: Sequence[Spent]) -> list[str]:
    parts = ", ".join(f"{format_duration(part.ns / NS)} {_SAID.get(part.cause, part.cause)}" for part in spent)
    verb = "lived" if record.state.is_final else "has lived"
    return [f"It {verb} {format_duration(life_ns / NS)}" + (f": {parts}." if parts else ".")]


def _help_words(record: JobRecord, helps: Sequence[Change]) -> list[str]:
    """What would have saved a microsecond at least, in sentences."""
    have = "have ended" if record.state.is_final else "end"
    never = [f"It cannot go on; with {each.words} it could." for each in helps if each.saves_s is None]
    helped = [(each.words, each.saves_s) for each in helps if each.saves_s is not None and each.saves_s > 1e-6]
    return never + [f"With {words} it would {have} {format_duration(saves_s)} sooner." for words, saves_s in helped]
