# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Between records and rows: how jobs and events are written into the database, and what one commit holds."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import operator
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from eddy.core.counters import CoreCounters
from eddy.core.jobs import JobState
from eddy.core.profiles import LaunchShape
from eddy.core.records import (
    APPLICATION,
    KERNEL,
    REQUESTED,
    JobEvent,
    JobEventKind,
    JobRecord,
    JobRequest,
    KernelOutput,
    KernelRecord,
)
from eddy.core.submission_options import NOTHING, SubmissionOptions
from eddy.store.db.damage import names_damage
from eddy.store.db.field_types import check_types

LOG = "/log"
"""Name under which the results hold what a kernel job printed; no argument of a kernel can be called so."""
RECORDS = 1024
"""Records that are remembered by their rows; lists are read again and again."""
INSERT_LABELS = "INSERT INTO label (tenant, name, value, submitted_us, job)"
INSERT_EVENTS = "INSERT INTO event (job, tenant, at_s, what, state, slot, task, item, started_s, detail)"
"""What `event_values` fills."""
INSERT_RESULTS = "INSERT INTO result (job, name, item, place, bytes, sha256)"

_FIELDS = tuple(each.name for each in dataclasses.fields(JobRecord))
_VALUES = operator.attrgetter(*_FIELDS)
"""Of a record, in order: a row is written with every step of a job."""
_ALWAYS = ("deadline_s", "priority")
"""Options that are written as well where nobody asked for them, as the first versions did: the text is hashed."""
_sorted = json.JSONEncoder(sort_keys=True).encode

ResultRow = tuple[int, str, int, int, int, str]
"""What `INSERT_RESULTS` takes: of bytes that are on disk."""


@dataclass(frozen=True, slots=True)
class StoredJob:
    """A job as a restarted hypervisor finds it.

    Attributes:
        cancel: Whether its end was asked for.
        snapshot: What the state machine needs beside the record; empty for a job it never saw.
    """

    request: JobRequest
    record: JobRecord
    cancel: bool
    snapshot: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ItemOutput:
    """The bytes of one output buffer after one item."""

    job: int
    name: str
    item: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Commit:
    """Everything one step of the hypervisor changes; written in one transaction.

    Attributes:
        jobs: Records that changed, each with its snapshot.
        events: New entries of the event log; their `seq` is given here.
        results: Outputs of items that are done; an item that is already there is refused.
        slots: Snapshots of slots that changed, by index.
        meta: Values to keep by name.
        kept: More results, whose outputs are on disk already (`Outputs.write`).
    """

    jobs: tuple[tuple[JobRecord, Mapping[str, Any]], ...] = ()
    events: tuple[JobEvent, ...] = ()
    results: tuple[ItemOutput, ...] = ()
    slots: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    meta: Mapping[str, str] = field(default_factory=dict)
    kept: tuple[ResultRow, ...] = ()

    @property
    def must_survive(self) -> bool:
        """Whether somebody may be told of it who relies on it: it must survive a loss of power, not this process only.

        That is so of results and ends. Of what lies between, a loss of power takes the board's part away too: jobs go
        on from their last results, wherever they were.
        """
        return bool(self.results or self.kept) or any(record.state.is_final for record, _ in self.jobs)


def dump_request(request: JobRequest) -> str:
    """A request as canonical JSON, without its idempotency key and what only some kinds of jobs have.

    Its kind is written as the first versions did, which read this too: a kernel's body as `kernel`, and a name only
    for kinds that are neither that nor an application.
    """
    body = {
        "application": request.application,
        "batch": request.batch,
        "constants": dict(request.constants),
        "inputs": {name: list(hashes) for name, hashes in request.inputs.items()},
        "tenant": request.tenant,
    }
    for name, option in REQUESTED.items():
        if name in _ALWAYS or getattr(request, name) != option.default:
            body[name] = getattr(request, name)
    if request.kind == KERNEL:
        body["kernel"] = request.body
    elif request.kind != APPLICATION:
        body |= {"other_kind": request.kind, **({} if request.body is None else {"body": request.body})}
    if request.asked != NOTHING:
        body["asked"] = request.asked.to_json()
    return _sorted(body)


