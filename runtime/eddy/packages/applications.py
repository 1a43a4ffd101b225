# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Application packages: `bitstreams/applications/<name>.yaml`, read into `eddy.core.applications.Application`.

::

    application: image_compression
    max_batch: 30
    goal_slots: 3
    goals: {1: 1, 8: 2}
    buffers:
      image: {role: input, dtype: u1, shape: [128, 128]}
      shifted: {role: intermediate, dtype: "<i2", shape: [256, 8, 8]}
    tasks:
      - name: level_shift
        module: level_shift
        arguments: {in: image, out: shifted, width: 128, height: 128}
        estimate_us: 50
        time_limit_ms: 20
    edges: [[level_shift, dct]]
    fused:
      - name: front
        module: image_front
        covers: [level_shift, dct]
        arguments: {in: image, out: coefficients, width: 128, height: 128}
        estimate_us: 80
        time_limit_ms: 20

A fused task is a module that does what several tasks do; the hypervisor uses it in their place where a job ends earlier
so. Tasks may stand in any order; they get their ids in a topological order, ties going to the one that stands first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eddy.core.applications import Application, BufferRole, BufferSpec, FusedTask, TaskSpec, topological_order
from eddy.core.errors import InvalidRequest
from eddy.core.fusion import fuse_tasks
from eddy.core.units import format_bytes
from eddy.packages import fields

DTYPES = ("u1", "i1", "<u2", "<i2", "<u4", "<i4", "<u8", "<i8", "<f4", "<f8")
"""Element types a buffer may have: little-endian, as the boards are."""
MAX_BUFFER_BYTES = 1 << 30
"""Largest buffer of one item; no board of ours has more memory to spare."""
FIELDS = ("application", "summary", "max_batch", "goal_slots", "goals", "buffers", "tasks", "edges", "fused")


def load_application(path: str | Path) -> Application:
    """Read an application package.

    Raises:
        InvalidRequest: It cannot be read, or a field is wrong; `field` names it and `allowed` what it may be.
    """
    return parse_application(fields.read_yaml(Path(path)))


def load_constants(path: str | Path, application: Application) -> dict[str, bytes]:
    """What a package ships for constant buffers: `<name>/<buffer>.bin` beside its `<name>.yaml`; the rest tenants give.

    Args:
        path: The package's `.yaml`.
        application: What `load_application` read from it.

    Raises:
        InvalidRequest: A file has not its buffer's size.
    """
    found = {}
    for spec in application.buffers:
        file = Path(path).with_suffix("") / f"{spec.name}.bin"
        if spec.role is BufferRole.CONSTANT and file.is_file():
            found[spec.name] = file.read_bytes()
            if len(found[spec.name]) != spec.bytes:
                message = (
                    f"{file} has {format_bytes(len(found[spec.name]))}; buffer {spec.name} takes"
                    f" {format_bytes(spec.bytes)}"
                )
                raise InvalidRequest(message, field=f"buffers.{spec.name}", allowed=spec.bytes)
    return found


def parse_application(raw: Any) -> Application:
    """Turn a package's mapping (from YAML or JSON) into an application.

    Raises:
        InvalidRequest: A field is missing, unknown or wrong.
    """
    raw = fields.mapping(raw, "application")
    fields.check_names(raw, FIELDS)
    buffers = tuple(_buffer(str(n), b) for n, b in fields.mapping(raw.get("buffers"), "buffers").items())
    tasks = fields.sequence(raw.get("tasks"), "tasks")
    if not tasks:
        raise InvalidRequest("an application has at least one task", field="tasks")
    names = [fields.name(fields.mapping(t, f"tasks[{i}]").get("name"), f"tasks[{i}].name") for i, t in enumerate(tasks)]
    fields.unique(names, "tasks")
    edges = [_edge(e, i, names) for i, e in enumerate(fields.sequence(raw.get("edges", []), "edges"))]
    order = topological_order(len(names), edges, "edges")
    place = {old: new for new, old in enumerate(order)}
    known = {b.name for b in buffers}
    application = Application(
        name=fields.name(raw.get("application"), "application"),
        tasks=tuple(_task(place[i], tasks[i], known) for i in order),
        edges=tuple(sorted({(place[a], place[b]) for a, b in edges})),
        buffers=buffers,
        max_batch=fields.integer(raw.get("max_batch", 30), "max_batch", 1, 1 << 20),
        goal_slots=fields.integer(raw.get("goal_slots", 3), "goal_slots", 1, 64),
        goals=_goals(raw.get("goals", {})),
        fused=_fused(raw.get("fused", []), names, known),
    )
    for task in application.fused:
        fuse_tasks(application, (task,))
    return application


