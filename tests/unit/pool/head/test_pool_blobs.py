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
from eddy.pool.connection.streams import EVENTS, STORE, WRITTEN
from eddy.pool.jetstream.blob_writer import PIECE_BYTES, split_pieces
from eddy.pool.jetstream.budget import NAME_IN_USE, PROBE, TENANT_BYTES, TRIED_BYTES, Budget, Division, budget_of
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


def test_bytes_come_in_pieces_that_boards_can_ask_for() -> None:
    async def chunks(sizes: list[int]) -> AsyncGenerator[bytes, None]:
        for at, size in enumerate(sizes):
            yield bytes([at % 256]) * size

    async def pieces(sizes: list[int]) -> list[bytes]:
        return [piece async for piece in split_pieces(chunks(sizes))]

    for sizes in ([], [0], [1], [PIECE_BYTES], [3 * PIECE_BYTES + 5], [100_000] * 9, [PIECE_BYTES - 1, 1, 1]):
        found = asyncio.run(pieces(sizes))
        assert b"".join(found) == b"".join(bytes([at % 256]) * size for at, size in enumerate(sizes))
        assert all(len(piece) == PIECE_BYTES for piece in found[:-1])
        assert all(0 < len(piece) <= PIECE_BYTES for piece in found[-1:])


class Servers:
    """Servers that can set so much aside, and refuse more."""

    def __init__(self, free_bytes: int) -> None:
        self.free_bytes = free_bytes
        self.streams = {name: StreamConfig(name=name, max_bytes=-1) for name in (EVENTS, STORE, WRITTEN)}
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
    budget = asyncio.run(budget_of(servers, 3))
    bounds = {name: int(config.max_bytes or 0) for name, config in servers.streams.items()}
    assert bounds.keys() == {EVENTS, STORE, WRITTEN}
    left = free_bytes - sum(bounds.values()) - budget.records_bytes
    assert left >= min(free_bytes // 20, 1 << 30), "for leases, ends and operators"
    assert bounds[STORE] == budget.blobs_bytes >= free_bytes // 3
    assert 0 < budget.tenant_bytes <= min(budget.blobs_bytes // 4, TENANT_BYTES)
    tried = servers.tried
    assert asyncio.run(budget_of(servers, 3)) == budget
    assert servers.tried == tried, "the next head finds it done"


def test_heads_that_begin_at_once_agree_and_what_a_killed_one_left_is_taken_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def both(servers: Any) -> list[Budget]:
        return list(await asyncio.gather(budget_of(servers, 1), budget_of(servers, 1)))

    first, second = asyncio.run(both(servers := Servers(60 << 20)))
    assert first == second
    assert first.blobs_bytes >= 20 << 20
    assert PROBE not in servers.streams
    monkeypatch.setattr("eddy.pool.jetstream.budget.PROBE_S", 0.3)
    left = Servers(60 << 20)
    left.streams[PROBE] = StreamConfig(name=PROBE, max_bytes=1 << 20)
    killed: Any = left
    assert asyncio.run(budget_of(killed, 1)) == first


def test_servers_that_can_set_nothing_aside_leave_tenants_their_own_bounds() -> None:
    servers: Any = Servers(1000)
    budget = asyncio.run(budget_of(servers, 1))
    assert (budget.blobs_bytes, budget.records_bytes, budget.tenant_bytes) == (0, 0, TENANT_BYTES)
    assert servers.tried == len(TRIED_BYTES)


def test_parts_add_up() -> None:
    for free_bytes in (1 << 24, 60 << 20, 1 << 34, 1 << 45):
        division = Division.divide(free_bytes)
        assert min(division.blobs, division.written, division.events) > 0
        assert division.blobs + division.written + division.events < free_bytes - division.blobs // 8


class Flaky:
    """Blobs of which a server goes away in the midst, each time a piece later."""

    def __init__(self, pieces: list[bytes], fails_at: list[int]) -> None:
        self._pieces, self.fails_at = pieces, fails_at

    async def pieces(self, tenant: str, name: str) -> AsyncGenerator[bytes, None]:
        fails_at = self.fails_at.pop(0) if self.fails_at else None
        for at, piece in enumerate(self._pieces):
            if at == fails_at:
                raise ConnectionError("the server is gone")
            yield piece


def came(fails_at: list[int], begin: int = 0, stop: int = 9, check: Any = None) -> bytes:
    async def read() -> bytes:
        blobs: Any = Flaky([b"abc", b"def", b"ghi"], fails_at)
        stored = StoredBytes("ada", ["x"], [9])
        return b"".join(
            [piece async for piece in await open_range(blobs, stored, begin, stop, check or (lambda: None))]
        )

    return asyncio.run(read())


def test_a_download_goes_on_where_it_was_when_servers_are_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eddy.pool.routes.downloads.AGAIN_S", 0.0)
    assert came([1, 2, 1, 2]) == b"abcdefghi"
    assert came([2], 4, 8) == b"efgh"
    with pytest.raises(ConnectionError):  # nothing was answered yet: clients ask again
        came([0])
    monkeypatch.setattr("eddy.pool.routes.downloads.PATIENCE_S", 0.0)
    with pytest.raises(ClientDisconnect):
        came([2, 2, 2])


def test_a_download_that_may_not_go_on_is_broken_off() -> None:
    def ended() -> None:
        raise Unauthorized("the key has ended")

    with pytest.raises(ClientDisconnect):
        came([], check=ended)
