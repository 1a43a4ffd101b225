"""Bytes that several bring at once are kept once."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest
from eddy.core.errors import RateLimited
from eddy.pool.blobs import PoolBlobs
from eddy.pool.link import Link
from eddy.pool.uploads import UploadsUnderWay
from nats.js.errors import ObjectNotFoundError


class Store:
    """An object store that takes its time."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}
        self.puts: list[str] = []
        self.under_way = self.most = 0

    async def get_info(self, name: str) -> Any:
        await asyncio.sleep(0)
        if name not in self.kept:
            raise ObjectNotFoundError
        return SimpleNamespace(size=len(self.kept[name]))

    async def put(self, name: str, data: bytes) -> None:
        self.puts.append(name)
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        for _ in range(10):
            await asyncio.sleep(0)
        self.under_way -= 1
        self.kept[name] = data


def test_what_many_write_at_once_is_kept_once_and_others_do_not_wait_for_it() -> None:
    async def check() -> None:
        store = Store()
        blobs = PoolBlobs(cast(Link, SimpleNamespace(blobs=store)))
        brought = [(tenant, data) for tenant in ("ada", "grace") for data in (b"zeros", b"zeros", b"ones", b"zeros")]
        names = await asyncio.gather(*(blobs.put(*each) for each in brought))
        assert [store.kept[f"{tenant}/{name}"] for (tenant, _), name in zip(brought, names, strict=True)] == [
            data for _, data in brought
        ]
        assert len(store.puts) == len(set(store.puts)) == 4
        assert store.most == 4

    asyncio.run(check())


def test_a_tenant_that_sends_more_at_once_than_it_may_is_refused_and_no_other_is() -> None:
    uploads = UploadsUnderWay(100)
    with uploads.counting("ada") as first, uploads.counting("ada") as second, uploads.counting("grace") as other:
        first(60)
        second(40)
        with pytest.raises(RateLimited) as refused:
            second(1)
        assert refused.value.details == {"limit": 100, "retry_after_s": 1}
        other(100)
    with uploads.counting("ada") as again:
        again(100)  # what ended counts no more, however it did
