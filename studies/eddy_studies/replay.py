# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A recorded live trace under another policy: what would have become of the same jobs.

Everything but the policy is as recorded: arrivals, batches, priorities, deadlines; every item that ran takes what it
took then, a load of a slot what its loads took on average. What was not recorded is assumed: an item that never ran, or
ran elsewhere in vain, takes its module's mean, or the designer's estimate where the module never ran.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from eddy.board.model.model import SHELL, LoadTime, ModelBoard
from eddy.board.model.model_images import model_images
from eddy.board.port.port import BoardDescription
from eddy.core.applications import Application
from eddy.core.errors import InvalidRequest
from eddy.core.jobs import JobState
from eddy.core.records import APPLICATION, KERNEL, JobEvent, JobEventKind, JobRecord
from eddy.core.slots import Pool, SlotDescription
from eddy.hypervisor.jobs.messages import JobSpec
from eddy.hypervisor.machine.translate import item_name
from eddy.hypervisor.machine.virtual import run_virtual
from eddy.policy.dispatch import POLICIES
from eddy.store import Store

PAGE = 10_000


@dataclass(frozen=True, slots=True)
class Trace:
    """What a hypervisor recorded.

    Attributes:
        jobs: Of applications that succeeded, oldest first.
        left_out: How many did not, had not ended, or ran kernels, which slots of another pool take.
        item_s: Seconds each item took, by its name on the board.
        module_s: Mean of that, by module.
        load_s: Mean seconds of a load, by slot.
    """

    jobs: tuple[JobRecord, ...]
    left_out: int
    item_s: Mapping[str, float]
    module_s: Mapping[str, float]
    load_s: Mapping[int, float]


@dataclass(frozen=True, slots=True)
class Replayed:
    """One job, then and now.

    Attributes:
        response_s: From arrival to end, as recorded.
        replayed_s: The same under the other policy.
        late: Whether it missed its deadline then; None where it had none.
        late_replayed: Whether it does now.
        preemptions: How often it lost a slot then.
        preemptions_replayed: How often it does now.
        reconfigurations: Loads made for it then.
        reconfigurations_replayed: Loads made for it now.
    """

    job: int
    application: str
    tenant: str
    priority: int
    response_s: float
    replayed_s: float
    late: bool | None
    late_replayed: bool | None
    preemptions: int
    preemptions_replayed: int
    reconfigurations: int
    reconfigurations_replayed: int


def read_trace(store: Store, applications: Mapping[str, Application]) -> Trace:
    """Everything a replay needs from a store.

    Args:
        store: Of a hypervisor.
        applications: Task graphs by name; the log names tasks by position only.

    Raises:
        InvalidRequest: Nothing in it succeeded, or a job's application is not known.
    """
    every = store.lists.page(None, limit=1 << 31)
    done = (record for record in every if record.state is JobState.SUCCEEDED and record.kind == APPLICATION)
    jobs = tuple(sorted(done, key=lambda record: record.id))
    if not jobs:
        raise InvalidRequest("no application job of this trace succeeded: there is nothing to replay", field="trace")
    missing = sorted({record.application for record in jobs} - set(applications))
    if missing:
        message = f"the trace has jobs of {', '.join(missing)}; say where their packages are with --bitstreams"
        raise InvalidRequest(message, field="bitstreams", allowed=sorted(applications))
    item_s, load_s = {}, defaultdict[int, list[float]](list)
    by_module = defaultdict[str, list[float]](list)
    known = {record.id: applications[record.application] for record in jobs}
    kernels = {record.id for record in every if record.kind == KERNEL}
    others: set[int] = set()
    for event in _events(store):
        if event.job in kernels:
            if event.slot is not None:
                others.add(event.slot)
            continue
        if event.slot is None or event.task is None or event.started_s is None:
            continue
        took_s = event.at_s - event.started_s
        if event.what is JobEventKind.CONFIGURED and event.detail != "resident":
            load_s[event.slot].append(took_s)
        elif event.what is JobEventKind.ITEM_DONE and event.job in known and event.item is not None:
            item_s[item_name(event.job, event.task, event.item)] = took_s
            by_module[known[event.job].tasks[event.task].module].append(took_s)
    mean_s = fmean(took_s for loads in load_s.values() for took_s in loads) if load_s else 0.0
    slots = {*load_s, *store.slot_snapshots()} - others
    return Trace(
        jobs,
        len(every) - len(jobs),
        item_s,
        {module: fmean(times) for module, times in by_module.items()},
        {slot: fmean(load_s[slot]) if load_s[slot] else mean_s for slot in sorted(slots)},
    )


def _events(store: Store) -> Iterable[JobEvent]:
    seq = 0
    while page := store.events.list_events(None, None, after_seq=seq, limit=PAGE):
        yield from page
        seq = page[-1].seq


def replay(trace: Trace, applications: Mapping[str, Application], policy: str) -> tuple[Replayed, ...]:
    """Run a trace's jobs in virtual time under another policy.

    Args:
        trace: What was recorded.
        applications: Task graphs by name.
        policy: As `--policy` takes it.
    """
    specs = [
        JobSpec(r.id, r.tenant, applications[r.application], r.batch, r.priority, r.arrival_s, r.deadline_s)
        for r in trace.jobs
    ]
    board = _board(trace, [spec.application for spec in specs])
    result = run_virtual(board, POLICIES[policy](pipelined=True), specs, load_s=trace.load_s)
    return tuple(_compare(record, result.jobs[record.id]) for record in trace.jobs)


def _board(trace: Trace, applications: Sequence[Application]) -> ModelBoard:
    """A board with the trace's slots on which items take what they took; loads go on beside items, as live."""
    estimates = {task.module: task.estimate_s for app in applications for task in app.tasks}
    last = max(trace.load_s)
    slots = tuple(
        SlotDescription(i, f"slot{i}", Pool.PIPELINE if i in trace.load_s else Pool.GPU, 1, 1e8)
        for i in range(last + 1)
    )
    description = BoardDescription("model", "replay", SHELL, 1e8, slots, 1 << 30, 1e9, False)

    def latency(module: str, item: str) -> float:
        return trace.item_s.get(item, trace.module_s.get(module, estimates[module]))

    times = {slot: LoadTime(0.0, load_s) for slot, load_s in trace.load_s.items()}
    return ModelBoard(description, model_images(description, estimates), latency, load_times=times, real_memory=False)


def _compare(then: JobRecord, now: JobRecord) -> Replayed:
    return Replayed(
        then.id,
        then.application,
        then.tenant,
        then.priority,
        then.response_s or 0.0,
        now.response_s or 0.0,
        _late(then),
        _late(now),
        then.preemptions,
        now.preemptions,
        then.reconfigurations,
        now.reconfigurations,
    )


def _late(record: JobRecord) -> bool | None:
    return None if record.deadline_s is None or record.ended_s is None else record.ended_s > record.deadline_s
