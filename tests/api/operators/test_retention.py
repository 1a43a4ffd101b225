# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Room for outputs: the oldest ends go first, nothing of jobs under way, and a job says that its outputs went."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

import anyio
import pytest
from eddy.api.dependencies.context import Context
from eddy.api.service import retention
from eddy.api.service.retention import collect
from eddy.core.errors import NotFound, OutputsCollected, StorageFull
from eddy.core.jobs import JobState
from eddy.store.db.rows import LOG, Commit, ItemOutput
from eddy.store.job_tables.outputs import OutputFile
from eddy.store.job_tables.retention import EvictionCandidate

pytestmark = pytest.mark.anyio

OUT = bytes(6)


def limit(server: Any, quota: int) -> Context:
    context: Context = server.app.state.context
    context.settings = dataclasses.replace(context.settings, max_output_bytes=quota)
    return context


def files(server: Any) -> set[str]:
    folder = server.store.outputs.folder
    return set(os.listdir(folder)) if folder.exists() else set()


async def ended(server: Any, count: int, **outputs: bytes) -> list[int]:
    found = []
    for _ in range(count):
        job = await server.submit()
        server.hypervisor.finish(server.store.jobs.get("ada", job["id"]), **(outputs or {"result": OUT}))
        found.append(job["id"])
    return found


async def test_the_oldest_ends_go_first_and_say_so(server: Any) -> None:
    first, second = (await server.submit())["id"], (await server.submit())["id"]
    for job in (second, first):  # the younger one ends first
        server.hypervisor.finish(server.store.jobs.get("ada", job), result=OUT)
    (third,) = await ended(server, 1)
    context = limit(server, 17)
    assert server.store.retention.kept_bytes == 18
    assert collect(context)
    assert server.store.retention.kept_bytes == 12
    assert files(server) == {f"{first}.result", f"{third}.result"}
    async with server.client() as client:
        gone = (await client.get(f"/v1/jobs/{second}")).json()
        assert (gone["state"], gone["outputs"]) == ("succeeded", {})
        assert gone["collected_unix_s"] > 0
        answer = await client.get(f"/v1/jobs/{second}/outputs/result")
        assert (answer.status_code, answer.json()["code"]) == (410, "outputs-collected")
        assert f"job {second} were removed" in answer.json()["detail"]
        assert (await client.get(f"/v1/jobs/{second}/log")).status_code == 410
        kept = (await client.get(f"/v1/jobs/{first}")).json()
        assert (kept["collected_unix_s"], set(kept["outputs"])) == (None, {"result"})
        assert (await client.get(f"/v1/jobs/{first}/outputs/result")).content == OUT
    async with server.client("grace") as client:  # another tenant hears nothing of it
        assert (await client.get(f"/v1/jobs/{second}/outputs/result")).status_code == 404
    async with server.client("operator") as client:
        text = (await client.get("/metrics")).text
    assert "eddy_output_bytes 12.0" in text
    assert "eddy_outputs_collected_jobs_total 1.0" in text
    assert "eddy_outputs_collected_bytes_total 6.0" in text
    (entry,) = server.store.audit.entries()
    assert (entry.actor, entry.action) == ("", "collect-outputs")
    assert entry.facts == {"jobs": 1, "first": second, "last": second, "bytes": 6, "quota": 17}
    assert collect(context)
    assert len(server.store.audit.entries()) == 1, "nothing is done twice"


async def test_without_a_quota_everything_is_kept(server: Any) -> None:
    await ended(server, 2)
    assert collect(limit(server, 0))
    assert len(files(server)) == 2


async def test_jobs_under_way_and_blobs_keep_everything(server: Any) -> None:
    blob = await server.put(b"uploaded")
    job = await server.submit()
    record = server.store.jobs.get("ada", job["id"])
    running = dataclasses.replace(record, state=JobState.RUNNING, items_done=0)
    results = (ItemOutput(record.id, "result", 0, OUT), ItemOutput(record.id, LOG, 0, b"printed"))
    server.store.commit(Commit(jobs=((running, {}),), results=results))
    (other,) = await ended(server, 1)
    with server.store.blobs.upload("ada", "00" * 32) as upload:  # one that is under way
        upload.write(b"half")
        assert not collect(limit(server, 5)), "there is no room, and it is said"
        upload.write(b"whole")
    assert files(server) == {f"{record.id}.result", f"{record.id}.%2Flog"}
    assert server.store.blobs.get("ada", blob) == b"uploaded"
    with pytest.raises(OutputsCollected):
        server.store.outputs.read("ada", other, "result")
    # Once it has ended, it is a job like others.
    server.hypervisor.move(running, JobState.FAILED)
    assert collect(limit(server, 5))
    assert files(server) == set()
    with pytest.raises(OutputsCollected):
        server.store.outputs.log("ada", record.id)


