# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Bytes of a pool in a real S3 server: whole, in parts, refused, removed, and while the server is away."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx
import pytest
from eddy.cli.demo.demo_plan import photograph
from eddy.core.errors import StorageFailed, StorageFull
from eddy.pool.bytes import s3_store
from eddy.pool.bytes.byte_store import BlobName, BytesAway, ByteStore
from eddy.pool.bytes.places import open_store
from eddy.pool.connection.transfer import PIECE_BYTES
from eddy.pool.routes.context import HeadParts
from pool_boards import objects_in
from pool_kit import WAIT_S, Pool, asking, in_its_loop, until
from s3_kit import BUCKET, S3Server

WHERE = f"s3://{BUCKET}/pools"


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with S3Server(tmp_path_factory.mktemp("s3")).running() as server:
        yield server


@pytest.fixture
def pool(tmp_path: Path, s3: S3Server) -> Iterator[Pool]:
    with Pool(tmp_path).running() as running:
        yield running


def put(api: httpx.Client, data: bytes) -> httpx.Response:
    return api.put(f"/v1/blobs/{hashlib.sha256(data).hexdigest()}", content=data)


async def sizes(parts: HeadParts) -> list[int]:
    return sorted((await objects_in(parts.link)).values())


async def kept(store: ByteStore, data: bytes) -> BlobName:
    draft = store.draft()
    draft.write(data)
    try:
        name = BlobName.new("ada", draft.sha256)
        await store.keep(draft, name)
        return name
    finally:
        draft.drop()


async def read(store: ByteStore, name: BlobName, begin: int, stop: int) -> bytes:
    return b"".join([piece async for piece in store.pieces(name, begin, stop)])


def test_objects_are_there_whole_in_parts_and_gone(s3: S3Server) -> None:
    async def check() -> None:
        store = open_store(f"{WHERE}/objects")
        assert not await store.begin("p", make=False)
        assert await store.begin("p", make=True)
        assert await open_store(f"{WHERE}/objects").begin("p", make=False)
        data = os.urandom(11_000_001)  # it is sent in parts
        large, small, empty = [await kept(store, each) for each in (data, b"x", b"")]
        async with contextlib.aclosing(store.blobs()) as there:
            assert {name: seen.size_bytes async for name, seen in there} == {large: len(data), small: 1, empty: 0}
        for begin, stop in ((0, len(data)), (5, 6), (5_000_000, 11_000_001), (9, 9)):
            assert await read(store, large, begin, stop) == data[begin:stop]
        assert await read(store, empty, 0, 0) == b""
        for _ in range(2):
            await store.remove(large)
        assert await store.look(large) is None
        assert await read(store, large, 0, 5) == b""

    asyncio.run(check())


def test_what_is_on_its_way_is_nothing_that_a_killed_head_could_leave(s3: S3Server, tmp_path: Path) -> None:
    """It lies on the disk that is said, which keeps some room, under no name."""

    async def check() -> None:
        store = open_store(f"{WHERE}/drafts", tmp_path / "here")
        assert await store.begin("p", make=True)
        draft = store.draft()
        data = os.urandom(6_000_001)
        draft.write(data)
        assert [*(tmp_path / "here").iterdir()] == []
        assert os.stat(draft.path).st_dev == tmp_path.stat().st_dev
        name = BlobName.new("ada", draft.sha256)
        await store.keep(draft, name)
        draft.drop()
        assert await read(store, name, 0, len(data)) == data
        store.check_room(1)
        with pytest.raises(StorageFull):
            store.check_room(1 << 62)

    asyncio.run(check())


