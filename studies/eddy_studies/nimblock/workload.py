# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a study reads: task graphs with latencies, the board's load times, and a sequence of events.

The form is fixed: applications as ``{"apps": {name: {"tasks": [{"id", "name", "estimate_us", "measured_us"}], "edges":
[[from, to]]}}, "hardware": {...}}``, events as ``[{"app", "batch", "priority", "arrival_ms"}]``. Everything is checked
here, once; what is wrong is said with its place.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eddy.core.applications import Application, FusedTask, TaskSpec
from eddy.core.errors import InvalidRequest
from eddy.core.fusion import list_forms
from eddy.core.graphs import topological_order
from eddy.core.jobs import PRIORITIES

GOAL_SLOTS = 3
"""The unified goal number of [004] 2.3.2."""
LOAD_MS = 90.0
"""What a load takes where the file says nothing: about the mean of those measured on [004]'s board."""
PORT_MS = 5.3
"""The part of a load that is the configuration port, where the file says nothing; the rest reads the image."""
SLOTS = 10
"""Slots of [004]'s board."""
TIME_LIMIT_S = 1e9


@dataclass(frozen=True, slots=True)
class StudyApplication:
    """An application as studies see it.

    Attributes:
        application: Its task graph, tasks in topological order, modules named `application.task`.
        ids: Task ids as the file has them, by position.
        measured_s: Seconds an item of each task really takes, by position.
        goal_slots: What the published artefact uses as its goal.
        fused_s: Seconds an item of each fused task really takes, by name.
    """

    application: Application
    ids: tuple[Any, ...]
    measured_s: tuple[float, ...]
    goal_slots: int
    fused_s: Mapping[str, float] = field(default_factory=dict)

    def service_s(self, batch: int, measured: bool = True) -> float:
        """Seconds of work in a batch, all items of all tasks laid end to end, as measured or as estimated."""
        return batch * sum(self.measured_s if measured else (task.estimate_s for task in self.application.tasks))


@dataclass(frozen=True, slots=True)
class EventSequence:
    """Applications and the board they run on.

    Attributes:
        apps: By name.
        load_s: What a load of each slot takes; as many as there are slots.
        port_s: The part of it that is the configuration port.
        measured_loads: Whether the load times were measured on a board, and not merely given.
    """

    apps: Mapping[str, StudyApplication]
    load_s: tuple[float, ...]
    port_s: float
    measured_loads: bool = False

    @property
    def mean_load_s(self) -> float:
        """What a load takes, on average over slots."""
        return sum(self.load_s) / len(self.load_s)

    def single_slot_s(self, event: Arrival, measured: bool = True) -> float:
        """An event's time on a slot of its own ([004] 3.2.3): a load a task, then its whole batch, in a row.

        Args:
            measured: Whether items take what was measured; else what was estimated.
        """
        app = self.apps[event.app]
        return len(app.ids) * self.mean_load_s + app.service_s(event.batch, measured)


@dataclass(frozen=True, slots=True)
class Arrival:
    """An application that arrives: name, number of items, priority, time."""

    app: str
    batch: int
    priority: int
    arrival_s: float