def text_hash(text: str) -> str:
    """What tells two requests with the same idempotency key apart, of what `dump_request` made of them."""
    return hashlib.sha256(text.encode()).hexdigest()


@names_damage("a job's request")
def load_request(text: str) -> JobRequest:
    """The inverse of `dump_request`."""
    body = parse_object(text)
    body["inputs"] = {name: tuple(hashes) for name, hashes in body["inputs"].items()}
    body["asked"] = SubmissionOptions.from_json(body.get("asked", {}))
    kernel = body.pop("kernel", None)
    if kernel is not None:
        body |= {"kind": KERNEL, "body": kernel}
    elif "other_kind" in body:
        body["kind"] = body.pop("other_kind")
    return check_types(JobRequest(**body))


def parse_object(text: object) -> dict[str, Any]:
    """An object that was written as JSON.

    Raises:
        ValueError, TypeError, RecursionError: It is none.
    """
    if not isinstance(text, str):
        raise TypeError(f"it is no text but {type(text).__name__}")
    found = json.loads(text)
    if not isinstance(found, dict):
        raise TypeError(f"it is no object but {type(found).__name__}")
    return found


def dump_record(record: JobRecord) -> str:
    """A record as JSON."""
    body: dict[str, Any] = dict(zip(_FIELDS, _VALUES(record), strict=True))
    body["state"] = record.state.value
    body["waiting_s"] = dict(record.waiting_s)
    kernel, asked = body.pop("kernel"), body.pop("asked").to_json()
    if asked:
        body["asked"] = asked
    if kernel:
        body["kernel"] = _dump_kernel(kernel)
    if record.kind == _implied_kind(body):
        del body["kind"]
    if record.computed:
        del body["computed"]
    for name in ("retried", "cancel_asked_unix_s", "ended_unix_s", "held_by", "form", "unchecked"):
        if not body[name]:
            del body[name]
    if record.collected_unix_s is None:
        del body["collected_unix_s"]
    return json.dumps(body)


def _dump_kernel(kernel: KernelRecord) -> dict[str, Any]:
    body = dataclasses.asdict(kernel)
    for core in body["cores"]:
        core["others"] = dict(core["others"])
    if kernel.shape is None:
        del body["shape"]
    return body


def _implied_kind(body: Mapping[str, Any]) -> str:
    """The kind of a record that does not name it: all that older versions wrote, and what they would read."""
    return KERNEL if body.get("kernel") else APPLICATION


@names_damage("a job's record")
def load_record(text: str, number: int | None = None) -> JobRecord:
    """The inverse of `dump_record`; fields a newer version added get their defaults.

    Args:
        number: The job's id, where its row says it; None for the one written.
    """
    body = parse_object(text)
    if number is not None:
        body["id"] = number
    body["state"] = JobState(body["state"])
    body.setdefault("kind", _implied_kind(body))
    body["asked"] = SubmissionOptions.from_json(body.get("asked", {}))
    if body.get("kernel") is not None:
        body["kernel"] = _kernel(body["kernel"])
    if "unchecked" in body:
        body["unchecked"] = tuple(body["unchecked"])
    record = check_types(JobRecord(**body))
    if not 0 <= record.items_done <= record.batch or record.batch < 1:
        raise ValueError(f"{record.items_done} of {record.batch} items are done")
    return record


RECORD = (
    "job.id AS id, job.record AS record, job.cancel AS cancel, job.tenant AS tenant, job.state AS state,"
    " job.final AS final"
)
"""The columns `record_of` reads."""


