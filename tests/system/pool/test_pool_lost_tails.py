# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A pool's servers lose the last of what one stream kept, as a stream restored by itself has: numbers are given again
there. Nobody gets another's job by that, and what follows is taken, listed and told to boards."""

from __future__ import annotations

import asyncio
import hashlib
import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from eddy.pool.connection.connection import steadily
from eddy.pool.connection.streams import EVENTS, WORK
from eddy.pool.jetstream.link import open_pool
from eddy.pool.records.records import PoolBoard
from pool_boards import Boards, all_jobs, unhurried, with_boards
from pool_kit import WAIT_S, Pool, asking, until

BUCKETS = ("submissions", "jobs", "boards", "leases", "leader", "keys", "bytes")
STREAMS = (*(f"KV_eddy_{bucket}" for bucket in BUCKETS), WORK, EVENTS)
FACTS = PoolBoard("b1", "k", 1, 1, ("a",), False, "s")
APP = "image_compression"
DATA = b"a secret of ada"
SHA = hashlib.sha256(DATA).hexdigest()


def messages_of(folder: Path, stream: str) -> Path:
    """Where a server keeps a stream's messages."""
    (found,) = folder.glob(f"**/streams/{stream}/msgs")
    return found


def lose(folder: Path, older: Path, stream: str) -> None:
    """Leave of a stream what an older copy of the folder has."""
    kept = messages_of(folder, stream)
    shutil.rmtree(kept)
    shutil.copytree(messages_of(older, stream), kept)


def submit(api: httpx.Client, label: str, key: str = "") -> dict[str, Any]:
    body = {"application": APP, "labels": {"what": label}}
    answer = api.post("/v1/jobs", json=body, headers={"Idempotency-Key": key} if key else {})
    assert answer.status_code == 202, answer.text
    return dict(answer.json())


def submit_array(api: httpx.Client, label: str, key: str = "") -> dict[str, Any]:
    each = [{"labels": {"what": label}}] * 3
    headers = {"Idempotency-Key": key} if key else {}
    answer = api.post("/v1/arrays", json={"job": {"application": APP}, "each": each}, headers=headers)
    assert answer.status_code == 202, answer.text
    return dict(answer.json())


@dataclass(frozen=True)
class Copies:
    """Folders of a pool, of an earlier moment and of a later one, and the keys of its tenants."""

    older: Path
    newer: Path
    keys: dict[str, str]


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Copies:
    folder = tmp_path_factory.mktemp("pool")
    (folder / "pool").mkdir()
    pool = Pool(folder / "pool")
    with pool.running():
        head = pool.head("a")
        for name in ("ada", "eve"):
            pool.tenant(head, name)
        with asking(head.url, pool.keys["ada"]) as ada:
            submit(ada, "first")
    shutil.copytree(pool.folder, folder / "older")
    with pool.running():
        head = pool.head("a")
        with asking(head.url, pool.keys["ada"]) as ada:
            assert ada.put(f"/v1/blobs/{SHA}", content=DATA).status_code == 201
            submit_array(ada, "ada's")
            for number in range(5):
                submit(ada, "ada's", f"k{number}")
            submit_array(ada, "ada's", "ks")
    shutil.copytree(pool.folder, folder / "newer")
    return Copies(folder / "older", folder / "newer", pool.keys)


def jobs_of(api: httpx.Client) -> dict[int, dict[str, Any]]:
    """All that a tenant sees, by number."""
    found = api.get("/v1/jobs", params={"limit": 200}).json()["jobs"]
    return {job["id"]: job for job in found}


@pytest.fixture(params=STREAMS)
def pool(request: pytest.FixtureRequest, copies: Copies, tmp_path: Path) -> Iterator[Pool]:
    """A pool whose servers lost the last of one stream."""
    folder = tmp_path / "pool"
    shutil.copytree(copies.newer, folder)
    lose(folder, copies.older, request.param)
    pool = Pool(folder)
    pool.keys.update(copies.keys)
    with pool.running():
        yield pool