def read_json(path: Path) -> Any:
    """A JSON file.

    Raises:
        InvalidRequest: It cannot be read, or is not JSON.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidRequest(f"{path} cannot be read: {error.strerror}", field=str(path)) from None
    except ValueError as error:
        raise InvalidRequest(f"{path} is not JSON: {error}", field=str(path)) from None
    except RecursionError:
        raise InvalidRequest(f"{path} is not JSON that can be read: it is nested too deep", field=str(path)) from None


def parse_workload(document: Any, slots: int | None = None, load_ms: float | None = None) -> EventSequence:
    """Applications and load times from a document.

    Args:
        document: As the module says.
        slots: How many slots; else as many as the file says, else 10. Slots beyond those measured take the mean.
        load_ms: What every load takes, instead of what the file says.

    Raises:
        InvalidRequest: Something is wrong; `field` says where.
    """
    apps = _mapping(_mapping(document, "apps file").get("apps"), "apps")
    if not apps:
        raise InvalidRequest("apps: there are none", field="apps")
    hardware = document.get("hardware") or {}
    times, port_ms = _load_times(_mapping(hardware, "hardware"), slots, load_ms)
    parsed = {str(name): _app(str(name), raw) for name, raw in apps.items()}
    measured = load_ms is None and bool(hardware.get("reconfiguration_ms_measured_per_slot"))
    return EventSequence(parsed, tuple(t * 1e-3 for t in times), port_ms * 1e-3, measured)


def parse_events(document: Any, workload: EventSequence) -> tuple[Arrival, ...]:
    """A sequence of events, in the order of the file.

    Raises:
        InvalidRequest: Something is wrong; `field` says which event and what of it.
    """
    if not isinstance(document, Sequence) or isinstance(document, str):
        raise InvalidRequest("the events are not a list", field="events")
    return tuple(_event(number, raw, workload) for number, raw in enumerate(document))


def _event(number: int, raw: Any, workload: EventSequence) -> Arrival:
    at = f"events[{number}]"
    entry = _mapping(raw, at)
    app = entry.get("app")
    if not isinstance(app, str) or app not in workload.apps:
        raise InvalidRequest(f"{at}.app: no application {app!r}", field=f"{at}.app", allowed=sorted(workload.apps))
    batch, priority = entry.get("batch", 1), entry.get("priority", PRIORITIES[0])
    if not isinstance(batch, int) or isinstance(batch, bool) or batch < 1:
        raise InvalidRequest(f"{at}.batch: {batch!r} is not a whole number from 1", field=f"{at}.batch")
    if isinstance(priority, bool) or priority not in PRIORITIES:
        raise InvalidRequest(
            f"{at}.priority: {priority!r} is not one of {', '.join(map(str, PRIORITIES))}",
            field=f"{at}.priority",
            allowed=list(PRIORITIES),
        )
    arrival_ms = _number(entry.get("arrival_ms", 0.0), f"{at}.arrival_ms")
    return Arrival(str(app), batch, int(priority), arrival_ms * 1e-3)


def _load_times(hardware: Mapping[str, Any], slots: int | None, load_ms: float | None) -> tuple[list[float], float]:
    measured = hardware.get("reconfiguration_ms_measured_per_slot") or []
    if not isinstance(measured, list):
        raise InvalidRequest("hardware.reconfiguration_ms_measured_per_slot is not a list", field="hardware")
    known = [_number(value, f"hardware.reconfiguration_ms[{i}]") for i, value in enumerate(measured)]
    count = slots if slots is not None else hardware.get("slots", len(known) or SLOTS)
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise InvalidRequest(f"hardware.slots: {count!r} is not a whole number from 1", field="hardware.slots")
    port_ms = _number(hardware.get("port_ms", PORT_MS), "hardware.port_ms")
    if load_ms is not None:
        known = [_number(load_ms, "load-ms")] * count
    mean = sum(known) / len(known) if known else LOAD_MS
    times = (known + [mean] * count)[:count]
    return times, min(port_ms, *times)


def _app(name: str, raw: Any) -> StudyApplication:
    at = f"apps.{name}"
    entry = _mapping(raw, at)
    tasks = entry.get("tasks")
    if not isinstance(tasks, list) or not tasks:
        raise InvalidRequest(f"{at}.tasks: a list of at least one task is needed", field=f"{at}.tasks")
    rows = [_mapping(task, f"{at}.tasks[{i}]") for i, task in enumerate(tasks)]
    ids = [_id(row.get("id", i), f"{at}.tasks[{i}].id") for i, row in enumerate(rows)]
    if len(set(ids)) != len(ids):
        raise InvalidRequest(f"{at}.tasks: two tasks have the same id", field=f"{at}.tasks")
    edges = _edges(at, entry.get("edges", []), {task: i for i, task in enumerate(ids)})
    order = topological_order(len(rows), edges, f"{at}.edges")
    place = {old: new for new, old in enumerate(order)}
    specs, measured = [], []
    for new, old in enumerate(order):
        row, where = rows[old], f"{at}.tasks[{old}]"
        real_us = row.get("measured_us", row.get("estimate_us"))
        estimate_us = _number(row.get("estimate_us", real_us), f"{where}.estimate_us")
        measured.append(_number(real_us, f"{where}.measured_us") * 1e-6)
        label = str(row.get("name", ids[old]))
        specs.append(TaskSpec(new, label, f"{name}.{ids[old]}", (), estimate_us * 1e-6, TIME_LIMIT_S))
    goal = int(_number(entry.get("goal_slots_used", GOAL_SLOTS), f"{at}.goal_slots_used"))
    graph = tuple(sorted({(place[a], place[b]) for a, b in edges}))
    fused_s, tasks = _fused(
        at, name, entry.get("fused", []), {task: specs[place[i]].name for i, task in enumerate(ids)}
    )
    application = Application(
        name, tuple(specs), graph, (), max_batch=1 << 30, goal_slots=GOAL_SLOTS, fused=tuple(tasks)
    )
    list_forms(application)
    return StudyApplication(application, tuple(ids[old] for old in order), tuple(measured), max(goal, 1), fused_s)


def _fused(at: str, app: str, raw: Any, names: Mapping[Any, str]) -> tuple[dict[str, float], list[FusedTask]]:
    if not isinstance(raw, list):
        raise InvalidRequest(f"{at}.fused is not a list", field=f"{at}.fused")
    found_s: dict[str, float] = {}
    tasks = []
    for number, entry in enumerate(raw):
        where = f"{at}.fused[{number}]"
        row = _mapping(entry, where)
        covers, name = row.get("covers"), str(row.get("name", ""))
        if not isinstance(covers, list) or len(covers) < 2 or any(each not in names for each in covers):
            message = f"{where}.covers: {covers!r} is not a list of two task ids or more"
            raise InvalidRequest(message, field=f"{where}.covers", allowed=[str(each) for each in names])
        if not name or name in found_s or name in names.values():
            raise InvalidRequest(f"{where}.name: {name!r} is no name of its own", field=f"{where}.name")
        real_us = row.get("measured_us", row.get("estimate_us"))
        estimate_s = _number(row.get("estimate_us", real_us), f"{where}.estimate_us") * 1e-6
        found_s[name] = _number(real_us, f"{where}.measured_us") * 1e-6
        covered = tuple(names[each] for each in covers)
        tasks.append(FusedTask(name, f"{app}.{name}", covered, (), estimate_s, TIME_LIMIT_S))
    return found_s, tasks


def _edges(at: str, raw: Any, place: Mapping[Any, int]) -> list[tuple[int, int]]:
    if not isinstance(raw, list):
        raise InvalidRequest(f"{at}.edges is not a list", field=f"{at}.edges")
    edges = []
    for number, edge in enumerate(raw):
        ends = edge if isinstance(edge, list) and len(edge) == 2 else [None]
        if any(isinstance(end, bool) or not isinstance(end, (int, str)) or end not in place for end in ends):
            raise InvalidRequest(
                f"{at}.edges[{number}]: {edge!r} is not a pair of task ids", field=f"{at}.edges[{number}]"
            )
        edges.append((place[edge[0]], place[edge[1]]))
    return edges


def _mapping(value: Any, at: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidRequest(f"{at}: an object is needed", field=at)
    return value


def _id(value: Any, at: str) -> int | str:
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise InvalidRequest(f"{at}: {value!r} is neither a whole number nor a name", field=at)
    return value


def _number(value: Any, at: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value < 0:
        raise InvalidRequest(f"{at}: {value!r} is not a number from 0", field=at)
    return float(value)