def record_of(row: sqlite3.Row) -> JobRecord:
    """A record from its row. The same row gives the same record, while it is remembered.

    Raises:
        RecordDamaged: It is not what was written, or the row says otherwise whose it is or in which state.

    Whether the job's end was requested, and when, is the column's to say: who wrote the record may not have heard of
    it, as when the job ended meanwhile.
    """
    return _record(row["id"], row["record"], row["cancel"], row["tenant"], row["state"], row["final"])


@functools.lru_cache(maxsize=RECORDS, typed=True)
@names_damage("a job's row")
def _record(number: int, text: str, cancel: int, tenant: str, state: str, final: int) -> JobRecord:
    record = load_record(text, number)
    if (record.tenant, record.state.value, int(record.state.is_final)) != (tenant, state, final):
        raise ValueError(f"its columns say {tenant!r}, {state!r}, {final!r}")
    if type(cancel) is not int:
        raise TypeError(f"its cancellation was requested at {cancel!r:.40}")
    requested_unix_s = cancel_unix_s(cancel)
    return record if requested_unix_s is None else dataclasses.replace(record, cancel_asked_unix_s=requested_unix_s)


def cancel_unix_s(column: int) -> float | None:
    """When the end of a job was requested, as its row has it in microseconds; 1 in those of older versions."""
    return column / 1e6 if column > 1 else None


def _kernel(body: dict[str, Any]) -> KernelRecord:
    outputs = tuple(KernelOutput(**{**output, "shape": tuple(output["shape"])}) for output in body["outputs"])
    cores = tuple(
        CoreCounters(
            **{**core, "cycle_thread": tuple(core["cycle_thread"]), "others": tuple(core.get("others", {}).items())}
        )
        for core in body["cores"]
    )
    if len({len(core.cycle_thread) for core in cores}) > 1:
        raise ValueError("its cores have different lanes")
    shape = body.get("shape")
    if shape is not None:
        shape = LaunchShape(**{**shape, **{name: tuple(shape[name]) for name in ("global_size", "local_size")}})
    return KernelRecord(**{**body, "outputs": outputs, "cores": cores, "shape": shape})


def event_values(event: JobEvent) -> tuple[object, ...]:
    """The columns of table `event` after `seq`, in order."""
    return (
        event.job,
        event.tenant,
        event.at_s,
        event.what.value,
        event.state.value if event.state else None,
        event.slot,
        event.task,
        event.item,
        event.started_s,
        event.detail,
    )


def load_event(row: sqlite3.Row | Mapping[str, Any]) -> JobEvent:
    """An event from its row.

    Raises:
        RecordDamaged: It is not what was written.
    """
    return _event(dict(row))


@names_damage("an event")
def _event(body: dict[str, Any]) -> JobEvent:
    body["what"] = JobEventKind(body["what"])
    body["state"] = JobState(body["state"]) if body["state"] is not None else None
    if body["what"] is JobEventKind.DAMAGED:
        raise ValueError("no entry is written as damaged")
    return check_types(JobEvent(**body))


def damaged_event(row: sqlite3.Row) -> JobEvent:
    """What stands for an event that cannot be read: with its number, as far as they can be read its job and tenant."""
    job, tenant, at_s = row["job"], row["tenant"], row["at_s"]
    return JobEvent(
        row["seq"],
        job if isinstance(job, int) else 0,
        tenant if isinstance(tenant, str) else "",
        at_s if isinstance(at_s, float) else 0.0,
        JobEventKind.DAMAGED,
        detail="what was kept of this entry is damaged",
    )


@names_damage("what was known of a slot")
def load_snapshot(text: str) -> dict[str, Any]:
    """What the hypervisor last wrote about a slot."""
    return parse_object(text)


def microseconds(seconds: float) -> int:
    """A time as columns have it."""
    return round(seconds * 1e6)


def label_rows(records: Iterable[JobRecord]) -> list[tuple[str, str, str, int, int]]:
    """What `INSERT_LABELS` takes."""
    return [
        (record.tenant, name, value, microseconds(record.submitted_unix_s), record.id)
        for record in records
        for name, value in record.asked.labels.items()
    ]
