# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a head has read of jobs stays on its disk, and is right whatever became of the servers and of the file since: it
is what a head reads that begins with nothing."""

from __future__ import annotations

import asyncio
import contextlib
import random
import shutil
import sqlite3
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from eddy.pool.connection.tasks import ended
from eddy.pool.jetstream.jobs import JobEntry, PoolJobs
from eddy.pool.jetstream.link import Link, open_pool
from eddy.pool.mirror import job_reader as job_readers
from eddy.pool.mirror import mirror as mirrors
from eddy.pool.mirror import projection as projections
from eddy.pool.mirror.mirror import Mirror
from eddy.pool.mirror.projection import REMOVED
from eddy.pool.records.record_json import to_json
from eddy.pool.records.records import JobPart, PoolJob
from eddy.pool.servers.nats_server import NatsServer
from eddy.store.job_tables.listing import JobFilter
from pool_boards import unhurried
from pool_kit import WAIT_S

BUCKET = "KV_eddy_jobs"


@contextlib.asynccontextmanager
async def reading(link: Link, folder: Path | None) -> AsyncIterator[Mirror]:
    """A head that has read all there is."""
    mirror = Mirror(link, "head", folder=folder)
    running = asyncio.ensure_future(mirror.run())
    try:
        await asyncio.wait_for(mirror.whole.wait(), WAIT_S)
        await mirror.wait_caught_up()
        yield mirror
    finally:
        await ended([running])
        mirror.projection.close()


def known(mirror: Mirror) -> Any:
    """What a head knows."""
    projection = mirror.projection

    def waits_for_known(job: PoolJob) -> bool:
        """How a job ended whose record is gone, only a head knows that was there."""
        return all(projection.has(each.id) for each in job.after)

    return (
        dict(mirror.jobs),
        projection.page(JobFilter(), None, 1000),
        projection.page(JobFilter("ada", labels=(("run", "1"),)), None, 1000),
        projection.usage(None, "", "9999"),
        {name: projection.tenant_bytes(name) for name in ("ada", "eve")},
        projection.count_entries(),
        {number: projection.members(number) for number in range(1, 300)},
        sorted(job.id for job in mirror.jobs.placeable_jobs if waits_for_known(job)),
        [each.job.id for each in mirror.jobs.jobs_to_end(0.0) if waits_for_known(each.job)],
        mirror.inputs._jobs,
    )


async def agrees(link: Link, folder: Path) -> int:
    """See that a head which goes on knows what one does that begins; how many entries it was told."""
    told, plain = list[str](), PoolJobs._entry

    def counted(table: PoolJobs, entry: Any) -> JobEntry:
        told.append(entry.key)
        return plain(table, entry)

    with patch.object(PoolJobs, "_entry", counted):
        async with reading(link, folder) as again:
            count = len(told)
            async with reading(link, None) as fresh:
                assert known(again) == known(fresh)
    return count


class World:
    """Jobs that are submitted, run, change, end and go."""

    def __init__(self, link: Link, seed: int) -> None:
        self.link, self.table, self.chance = link, PoolJobs(link), random.Random(seed)

    async def play(self, steps: int) -> None:
        for _ in range(steps):
            jobs = [int(key) for key in await self.table.keys()]
            step = self.chance.choice((self.submit, self.submit, self.array, self.change, self.change, self.change))
            await step(jobs)
            if jobs and self.chance.random() < 0.15:
                await self.remove(str(self.chance.choice(jobs)))

    async def submit(self, jobs: list[int]) -> None:
        request: dict[str, Any] = {"application": "a", "batch": 2, "inputs": {"x": ["s1"]}}
        request["labels"] = {"run": str(self.chance.randint(0, 2))}
        if jobs and self.chance.random() < 0.5:
            request["after"] = [self.chance.choice(jobs)]
        await self.table.submit(self.chance.choice(("ada", "eve")), request)

    async def array(self, _: list[int]) -> None:
        await self.table.submit_array("ada", [{"application": "a", "batch": 1}] * 3)

    async def change(self, jobs: list[int]) -> None:
        with contextlib.suppress(Exception):
            await self.table.change(self.chance.choice(jobs), self.changed)

    def changed(self, job: PoolJob) -> PoolJob:
        if job.is_ended:
            return job.discard_outputs(9.0)
        if not job.board:
            return job.place_on("b1", 0.0, {})
        if self.chance.random() < 0.3:
            return job.stop({"code": "x", "cause": "x", "message": "m"}, 5.0)
        return job.commit_part(JobPart(job.done, 1, {"y": "s"}, "b1", job.token, 1.0, self.chance.uniform(2, 3e5)))

    async def remove(self, key: str) -> None:
        """Remove a record, and sometimes the mark of that; or have it damaged. Arrays go whole: without its first job
        a head that begins knows none of the others."""
        if b'"array":{' in ((await self.table.entry(key)).data):
            return
        if self.chance.random() < 0.3:
            await self.link.jobs.put(key, b"{")
            return
        await self.link.jobs.purge(key)
        if self.chance.random() < 0.5:
            await self.take_marks(key)

    async def take_marks(self, key: str) -> None:
        """Take marks away as the head that leads does, the oldest first, up to a key's: heads rest on that order."""
        there = [await self.table.entry(each) for each in await self.table.keys()]
        for mark in sorted((each for each in there if each.gone), key=lambda each: each.revision):
            await self.link.js.purge_stream(BUCKET, subject=f"$KV.eddy_jobs.{mark.key}")
            if mark.key == key:
                return


