# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The pool's store on a real NATS server: bytes at a rate, records changed by one of many, leases, numbers of jobs."""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast
from unittest.mock import patch

import pytest
from eddy.core.errors import Conflict, NotFound, Unauthorized
from eddy.core.tenants import KeyScope
from eddy.pool.connection.streams import EVENTS, LEASES, MAX_CONSUMERS
from eddy.pool.connection.tasks import ended
from eddy.pool.connection.transfer import DamagedBlob
from eddy.pool.jetstream.blobs import PoolBlobs
from eddy.pool.jetstream.jobs import PoolJobs
from eddy.pool.jetstream.lease import LeaderLease
from eddy.pool.jetstream.link import Link, _made, open_pool
from eddy.pool.jetstream.tenant_keys import PoolKeys
from eddy.pool.jetstream.tenants import PoolTenant, PoolTenants
from eddy.pool.mirror.mirror import Mirror
from eddy.pool.records.records import JobFenced, JobPart, PoolJob
from eddy.pool.routes.transfers import paced
from eddy.pool.servers.nats_server import NatsServer
from eddy.store.account_tables.tenants import revoke_after
from nats.js.kv import KeyValue
from pool_boards import all_jobs, fetched, unhurried
from pool_kit import WAIT_S

REQUEST = {"application": "a", "batch": 8}


def on_a_server(folder: Path, what: Callable[[Link], Awaitable[None]]) -> None:
    async def go() -> None:
        async with open_pool(str(server.admission.head_file), "test", WAIT_S) as link:
            await what(link)

    with unhurried(), NatsServer(folder).running() as server:
        asyncio.run(go())


def test_a_blob_is_sent_no_faster_than_its_rate_and_each_tenant_has_its_own(tmp_path: Path) -> None:
    async def check(link: Link) -> None:
        blobs, data, bps = PoolBlobs(link), os.urandom(700_001), 8e6
        name = await blobs.put("ada", data)
        assert name == hashlib.sha256(data).hexdigest()
        assert await blobs.put("ada", data) == name
        assert await fetched(blobs, "ada", name) == data
        began_s = time.monotonic()
        assert b"".join([piece async for piece in paced(blobs.pieces("ada", name), bps)]) == data
        assert time.monotonic() - began_s >= 0.98 * 8 * len(data) / bps
        assert await fetched(blobs, "ada", await blobs.put("ada", b"")) == b""
        assert await blobs.size("grace", name) is None
        with pytest.raises(NotFound):
            await fetched(blobs, "grace", name)
        with pytest.raises(DamagedBlob):
            await blobs.put("ada", b"other", name)

    on_a_server(tmp_path, check)


def test_a_bucket_that_was_read_or_followed_has_no_reader_left(tmp_path: Path) -> None:
    """A thousand lists of keys, or restarts of what a head follows, would keep every head from reading anything."""
    followed = ("eddy_keys", "eddy_jobs", "eddy_boards", "eddy_leases")

    async def check(link: Link) -> None:
        await PoolTenants(link).add(PoolTenant("ada"))
        for _ in range(3):
            assert len(await PoolKeys(link).all("ada")) == 1
        assert await link.js.consumers_info("KV_eddy_keys") == []
        mirror = Mirror(link, "head")
        for _ in range(2):
            mirror.whole.clear()
            running = asyncio.ensure_future(mirror.run())
            await asyncio.wait_for(mirror.whole.wait(), WAIT_S)
            await ended([running])
        assert [await link.js.consumers_info(f"KV_{bucket}") for bucket in followed] == [[]] * 4
        assert len(link.nats._subs) <= 1, "but for the inbox that answers come to"

    with patch("eddy.pool.jetstream.bucket_reader.FORGET_S", WAIT_S):
        on_a_server(tmp_path, check)


def test_more_than_a_thousand_may_fetch_and_follow_at_once_in_a_pool_made_before_too(tmp_path: Path) -> None:
    streams = (EVENTS, LEASES, "KV_eddy_keys", "KV_eddy_jobs", "KV_eddy_boards")

    async def check(link: Link) -> None:
        for stream in streams:
            config = (await link.js.stream_info(stream)).config
            assert config.max_consumers == MAX_CONSUMERS
            config.max_consumers = -1  # as servers take it: 1,000
            await link.js.update_stream(config)
        await _made(link.nats, 1, link.bytes)
        for stream in streams:
            assert (await link.js.stream_info(stream)).config.max_consumers == MAX_CONSUMERS

    on_a_server(tmp_path, check)


def test_of_many_who_commit_the_same_part_one_does(tmp_path: Path) -> None:
    """Ten at once, under three tokens: the one in force wins once, and the others hear that they do not count."""

    async def check(link: Link) -> None:
        table = PoolJobs(link)
        job = await table.submit("ada", REQUEST)
        for board in ("b1", "b2"):
            await table.change(job.id, lambda it, name=board: it.place_on(name, 0.0, {}))  # type: ignore[misc]
            await table.change(job.id, lambda it: it.recall("gone", 0.0))
        now = await table.change(job.id, lambda it: it.place_on("b3", 0.0, {}))

        async def commit(token: int, who: int) -> bool:
            part = JobPart(0, 3, {"y": f"sha{who}"}, f"b{who}", token, 0.0, 1.0)
            try:
                await table.change(job.id, lambda it: it.commit_part(part))
            except JobFenced:
                return False
            return True

        tokens = [1, 3, now.token, 1, now.token, 3, now.token, 1, now.token, 3]
        won = await asyncio.gather(*[commit(token, who) for who, token in enumerate(tokens)])
        assert sum(won) == 1
        assert tokens[won.index(True)] == now.token
        kept = await table.job(job.id)
        assert [part.outputs["y"] for part in kept.parts] == [f"sha{won.index(True)}"]

    on_a_server(tmp_path, check)