async def test_a_download_that_has_begun_is_read_to_its_end(server: Any) -> None:
    (job,) = await ended(server, 1, result=bytes(600_000))
    pieces = server.store.outputs.file("ada", job, "result").pieces()
    size = len(next(pieces))
    collect(limit(server, 1))
    assert files(server) == set()
    assert size + sum(map(len, pieces)) == 600_000


@pytest.mark.parametrize("between", ["_parts", "_called", "_spans"])
async def test_outputs_that_go_while_somebody_asks_for_them_were_removed_and_are_not_damaged(
    server: Any, monkeypatch: pytest.MonkeyPatch, between: str
) -> None:
    """Whatever lies between the looks at the record, the rows and the file: 410, neither 404 nor 500."""
    (job,) = await ended(server, 1, result=bytes(6))
    holder = OutputFile if between == "_spans" else type(server.store.outputs)
    known, left = getattr(holder, between), [None]

    def collected_first(*asked: Any) -> Any:
        if left:
            left.clear()
            assert collect(limit(server, 1))
        return known(*asked)

    monkeypatch.setattr(holder, between, collected_first)
    async with server.client() as client:
        answer = await client.get(f"/v1/jobs/{job}/outputs/result")
    assert (answer.status_code, answer.json()["code"]) == (410, "outputs-collected")
    with pytest.raises(OutputsCollected):
        server.store.outputs.log("ada", job)


async def test_what_is_read_from_a_place_on_is_open_before_the_first_byte_is_asked_for(server: Any) -> None:
    (job,) = await ended(server, 1, result=bytes(range(250)) * 3000)
    pieces = server.store.outputs.file("ada", job, "result").read(10, 700_000)
    collect(limit(server, 1))
    assert files(server) == set()
    assert b"".join(pieces) == (bytes(range(250)) * 3000)[10:700_000]


async def test_what_a_crash_leaves_between_rows_and_files_is_swept(
    server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (job,) = await ended(server, 1)
    monkeypatch.setattr(Path, "unlink", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        collect(limit(server, 1))
    monkeypatch.undo()
    assert files(server) == {f"{job}.result"}
    with pytest.raises(OutputsCollected):
        server.store.outputs.read("ada", job, "result")
    assert [path.name for path in server.store.sweep()] == [f"{job}.result"]
    assert server.store.retention.kept_bytes == 0 == server.store.retention.counted_bytes()


async def test_a_disk_that_refuses_loses_nothing_and_is_asked_again(
    server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (job,) = await ended(server, 1)
    context = limit(server, 1)
    calls = 0

    def refuse(*_: Any) -> int:
        nonlocal calls
        calls += 1
        raise StorageFull("the disk is full")

    monkeypatch.setattr(retention, "LONG_S", 0.001)
    with monkeypatch.context() as patched:
        patched.setattr(server.store.retention, "collect", refuse)
        async with anyio.create_task_group() as group:
            group.start_soon(retention.keep_within_quota, context)
            while calls < 2:
                await anyio.sleep(0.001)
            group.cancel_scope.cancel()
    assert server.store.outputs.read("ada", job, "result") == OUT
    async with anyio.create_task_group() as group:
        group.start_soon(retention.keep_within_quota, context)
        while files(server):
            await anyio.sleep(0.001)
        group.cancel_scope.cancel()
    assert files(server) == set()


async def test_many_jobs_go_in_parts_and_what_went_meanwhile_is_passed_over(
    server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eddy.store.job_tables.retention.BATCH", 2)
    monkeypatch.setattr("eddy.store.job_tables.retention.MAX_NAMED", 3)
    await ended(server, 8)
    assert collect(limit(server, 6))
    assert server.store.retention.kept_bytes == 0  # 90 % of six bytes hold none of the eight
    assert server.store.retention.collect([EvictionCandidate(1, 6), EvictionCandidate(99, 6)]) == 0
    with pytest.raises(NotFound):
        server.store.jobs.get("ada", 99)
