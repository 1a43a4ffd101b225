# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Bytes of a pool: bounded by tenant over all heads, removed by whoever has them, and sent a piece at a time."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import hashlib
import os
import threading
import time
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx
import pytest
from eddy.api.access.uploads import UploadLimits
from eddy.cli.demo.demo_plan import photograph
from eddy.cli.main import app
from eddy.core.errors import Conflict, NotFound
from eddy.pool.bytes.byte_store import BlobName
from eddy.pool.bytes.folder_store import reserved_bytes
from eddy.pool.connection.transfer import PIECE_BYTES, DamagedBlob
from eddy.pool.head import output_collector
from eddy.pool.head.head_server import Head
from eddy.pool.head.output_collector import OutputCollector
from eddy.pool.jetstream.blobs import IncomingBlob, PoolBlobs
from eddy.pool.jetstream.budget import TENANT_BYTES
from eddy.pool.jetstream.byte_accounts import OWNER, REFERENCE_BYTES
from eddy.pool.jetstream.jobs import PoolJobs
from eddy.pool.jetstream.link import Link, open_pool
from eddy.pool.records.records import JobFenced, JobPart, PoolJob
from eddy.pool.routes.context import HeadParts
from eddy.pool.servers.nats_server import NatsServer
from pool_boards import SHA, Boards, fetched, file_of, objects_in, on_two_links, unhurried, with_boards
from pool_kit import WAIT_S, Pool, asking, in_its_loop, parts_of, until
from typer.testing import CliRunner

APP = "image_compression"
STORE_BYTES = 60 << 20


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[Pool]:
    with Pool(tmp_path, NatsServer(tmp_path / "nats", store_bytes=STORE_BYTES)).running() as running:
        yield running


def put(api: httpx.Client, data: bytes) -> httpx.Response:
    return api.put(f"/v1/blobs/{hashlib.sha256(data).hexdigest()}", content=data)


def cost(*sizes: int) -> int:
    """What blobs of these sizes count."""
    return sum(sizes) + REFERENCE_BYTES * len(sizes)


def test_a_tenant_at_its_bound_is_refused_alone_and_has_room_again_when_it_deletes(pool: Pool) -> None:
    one, two = pool.head("a"), pool.head("b")
    pool.tenant(one)
    pool.tenant(one, "grace")
    most = cost(300_000, 300_000, 300_000) + 10
    pool.operator(one).change_tenant("ada", max_blob_bytes=most)
    with asking(one.url, pool.keys["ada"]) as ada, asking(two.url, pool.keys["ada"]) as there:
        blobs = [os.urandom(300_000) for _ in range(4)]
        assert [put(each, data).status_code for each, data in zip((ada, there, ada), blobs, strict=False)] == [201] * 3
        assert put(there, blobs[0]).status_code == 200, "it is there, and counts once"
        for api in (ada, there):
            refused = put(api, blobs[3])
            assert (refused.status_code, refused.json()["code"]) == (507, "storage-quota-exceeded")
            assert refused.json()["limit"] == most
            assert put(api, b"").status_code == 507, "each costs the servers something beside its bytes"
            body = api.put(f"/v1/blobs/{'0' * 64}", content=iter([bytes(100_000)] * 9))  # of a length that nobody says
            assert body.status_code == 507
            full = api.post("/v1/jobs", json={"application": APP})
            assert (full.status_code, full.json()["code"]) == (507, "storage-quota-exceeded")
        quota = there.get("/v1/quota").json()
        assert quota["blob_bytes"] == cost(300_000, 300_000, 300_000)
        assert quota["quota"]["max_blob_bytes"] == most
        names = sorted(hashlib.sha256(data).hexdigest() for data in blobs[:3])
        first = there.get("/v1/blobs", params={"limit": 2}).json()
        rest = there.get("/v1/blobs", params={"limit": 2, "cursor": first["next"]}).json()
        assert [each["sha256"] for each in (*first["blobs"], *rest["blobs"])] == names
        assert (rest["next"], rest["blobs"][0]["bytes"]) == (None, 300_000)
        with asking(two.url, pool.keys["grace"]) as grace:
            assert put(grace, blobs[3]).status_code == 201
            assert grace.post("/v1/jobs", json={"application": APP}).status_code == 202
            assert grace.delete(f"/v1/blobs/{names[0]}").status_code == 404, "another's"
        assert there.delete(f"/v1/blobs/{names[0]}").status_code == 204
        assert [api.head(f"/v1/blobs/{names[0]}").status_code for api in (ada, there)] == [404, 404]
        assert ada.delete(f"/v1/blobs/{names[0]}").status_code == 404
        assert put(ada, blobs[3]).status_code == 201
        assert put(ada, b"").status_code == 507
        wrong = ada.put(f"/v1/blobs/{'0' * 64}", content=b"x")
        assert wrong.status_code == 507, "it would have had room nowhere"
    assert pool.operator(one).add_tenant("eve")["key"]


