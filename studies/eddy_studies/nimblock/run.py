# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""One run of a sequence of events under a policy, and what came of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from eddy.board.model.model import SHELL, Latency, LoadTime, ModelBoard
from eddy.board.model.model_images import model_images
from eddy.board.port.port import BoardDescription
from eddy.core.fusion import select_form
from eddy.core.records import JobEvent, JobEventKind, JobRecord
from eddy.core.slots import Pool, SlotDescription
from eddy.hypervisor.jobs.messages import JobSpec
from eddy.hypervisor.machine.virtual import VirtualRun, run_virtual
from eddy.hypervisor.slots.residency import Residency, always_fuse, never_fuse
from eddy.policy.dispatch.views.view import DispatchPolicy

from eddy_studies.nimblock.console import CARD_S, Contention
from eddy_studies.nimblock.machines import RELOADING, REUSING
from eddy_studies.nimblock.polled import run_polled
from eddy_studies.nimblock.workload import Arrival, EventSequence, StudyApplication

TENANT = "study"
IMAGE_BYTES = 1_000_000
"""Of every image: about what [004]'s are. Loads take what was measured, so this only counts memory."""
_WORDS = {
    JobEventKind.CONFIGURE: "configure",
    JobEventKind.CONFIGURED: "configured",
    JobEventKind.LAUNCH: "launch",
    JobEventKind.ITEM_DONE: "item_done",
    JobEventKind.PREEMPT: "preempt",
    JobEventKind.RELEASE: "release",
}


@dataclass(frozen=True, slots=True)
class BoardSetting:
    """How a board behaves.

    Attributes:
        measured: Whether items take what was measured; else what was estimated.
        blocking: Whether the hypervisor does nothing else while it loads.
        reuse: Whether a task that finds its module in a slot needs no load; else every task that is given a slot is
            loaded, as the text of [004] has it (2.1.2).
        near_images: Images the board's memory holds: such a load takes the configuration port alone, and images are
            read ahead while the storage is idle. 0: every load reads its image.
        idle_s: Seconds the board was up before the first event, in which images were read.
        own_tenants: Whether every event is another tenant's; else all are of one.
        scrub: Whether a reset makes every module clean for another tenant, so that it needs no load.
        port_s: What the configuration port takes for a load; None for what the workload says.
        fuse: Whether jobs may run on fused tasks, where the workload has them.
    """

    measured: bool = True
    blocking: bool = True
    reuse: bool = False
    near_images: int = 0
    idle_s: float = 0.0
    own_tenants: bool = False
    scrub: bool = False
    port_s: float | None = None
    fuse: bool = False

    def load_times(self, workload: EventSequence) -> dict[int, LoadTime]:
        """What a load takes, by slot."""
        port_s = workload.port_s if self.port_s is None else self.port_s
        return {slot: LoadTime(load_s - workload.port_s, port_s) for slot, load_s in enumerate(workload.load_s)}

    @property
    def residency(self) -> Residency:
        """What becomes of modules that stay in slots."""
        fused = always_fuse if self.fuse else never_fuse
        return dataclasses.replace(REUSING if self.reuse else RELOADING, fused=fused)


@dataclass(frozen=True, slots=True)
class Player:
    """A policy, and what comes with it.

    Attributes:
        policy: Who gets which slot.
        published_goals: Whether applications have the goal numbers of the published program; else the thesis' one.
        polled: Whether it plays in the published program's loop, which polls, and always loads; see `polled`.
    """

    policy: DispatchPolicy
    published_goals: bool = False
    polled: bool = False


def jobs_of(workload: EventSequence, events: Sequence[Arrival], published_goals: bool = False) -> list[JobSpec]:
    """Events as jobs, numbered as in the input; with the goals the published program uses, if asked for."""
    graphs = {
        name: dataclasses.replace(app.application, goal_slots=app.goal_slots) if published_goals else app.application
        for name, app in workload.apps.items()
    }
    return [
        JobSpec(number, TENANT, graphs[event.app], event.batch, event.priority, event.arrival_s)
        for number, event in enumerate(events)
    ]


def latencies_of(workload: EventSequence, setting: BoardSetting) -> dict[str, float]:
    """Seconds an item really takes, by module."""
    latency = {
        task.module: app.measured_s[task.id] if setting.measured else task.estimate_s
        for app in workload.apps.values()
        for task in app.application.tasks
    }
    for app in workload.apps.values():
        latency |= {
            task.module: app.fused_s[task.name] if setting.measured else task.estimate_s
            for task in app.application.fused
        }
    return latency