def test_what_the_server_says_is_told_apart(s3: S3Server, tmp_path: Path) -> None:
    async def check() -> None:
        assert not await open_store("s3://no-such-bucket/x").begin("p", make=False)
        with patch.dict(os.environ, {"AWS_SECRET_ACCESS_KEY": "wrong"}):
            with pytest.raises(StorageFailed, match="refuses") as refused:
                await open_store(WHERE).begin("p", make=True)
            assert "wrong" not in refused.value.message
        with patch.dict(os.environ, {"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}), pytest.raises(BytesAway):
            await open_store(WHERE).begin("p", make=True)

    asyncio.run(check())


@pytest.mark.parametrize(
    ("status", "code", "error"),
    [
        (507, "XMinioStorageFull", StorageFull),
        (403, "QuotaExceeded", StorageFull),
        (503, "SlowDown", BytesAway),
        (500, "InternalError", BytesAway),
        (400, "BadDigest", StorageFailed),
    ],
)
def test_a_store_that_is_full_or_busy_says_so(s3: S3Server, status: int, code: str, error: type[Exception]) -> None:
    """A server that answers everything with that."""

    class Answer(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            body = f"<Error><Code>{code}</Code><Message>no</Message></Error>".encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    async def check(port: int) -> None:
        with patch.dict(os.environ, {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}"}):
            store: Any = open_store(WHERE)
        store._pool = "p"
        with pytest.raises(error) as said:
            await kept(store, b"x")
        assert type(said.value) is error

    with patch.object(s3_store, "AGAIN_S", 2), ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            asyncio.run(check(server.server_port))
        finally:
            server.shutdown()


def test_jobs_run_and_bytes_go_as_where_a_folder_is(pool: Pool, s3: S3Server) -> None:
    """At two heads, which have nothing in common but the servers and the bucket."""
    one, two = pool.head("a", bytes=WHERE), pool.head("b", bytes=WHERE, folder=pool.folder / "other")
    ada = pool.tenant(one)
    pool.board("b1")
    job = photograph("ada", 1, 0, 1).submit(ada).wait(timeout_s=WAIT_S)
    output = ada.output_bytes(job.id, "result")
    data = os.urandom(3 * PIECE_BYTES + 5)
    sha = hashlib.sha256(data).hexdigest()
    with asking(one.url, pool.keys["ada"]) as here, asking(two.url, pool.keys["ada"]) as there:
        assert put(here, data).status_code == 201
        assert put(there, data).status_code == 200, "what is there is not kept again"
        assert there.get(f"/v1/blobs/{sha}").content == data
        part = there.get(f"/v1/blobs/{sha}", headers={"Range": "bytes=300000-300099"})
        assert (part.status_code, part.content) == (206, data[300_000:300_100])
        assert there.get(f"/v1/jobs/{job.id}/outputs/result").content == output
        before = in_its_loop(one, sizes)
        wrong = there.put(f"/v1/blobs/{'0' * 64}", content=data)
        assert (wrong.status_code, wrong.json()["field"]) == (422, "sha256")
        assert in_its_loop(two, sizes) == before
        assert there.delete(f"/v1/blobs/{sha}").status_code == 204
        assert here.get(f"/v1/blobs/{sha}").status_code == 404
        assert here.delete(f"/v1/jobs/{job.id}/outputs").status_code == 204
        for blob in ada.blobs():
            ada.delete_blob(blob["sha256"])
    assert in_its_loop(one, sizes) == []


def test_while_the_store_is_away_clients_ask_again_and_nothing_is_lost_or_half_there(pool: Pool, s3: S3Server) -> None:
    """It is killed while a blob is sent and another one fetched, and a board has an output."""
    head = pool.head("a", bytes=WHERE)
    ada = pool.tenant(head)
    pool.board("b1")
    data = os.urandom(24 << 20)
    sha = hashlib.sha256(data).hexdigest()
    with asking(head.url, pool.keys["ada"]) as api:
        assert put(api, data).status_code == 201
        pool.hold("b1")
        running = photograph("ada", 1, 0, 1).submit(ada)
        until(lambda: running.refresh().state == "running")
        other = os.urandom(24 << 20)
        answers: list[int] = []
        with httpx.Client(base_url=head.url, timeout=WAIT_S, headers=dict(api.headers)) as plain:
            with plain.stream("GET", f"/v1/blobs/{sha}") as answer:
                chunks = answer.iter_raw(PIECE_BYTES)
                came = [next(chunks)]
                s3.kill()
                told = put(plain, b"while it is away")
                assert (told.status_code, told.json()["code"]) == (503, "pool-unreachable")
                assert plain.get("/v1/jobs").status_code == 200, "what needs no bytes goes on"
                pool.release("b1")
                sending = threading.Thread(target=lambda: answers.append(put(api, other).status_code))
                sending.start()
                s3.start()
                with contextlib.suppress(httpx.RemoteProtocolError):  # where it was away for longer than is waited
                    came += chunks
            assert data.startswith(b"".join(came))
        sending.join()
        assert answers == [201]
        assert running.wait(timeout_s=WAIT_S).state == "succeeded"
        assert api.get(f"/v1/blobs/{sha}").content == data
        assert api.get(f"/v1/blobs/{hashlib.sha256(other).hexdigest()}").content == other
        named = in_its_loop(head, _named)
        assert named == {*in_its_loop(head, objects_in_of)}, "nothing half done is left"


async def objects_in_of(parts: HeadParts) -> set[BlobName]:
    return {*await objects_in(parts.link)}


async def _named(parts: HeadParts) -> set[BlobName]:
    account = await parts.link.accounts.of("ada")
    await account.wait_caught_up()
    return {BlobName("ada", sha, each.at) for sha, of in account.blobs.items() for each in of.values()}


def test_a_head_that_is_to_keep_bytes_elsewhere_does_not_start(pool: Pool, s3: S3Server, tmp_path: Path) -> None:
    pool.head("a", bytes=WHERE)
    with pytest.raises(AssertionError, match="none of this pool's bytes"):
        pool.head("b", bytes=str(tmp_path / "elsewhere"))
    assert not (tmp_path / "elsewhere").exists()
    pool.failures.clear()