def test_what_is_refused_leaves_nothing(pool: Pool) -> None:
    head = pool.head("a")
    pool.tenant(head)

    async def left(parts: HeadParts) -> tuple[int, int]:
        return len(await objects_in(parts.link)), (await parts.link.accounts.of("ada")).total

    with asking(head.url, pool.keys["ada"]) as ada:
        for data in (b"x", bytes(3 * PIECE_BYTES)):
            wrong = ada.put(f"/v1/blobs/{'0' * 64}", content=data)
            assert (wrong.status_code, wrong.json()["field"]) == (422, "sha256")
            assert wrong.json()["allowed"] == hashlib.sha256(data).hexdigest()
        until(lambda: in_its_loop(head, left) == (0, 0), saw=lambda: in_its_loop(head, left))


def test_heads_that_are_asked_at_once_take_no_more_than_a_tenant_may_keep(pool: Pool) -> None:
    """What is announced is counted before a byte is written: the store never has more."""
    heads = pool.head("a"), pool.head("b")
    pool.tenant(heads[0])
    size, most = 200_000, cost(*[200_000] * 9) + 50_000
    pool.operator(heads[0]).change_tenant("ada", max_blob_bytes=most)
    seen, over = [0], threading.Event()

    async def stored(parts: HeadParts) -> int:
        return sum((await objects_in(parts.link)).values())

    def watch() -> None:
        while not over.is_set():
            seen.append(in_its_loop(heads[0], stored))

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        with asking(heads[0].url, pool.keys["ada"]) as one, asking(heads[1].url, pool.keys["ada"]) as two:
            with ThreadPoolExecutor(16) as threads:
                answers = list(threads.map(lambda n: put((one, two)[n % 2], os.urandom(size)).status_code, range(32)))
            assert (answers.count(201), answers.count(507)) == (9, 23), answers
            assert one.get("/v1/quota").json()["blob_bytes"] == cost(*[size] * 9)
    finally:
        over.set()
        watching.join()
    assert max(seen) <= most