def test_a_submission_that_is_repeated_is_one_job(tmp_path: Path) -> None:
    async def check(link: Link) -> None:
        table = PoolJobs(link)
        same = await asyncio.gather(*[table.submit("ada", REQUEST, "k") for _ in range(8)])
        assert len({job.id for job in same}) == 1
        other = await table.submit("grace", REQUEST, "k")
        assert other.id > same[0].id
        with pytest.raises(Conflict):
            await table.submit("ada", {**REQUEST, "batch": 9}, "k")
        assert [job.id for job in await all_jobs(link)] == [same[0].id, other.id]
        with pytest.raises(NotFound):
            await table.job(999)

    on_a_server(tmp_path, check)


def test_nobody_is_told_of_an_array_that_is_not_there_whole(tmp_path: Path) -> None:
    class Dies(PoolJobs):
        async def _made(self, job: PoolJob) -> bool:
            if job.array is not None and not job.array.index:
                raise OSError("the head is killed before the last record")
            return await super()._made(job)

    async def check(link: Link) -> None:
        async def told(before: int) -> int:
            """Events of jobs. Nobody waits for them, so one behind them is waited for, of which so many came before."""
            await link.js.publish("eddy.events.ada.last", b"{}")
            return int((await link.js.stream_info(EVENTS)).state.messages) - before - 1

        with pytest.raises(OSError, match="killed"):
            await Dies(link).submit_array("ada", [REQUEST] * 4, "k")
        assert await told(0) == 0
        await PoolJobs(link).submit_array("ada", [REQUEST] * 4, "k")
        assert await told(1) == 4
        await PoolJobs(link).submit_array("ada", [REQUEST] * 4, "k")
        assert await told(2) == 4

    on_a_server(tmp_path, check)


def test_a_key_that_was_revoked_stays_so_and_one_head_at_a_time_changes_keys(tmp_path: Path) -> None:
    async def check(link: Link) -> None:
        keys, others = PoolKeys(link), PoolKeys(link)
        await keys.make("ada", KeyScope.TENANT)
        (key,) = await keys.all("ada")
        (seen,) = await others.all("ada")  # another head reads it, and is slow
        await keys.change(key, lambda now: revoke_after(now, time.time()))
        await others.change(seen, lambda now: revoke_after(now, time.time(), grace_s=3600.0))
        with pytest.raises(Unauthorized, match="revoked"):
            await keys.of_hash(key.key_hash)
        inside: list[str] = []

        async def changes(which: PoolKeys) -> None:
            async with which.changing():
                inside.append("in")
                await asyncio.sleep(0.2)
                inside.append("out")

        await asyncio.gather(*(changes(each) for each in (keys, others, keys, others)))
        assert inside == ["in", "out"] * 4

    with patch("eddy.pool.jetstream.tenant_keys.TURN_S", WAIT_S), patch("eddy.pool.connection.streams.LEASE_S", 600.0):
        on_a_server(tmp_path, check)


def test_a_head_that_is_killed_as_it_makes_the_operator_leaves_a_pool_that_can_be_operated(tmp_path: Path) -> None:
    async def check(link: Link) -> None:
        class Dies:
            """A bucket that keeps so much, and no more."""

            def __init__(self, writes: int) -> None:
                self.left = writes

            def __getattr__(self, name: str) -> Any:
                if name in ("put", "create"):
                    self.left -= 1
                    if self.left < 0:
                        raise ConnectionError("the head is killed")
                return getattr(link.keys, name)

        for writes in range(2):
            with pytest.raises(ConnectionError):
                await PoolTenants(dataclasses.replace(link, keys=cast(KeyValue, Dies(writes)))).operate(
                    f"first {writes}"
                )
            assert not await PoolTenants(link).operated(), "the next head makes another"
        await PoolTenants(link).operate("second")
        assert await PoolTenants(link).operated()
        assert (await PoolTenants(link).of_key("second")).admin

    on_a_server(tmp_path, check)


def test_one_head_leads_and_another_when_it_gives_up(tmp_path: Path) -> None:
    async def check(link: Link) -> None:
        first, second = LeaderLease(link, "a"), LeaderLease(link, "b")
        assert await first.renew()
        assert not await second.renew()
        assert await first.renew()
        await first.release()
        assert await second.renew()
        assert not await first.renew()

    with patch("eddy.pool.connection.streams.LEASE_S", 600.0), patch("eddy.pool.jetstream.lease.LEASE_S", 600.0):
        on_a_server(tmp_path, check)


def test_a_connection_that_a_server_ends_is_made_again_whatever_for(tmp_path: Path) -> None:
    """The client's own way is to close for ever, and its calls to fail for ever."""

    async def check(link: Link) -> None:
        client: Any = link.nats
        for number, said in enumerate(("'Authorization Violation'", "'Maximum Payload Violation'"), 1):
            await client._process_err(said)
            deadline = time.monotonic() + WAIT_S
            while link.reconnects < number or not link.connected:
                assert time.monotonic() < deadline
                await asyncio.sleep(0.05)
            await link.keys.put("x", b"1")
        await client._process_err("'Permissions Violation for Publish to \"x\"'")
        assert link.connected

    on_a_server(tmp_path, check)


def test_a_lease_that_cannot_be_renewed_ends_before_another_may_have_it(tmp_path: Path) -> None:
    async def check(link: Link) -> None:
        clock = [0.0]
        lease = LeaderLease(link, "a", lambda: clock[0])
        assert await lease.renew()
        clock[0] = 3.9
        assert lease.is_leader
        clock[0] = 4.1
        assert not lease.is_leader

    on_a_server(tmp_path, check)
