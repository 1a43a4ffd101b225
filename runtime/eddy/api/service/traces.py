# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A trace of every job that ends, for OpenTelemetry: submit, queue, load, run, collect. Needs the extra `otel`.

Spans are made of the job's event log once it has ended, so nothing is measured twice and the engine knows nothing of
them. Their length is board time; they begin at the job's submission by wall time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio.to_thread
import structlog

from eddy.api.dependencies.context import Context
from eddy.core.errors import EddyError, InvalidRequest
from eddy.core.records import JobEvent, JobEventKind, JobRecord
from eddy.host.distribution import install_hint

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

MAX_SPANS = 1000
"""Spans of one job, at most; the root says how many were left out."""
_EVENTS = 100_000
_ENDS: Mapping[JobEventKind, tuple[str, bool]] = {
    JobEventKind.CONFIGURED: ("load", True),
    JobEventKind.CONFIGURATION_FAILED: ("load", False),
    JobEventKind.ITEM_DONE: ("run", True),
    JobEventKind.ITEM_FAILED: ("run", False),
}
_log = structlog.get_logger("eddy.api")


@dataclass(frozen=True, slots=True)
class TraceSegment:
    """A part of a job's life, in board seconds."""

    name: str
    start_s: float
    end_s: float
    attributes: Mapping[str, Any]
    ok: bool = True


def pieces_of(record: JobRecord, events: Sequence[JobEvent]) -> tuple[TraceSegment, ...]:
    """The life of a job that has ended: `submit`, `queue`, each `load` and `run`, `collect`."""
    ended_s = record.arrival_s if record.ended_s is None else record.ended_s
    first_s = ended_s if record.started_s is None else record.started_s
    waits = {f"eddy.waiting_s.{cause}": spent for cause, spent in record.waiting_s.items()}
    worked = tuple(_worked(events))
    last_s = max((piece.end_s for piece in worked if piece.name == "run"), default=ended_s)
    submitted = TraceSegment(
        "submit", record.arrival_s, record.arrival_s, {"eddy.submitted_unix_s": record.submitted_unix_s}
    )
    return (
        submitted,
        TraceSegment("queue", record.arrival_s, first_s, waits),
        *worked,
        TraceSegment("collect", min(last_s, ended_s), ended_s, {"eddy.items_done": record.items_done}),
    )


def _worked(events: Sequence[JobEvent]) -> Iterator[TraceSegment]:
    for event in events:
        if event.what in _ENDS and event.started_s is not None:
            name, ok = _ENDS[event.what]
            known = {"slot": event.slot, "task": event.task, "item": event.item, "detail": event.detail or None}
            attributes = {f"eddy.{each}": value for each, value in known.items() if value is not None}
            yield TraceSegment(name, event.started_s, event.at_s, attributes, ok)


def export(tracer: Tracer, record: JobRecord, number: int, events: Sequence[JobEvent]) -> None:
    """Hand a job's spans to a tracer, under the number that the job is told as."""
    from opentelemetry.trace import Status, StatusCode, set_span_in_context

    def at_ns(board_s: float) -> int:
        return int((record.submitted_unix_s + board_s - record.arrival_s) * 1e9)

    pieces = pieces_of(record, events)
    attributes = {
        "eddy.job": number,
        "eddy.tenant": record.tenant,
        "eddy.application": record.application,
        "eddy.state": record.state.value,
        "eddy.spans_left_out": max(len(pieces) - MAX_SPANS, 0),
    }
    root = tracer.start_span("job", start_time=at_ns(record.arrival_s), attributes=attributes)
    if record.cause:
        root.set_status(Status(StatusCode.ERROR, record.cause))
    within = set_span_in_context(root)
    kept = pieces if len(pieces) <= MAX_SPANS else (*pieces[: MAX_SPANS - 1], pieces[-1])
    for piece in kept:
        span = tracer.start_span(piece.name, within, start_time=at_ns(piece.start_s), attributes=dict(piece.attributes))
        if not piece.ok:
            span.set_status(Status(StatusCode.ERROR))
        span.end(at_ns(piece.end_s))
    root.end(at_ns(record.ended_s if record.ended_s is not None else record.arrival_s))


def open_tracer(endpoint: str) -> tuple[Tracer, Callable[[], None]]:
    """A tracer that sends to an OTLP/HTTP endpoint from a thread of its own, and what ends it.

    Raises:
        InvalidRequest: OpenTelemetry is not installed, or that is no address.
    """
    if not endpoint.startswith(("http://", "https://")):
        message = f"--traces is {endpoint!r}: name an OTLP/HTTP endpoint, as http://127.0.0.1:4318/v1/traces"
        raise InvalidRequest(message, field="traces")
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ModuleNotFoundError as missing:
        message = f"{missing.name} is not installed here; install it with `{install_hint('otel')}`."
        raise InvalidRequest(message, field="traces") from missing
    provider = TracerProvider(resource=Resource.create({"service.name": "eddy"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint)))
    return provider.get_tracer("eddy"), provider.shutdown


async def trace_jobs(context: Context, tracer: Tracer) -> None:
    """Export every job that ends from now on, until cancelled; what cannot be exported harms nobody."""
    after = await anyio.to_thread.run_sync(context.store.events.before_last, None, 0)
    async for event in context.hypervisor.following.all_events(after):
        if event.what is JobEventKind.STATE and event.state is not None and event.state.is_final:
            try:
                await anyio.to_thread.run_sync(_export, context, tracer, event)
            except EddyError as error:
                _log.warning(
                    "a job's trace was not exported",
                    job=context.store.numbers.job.public_id(event.job),
                    cause=error.message,
                )


def _export(context: Context, tracer: Tracer, event: JobEvent) -> None:
    record = context.store.jobs.get(event.tenant, event.job)
    export(
        tracer,
        record,
        context.store.numbers.job.public_id(record.id),
        context.store.events.list_events(event.tenant, event.job, limit=_EVENTS),
    )