def board_of(workload: EventSequence, setting: BoardSetting, latency: Latency) -> ModelBoard:
    """A fresh model board with the workload's slots and an image of every task for every slot."""
    times, count = setting.load_times(workload), len(workload.load_s)
    slots = tuple(SlotDescription(i, f"slot{i}", Pool.PIPELINE, IMAGE_BYTES, 1e8) for i in range(count))
    mean_s = sum(time.storage_s for time in times.values()) / count
    memory_bytes = setting.near_images * IMAGE_BYTES
    description = BoardDescription(
        "model",
        "study",
        SHELL,
        1e8,
        slots,
        1 << 30,
        1e9,
        False,
        storage_bytes_per_s=IMAGE_BYTES / mean_s if mean_s > 0 else 0.0,
        image_cache_bytes=memory_bytes,
    )
    graphs = [app.application for app in workload.apps.values()]
    modules = [task.module for graph in graphs for task in graph.tasks]
    modules += [task.module for graph in graphs for task in graph.fused]
    return ModelBoard(
        description,
        model_images(description, modules, modules if setting.scrub else ()),
        latency,
        load_times=times,
        cache_bytes=memory_bytes,
        blocking=setting.blocking,
        real_memory=False,
    )


def run(workload: EventSequence, events: Sequence[Arrival], player: Player, setting: BoardSetting) -> VirtualRun:
    """Run a sequence to its end."""
    load_s = {slot: time.storage_s + time.port_s for slot, time in setting.load_times(workload).items()}
    latency, jobs = latencies_of(workload, setting), jobs_of(workload, events, player.published_goals)
    jobs = [
        dataclasses.replace(
            job,
            arrival_s=job.arrival_s + setting.idle_s,
            tenant=f"{TENANT}{job.id}" if setting.own_tenants else TENANT,
        )
        for job in jobs
    ]
    if player.polled:
        contention = Contention(latency)
        board = board_of(workload, setting, contention)
        card_s = CARD_S if workload.measured_loads else {}
        return run_polled(board, player.policy, jobs, load_s, card_s, contention)
    board = board_of(workload, setting, latency)
    return _since(run_virtual(board, player.policy, jobs, load_s=load_s, residency=setting.residency), setting.idle_s)


def _since(result: VirtualRun, idle_s: float) -> VirtualRun:
    """A run with its times counted from when the board had been up for so long."""
    if not idle_s:
        return result

    def shifted(at_s: float | None) -> float | None:
        return None if at_s is None else at_s - idle_s

    log = tuple(
        dataclasses.replace(entry, at_s=entry.at_s - idle_s, started_s=shifted(entry.started_s)) for entry in result.log
    )
    jobs = {
        number: dataclasses.replace(
            job,
            arrival_s=job.arrival_s - idle_s,
            started_s=shifted(job.started_s),
            ended_s=shifted(job.ended_s),
        )
        for number, job in result.jobs.items()
    }
    return dataclasses.replace(result, log=log, jobs=jobs, end_s=result.end_s - idle_s)


def responses_s(result: VirtualRun, events: Sequence[Arrival]) -> list[float]:
    """Seconds from each event's arrival to its end, in input order."""
    return [(result.jobs[i].ended_s or 0.0) - event.arrival_s for i, event in enumerate(events)]


def report(
    workload: EventSequence, events: Sequence[Arrival], result: VirtualRun, measured: bool = True
) -> dict[str, Any]:
    """The document `eddy simulate` writes; `measured` says which latencies the run had, as in `BoardSetting`."""
    return {
        "events": [_event_row(workload, event, result.jobs[n], measured) for n, event in enumerate(events)],
        "trace": trace(workload, events, result),
    }


def trace(workload: EventSequence, events: Sequence[Arrival], result: VirtualRun) -> list[dict[str, Any]]:
    """What happened in the slots, in time order; what happened at once, in the order it was done."""
    rows = [entry for entry in result.log if entry.what in _WORDS]
    rows.sort(key=lambda entry: entry.at_s)
    ids = {number: _ids(workload.apps[events[number].app], job.form) for number, job in result.jobs.items()}
    return [_trace_row(ids[entry.job], entry) for entry in rows]


def _ids(app: StudyApplication, form: str) -> list[Any]:
    """What tasks are called in the trace: their ids in the file, fused ones by their name."""
    ids = {task.name: app.ids[task.id] for task in app.application.tasks}
    return [ids.get(task.name, task.name) for task in select_form(app.application, form).tasks]


def _event_row(workload: EventSequence, event: Arrival, record: JobRecord, measured: bool) -> dict[str, Any]:
    assert record.started_s is not None
    assert record.ended_s is not None
    return {
        "arrival_ms": event.arrival_s * 1e3,
        "first_configuration_ms": record.started_s * 1e3,
        "completion_ms": record.ended_s * 1e3,
        "response_ms": (record.ended_s - event.arrival_s) * 1e3,
        "single_slot_ms": workload.single_slot_s(event, measured) * 1e3,
        "preemptions": record.preemptions,
    }


def _trace_row(ids: Sequence[Any], entry: JobEvent) -> dict[str, Any]:
    row: dict[str, Any] = {"t_ms": entry.at_s * 1e3, "slot": entry.slot, "what": _WORDS[entry.what], "event": entry.job}
    if entry.task is not None:
        row["task"] = ids[entry.task]
    if entry.item is not None:
        row["item"] = entry.item
    return row
