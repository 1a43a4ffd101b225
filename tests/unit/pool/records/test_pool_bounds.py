# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Bounds of tenants: heads that are asked at once accept no more together than one would;
what is larger than servers or boards take is refused when it comes."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from eddy.api.http.problems import BodyTooLarge
from eddy.core.errors import EddyError, QuotaExceeded
from eddy.pool.head.board_requests import BoardRequestHandler
from eddy.pool.jetstream.jobs import MAX_RECORD_BYTES, PoolJobs
from eddy.pool.jetstream.store_anomalies import StoreAnomalies
from eddy.pool.jetstream.tenants import PoolTenant
from eddy.pool.mirror.flood_guard import FloodGuard
from eddy.pool.mirror.open_jobs import OpenJobs
from eddy.pool.records.records import PoolJob
from eddy.pool.routes.bounds import CLAIMED_S, Bounds
from eddy.pool.routes.open_transfers import OpenTransfers
from nats.errors import MaxPayloadError
from nats.js.errors import KeyNotFoundError, KeyWrongLastSequenceError


@dataclass
class Entry:
    value: bytes
    revision: int


class Keys:
    """A bucket that takes its time."""

    _stream = "KV_eddy_keys"

    def __init__(self) -> None:
        self.kept: dict[str, Entry] = {}

    @property
    def _js(self) -> Any:
        return self

    async def confirm_stream(self, stream: str) -> None:
        assert stream == self._stream

    async def get(self, name: str) -> Entry:
        await asyncio.sleep(random.random() / 200)
        if name not in self.kept:
            raise KeyNotFoundError
        return self.kept[name]

    async def update(self, name: str, value: bytes, last: int) -> None:
        await asyncio.sleep(random.random() / 200)
        if last != (self.kept[name].revision if name in self.kept else 0):
            raise KeyWrongLastSequenceError
        self.kept[name] = Entry(value, last + 1)


@dataclass
class Pool:
    keys: Keys = field(default_factory=Keys)
    jobs: OpenJobs = field(default_factory=OpenJobs)
    now_s: float = 0.0
    troubles: StoreAnomalies = field(default_factory=StoreAnomalies)

    async def wait_caught_up(self) -> None:
        await asyncio.sleep(random.random() / 200)

    def bounds(self, ahead_s: float = 0.0) -> Bounds:
        link: Any = self
        return Bounds(link, link, lambda: self.now_s + ahead_s)

    def add(self, tenant: str = "ada") -> None:
        number = len(self.jobs) + 1
        self.jobs.add_record(PoolJob(number, tenant, {"application": "a"}, 0.0))


ADA = PoolTenant("ada", max_jobs=7, max_priority=3)


def test_heads_together_accept_what_a_tenant_may_have() -> None:
    async def go() -> None:
        pool = Pool()
        heads = [pool.bounds() for _ in range(3)]
        for _ in range(2):
            pool.add("grace")

        async def submit(place: int) -> bool:
            try:
                async with heads[place % 3].admit(ADA):
                    await asyncio.sleep(0.01)
                    pool.add()
            except QuotaExceeded:
                return False
            return True

        assert sum(await asyncio.gather(*map(submit, range(30)))) == 7
        assert sum(job.tenant == "ada" for job in pool.jobs.values()) == 7
        assert pool.keys.kept["claims.ada"].value == b"{}"

    asyncio.run(go())


def test_what_a_head_claimed_that_was_killed_counts_for_a_while() -> None:
    async def go() -> None:
        pool = Pool()
        killed = pool.bounds().admit(ADA, jobs=5)
        await killed.__aenter__()
        other = pool.bounds()
        async with other.admit(ADA, jobs=2):
            pass
        with pytest.raises(QuotaExceeded, match="the bound is 7"):
            async with other.admit(ADA, jobs=3):
                pass
        pool.now_s += CLAIMED_S
        async with other.admit(ADA, jobs=7):
            pass

    asyncio.run(go())


def test_heads_whose_dates_differ_count_each_others_claims(monkeypatch: pytest.MonkeyPatch) -> None:
    async def go() -> None:
        pool = Pool()
        monkeypatch.setattr("eddy.pool.routes.bounds.time.time", lambda: 1e9)
        async with pool.bounds().admit(ADA, jobs=5):
            monkeypatch.setattr("eddy.pool.routes.bounds.time.time", lambda: 1e9 + 86_400)
            with pytest.raises(QuotaExceeded):
                async with pool.bounds(ahead_s=86_400.0).admit(ADA, jobs=5):
                    pass

    asyncio.run(go())


def test_what_is_refused_changes_nothing() -> None:
    async def go() -> None:
        pool = Pool()
        bounds = pool.bounds()
        for _ in range(6):
            pool.add()
        await bounds.check(ADA)
        for jobs in (2, 8):
            with pytest.raises(QuotaExceeded):
                await bounds.check(ADA, jobs)
            with pytest.raises(QuotaExceeded):
                async with bounds.admit(ADA, jobs):
                    pass
        assert pool.keys.kept == {}

    asyncio.run(go())


def request(inputs: int) -> dict[str, object]:
    return {"application": "a", "batch": inputs, "inputs": {"x": [64 * "0"] * inputs}}


@pytest.mark.parametrize(
    "submit",
    [
        lambda table: table.submit("ada", request(MAX_RECORD_BYTES // 60), "key"),
        lambda table: table.submit_array("ada", [request(1), request(MAX_RECORD_BYTES // 60)], "key"),
    ],
)
def test_a_submission_that_is_too_large_is_refused_before_anything_is_kept(
    submit: Callable[[PoolJobs], Awaitable[Any]],
) -> None:
    nothing: Any = SimpleNamespace()  # what asked the servers would fail otherwise
    with pytest.raises(BodyTooLarge) as refused:
        asyncio.run(submit(PoolJobs(nothing)))  # type: ignore[arg-type]
    assert (refused.value.status_code, refused.value.extra["limit"]) == (413, MAX_RECORD_BYTES)


def test_an_answer_that_is_too_large_is_answered_with_an_error() -> None:
    """A board would ask again for ever, as it does where no head answers."""
    answers: list[bytes] = []

    class Message:
        reply = "_INBOX.b1.x"

        async def respond(self, data: bytes) -> None:
            if len(data) > 1000:
                raise MaxPayloadError
            answers.append(data)

    async def nothing(_: str) -> Any:
        return []

    link: Any = SimpleNamespace()
    gate = BoardRequestHandler(link, nothing, nothing, FloodGuard(), OpenTransfers(""))
    asyncio.run(gate._respond(Message(), {"ok": "x" * 2000}))  # type: ignore[arg-type]
    asyncio.run(gate._respond(Message(), {"ok": "x"}))  # type: ignore[arg-type]
    refused, answered = (json.loads(each) for each in answers)
    assert refused["error"]["code"] == EddyError.code
    assert answered == {"ok": "x"}