def test_one_tenant_cannot_fill_the_disk_and_a_full_one_can_be_operated(pool: Pool) -> None:
    """By itself a tenant has a part of it; where an operator gave one more than there is, others cannot store either,
    and jobs that are there end, boards stay, and operators act. Nothing half written stays."""
    head = pool.head("a")
    eve, grace = pool.tenant(head, "eve"), pool.tenant(head, "grace")
    operator, budget = pool.operator(head), parts_of(head).link.budget
    assert budget.tenant_bytes == min(TENANT_BYTES, budget.blobs_bytes // 4)
    pool.board("b1")
    until(lambda: pool.present(operator) == {"b1"})
    total = in_its_loop(head, there)

    def full(_: Path) -> int:
        """A disk on which 5 MB are free beside what is reserved."""
        store: Any = parts_of(head).link.bytes
        return int((5 << 20) + reserved_bytes(store._folder) - in_its_loop(head, there) + total)

    def room(path: Path) -> int:
        return full_bytes[0]

    full_bytes = [1 << 40]

    def fill(api: httpx.Client) -> httpx.Response:
        while (answer := put(api, os.urandom(1 << 20))).status_code == 201:
            full_bytes[0] = full(Path())
        return answer

    with (
        asking(head.url, pool.keys["eve"]) as api,
        asking(head.url, pool.keys["grace"]) as other,
        patch("eddy.pool.bytes.folder_store.free_bytes", room),
    ):
        operator.change_tenant("eve", max_blob_bytes=3 << 20)
        assert fill(api).json()["code"] == "storage-quota-exceeded"
        photograph("grace", 1, 0, 1).submit(grace).wait(timeout_s=WAIT_S)
        pool.hold("b1")
        running = photograph("grace", 1, 1, 2).submit(grace)
        operator.change_tenant("eve", max_blob_bytes=1 << 40)
        full_bytes[0] = full(Path())
        for each in (api, other):
            refused = fill(each)
            assert (refused.status_code, refused.json()["code"]) == (507, "storage-full")
        assert in_its_loop(head, drafts) == 0
        queued = other.post("/v1/jobs", json={"application": APP}).json()["id"]
        assert other.delete(f"/v1/jobs/{queued}").status_code == 202
        assert pool.present(operator) == {"b1"}
        assert operator.add_tenant("last")["key"]
        store = operator.transport.json("GET", "/v1/pool")["store"]
        assert store["most_blobs_bytes"] == budget.blobs_bytes
        assert store["blobs_bytes"] == in_its_loop(head, there)
        for blob in eve.blobs():
            eve.delete_blob(blob["sha256"])
        full_bytes[0] = full(Path())
        pool.release("b1")
        running.wait(timeout_s=WAIT_S)
        assert put(other, os.urandom(1 << 20)).status_code == 201


def test_a_disk_that_ends_in_the_midst_leaves_nothing(pool: Pool) -> None:
    """Though there seemed to be room, the system refuses a write, or the last synchronisation."""
    head = pool.head("a")
    pool.tenant(head)

    def ends(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with asking(head.url, pool.keys["ada"]) as api:
        for call in ("pwrite", "fsync"):
            with patch(f"eddy.store.disk.files.os.{call}", ends):
                refused = put(api, os.urandom(3 << 20))
            assert (refused.status_code, refused.json()["code"]) == (507, "storage-full")
            assert (in_its_loop(head, there), in_its_loop(head, drafts)) == (0, 0)
            assert api.get("/v1/quota").json()["blob_bytes"] == 0
        assert put(api, os.urandom(3 << 20)).status_code == 201


async def there(parts: HeadParts) -> int:
    """Bytes that lie in the place."""
    return sum((await objects_in(parts.link)).values())


async def drafts(parts: HeadParts) -> int:
    """Files on their way in."""
    store: Any = parts.link.bytes
    return len([*(store._folder / "incoming").iterdir()])


def test_one_blob_that_is_sent_many_times_at_once_is_no_more_files_than_a_tenant_may_send(pool: Pool) -> None:
    """It counts once against the quota, and each is a file until it has come. Another tenant is not in the way."""
    head = pool.head("a")
    pool.tenant(head)
    pool.tenant(head, "grace")
    parts_of(head).uploads.limits = UploadLimits(uploads=4, uploads_per_tenant=2, wait_s=0.5)
    data, rest = os.urandom(2 << 20), threading.Event()
    sha = hashlib.sha256(data).hexdigest()

    def half() -> Iterator[bytes]:
        yield data[: 1 << 20]
        rest.wait(WAIT_S)
        yield data[1 << 20 :]

    def send(_: int) -> tuple[int, str]:
        with httpx.Client(base_url=head.url, headers={"Authorization": f"Bearer {pool.keys['ada']}"}) as api:
            answer = api.put(f"/v1/blobs/{sha}", content=half(), timeout=WAIT_S)
            return answer.status_code, answer.json().get("code", "")

    with ThreadPoolExecutor(6) as threads, asking(head.url, pool.keys["grace"]) as grace:
        sending = [threads.submit(send, n) for n in range(6)]
        try:
            until(lambda: in_its_loop(head, drafts) == 2, saw=lambda: in_its_loop(head, drafts))
            until(lambda: sum(parts_of(head).uploads._of.values()) == 2)
            assert put(grace, data).status_code == 201
            until(lambda: in_its_loop(head, drafts) == 2, saw=lambda: in_its_loop(head, drafts))
            assert put_at_once(head, pool.keys["ada"], data) == (503, "too-many-uploads")
        finally:
            rest.set()
        answers = [each.result() for each in sending]
    assert {*answers} <= {(201, ""), (200, ""), (503, "too-many-uploads")}
    assert (201, "") in answers
    assert in_its_loop(head, drafts) == 0


def put_at_once(head: Head, key: str, data: bytes) -> tuple[int, str]:
    """Send a blob, once; answers the status and what kind of problem it is."""
    with httpx.Client(base_url=head.url, headers={"Authorization": f"Bearer {key}"}, timeout=WAIT_S) as api:
        answer = put(api, data)
        return answer.status_code, answer.json().get("code", "")


def test_outputs_are_removed_by_their_tenant_and_by_nobody_else(pool: Pool) -> None:
    head = pool.head("a")
    ada, grace = pool.tenant(head), pool.tenant(head, "grace")
    pool.board("b1")
    first, second = (photograph("ada", 1, 0, 1).submit(ada).wait(timeout_s=WAIT_S) for _ in range(2))
    output = ada.output_bytes(first.id, "result")

    def bytes_of() -> int:
        return int(ada.quota()["blob_bytes"] or 0)

    before, outputs = bytes_of(), len(first.refresh().data["outputs"])
    with pytest.raises(NotFound):
        grace.transport.request("DELETE", f"/v1/jobs/{first.id}/outputs")
    path = f"/v1/jobs/{first.id}/outputs"
    for _ in range(2):
        ada.transport.request("DELETE", path)
    with asking(head.url, pool.keys["ada"]) as api:
        gone = api.get(f"{path}/result")
        assert (gone.status_code, gone.json()["code"]) == (410, "outputs-collected")
        shown = api.get(f"/v1/jobs/{first.id}").json()
        assert shown["outputs"] == {}
        assert shown["collected_unix_s"] > 0
        assert api.get(f"/v1/jobs/{second.id}/outputs/result").content == output, "the same bytes, of another job"
    freed = before - bytes_of()
    assert 0 <= REFERENCE_BYTES * outputs - freed < 64, "its record says when they went"
    told = CliRunner().invoke(
        app, ["pool", "purge", str(second.id), "--url", head.url, "--key", pool.keys["ada"], "--json"]
    )
    assert told.exit_code == 0, told.output
    assert bytes_of() < before - len(output)
    third = photograph("ada", 1, 0, 1).submit(ada).wait(timeout_s=WAIT_S)
    assert ada.output_bytes(third.id, "result") == output
    pool.kill("b1")
    waiting = ada.submit(APP, photograph("ada", 1, 0, 1).inputs)
    (blob,) = ada.blobs()
    for wrong in (f"/v1/jobs/{waiting.id}/outputs", f"/v1/blobs/{blob['sha256']}"):  # it has not ended, and needs that
        with pytest.raises(Conflict):
            ada.transport.request("DELETE", wrong)
    waiting.cancel()
    ada.delete_blob(blob["sha256"])


# Beneath HTTP ---------------------------------------------------------------------------------------------------------


def test_what_a_killed_head_left_behind_is_taken_away(tmp_path: Path) -> None:
    async def check(boards: Boards) -> None:
        link, blobs = boards.link, PoolBlobs(boards.link)
        draft, left = link.bytes.draft(), link.bytes.draft()
        draft.write(b"piece")
        left.write(b"half of a pi")
        await link.bytes.keep(draft, BlobName.new("ada", draft.sha256))
        account = await link.accounts.of("ada")
        await account.announce("1" * 64, OWNER, 5_000, "0" * 16, coming=True)
        before = account.total
        collector = OutputCollector(link, boards.lead, blobs)
        await collector.sweep()
        assert len(await objects_in(link)) == 3, "it may be on its way"
        assert left.path.exists()
        with patch.multiple(output_collector, SETTLED_S=-10.0, LEFT_S=-10.0):
            await collector.sweep()
        assert len(await objects_in(link)) == 2
        assert not left.path.exists()
        left.drop()
        assert account.total == before - 5_000 - REFERENCE_BYTES
        assert await fetched(blobs, "ada", SHA)

    with_boards(tmp_path, check)


def part(sha: str, token: int) -> JobPart:
    return JobPart(0, 4, {"y": sha}, "b1", token, 0.0, 1.0)


def test_outputs_that_nobody_can_fetch_are_taken_away(tmp_path: Path) -> None:
    """Of jobs that failed or were cancelled, and those that a late board wrote; not what another job needs."""

    async def check(boards: Boards) -> None:
        link, job, table = boards.link, boards.job, PoolJobs(boards.link)
        blobs, collector = PoolBlobs(link), OutputCollector(link, boards.lead, PoolBlobs(link))
        async with boards.board("b1") as (_, mine):
            await mine.report_started(job)
            good, late, needed = [await mine.put(job, data) for data in (b"good", b"late", b"needed")]
            account = await link.accounts.of("ada")
            assert account.of_jobs[str(job.id)] == {good, late, needed}
            follower = await table.submit("ada", {"application": "a", "batch": 1, "inputs": {"x": [needed]}})
            await mine.report_part(job, {"first": 0, "items": 4, "outputs": {"y": good}}, 1.0, None)
            await boards.lead.mirror.wait_caught_up()
            await collector.tidy(await table.job(job.id))
            assert account.of_jobs[str(job.id)] == {good}
            assert [await blobs.size("ada", sha) for sha in (good, late, needed)] == [4, None, 6]
            assert account.is_referenced(needed, OWNER), "it is its tenant's now"
            ended = await table.change(follower.id, lambda it: it.cancelled(time.time()))
            await blobs.put("ada", b"of a job that was cancelled", reference=str(ended.id))
            await boards.lead.mirror.wait_caught_up()
            await collector.tidy(ended)
            assert str(ended.id) not in account.of_jobs
            assert await fetched(blobs, "ada", good) == b"good"

    with_boards(tmp_path, check)


def test_a_job_whose_outputs_have_no_room_fails_and_says_so(tmp_path: Path) -> None:
    async def check(boards: Boards) -> None:
        table, account = PoolJobs(boards.link), await boards.link.accounts.of("ada")
        job = await table.submit("ada", {"application": "a", "batch": 4})
        job = await table.change(job.id, lambda it: it.place_on("b2", 0.0, {}))
        boards.most_bytes = account.total + 3_000
        async with boards.board("b2") as (_, mine):
            await mine.put(job, bytes(1_000))
            with pytest.raises(JobFenced):  # its board drops it
                await mine.put(job, os.urandom(300_000))
        now = await table.job(job.id)
        assert now.error is not None
        assert (now.state, now.error["cause"]) == ("failed", "storage-quota-exceeded")
        assert "delete blobs" in now.error["message"]
        assert len(await objects_in(boards.link)) == 3
        await OutputCollector(boards.link, boards.lead, PoolBlobs(boards.link)).tidy(now)
        assert str(job.id) not in account.of_jobs

    with_boards(tmp_path, check)


# Streams --------------------------------------------------------------------------------------------------------------


def ended_job(head: Head, contents: list[bytes]) -> int:
    """A job of ada's whose output has these parts; its number as it is told."""

    async def make(parts: HeadParts) -> int:
        job = await parts.table.submit("ada", {"application": APP, "batch": len(contents)})
        now = await parts.table.change(job.id, lambda it: it.place_on("b1", 0.0, {}))
        names = [await parts.blobs.put("ada", data, reference=str(job.id)) for data in contents]

        def committed(it: PoolJob) -> PoolJob:
            it = it.start(now.token, 0.0)
            for first, sha in enumerate(names):
                it = it.commit_part(JobPart(first, 1, {"y": sha}, "b1", now.token, 0.0, 1.0))
            return it

        await parts.table.change(job.id, committed)
        return parts.numbers.job.public_id(job.id)

    return int(in_its_loop(head, make))


SIZES = [PIECE_BYTES + 5, 1, 0, 2 * PIECE_BYTES, 7]


def test_parts_of_outputs_and_blobs_are_sent_as_a_board_sends_them(pool: Pool) -> None:
    head = pool.head("a")
    pool.tenant(head)
    contents = [os.urandom(size) for size in SIZES]
    whole, size = b"".join(contents), sum(SIZES)
    job = ended_job(head, contents)
    with asking(head.url, pool.keys["ada"]) as api:
        assert put(api, whole).status_code == 201
        for path in (f"/v1/jobs/{job}/outputs/y", f"/v1/blobs/{hashlib.sha256(whole).hexdigest()}"):
            answer = api.get(path)
            assert (answer.status_code, answer.content) == (200, whole)
            assert int(answer.headers["content-length"]) == size
            etag = answer.headers["etag"]
            for begin, stop in ((0, 1), (5, PIECE_BYTES + 6), (PIECE_BYTES + 5, PIECE_BYTES + 6), (size - 8, size)):
                answer = api.get(path, headers={"Range": f"bytes={begin}-{stop - 1}", "If-Range": etag})
                assert (answer.status_code, answer.content) == (206, whole[begin:stop])
                assert answer.headers["content-range"] == f"bytes {begin}-{stop - 1}/{size}"
            assert api.get(path, headers={"Range": "bytes=-9"}).content == whole[-9:]
            assert api.get(path, headers={"Range": "bytes=0-0", "If-Range": '"other"'}).content == whole
            beyond = api.get(path, headers={"Range": f"bytes={size}-"})
            assert (beyond.status_code, beyond.headers["content-range"]) == (416, f"bytes */{size}")
            assert api.get(path, headers={"If-None-Match": etag}).status_code == 304
            assert api.get(path, headers={"If-Match": '"other"'}).status_code == 412
        head_of = api.head(f"/v1/blobs/{hashlib.sha256(whole).hexdigest()}")
        assert (head_of.status_code, int(head_of.headers["content-length"])) == (200, size)


def test_a_damaged_piece_ends_no_answer_as_if_it_were_whole(pool: Pool) -> None:
    """Whichever piece it is, and whichever part is asked for: what came is never all that was told to come."""
    head = pool.head("a")
    pool.tenant(head)
    contents = [os.urandom(3 * PIECE_BYTES), b"small"]
    job = ended_job(head, contents)
    path = f"/v1/jobs/{job}/outputs/y"

    def damage(content: bytes, place: int) -> None:
        """Let a piece of it be zeros; none for -1."""

        async def do(parts: HeadParts) -> None:
            sha = hashlib.sha256(content).hexdigest()
            (name,) = (each for each in await objects_in(parts.link) if each.sha256 == sha)
            with file_of(parts.link, name).open("r+b") as file:
                for first in range(0, len(content), PIECE_BYTES):
                    piece = content[first : first + PIECE_BYTES]
                    file.write(bytes(len(piece)) if first == place * PIECE_BYTES else piece)

        in_its_loop(head, do)

    def whole(**headers: str) -> bool:
        with httpx.Client(base_url=head.url, timeout=WAIT_S) as api:
            sent = {"Authorization": f"Bearer {pool.keys['ada']}", **headers}
            try:
                answer = api.get(path, headers=sent)
            except httpx.RemoteProtocolError:
                return False
            if answer.status_code == 500:
                assert answer.json()["code"] == "file-damaged"
                return False
            return True

    assert whole()
    for place in (2, 1, 0):
        damage(contents[0], place)
        assert not whole()
        assert not whole(Range=f"bytes={PIECE_BYTES}-{PIECE_BYTES + 9}")
        assert whole(Range=f"bytes={3 * PIECE_BYTES}-"), "that is another part's"
    damage(contents[0], -1)
    assert whole()
    damage(contents[1], 0)
    assert not whole()
    assert not whole(Range=f"bytes={3 * PIECE_BYTES + 1}-")


def test_a_head_holds_no_more_than_some_pieces_of_what_it_sends_and_takes(tmp_path: Path) -> None:
    """64 MB each way, with less than 4 MB of memory more; client and head are this process."""
    size, piece = 64 << 20, os.urandom(1 << 20)
    digest = hashlib.sha256(piece * 64).hexdigest()
    with Pool(tmp_path).running() as pool:
        head = pool.head("a")
        pool.tenant(head)
        with asking(head.url, pool.keys["ada"]) as api:
            assert put(api, os.urandom(1000)).status_code == 201  # what is made once is there
            tracemalloc.start()
            try:
                begin, _ = tracemalloc.get_traced_memory()
                answer = api.put(f"/v1/blobs/{digest}", content=iter([piece] * 64))
                assert answer.status_code == 201, answer.text
                assert tracemalloc.get_traced_memory()[1] - begin < 4 << 20
                tracemalloc.reset_peak()
                came, seen = 0, hashlib.sha256()
                with api.stream("GET", f"/v1/blobs/{digest}") as answer:
                    for chunk in answer.iter_raw(PIECE_BYTES):
                        came += len(chunk)
                        seen.update(chunk)
                assert (came, seen.hexdigest()) == (size, digest)
                assert tracemalloc.get_traced_memory()[1] - begin < 4 << 20
            finally:
                tracemalloc.stop()


def test_a_download_ends_with_its_key(tmp_path: Path) -> None:
    with Pool(tmp_path).running() as pool:
        head = pool.head("a")
        pool.tenant(head)
        operator = pool.operator(head)
        data = os.urandom(32 << 20)
        with asking(head.url, pool.keys["ada"]) as api:
            assert put(api, data).status_code == 201
            with api.stream("GET", f"/v1/blobs/{hashlib.sha256(data).hexdigest()}") as answer:
                chunks = answer.iter_raw(PIECE_BYTES)
                next(chunks)
                (key,) = operator.transport.json("GET", "/v1/keys", params={"tenant": "ada"})["keys"]
                operator.transport.request("DELETE", f"/v1/keys/{key['id']}")
                known = parts_of(head).lead.mirror.keys
                until(lambda: known.get(key["id"]).revoked_for_good)
                with pytest.raises(httpx.RemoteProtocolError):
                    for _ in chunks:
                        pass


def test_what_a_client_left_in_the_midst_leaves_nothing_behind(pool: Pool) -> None:
    """Neither of a download nor of an upload."""
    head = pool.head("a")
    pool.tenant(head)

    async def left(parts: HeadParts) -> tuple[int, int, int]:
        account = await parts.link.accounts.of("ada")
        return await drafts(parts), len(await objects_in(parts.link)), account.total

    with asking(head.url, pool.keys["ada"]) as api:
        data = os.urandom(5 << 20)
        assert put(api, data).status_code == 201
        before = in_its_loop(head, left)
        assert before == (0, 1, cost(5 << 20))
        for _ in range(3):
            with api.stream("GET", f"/v1/blobs/{hashlib.sha256(data).hexdigest()}") as answer:
                next(answer.iter_raw(PIECE_BYTES))

        def breaks_off() -> Iterator[bytes]:
            yield bytes(1 << 20)
            raise OSError("the client is killed")

        for _ in range(3):
            with pytest.raises(OSError, match="killed"):
                api.put(f"/v1/blobs/{'0' * 64}", content=breaks_off())
        until(lambda: in_its_loop(head, left) == before, saw=lambda: in_its_loop(head, left))


def test_what_boards_and_tenants_write_alike_is_verified(tmp_path: Path) -> None:
    async def check(one: Link, two: Link) -> None:
        blobs = PoolBlobs(one)

        async def wrong() -> AsyncIterator[bytes]:
            yield bytes(2 * PIECE_BYTES)

        name = await blobs.put("ada", b"right")
        for sha in (name, "0" * 64):  # whether it is there or not
            with pytest.raises(DamagedBlob):
                await blobs.store(IncomingBlob("ada", sha, OWNER, None, 1 << 40), wrong())
        account = await one.accounts.of("ada")
        await account.wait_caught_up()
        assert (account.total, len(await objects_in(one))) == (cost(5), 1)

    on_two_links(tmp_path, check)


def test_numbers_of_accounts_are_read_again_where_servers_were_away(tmp_path: Path) -> None:
    async def go(server: NatsServer) -> None:
        async with open_pool(str(server.admission.head_file), "one", WAIT_S) as link:
            blobs = PoolBlobs(link)
            await blobs.put("ada", b"x")
            before = await link.accounts.of("ada")
            server.kill()
            server.start()
            deadline = time.monotonic() + WAIT_S
            while not link.reconnects:
                assert time.monotonic() < deadline
                await asyncio.sleep(0.05)
            while True:
                with contextlib.suppress(Exception):
                    after = await link.accounts.of("ada")
                    break
            assert after is not before
            assert after.total == cost(1)
            assert await blobs.size("ada", hashlib.sha256(b"x").hexdigest()) == 1

    with unhurried(), NatsServer(tmp_path).running() as server:
        asyncio.run(asyncio.wait_for(go(server), 2 * WAIT_S))
