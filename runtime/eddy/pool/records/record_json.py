# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The pool's records as JSON, as JetStream keeps them.

Fields that a later release added are passed over, so heads and boards of two releases can share a pool. What cannot be
read, or makes no sense, is refused here, so that nobody who works with a record need look again.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import TypeAdapter

from eddy.api.answers.schemas import Kernel
from eddy.core.board_constraints import label_rules
from eddy.core.errors import StorageDamaged
from eddy.core.submission_options import ECHOED, Option
from eddy.pool.records.records import FINAL, PLACED, QUEUED, RUNNING, PoolBoard, PoolJob

T = TypeVar("T")
_encode = json.JSONEncoder(separators=(",", ":"), default=dataclasses.asdict).encode
MOST = 1e15
"""No date, time or rate is as large."""
NO_SENSE = (AttributeError, IndexError, KeyError, OverflowError, RecursionError, TypeError, ValueError)
"""What reading of bytes raises that are no record."""


class UnreadableRecord(StorageDamaged):
    """A record of the pool cannot be read: it is damaged, or a later release wrote it otherwise."""


def unreadable_record_error(bucket: str, key: str, why: BaseException | str) -> UnreadableRecord:
    """Say that a record cannot be read."""
    message = f"The pool's record {key} in {bucket} cannot be read: an operator can restore it, or take it away."
    return UnreadableRecord(message, record=f"{bucket}/{key}", cause=str(why)[:200])


def parse_json(data: bytes | None) -> Any:
    """JSON in which each number is one.

    Raises:
        ValueError: It is something else.
    """
    return json.loads(data or b"{}", parse_constant=_finite, parse_float=_finite)


def _finite(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise ValueError(f"{text} is no number")
    return value


@functools.lru_cache(None)
def _reader(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def value_from_json(kind: type[T], raw: Any) -> T:
    """A value of a class of ours, as JSON has it; fields that this release has not are passed over.

    Raises:
        ValueError, TypeError: It makes no sense.
    """
    which: Any = kind
    value: T = _reader(which).validate_python(known_fields(kind, raw))
    return value


def known_fields(kind: Any, raw: Mapping[str, Any]) -> dict[str, Any]:
    """Of what a record says, the fields that this release has."""
    names = _names(kind)
    return {name: value for name, value in raw.items() if name in names}


@functools.lru_cache(None)
def _names(kind: Any) -> Mapping[str, None]:
    """Of its fields, in order."""
    return {each.name: None for each in dataclasses.fields(kind)}


def to_json(record: PoolJob | PoolBoard) -> bytes:
    """As JetStream keeps it."""
    kind: Any = type(record)
    return _encode({name: getattr(record, name) for name in _names(kind)}).encode()


def job_from_json(data: bytes | None, key: str = "") -> PoolJob:
    """The job that `to_json` gave.

    Args:
        key: Of its entry; "" where it comes from elsewhere.

    Raises:
        UnreadableRecord: It is none.
    """
    try:
        job = value_from_json(PoolJob, parse_json(data))
        _check(job, key)
    except NO_SENSE as wrong:
        raise unreadable_record_error("eddy_jobs", key, wrong) from wrong
    return job


def _check(job: PoolJob, key: str) -> None:
    """See that whatever is asked of a job has an answer.

    Raises:
        ValueError, TypeError, KeyError: Something has none.
    """
    request, kernel, error = job.request, job.request.get("kernel"), job.error
    labels, inputs, constants = (request.get(name, {}) for name in ("labels", "inputs", "constants"))
    dates = job.submitted_unix_s, job.started_unix_s, job.ended_unix_s, job.cancel_asked_unix_s, job.collected_unix_s
    times = [time_s for part in job.parts for time_s in (part.started_unix_s, part.ended_unix_s)]
    moved = [move.get("at_unix_s", 0.0) for move in job.moves]
    waits = (*request.get("after", ()), *request.get("waits", ()))
    counts = request.get("priority", 1), job.token, *(each.id for each in job.after), request.get("batch", 1)
    texts = *labels.values(), *job.blobs, job.work, *(move[name] for move in job.moves for name in ("from", "because"))
    label_rules(request.get("board_labels") or "")
    sensible = (
        not key or key == str(job.id),
        job.state in (QUEUED, PLACED, RUNNING, *FINAL),
        bool(job.board) or job.state not in (PLACED, RUNNING),
        job.batch >= 1,
        all(part.items >= 1 for part in job.parts),
        all(each is None or _is_finite(each) for each in (*dates, *times, *moved, job.bps, job.deadline_s)),
        all(_is_count(each) for each in counts),
        job.max_running is None or _is_count(job.max_running),
        job.array is None or all(_is_count(each) for each in (job.array.id, job.array.index, job.array.size)),
        all(isinstance(each, str) for each in texts),
        all(isinstance(each, dict) for each in (labels, inputs, constants)),
        all(isinstance(each, list) for each in (*inputs.values(), (kernel or {}).get("arguments", []))),
        all(isinstance(each, int | list) for each in waits),
        all(_is_option(request.get(name, each.default), each) for name, each in ECHOED.items()),
        kernel is None or (isinstance(kernel, dict) and isinstance(kernel["kernel"], str)),
        job.kernel is None or bool(Kernel.model_validate(job.kernel)),
        error is None or all(isinstance(error.get(name), str) for name in ("code", "cause", "message")),
    )
    if not all(sensible):
        raise ValueError("it makes no sense")


def _is_option(value: Any, option: Option) -> bool:
    if value == option.default:
        return True
    number = option.type is float and isinstance(value, int)
    return (isinstance(value, option.type) or number) and (not option.choices or value in option.choices)


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | float) and abs(value) < MOST


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and 0 <= value < 1 << 63


def board_from_json(data: bytes | None, key: str = "") -> PoolBoard:
    """The board that `to_json` gave.

    Raises:
        UnreadableRecord: It is none.
    """
    try:
        raw = parse_json(data)
        return value_from_json(PoolBoard, {"computes": computes_by_kind(str(raw.get("kind"))), **raw})
    except NO_SENSE as wrong:
        raise unreadable_record_error("eddy_boards", key, wrong) from wrong


def computes_by_kind(kind: str) -> bool:
    """Whether a board computes that does not say, as those of earlier releases: its adapter tells."""
    return not kind.startswith("model")