def test_no_tenant_gets_anothers_job_whatever_the_servers_lost(pool: Pool) -> None:
    head = pool.head("b")
    with asking(head.url, pool.keys["ada"]) as ada, asking(head.url, pool.keys["eve"]) as eve:
        hers = jobs_of(ada)
        array = submit_array(eve, "eve's", "ks")
        mine = [submit(eve, "eve's", f"k{number}") for number in range(12)]
        again = [submit(eve, "eve's", f"k{number}") for number in range(12)]
        assert [job["id"] for job in again] == [job["id"] for job in mine]
        assert submit_array(eve, "eve's", "ks")["id"] == array["id"]
        assert len({array["id"], *(job["id"] for job in mine)}) == 13
        for job in mine:
            assert (job["tenant"], job["labels"]) == ("eve", {"what": "eve's"})
            assert ada.get(f"/v1/jobs/{job['id']}").status_code == 404
        listed = jobs_of(eve)
        assert len(listed) == len(mine) + 3
        assert {job["tenant"] for job in listed.values()} == {"eve"}
        assert eve.get(f"/v1/arrays/{array['id']}").json()["size"] == 3
        assert ada.get(f"/v1/arrays/{array['id']}").status_code == 404
        for number, job in hers.items():
            assert eve.get(f"/v1/jobs/{number}").status_code == 404
            assert ada.get(f"/v1/jobs/{number}").json()["labels"] == job["labels"]
        assert jobs_of(ada).keys() == hers.keys()
        assert eve.get(f"/v1/blobs/{SHA}").status_code == 404
        # What was lost comes again by the same keys, and is whoever's it was.
        for number in range(5):
            assert submit(ada, "ada's", f"k{number}")["tenant"] == "ada"
        whole = submit_array(ada, "ada's", "ks")
        assert (whole["tenant"], whole["size"]) == ("ada", 3)
        assert {job["tenant"] for job in jobs_of(ada).values()} == {"ada"}
        assert jobs_of(eve).keys() == listed.keys()


def test_numbers_that_are_passed_over_are_counted_and_what_they_named_stays(copies: Copies, tmp_path: Path) -> None:
    shutil.copytree(copies.newer, tmp_path / "pool")
    lose(tmp_path / "pool", copies.older, "KV_eddy_submissions")
    with Pool(tmp_path / "pool").running() as pool:
        head = pool.head("b")
        before = asyncio.run(records(pool))
        with asking(head.url, copies.keys["eve"]) as eve:
            job = submit(eve, "eve's")
        with asking(head.url, pool.key) as operator:
            figures = operator.get("/metrics").text
        (line,) = (line for line in figures.splitlines() if line.startswith("eddy_pool_numbers_passed_over_total"))
        assert float(line.split()[1]) == len(before) - 1 + 2  # all but the first, and two arrays
        after = asyncio.run(records(pool))
        assert {number: after[number] for number in before} == before
        assert job["labels"] == {"what": "eve's"}


async def records(pool: Pool) -> dict[int, str]:
    with unhurried():
        async with open_pool(str(pool.head_file), "test", WAIT_S) as link:
            return {job.id: job.tenant for job in await all_jobs(link)}


def test_a_board_is_told_of_jobs_though_its_queue_lost_its_last(tmp_path: Path) -> None:
    """The board's place in the queue is behind the last that the queue has then."""

    async def told(boards: Boards, count: int) -> None:
        js = boards.link.js
        async with boards.board("b1") as (_, board):
            await steadily(lambda: board.join(FACTS))
            queue = await board.queue()
            for number in range(count):
                await js.publish("eddy.work.b1", json.dumps({"job": number}).encode())
                (message,) = await queue.fetch(1, timeout=WAIT_S)
                assert json.loads(message.data) == {"job": number}
                await message.ack_sync()

    async def check(boards: Boards) -> None:
        await told(boards, 2)
        boards.server.kill()
        kept = messages_of(tmp_path, WORK)
        shutil.copytree(kept, tmp_path / "older")
        boards.server.start()
        await told(boards, 5)
        boards.server.kill()
        shutil.rmtree(kept)
        shutil.copytree(tmp_path / "older", kept)
        boards.server.start()
        await told(boards, 2)

    with_boards(tmp_path / "nats", check)


def test_a_head_that_runs_while_servers_lose_changes_goes_on_with_what_they_have(tmp_path: Path) -> None:
    """It would take no change for one, until there were as many as it had heard."""
    pool = Pool(tmp_path)
    with pool.running():
        head = pool.head("a")
        pool.tenant(head)
        with asking(head.url, pool.keys["ada"]) as ada:
            submit(ada, "first")
            pool.nats.kill()
            shutil.copytree(messages_of(tmp_path, "KV_eddy_jobs"), tmp_path / "older")
            pool.nats.start()
            for _ in range(5):
                submit(ada, "more")
            assert len(jobs_of(ada)) == 6, "the head has heard of them"
            pool.nats.kill()
            kept = messages_of(tmp_path, "KV_eddy_jobs")
            shutil.rmtree(kept)
            shutil.copytree(tmp_path / "older", kept)
            pool.nats.start()
            until(lambda: len(jobs_of(ada)) == 1)
            job = submit(ada, "after")
            assert {each["labels"]["what"] for each in jobs_of(ada).values()} == {"first", "after"}
        again = pool.head("b")
        with asking(again.url, pool.keys["ada"]) as ada:
            assert job["id"] in jobs_of(ada)
            assert len(jobs_of(ada)) == 2
