# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Records of a pool that are damaged: each is refused as a whole, or is one that everybody can deal with."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from eddy.core.submission_options import ArrayPlace, Condition
from eddy.core.tenants import ApiKey, KeyScope
from eddy.pool.jetstream.jobs import JobEntry, PoolJobs
from eddy.pool.jetstream.naming import _read
from eddy.pool.jetstream.store_anomalies import StoreAnomalies
from eddy.pool.jetstream.tenant_keys import _decoded, _encoded
from eddy.pool.jetstream.tenants import PoolTenant
from eddy.pool.mirror.board_drops import after_recall
from eddy.pool.mirror.mirror import Mirror
from eddy.pool.records.record_json import UnreadableRecord, board_from_json, job_from_json, to_json
from eddy.pool.records.records import JobPart, PoolBoard, PoolJob
from eddy.pool.routes.rendering import explain_placement, render_explanation, render_job
from nats.js.kv import KeyValue

INSTEAD: tuple[Any, ...] = (
    None,
    -1,
    0,
    1 << 70,
    0.5,
    "x",
    "nan",
    "",
    True,
    [],
    ["x"],
    [None],
    {},
    {"x": None},
    [[]],
    float("nan"),
)
"""What may stand in place of a value."""
REQUEST = {
    "application": "a", "batch": 4, "priority": 3, "inputs": {"x": ["s1", "s2"]}, "constants": {"c": "s3"},
    "labels": {"run": "7"}, "after": [3],
    "waits": [[4, Condition.END.value, False], [5, Condition.FAILURE.value, True]],
    "max_running": 2, "deadline_s": 9.5, "late": "end",
}  # fmt: skip
KERNEL = {"kernel": {"kernel": "k", "arguments": [{"buffer": "s3"}, {"value": 3}]}}


def jobs() -> list[PoolJob]:
    """One of each kind and state."""
    queued = PoolJob(7, "ada", REQUEST, 100.0, array=ArrayPlace(6, 1, 3))
    placed = queued.place_on("b1", 1e6, {"policy": "prompt", "starts_in_s": 1.0})
    running = placed.start(placed.token, 101.0).recall("its lease ended", 102.0).place_on("b2", 0.0, {})
    half = running.commit_part(JobPart(0, 2, {"y": "s9"}, "b2", running.token, 103.0, 104.0))
    failed = half.failed(half.token, {"code": "job-failed", "cause": "x", "message": "m"}, 105.0)
    kernel = PoolJob(7, "eve", KERNEL, 100.0).cancelled(101.0)
    return [queued, placed, half, failed, kernel]


def damaged(value: Any) -> Iterator[Any]:
    """What a value may have become: each part of it gone, or something else."""
    yield from INSTEAD
    if isinstance(value, dict):
        for name in value:
            rest = {key: each for key, each in value.items() if key != name}
            yield rest
            yield from ({**rest, name: each} for each in damaged(value[name]))
    elif isinstance(value, list):
        for place in range(len(value)):
            yield value[:place] + value[place + 1 :]
            yield from ([*value[:place], each, *value[place + 1 :]] for each in damaged(value[place]))


def mirror() -> Mirror:
    link: Any = SimpleNamespace(reconnects=0, troubles=StoreAnomalies())
    return Mirror(link, "head")


def entry_of(job: PoolJob, revision: int) -> JobEntry:
    return JobEntry(str(job.id), job, revision, 0, to_json(job))


def deals_with(mirror: Mirror, job: PoolJob) -> None:
    """Whatever heads do with a record."""
    mirror._heard_of_job(entry_of(job, 1))
    render_job(job, lambda number: number)
    explain_placement(job, job.id, everyone=True)
    render_explanation(job, job.id, 200.0, None)
    after_recall(job, 200.0)
    mirror.jobs.in_turn([], {}, None)
    mirror.jobs.jobs_to_end(1e9)
    assert json.loads(to_json(job))


@pytest.mark.parametrize("kind", range(5))
def test_a_damaged_job_is_refused_or_is_one_that_everybody_can_deal_with(kind: int) -> None:
    whole = json.loads(to_json(jobs()[kind]))
    assert job_from_json(to_json(jobs()[kind]), "7") == jobs()[kind]
    known, refused, read = mirror(), 0, 0
    for raw in damaged(whole):
        data = json.dumps(raw).encode()
        try:
            job = job_from_json(data, "7")
        except UnreadableRecord:
            refused += 1
            continue
        read += 1
        deals_with(known, job)
        assert job_from_json(to_json(job), "7") == job
    assert refused > 100
    assert read > 50, "of much that changes nothing"


