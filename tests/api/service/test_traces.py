# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Traces: a job's life as spans, made of its event log; OpenTelemetry is not imported where none is asked for."""

from __future__ import annotations

import ast
import dataclasses
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from eddy.api.service import traces
from eddy.api.service.server import Server, ServerSettings
from eddy.api.service.traces import export, open_tracer, pieces_of, trace_jobs
from eddy.core.errors import InvalidRequest
from eddy.core.jobs import JobState
from eddy.core.records import JobEvent, JobEventKind, JobRecord

RECORD = JobRecord(
    *(7, "ada", "invert", 2, 1, JobState.SUCCEEDED, 1000.0, 5.0),
    started_s=5.5,
    ended_s=8.0,
    waiting_s={"slot": 0.5},
    items_done=2,
)


def event(what: JobEventKind, start_s: float, end_s: float, item: int | None = None) -> JobEvent:
    return JobEvent(0, 7, "ada", end_s, what, slot=1, task=0, item=item, started_s=start_s)


EVENTS = [
    JobEvent(0, 7, "ada", 5.0, JobEventKind.SUBMITTED),
    event(JobEventKind.CONFIGURATION_FAILED, 5.5, 5.7),
    event(JobEventKind.CONFIGURED, 5.7, 6.0),
    event(JobEventKind.ITEM_DONE, 6.0, 7.0, 0),
    event(JobEventKind.ITEM_DONE, 7.0, 7.75, 1),
    JobEvent(0, 7, "ada", 8.0, JobEventKind.STATE, state=JobState.SUCCEEDED),
]


def test_a_jobs_life_from_its_event_log() -> None:
    found = [(piece.name, piece.start_s, piece.end_s, piece.ok) for piece in pieces_of(RECORD, EVENTS)]
    assert found == [
        ("submit", 5.0, 5.0, True),
        ("queue", 5.0, 5.5, True),
        ("load", 5.5, 5.7, False),
        ("load", 5.7, 6.0, True),
        ("run", 6.0, 7.0, True),
        ("run", 7.0, 7.75, True),
        ("collect", 7.75, 8.0, True),
    ]
    attributes = [dict(piece.attributes) for piece in pieces_of(RECORD, EVENTS)]
    assert attributes[1] == {"eddy.waiting_s.slot": 0.5}
    assert attributes[4] == {"eddy.slot": 1, "eddy.task": 0, "eddy.item": 0}


def test_a_job_that_never_had_a_slot_only_waited() -> None:
    never = dataclasses.replace(RECORD, state=JobState.CANCELLED, started_s=None, ended_s=6.0)
    found = [(piece.name, piece.start_s, piece.end_s) for piece in pieces_of(never, EVENTS[:1])]
    assert found == [("submit", 5.0, 5.0), ("queue", 5.0, 6.0), ("collect", 6.0, 6.0)]


def tracer() -> tuple[Any, Any]:
    """A tracer, and where its spans go."""
    sdk = pytest.importorskip("opentelemetry.sdk.trace", reason="the extra `otel` has the traces' library")
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    provider, kept = sdk.TracerProvider(), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    return provider.get_tracer("eddy"), kept


def test_spans_lie_within_their_job_at_its_wall_time(monkeypatch: pytest.MonkeyPatch) -> None:
    tool, kept = tracer()
    export(tool, dataclasses.replace(RECORD, cause="module-fault"), 7, EVENTS)
    *parts, root = kept.get_finished_spans()
    assert [span.name for span in parts] == ["submit", "queue", "load", "load", "run", "run", "collect"]
    assert {span.parent.span_id for span in parts} == {root.context.span_id}
    assert (root.start_time, root.end_time) == (1000 * 10**9, 1003 * 10**9)
    assert all(root.start_time <= span.start_time <= span.end_time <= root.end_time for span in parts)
    assert (root.attributes["eddy.job"], root.attributes["eddy.tenant"]) == (7, "ada")
    assert (root.status.description, parts[2].status.is_ok, parts[3].status.is_ok) == ("module-fault", False, True)
    kept.clear()
    monkeypatch.setattr(traces, "MAX_SPANS", 3)
    export(tool, RECORD, 7, EVENTS)
    *parts, root = kept.get_finished_spans()
    assert [span.name for span in parts] == ["submit", "queue", "collect"]
    assert root.attributes["eddy.spans_left_out"] == 4


@pytest.mark.anyio
async def test_every_job_that_ends_is_traced_once(server: Any) -> None:
    tool, kept = tracer()
    before = await server.submit()
    server.hypervisor.finish(server.store.jobs.get("ada", before["id"]), result=bytes(6))
    all_events, begun = server.hypervisor.following.all_events, anyio.Event()

    def watched(*arguments: Any) -> Any:
        begun.set()
        return all_events(*arguments)

    server.hypervisor.following.all_events = watched
    async with anyio.create_task_group() as group:
        group.start_soon(trace_jobs, server.app.state.context, tool)
        await begun.wait()
        for who in ("ada", "grace"):
            job = await server.submit(who)
            server.hypervisor.finish(server.store.jobs.get(who, job["id"]), result=bytes(6))
        while len([span for span in kept.get_finished_spans() if span.name == "job"]) < 2:
            await anyio.sleep(0.001)
        group.cancel_scope.cancel()
    roots = [span for span in kept.get_finished_spans() if span.name == "job"]
    assert [(span.attributes["eddy.job"], span.attributes["eddy.tenant"]) for span in roots] == [
        (2, "ada"),
        (3, "grace"),
    ]


def test_what_cannot_be_used_is_said_before_anything_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidRequest, match="OTLP/HTTP endpoint"):
        open_tracer("localhost:4317")
    # Another test may have imported it.
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    settings = ServerSettings("model", "tiny", "fcfs", tmp_path / "data", tmp_path, port=0, traces="http://127.0.0.1:9")
    with pytest.raises(InvalidRequest, match=r"pip install 'eddy-fpga\[otel\]'"):
        Server(settings)
    assert not (tmp_path / "data").exists()


def test_opentelemetry_is_imported_by_nothing_but_calls_that_need_it() -> None:
    runtime = Path(traces.__file__).parents[1]
    users = [path for path in runtime.rglob("*.py") if "from opentelemetry" in path.read_text(encoding="utf-8")]
    assert users == [Path(traces.__file__)]
    tree = ast.parse(users[0].read_text(encoding="utf-8"))
    at_import = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    assert len(at_import) > 5
    assert not [node for node in at_import if "opentelemetry" in ast.unparse(node)]
