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

Tasks may stand in any order; they get their ids in a topological order, ties going to the one that stands first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from eddy.core.applications import Application, BufferRole, BufferSpec, TaskSpec
from eddy.core.errors import InvalidRequest

DTYPES = ("u1", "i1", "<u2", "<i2", "<u4", "<i4", "<u8", "<i8", "<f4", "<f8")
"""Element types a buffer may have: little-endian, as the boards are."""
MAX_BUFFER_BYTES = 1 << 30
"""Largest buffer of one item; no board of ours has more memory to spare."""
FIELDS = ("application", "summary", "max_batch", "goal_slots", "goals", "buffers", "tasks", "edges")


def load_application(path: str | Path) -> Application:
    """Read an application package.

    Raises:
        InvalidRequest: It cannot be read, or a field is wrong; `field` names it and `allowed` what it may be.
    """
    path = Path(path)
    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidRequest(f"cannot read {path}: {error.strerror}", field="path") from error
    except yaml.YAMLError as error:
        raise InvalidRequest(f"{path} is not YAML: {error}", field="path") from error
    return parse_application(raw)


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
                message = f"{file} has {len(found[spec.name])} bytes; buffer {spec.name} takes {spec.bytes}"
                raise InvalidRequest(message, field=f"buffers.{spec.name}", allowed=spec.bytes)
    return found


def parse_application(raw: Any) -> Application:
    """Turn a package's mapping (from YAML or JSON) into an application.

    Raises:
        InvalidRequest: A field is missing, unknown or wrong.
    """
    raw = _mapping(raw, "application")
    for name in raw:
        if name not in FIELDS:
            raise InvalidRequest(f"unknown field {name}", field=str(name), allowed=list(FIELDS))
    buffers = tuple(_buffer(str(n), b) for n, b in _mapping(raw.get("buffers"), "buffers").items())
    tasks = _list(raw.get("tasks"), "tasks")
    if not tasks:
        raise InvalidRequest("an application has at least one task", field="tasks")
    names = [_name(_mapping(t, f"tasks[{i}]").get("name"), f"tasks[{i}].name") for i, t in enumerate(tasks)]
    _unique(names, "tasks")
    edges = [_edge(e, i, names) for i, e in enumerate(_list(raw.get("edges", []), "edges"))]
    order = _topological(len(names), edges)
    place = {old: new for new, old in enumerate(order)}
    known = {b.name for b in buffers}
    return Application(
        name=_name(raw.get("application"), "application"),
        tasks=tuple(_task(place[i], tasks[i], known) for i in order),
        edges=tuple(sorted({(place[a], place[b]) for a, b in edges})),
        buffers=buffers,
        max_batch=_integer(raw.get("max_batch", 30), "max_batch", 1, 1 << 20),
        goal_slots=_integer(raw.get("goal_slots", 3), "goal_slots", 1, 64),
        goals=_goals(raw.get("goals", {})),
    )


def _goals(raw: Any) -> tuple[tuple[int, int], ...]:
    """Saturation points by batch; JSON has it as text."""
    pairs = [
        (_integer(_whole(batch), "goals", 1, 1 << 20), _integer(goal, f"goals.{batch}", 1, 64))
        for batch, goal in _mapping(raw, "goals").items()
    ]
    return tuple(sorted(pairs))


def _buffer(name: str, raw: Any) -> BufferSpec:
    field = f"buffers.{name}"
    raw = _mapping(raw, field)
    role = BufferRole(_choice(raw.get("role"), f"{field}.role", [r.value for r in BufferRole]))
    dtype = str(_choice(raw.get("dtype"), f"{field}.dtype", DTYPES))
    shape = tuple(_integer(n, f"{field}.shape", 1, MAX_BUFFER_BYTES) for n in _list(raw.get("shape"), f"{field}.shape"))
    size = math.prod(shape) * int(dtype[-1])
    if size > MAX_BUFFER_BYTES:
        raise InvalidRequest(f"{field} takes {size} bytes", field=f"{field}.shape", allowed=f"<= {MAX_BUFFER_BYTES}")
    return BufferSpec(_name(name, field), role, size, dtype, shape)


def _task(number: int, raw: Mapping[str, Any], buffers: set[str]) -> TaskSpec:
    name = str(raw["name"])
    field = f"tasks.{name}"
    arguments: list[tuple[str, str | int]] = []
    for register, value in _mapping(raw.get("arguments", {}), f"{field}.arguments").items():
        place = f"{field}.arguments.{register}"
        if isinstance(value, bool) or not isinstance(value, (int, str)):
            raise InvalidRequest(f"{place} must be a buffer's name or an integer", field=place)
        if isinstance(value, str) and value not in buffers:
            raise InvalidRequest(f"{place}: no buffer {value}", field=place, allowed=sorted(buffers))
        arguments.append((str(register), value))
    return TaskSpec(
        id=number,
        name=name,
        module=_name(raw.get("module", name), f"{field}.module"),
        arguments=tuple(arguments),
        estimate_s=_positive(raw.get("estimate_us"), f"{field}.estimate_us") * 1e-6,
        time_limit_s=_positive(raw.get("time_limit_ms"), f"{field}.time_limit_ms") * 1e-3,
    )


def _edge(raw: Any, index: int, names: Sequence[str]) -> tuple[int, int]:
    field = f"edges[{index}]"
    pair = _list(raw, field)
    if len(pair) != 2 or pair[0] == pair[1]:
        raise InvalidRequest(f"{field} must be [from, to], two different tasks", field=field)
    first, second = (names.index(_choice(end, field, names)) for end in pair)
    return first, second


def _topological(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """Task positions in an order in which every edge goes forward (Kahn's algorithm, smallest position first)."""
    order: list[int] = []
    left = list(range(count))
    while left:
        free = next((t for t in left if not any(b == t and a in left for a, b in edges)), None)
        if free is None:
            raise InvalidRequest("the edges form a cycle", field="edges")
        order.append(free)
        left.remove(free)
    return order


def _mapping(value: Any, field: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidRequest(f"{field} must be a mapping", field=field)
    return value


def _list(value: Any, field: str) -> Sequence[Any]:
    if not isinstance(value, (list, tuple)):
        raise InvalidRequest(f"{field} must be a list", field=field)
    return value


def _choice(value: Any, field: str, allowed: Sequence[Any]) -> Any:
    if value not in allowed:
        raise InvalidRequest(
            f"{field} is {value!r}; allowed: {', '.join(map(str, allowed))}", field=field, allowed=list(allowed)
        )
    return value


def _name(value: Any, field: str) -> str:
    if not isinstance(value, str) or not (value.isascii() and value.isidentifier()) or len(value) > 64:
        raise InvalidRequest(
            f"{field} is {value!r}; a name has ASCII letters, digits and underscores, at most 64", field=field
        )
    return value


def _unique(names: Sequence[str], field: str) -> None:
    for name in names:
        if names.count(name) > 1:
            raise InvalidRequest(f"{field}: {name} stands twice", field=field)


def _integer(value: Any, field: str, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InvalidRequest(
            f"{field} is {value!r}; allowed: integers from {low} to {high}", field=field, allowed=f"{low}..{high}"
        )
    return value


def _whole(value: Any) -> Any:
    """The number a short text of digits is; anything else as it is."""
    return int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 10 else value


def _positive(value: Any, field: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < float("inf"):
        raise InvalidRequest(f"{field} is {value!r}; it must be a positive number", field=field)
    return float(value)