def _fused(raw: Any, names: Sequence[str], buffers: set[str]) -> tuple[FusedTask, ...]:
    found = []
    for number, entry in enumerate(fields.sequence(raw, "fused")):
        entry = fields.mapping(entry, f"fused[{number}]")
        fields.name(entry.get("name"), f"fused[{number}].name")
        task, place = _task(number, entry, buffers, "fused"), f"fused.{entry['name']}.covers"
        covers = [str(fields.choice(each, place, names)) for each in fields.sequence(entry.get("covers"), place)]
        fields.unique(covers, place)
        if len(covers) < 2:
            raise InvalidRequest(f"{place}: a fused task covers at least two tasks", field=place, allowed=list(names))
        found.append(
            FusedTask(task.name, task.module, tuple(covers), task.arguments, task.estimate_s, task.time_limit_s)
        )
    fields.unique([*names, *(task.name for task in found)], "fused")
    return tuple(found)


def _goals(raw: Any) -> tuple[tuple[int, int], ...]:
    """Saturation points by batch; JSON has it as text."""
    pairs = [
        (fields.integer(_parse_integer(batch), "goals", 1, 1 << 20), fields.integer(goal, f"goals.{batch}", 1, 64))
        for batch, goal in fields.mapping(raw, "goals").items()
    ]
    return tuple(sorted(pairs))


def _buffer(name: str, raw: Any) -> BufferSpec:
    field = f"buffers.{name}"
    raw = fields.mapping(raw, field)
    role = BufferRole(fields.choice(raw.get("role"), f"{field}.role", [r.value for r in BufferRole]))
    dtype = str(fields.choice(raw.get("dtype"), f"{field}.dtype", DTYPES))
    shape = tuple(
        fields.integer(n, f"{field}.shape", 1, MAX_BUFFER_BYTES)
        for n in fields.sequence(raw.get("shape"), f"{field}.shape")
    )
    size = math.prod(shape) * int(dtype[-1])
    if size > MAX_BUFFER_BYTES:
        raise InvalidRequest(
            f"{field} takes {format_bytes(size)}",
            field=f"{field}.shape",
            allowed=f"<= {format_bytes(MAX_BUFFER_BYTES)}",
        )
    picture = bool(fields.choice(raw.get("picture", False), f"{field}.picture", [False, True]))
    if picture and (dtype != "u1" or len(shape) != 2 or role not in (BufferRole.INPUT, BufferRole.OUTPUT)):
        allowed = "inputs and outputs of dtype u1 with two dimensions"
        raise InvalidRequest(f"{field} is no picture", field=f"{field}.picture", allowed=allowed)
    return BufferSpec(fields.name(name, field), role, size, dtype, shape, picture)


def _task(number: int, raw: Mapping[str, Any], buffers: set[str], where: str = "tasks") -> TaskSpec:
    name = str(raw["name"])
    field = f"{where}.{name}"
    arguments: list[tuple[str, str | int]] = []
    for register, value in fields.mapping(raw.get("arguments", {}), f"{field}.arguments").items():
        place = f"{field}.arguments.{register}"
        if isinstance(value, bool) or not isinstance(value, (int, str)):
            raise InvalidRequest(f"{place} must be a buffer's name or an integer", field=place)
        if isinstance(value, str) and value not in buffers:
            raise InvalidRequest(f"{place}: no buffer {value}", field=place, allowed=sorted(buffers))
        arguments.append((str(register), value))
    return TaskSpec(
        id=number,
        name=name,
        module=fields.name(raw.get("module", name), f"{field}.module"),
        arguments=tuple(arguments),
        estimate_s=fields.positive(raw.get("estimate_us"), f"{field}.estimate_us") * 1e-6,
        time_limit_s=fields.positive(raw.get("time_limit_ms"), f"{field}.time_limit_ms") * 1e-3,
    )


def _edge(raw: Any, index: int, names: Sequence[str]) -> tuple[int, int]:
    field = f"edges[{index}]"
    pair = fields.sequence(raw, field)
    if len(pair) != 2 or pair[0] == pair[1]:
        raise InvalidRequest(f"{field} must be [from, to], two different tasks", field=field)
    first, second = (names.index(fields.choice(end, field, names)) for end in pair)
    return first, second


def _parse_integer(value: Any) -> Any:
    """The number a short text of digits is; anything else as it is."""
    return int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 10 else value