def on_a_server(folder: Path, what: Any) -> None:
    async def go() -> None:
        async with open_pool(str(server.admission.head_file), "test", WAIT_S) as link:
            await what(link, server)

    with unhurried(), NatsServer(folder / "nats").running() as server:
        asyncio.run(asyncio.wait_for(go(), 2 * WAIT_S))


def test_a_head_that_goes_on_knows_what_one_does_that_begins(tmp_path: Path) -> None:
    async def check(link: Link, _: NatsServer) -> None:
        for seed in range(6):
            await World(link, seed).play(25)
            await agrees(link, tmp_path / "heads")
        for number in range(100):
            await link.jobs.put("x", str(number).encode())
        unread = sum(each.startswith("eddy_jobs") for each, _ in link.troubles.unreadable)
        assert await agrees(link, tmp_path / "heads") <= 2 + 2 * unread, "what is new, and what could not be read"

    on_a_server(tmp_path, check)


def test_starts_read_what_is_new_and_marks_that_went_cost_a_few_questions(tmp_path: Path) -> None:
    async def check(link: Link, _: NatsServer) -> None:
        table = PoolJobs(link)
        for number in range(1, 201):
            await link.jobs.put(str(number), to_json(PoolJob(number, "ada", {"application": "a"}, 1.0).cancelled(2.0)))
        assert await agrees(link, tmp_path / "heads") == 200
        assert await agrees(link, tmp_path / "heads") == 0
        for number in range(1, 41):
            await link.jobs.purge(str(number))
        assert await agrees(link, tmp_path / "heads") == 40
        for number in range(1, 31):
            await link.js.purge_stream(BUCKET, subject=f"$KV.eddy_jobs.{number}")
        with patch.object(PoolJobs, "keys", side_effect=AssertionError("all keys were listed")):
            assert await agrees(link, tmp_path / "heads") == 0
        await table.submit("ada", {"application": "a"})
        assert await agrees(link, tmp_path / "heads") == 1

    on_a_server(tmp_path, check)


async def restarted(link: Link, server: NatsServer, meanwhile: Callable[[], object]) -> None:
    """Have a server end, and come back after something was done to its files."""
    before = link.reconnects
    server.stop()
    meanwhile()
    server.start()
    while link.reconnects == before:
        await asyncio.sleep(0.05)


@pytest.mark.parametrize("what", ["purged", "older", "older and written on", "another"])
def test_servers_that_have_less_or_other_records_are_believed(tmp_path: Path, what: str) -> None:
    async def check(link: Link, server: NatsServer) -> None:
        await World(link, 1).play(30)
        await agrees(link, tmp_path / "heads")
        (kept,) = server.folder.glob(f"**/streams/{BUCKET}/msgs")
        if what == "purged":
            await link.js.purge_stream(BUCKET)
        elif what == "another":
            config = (await link.js.stream_info(BUCKET)).config
            await link.js.delete_stream(BUCKET)
            await link.js.add_stream(config)
            await World(link, 2).play(40)
        else:
            await restarted(link, server, lambda: shutil.copytree(kept, tmp_path / "older"))
            await World(link, 3).play(30)
            await agrees(link, tmp_path / "heads")
            await restarted(link, server, lambda: (kept.rename(tmp_path / "lost"), (tmp_path / "older").rename(kept)))
            await World(link, 4).play(40 if what.endswith("on") else 0)
        await agrees(link, tmp_path / "heads")

    on_a_server(tmp_path, check)


