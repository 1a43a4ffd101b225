# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A pool's servers that answer, and will not or have not: what they say is said, ends what cannot go on, and is mended
where it can be."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from eddy.cli.demo.demo_plan import photograph
from eddy.core.errors import StorageFull
from eddy.pool.connection.streams import KEPT, PASSING_ON
from eddy.pool.connection.transfer import PIECE_BYTES
from eddy.pool.jetstream.link import Link
from eddy.pool.servers.nats_server import NatsServer
from pool_boards import at_the_servers, file_of, objects_in
from pool_kit import WAIT_S, Pool, asking, until

APP = "image_compression"
ITEM_BYTES = 16_384
STORE_BYTES = 60 << 20


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    """A pool with a head and a board, and a tenant `ada`."""
    with Pool(tmp_path_factory.mktemp("pool")).running() as running:
        head = running.head("a")
        running.tenant(head)
        running.board("b1")
        until(lambda: running.present(running.operator(head)) == {"b1"})
        yield running


@contextlib.contextmanager
def tenant_of(pool: Pool) -> Iterator[httpx.Client]:
    with asking(pool.heads[0][0].url, pool.keys["ada"]) as ada:
        yield ada


def put(ada: httpx.Client, data: bytes) -> httpx.Response:
    return ada.put(f"/v1/blobs/{hashlib.sha256(data).hexdigest()}", content=data)


def submit(ada: httpx.Client, data: bytes) -> int:
    body = {"application": APP, "batch": 1, "inputs": {"image": [hashlib.sha256(data).hexdigest()]}}
    answer = ada.post("/v1/jobs", json=body)
    assert answer.status_code == 202, answer.text
    return int(answer.json()["id"])


def ended(ada: httpx.Client, job: int) -> dict[str, Any]:
    until(lambda: ada.get(f"/v1/jobs/{job}", params={"wait": 5}).json()["ended_s"] is not None)
    return dict(ada.get(f"/v1/jobs/{job}").json())


def held_back(pool: Pool) -> float:
    """Seconds for which boards are held back, all together."""
    boards = pool.operator(pool.heads[0][0]).transport.json("GET", "/v1/pool")["boards"]
    return float(sum(board["held_back_s"] for board in boards))


async def file_named(link: Link, sha: str) -> Path:
    (name,) = (each for each in await objects_in(link) if each.sha256 == sha)
    return file_of(link, name)


async def lose_a_piece(link: Link, sha: str) -> None:
    file = await file_named(link, sha)
    os.truncate(file, file.stat().st_size - 5)


async def lose_all(link: Link, sha: str) -> None:
    (await file_named(link, sha)).unlink()


async def damage_a_piece(link: Link, sha: str) -> None:
    with (await file_named(link, sha)).open("r+b") as file:
        file.write(bytes(100))


@pytest.mark.parametrize("harm", [lose_a_piece, lose_all, damage_a_piece])
def test_an_input_that_is_damaged_ends_its_job_and_holds_no_board_back(
    pool: Pool, harm: Callable[[Link, str], Awaitable[None]]
) -> None:
    with tenant_of(pool) as ada:
        data, good = os.urandom(ITEM_BYTES), os.urandom(ITEM_BYTES)
        sha = hashlib.sha256(data).hexdigest()
        assert put(ada, data).status_code == put(ada, good).status_code == 201
        at_the_servers(pool, lambda link: harm(link, sha))
        bad = submit(ada, data)
        assert ended(ada, submit(ada, good))["state"] == "succeeded"
        failed = ended(ada, bad)
        assert (failed["state"], failed["error"]["cause"]) == ("failed", "file-damaged")
        assert sha in failed["error"]["message"]
        assert failed["retried"] == 0, "it is the job's matter, and no board's"
        assert held_back(pool) == 0.0
        told = ada.get(f"/v1/blobs/{sha}")
        assert (told.status_code, told.json()["code"]) == (500, "file-damaged")
        if harm is not damage_a_piece:  # to see that takes a look at all of it
            assert ada.head(f"/v1/blobs/{sha}").status_code == 404
            assert ada.post("/v1/jobs", json={"application": APP, "inputs": {"image": [sha]}}).status_code in (400, 422)
        assert put(ada, data).status_code == 201
        assert ada.get(f"/v1/blobs/{sha}").content == data
        assert ended(ada, submit(ada, data))["state"] == "succeeded"