@pytest.mark.parametrize("data", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b"null", b'{"id": 7}', b"7", b'"x"'])
def test_bytes_that_are_no_record_are_refused_wherever_they_stand(data: bytes) -> None:
    for read in (
        lambda: job_from_json(data, "7"),
        lambda: board_from_json(data, "b1"),
        lambda: PoolTenant.decode(data, "ada"),
        lambda: _decoded("0" * 64, data),
        lambda: _read(data),
    ):
        with pytest.raises(UnreadableRecord):
            read()


def test_what_is_somebody_elses_record_is_not_taken_for_ones_own() -> None:
    with pytest.raises(UnreadableRecord):
        job_from_json(to_json(jobs()[0]), "8")
    with pytest.raises(UnreadableRecord):
        PoolTenant.decode(PoolTenant("ada").encode(), "eve")
    key = ApiKey("k1", "ada", "0" * 64, KeyScope.OPERATOR)
    assert _decoded("0" * 64, _encoded(key)) == key
    with pytest.raises(UnreadableRecord):
        _decoded("1" * 64, _encoded(key))


@pytest.mark.parametrize("weight", ["NaN", "1e999", "0", "-1", '"nan"', "null"])
def test_a_tenants_weight_is_a_number_that_can_be_divided_by(weight: str) -> None:
    whole = json.loads(PoolTenant("ada").encode())
    data = json.dumps({**whole, "weight": 77}).replace("77", weight).encode()
    with pytest.raises(UnreadableRecord):
        PoolTenant.decode(data, "ada")


def test_damaged_tenants_keys_and_boards_are_refused_or_whole() -> None:
    board = PoolBoard("b1", "k", 1, 1, ("a",), True, "s", modules=("m",), running=(3,))
    key = ApiKey("k1", "ada", "0" * 64, KeyScope.READ, "l", 1.0, 2.0, 3.0)
    for read, whole in (
        (lambda data: board_from_json(data, "b1"), json.loads(to_json(board))),
        (lambda data: PoolTenant.decode(data, "ada"), json.loads(PoolTenant("ada").encode())),
        (lambda data: _decoded("0" * 64, data), json.loads(_encoded(key))),
    ):
        seen = set[bool]()
        for raw in damaged(copy.deepcopy(whole)):
            try:
                read(json.dumps(raw).encode())
                seen.add(True)
            except UnreadableRecord:
                seen.add(False)
        assert seen == {True, False}


def entry(key: str, value: bytes | None, operation: str | None = None) -> KeyValue.Entry:
    return KeyValue.Entry("eddy_jobs", key, value, 5, 0, None, operation)


def test_what_cannot_be_read_is_counted_until_it_can_be_or_is_gone() -> None:
    link: Any = SimpleNamespace(troubles=StoreAnomalies())
    table, whole = PoolJobs(link), to_json(jobs()[0])
    for key, data in (("7", b"{"), ("x", whole), ("8", whole), ("9", None)):
        told = table._entry(entry(key, data))
        assert (told.job, told.gone) == (None, False)
    assert [each["key"] for each in link.troubles.list_unreadable()] == ["7", "8", "9", "x"]
    assert table._entry(entry("7", whole)).job == jobs()[0]
    assert table._entry(entry("8", None, "PURGE")).gone
    assert [each["key"] for each in link.troubles.list_unreadable()] == ["9", "x"]


def test_what_waits_for_a_job_whose_record_is_lost_has_waited_in_vain() -> None:
    first = PoolJob(1, "ada", {"application": "a"}, 0.0)
    after = replace(first, id=2, request={"application": "a", "after": [1]})
    others = replace(first, id=3)
    for gone in (False, True):
        known = mirror()
        for job in (first, after, others):
            known._heard_of_job(entry_of(job, job.id))
        assert [job.id for job in known.jobs.placeable_jobs] == [1, 3]
        known._heard_of_job(JobEntry("1", None, 4, 0, gone=gone))
        assert [job.id for job in known.jobs.placeable_jobs] == [3]
        assert [each.job.id for each in known.jobs.jobs_to_end(0.0)] == [2]
        assert not known.projection.has(1)
    new = mirror()  # a head that has just started cannot tell how it ended
    new._heard_of_job(JobEntry("1", None, 1, 0))
    new._heard_of_job(entry_of(after, 2))
    assert [each.job.id for each in new.jobs.jobs_to_end(0.0)] == [2]
