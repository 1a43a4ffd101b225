# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What tenants' bytes are counted by: records, references, parts of what is stored, and how the store is divided."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from eddy.core.errors import Unauthorized
from eddy.pool.connection.streams import EVENTS
from eddy.pool.jetstream.budget import NAME_IN_USE, PROBE, TENANT_BYTES, TRIED_BYTES, Budget, budget_of
from eddy.pool.mirror.job_inputs import NeededInputs
from eddy.pool.records.records import SUCCEEDED, PoolJob
from eddy.pool.routes.downloads import StoredBytes, open_range
from hypothesis import given
from hypothesis import strategies as st
from nats.js.api import StreamConfig
from nats.js.errors import BadRequestError, NotFoundError
from starlette.requests import ClientDisconnect


def job(number: int, tenant: str = "ada", **more: Any) -> PoolJob:
    return PoolJob(number, tenant, {"application": "a", "inputs": {"x": ["s1", "s2"]}}, 0.0, **more)


def test_what_jobs_need_is_needed_until_the_last_of_them_has_ended() -> None:
    needed = NeededInputs()
    for number in (1, 2, 1):
        needed.add_job(job(number))
    assert needed.is_needed("ada", "s2")
    assert not needed.is_needed("grace", "s2")
    needed.add_job(job(1, state=SUCCEEDED))
    needed.add_job(job(1, state=SUCCEEDED))
    assert needed.is_needed("ada", "s2")
    needed.add_job(job(2, state=SUCCEEDED))
    assert not needed.is_needed("ada", "s2")
    assert not needed._jobs


@given(st.lists(st.integers(0, 9), min_size=1, max_size=6), st.data())
def test_a_part_of_blobs_end_to_end_is_in_these_blobs(sizes: list[int], data: st.DataObject) -> None:
    blobs = [bytes([at]) * size for at, size in enumerate(sizes)]
    whole, names = b"".join(blobs), [str(at) for at in range(len(sizes))]
    stored = StoredBytes("ada", names, sizes)
    begin = data.draw(st.integers(0, len(whole)))
    stop = data.draw(st.integers(begin, len(whole)))
    found = stored.within(begin, stop)
    assert b"".join(blobs[int(name)][first:behind] for name, first, behind in found) == whole[begin:stop]
    assert all(first < behind for _, first, behind in found)
    assert stored.size_bytes == len(whole)
    assert (stored.tag == names[0]) == (len(names) == 1)


class Servers:
    """Servers that can set so much aside, and refuse more."""

    def __init__(self, free_bytes: int) -> None:
        self.free_bytes = free_bytes
        self.streams = {name: StreamConfig(name=name, max_bytes=-1) for name in (EVENTS, "KV_eddy_jobs")}
        self.tried = 0

    def _reserved(self) -> int:
        return sum(max(config.max_bytes or 0, 0) for config in self.streams.values())

    async def stream_info(self, name: str) -> Any:
        await asyncio.sleep(0)
        if name not in self.streams:
            raise NotFoundError
        return SimpleNamespace(config=replace(self.streams[name]))

    async def add_stream(self, config: StreamConfig) -> None:
        await asyncio.sleep(0)
        self.tried += 1
        if config.name in self.streams:
            raise BadRequestError(err_code=NAME_IN_USE)
        if self._reserved() + int(config.max_bytes or 0) > self.free_bytes:
            raise BadRequestError(err_code=10005)
        self.streams[str(config.name)] = config

    async def update_stream(self, config: StreamConfig) -> None:
        await asyncio.sleep(0)
        self.streams[str(config.name)] = config
        assert self._reserved() <= self.free_bytes

    async def delete_stream(self, name: str) -> None:
        await asyncio.sleep(0)
        if self.streams.pop(name, None) is None:
            raise NotFoundError