@pytest.mark.parametrize("harm", [lose_a_piece, lose_all])
def test_a_large_blob_that_lost_a_piece_is_told_and_repaired(
    pool: Pool, harm: Callable[[Link, str], Awaitable[None]]
) -> None:
    data = os.urandom(3 * PIECE_BYTES + 5)
    sha = hashlib.sha256(data).hexdigest()
    with tenant_of(pool) as ada:
        assert (put(ada, data).status_code, put(ada, data).status_code) == (201, 200)
        at_the_servers(pool, lambda link: harm(link, sha))
        assert ada.get(f"/v1/blobs/{sha}").json()["code"] == "file-damaged"
        assert (put(ada, data).status_code, put(ada, data).status_code) == (201, 200)
        assert ada.get(f"/v1/blobs/{sha}").content == data


@pytest.mark.parametrize("stream", PASSING_ON)
def test_a_stream_that_passes_things_on_is_made_again_and_nobody_starts_again(pool: Pool, stream: str) -> None:
    (head, _), *_ = pool.heads
    before = pool.boards["b1"].pid

    async def delete(link: Link) -> None:
        assert await link.js.delete_stream(stream)

    client = pool.client(head, pool.keys["ada"])
    first = photograph("ada", 3, 5, 6).submit(client).wait(timeout_s=WAIT_S)
    at_the_servers(pool, delete)
    with tenant_of(pool) as ada:  # at once: what is made again is waited for
        assert "event: end" in ada.get(f"/v1/jobs/{first.id}/events").text
    for number in range(3):
        photograph("ada", 3, number, number + 1).submit(client).wait(timeout_s=WAIT_S)
    with tenant_of(pool) as ada:
        job = photograph("ada", 3, 4, 5).submit(client)
        job.wait(timeout_s=WAIT_S)
        assert "event: end" in ada.get(f"/v1/jobs/{job.id}/events").text
    until(lambda: pool.present(pool.operator(head)) == {"b1"})

    async def check(link: Link) -> None:
        assert (await link.js.stream_info(stream)).config.name == stream

    at_the_servers(pool, check)
    assert (pool.boards["b1"].pid, pool.boards["b1"].poll(), pool.failures) == (before, None, [])


def test_a_store_that_is_full_is_called_full(tmp_path: Path) -> None:
    with Pool(tmp_path, NatsServer(tmp_path / "nats", store_bytes=STORE_BYTES)).running() as pool:
        head = pool.head("a")
        pool.tenant(head)

        async def fill(link: Link) -> None:
            with contextlib.suppress(StorageFull):
                for number in range(1000):
                    await link.keys.put(f"filled.{number}", bytes(500_000))
            for number in range(100, 0, -1):  # up to the last that fits
                with contextlib.suppress(StorageFull):
                    await link.keys.put(f"rest.{number}", bytes(5_000 * number))

        at_the_servers(pool, fill)
        with asking(head.url, pool.keys["ada"]) as ada:
            answer = ada.post("/v1/jobs", json={"application": APP, "labels": {"x": "y" * 60}})
            for _ in range(200):
                if answer.status_code != 202:
                    break
                answer = ada.post("/v1/jobs", json={"application": APP, "labels": {"x": "y" * 60}})
            assert (answer.status_code, answer.json()["code"]) == (507, "storage-full")
            assert ada.get("/v1/jobs").status_code == 200


@pytest.mark.parametrize("stream", KEPT)
def test_a_stream_that_keeps_what_nobody_else_has_is_said_to_be_gone(tmp_path: Path, stream: str) -> None:
    with Pool(tmp_path).running() as pool:
        head = pool.head("a")
        pool.tenant(head)
        with asking(head.url, pool.keys["ada"]) as ada:
            job = ada.post("/v1/jobs", json={"application": APP}).json()["id"]

            async def delete(link: Link) -> None:
                assert await link.js.delete_stream(stream)

            with httpx.Client(base_url=head.url, timeout=WAIT_S) as api:
                assert api.get("/readyz").status_code == 200
                at_the_servers(pool, delete)
                until(lambda: api.get("/readyz").status_code == 503)
                assert stream in api.get("/readyz").json()["status"]
                headers = {"Authorization": f"Bearer {pool.keys['ada']}"}
                told = api.get(f"/v1/jobs/{job}", headers=headers)
                if stream in ("KV_eddy_jobs", "KV_eddy_keys"):
                    assert told.status_code == 503, "what the servers lost is not what never was"
                    assert told.json()["code"] == "pool-refused"
                else:
                    assert told.status_code == 200
                    assert stream in pool.operator(head).transport.json("GET", "/v1/pool")["missing"]