@pytest.mark.parametrize(("few", "marked", "went"), [(REMOVED, True, []), (REMOVED, False, [3, 4]), (1, False, [3])])
def test_a_record_that_comes_back_with_a_server_is_seen_where_as_many_went(
    tmp_path: Path, few: int, marked: bool, went: list[int]
) -> None:
    """As one without others does that is killed: what had been removed is there again, and its mark was not."""

    async def check(link: Link, server: NatsServer) -> None:
        for number in range(1, 6):
            await link.jobs.put(str(number), to_json(PoolJob(number, "ada", {"application": "a"}, 1.0)))
        (kept,) = server.folder.glob(f"**/streams/{BUCKET}/msgs")
        await restarted(link, server, lambda: shutil.copytree(kept, tmp_path / "older"))
        await agrees(link, tmp_path / "heads")
        for number in (1, 2):
            await link.jobs.purge(str(number)) if marked else await gone(link, number)
        await agrees(link, tmp_path / "heads")
        await restarted(link, server, lambda: (kept.rename(tmp_path / "lost"), (tmp_path / "older").rename(kept)))
        for number in went:
            await gone(link, number)
        await agrees(link, tmp_path / "heads")

    async def gone(link: Link, number: int) -> None:
        await link.js.purge_stream(BUCKET, subject=f"$KV.eddy_jobs.{number}")

    with patch.object(projections, "REMOVED", few), patch.object(job_readers, "REMOVED", few):
        on_a_server(tmp_path, check)


@pytest.mark.parametrize("how", ["nothing", "no data base", "cut off", "of another release"])
def test_a_file_that_is_damaged_is_made_again(tmp_path: Path, how: str) -> None:
    async def check(link: Link, _: NatsServer) -> None:
        await World(link, 1).play(30)
        await agrees(link, tmp_path / "heads")
        (file,) = (tmp_path / "heads").glob("*.sqlite3")
        data = file.read_bytes()
        if how == "of another release":
            with contextlib.closing(sqlite3.connect(file)) as db, db:
                db.execute("UPDATE meta SET value = '0' WHERE key = 'projection'")
        else:
            instead = {"nothing": b"", "no data base": b"x" * 9000, "cut off": data[: len(data) // 2]}
            file.write_bytes(instead[how])
        await agrees(link, tmp_path / "heads")

    on_a_server(tmp_path, check)


def test_a_file_that_is_found_damaged_while_a_head_runs_is_made_again(tmp_path: Path) -> None:
    async def check(link: Link, _: NatsServer) -> None:
        await World(link, 1).play(30)
        with patch.object(mirrors, "AGAIN_S", 0.05):
            async with reading(link, tmp_path / "heads") as mirror, reading(link, None) as fresh:
                assert mirror.projection._path is not None
                mirror.projection._db.execute("DROP TABLE pool_entry")
                with contextlib.suppress(Exception):
                    mirror.projection.keys()
                await World(link, 2).play(5)
                await asyncio.sleep(1.0)
                for each in (mirror, fresh):
                    await asyncio.wait_for(each.whole.wait(), WAIT_S)
                    await each.wait_caught_up()
                assert known(mirror) == known(fresh)

    on_a_server(tmp_path, check)


def test_heads_of_one_folder_have_a_file_each_and_the_next_goes_on_with_one(tmp_path: Path) -> None:
    async def check(link: Link, _: NatsServer) -> None:
        await World(link, 1).play(10)
        async with reading(link, tmp_path / "heads") as one, reading(link, tmp_path / "heads") as two:
            assert known(one) == known(two)
            assert one.projection._path != two.projection._path
        assert await agrees(link, tmp_path / "heads") <= len(link.troubles.unreadable)
        assert len([*(tmp_path / "heads").glob("*.sqlite3")]) == 2
        assert oct((tmp_path / "heads").stat().st_mode)[-3:] == "700"

    on_a_server(tmp_path, check)