@pytest.mark.parametrize("free_bytes", [60 << 20, 5_000_000_000, 46 << 30, 1 << 45])
def test_the_store_is_divided_once_with_room_for_what_a_pool_cannot_do_without(free_bytes: int) -> None:
    servers: Any = Servers(free_bytes)
    budget = asyncio.run(budget_of(servers, 3, 1 << 30))
    bounds = {name: int(config.max_bytes or 0) for name, config in servers.streams.items()}
    assert bounds.keys() == {EVENTS, "KV_eddy_jobs"}
    left = free_bytes - max(bounds[EVENTS], 0) - 2 * budget.records_bytes
    assert left >= free_bytes // 5, "for leases, ends and operators"
    assert bounds["KV_eddy_jobs"] == -1, "a change of a record is never refused for want of its own part"
    assert budget.records_bytes >= free_bytes // 4
    assert (budget.blobs_bytes, budget.tenant_bytes) == (1 << 30, 1 << 28)
    tried = servers.tried
    assert asyncio.run(budget_of(servers, 3, 1 << 30)) == budget
    assert servers.tried == tried, "the next head finds it done"


def test_heads_that_begin_at_once_agree_and_what_a_killed_one_left_is_taken_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def both(servers: Any) -> list[Budget]:
        return list(await asyncio.gather(budget_of(servers, 1, 0), budget_of(servers, 1, 0)))

    first, second = asyncio.run(both(servers := Servers(60 << 20)))
    assert first == second
    assert first.records_bytes >= 15 << 20
    assert PROBE not in servers.streams
    monkeypatch.setattr("eddy.pool.jetstream.budget.PROBE_S", 0.3)
    left = Servers(60 << 20)
    left.streams[PROBE] = StreamConfig(name=PROBE, max_bytes=1 << 20)
    killed: Any = left
    assert asyncio.run(budget_of(killed, 1, 0)) == first


def test_servers_that_can_set_nothing_aside_leave_tenants_their_own_bounds() -> None:
    servers: Any = Servers(1000)
    budget = asyncio.run(budget_of(servers, 1, 0))
    assert (budget.blobs_bytes, budget.records_bytes, budget.tenant_bytes) == (0, 0, TENANT_BYTES)
    assert servers.tried == len(TRIED_BYTES)


class Flaky:
    """Blobs of which the place goes away in the midst."""

    def __init__(self, whole: bytes, fails_at: list[int]) -> None:
        self._whole, self.fails_at = whole, fails_at

    async def pieces(self, tenant: str, name: str, begin: int, stop: int) -> AsyncGenerator[bytes, None]:
        fails_at = self.fails_at.pop(0) if self.fails_at else 1 << 40
        for at in range(begin, stop, 3):
            if at >= fails_at:
                raise ConnectionError("the place is gone")
            yield self._whole[at : min(at + 3, stop)]


def came(fails_at: list[int], begin: int = 0, stop: int = 9, check: Any = None) -> bytes:
    async def read() -> bytes:
        blobs: Any = Flaky(b"abcdefghi", fails_at)
        stored = StoredBytes("ada", ["x"], [9])
        return b"".join(
            [piece async for piece in await open_range(blobs, stored, begin, stop, check or (lambda: None))]
        )

    return asyncio.run(read())


def test_a_download_goes_on_where_it_was_when_servers_are_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eddy.pool.routes.downloads.AGAIN_S", 0.0)
    assert came([3, 6, 3, 6]) == b"abcdefghi"
    assert came([6], 4, 8) == b"efgh"
    with pytest.raises(ConnectionError):  # nothing was answered yet: clients ask again
        came([0])
    monkeypatch.setattr("eddy.pool.routes.downloads.PATIENCE_S", 0.0)
    with pytest.raises(ClientDisconnect):
        came([6, 6, 6])


def test_a_download_that_may_not_go_on_is_broken_off() -> None:
    def ended() -> None:
        raise Unauthorized("the key has ended")

    with pytest.raises(ClientDisconnect):
        came([], check=ended)
