# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A pool's jobs on a board, over its real API: what is kept there, under whose key, and for how long."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from typing import Any

import pytest
from eddy.core.errors import QuotaExceeded, Unauthorized
from eddy.core.jobs import JobState
from eddy.pool.agent.local_board import LocalBoard
from eddy.pool.agent.runner import JobRun
from eddy.pool.connection.transfer import FetchedBlob
from eddy.pool.records.records import JobPart, PoolJob

pytestmark = pytest.mark.anyio
ITEM = 6


class Heads:
    """What a board asks heads; records are kept here, and changed as heads change them."""

    def __init__(self, *inputs: bytes) -> None:
        self.blobs = {hashlib.sha256(data).hexdigest(): data for data in inputs}
        self.jobs = {
            number: PoolJob(
                number, "ada", {"application": "invert", "batch": len(data) // ITEM, "inputs": {"image": [sha]}}, 0.0
            ).place_on("b", 0.0, {})
            for number, (sha, data) in enumerate(self.blobs.items(), 1)
        }

    async def fetch(self, job: PoolJob, sha256: str) -> FetchedBlob:
        return FetchedBlob(self.blobs[sha256], 0.1)

    async def report_transfer(self, job: PoolJob, fetched: FetchedBlob) -> None:
        pass

    async def put(self, job: PoolJob, data: bytes) -> str:
        return hashlib.sha256(data).hexdigest()

    async def report_started(self, job: PoolJob) -> PoolJob:
        return self.changed(self.jobs[job.id].start(job.token, 1.0))

    async def report_part(self, job: PoolJob, part: Mapping[str, Any], took_s: float, kernel: object) -> PoolJob:
        made = JobPart(**part, board="b", token=job.token, started_unix_s=1.0, ended_unix_s=1.0 + took_s)
        return self.changed(self.jobs[job.id].commit_part(made))

    async def failed(self, job: PoolJob, error: Mapping[str, Any]) -> PoolJob:
        return self.changed(self.jobs[job.id].failed(job.token, error, 2.0))

    async def job(self, number: int, token: int) -> PoolJob:
        return self.jobs[number]

    def changed(self, job: PoolJob) -> PoolJob:
        self.jobs[job.id] = job
        return job


class Rig:
    def __init__(self, server: Any, *inputs: bytes) -> None:
        self.server, self.heads = server, Heads(*inputs)
        self.board = LocalBoard(server.app, "eddy_operator", "k")

    async def bounded(self, bytes: int) -> None:
        """May keep so much, and no more."""
        await self.board.client("ada")
        async with self.server.client("operator") as operator:
            body = {"quota": {"max_blob_bytes": bytes}}
            assert (await operator.patch("/v1/admin/tenants/pool.ada", json=body)).status_code == 200

    async def run(self, number: int) -> PoolJob:
        """A job of the pool to its end, on a board that ends each part at once."""
        job, ending = self.heads.jobs[number], asyncio.ensure_future(self.ends())
        try:
            async with self.board.hold_inputs(job):
                await JobRun(self.heads, self.board, job, asyncio.Semaphore(1)).run()  # type: ignore[arg-type]
        finally:
            ending.cancel()
        return self.heads.jobs[number]

    async def ends(self) -> None:
        number = 1
        while True:
            await asyncio.sleep(0.005)
            try:
                record = self.server.store.jobs.get("pool.ada", number)
            except Exception:
                continue
            if record.state is JobState.QUEUED:
                self.server.hypervisor.finish(record, result=bytes(ITEM * record.batch))
            number += 1

    async def kept(self) -> set[str]:
        return {blob["sha256"] for blob in await (await self.board.client("ada")).blobs()}


def data(number: int, items: int = 4) -> bytes:
    return bytes([number]) * ITEM * items


async def test_a_board_whose_room_for_a_tenant_is_used_up_runs_on(server: Any) -> None:
    rig = Rig(server, data(1), data(2), data(3))
    await rig.bounded(2 * len(data(1)))
    for number in (1, 2, 3):
        job = await rig.run(number)
        assert job.state == "succeeded", job.error
    assert await rig.kept() == {[*rig.heads.blobs][2]}, "inputs stay while there is room, and cuts of them do not"


async def test_what_a_job_here_needs_is_not_removed_for_another(server: Any) -> None:
    rig = Rig(server, data(1), data(2))
    await rig.bounded(len(data(1)))
    client = await rig.board.client("ada")
    async with rig.board.hold_inputs(rig.heads.jobs[1]):
        await rig.board.keep(client, "ada", data(1))
        with pytest.raises(QuotaExceeded):
            await rig.board.keep(client, "ada", data(2))
        assert await rig.kept() == {next(iter(rig.heads.blobs))}
    await rig.board.keep(client, "ada", data(2))
    assert await rig.kept() == {[*rig.heads.blobs][1]}


async def test_a_board_of_more_jobs_than_a_tenant_may_have_lets_it_have_them(server: Any) -> None:
    rig = Rig(server)
    rig.board.width = 100
    await rig.board.client("ada")
    async with server.client("operator") as operator:
        assert (await operator.get("/v1/admin/tenants/pool.ada")).json()["quota"]["max_jobs"] == 100


async def test_a_key_that_was_exchanged_is_read_again(server: Any) -> None:
    keys = ["eddy_other"]
    board = LocalBoard(server.app, "eddy_operator_before", "k", lambda: keys[0])
    with pytest.raises(Unauthorized):
        await board.load()
    keys[0] = "eddy_operator"
    assert await board.load() == 0


async def test_a_tenants_key_that_was_revoked_is_made_again(server: Any) -> None:
    rig = Rig(server, data(1))
    await rig.board.client("ada")
    async with server.client("operator") as operator:
        (key,) = (await operator.get("/v1/keys", params={"tenant": "pool.ada"})).json()["keys"]
        assert (await operator.delete(f"/v1/keys/{key['id']}")).status_code == 204
    first = await rig.run(1)
    assert (first.error or {})["cause"] == "unauthorized", "a head gives it back for that"
    rig.heads = Heads(data(1))
    assert (await rig.run(1)).state == "succeeded"


async def test_clients_of_tenants_without_work_are_let_go(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eddy.pool.agent.local_board.IDLE_CLIENTS", 2)
    rig = Rig(server)
    job = PoolJob(1, "busy", {"application": "invert"}, 0.0)
    async with rig.board.hold_inputs(job):
        busy = await rig.board.client("busy")
        for number in range(8):
            await rig.board.client(f"t{number}")
        assert await rig.board.client("busy") is busy
        assert len(rig.board._clients) <= 4
