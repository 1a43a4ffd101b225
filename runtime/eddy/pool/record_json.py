"""The pool's records as JSON, as JetStream keeps them.

Fields that a later release added are passed over, so heads and boards of two releases can share a pool.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from eddy.core.asked import ArrayPlace
from eddy.pool.records import JobPart, PoolBoard, PoolJob


def known(kind: Any, raw: Mapping[str, Any]) -> dict[str, Any]:
    """Of what a record says, the fields that this release has."""
    names = {each.name for each in dataclasses.fields(kind)}
    return {name: value for name, value in raw.items() if name in names}


def to_json(record: PoolJob | PoolBoard) -> bytes:
    """As JetStream keeps it."""
    return json.dumps(dataclasses.asdict(record), separators=(",", ":")).encode()


def job_from_json(data: bytes) -> PoolJob:
    """The job that `to_json` gave."""
    raw = known(PoolJob, json.loads(data))
    array = raw.get("array")
    return PoolJob(
        **{
            **raw,
            "parts": tuple(_part(known(JobPart, part)) for part in raw["parts"]),
            "moves": tuple(raw["moves"]),
            "array": None if array is None else ArrayPlace(**array),
        }
    )


def _part(raw: Mapping[str, Any]) -> JobPart:
    return JobPart(**{**raw, "unchecked": tuple(raw.get("unchecked", ()))})


def board_from_json(data: bytes) -> PoolBoard:
    """The board that `to_json` gave."""
    raw = known(PoolBoard, json.loads(data))
    lists = {name: tuple(raw[name]) for name in ("applications", "modules", "running")}
    return PoolBoard(**{**raw, **lists})
