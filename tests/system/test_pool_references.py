"""Who refers to which bytes of a pool: what is referred to is there, and nothing else, whoever acts when."""

from __future__ import annotations

import asyncio
import hashlib
import os
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from eddy.pool.blob_writer import PIECE_BYTES, PIECES_OF, found
from eddy.pool.blobs import Incoming, PoolBlobs
from eddy.pool.byte_accounts import OWNER, REFERENCE_BYTES, Reservation
from eddy.pool.link import Link
from pool_boards import on_two_links, pieces_in


def test_what_many_store_at_once_is_kept_once(tmp_path: Path) -> None:
    async def check(one: Link, two: Link) -> None:
        data = os.urandom(3 * PIECE_BYTES + 7)
        name = hashlib.sha256(data).hexdigest()
        heads = [PoolBlobs(link) for link in (one, two)]
        await asyncio.gather(*(heads[n % 2].put("ada", data, reference=str(n % 3 or OWNER)) for n in range(12)))
        for link, blobs in zip((one, two), heads, strict=True):
            account = await link.accounts.of("ada")
            await account.caught_up()
            assert account.total == len(data) + 3 * REFERENCE_BYTES
            assert (await blobs.fetch("ada", name)).data == data
        kept = await found(one, f"ada/{name}")
        assert kept is not None
        assert await pieces_in(one) == {f"{PIECES_OF}{kept[0].nuid}": 4}
        assert (await heads[0].size("grace", name)) is None

    on_two_links(tmp_path, check)


def test_what_is_referred_to_is_there_and_nothing_else_whoever_acts_when(tmp_path: Path) -> None:
    """Two heads store and release the same blobs at random, all at once."""

    async def check(one: Link, two: Link) -> None:
        chance, heads = random.Random(9), [PoolBlobs(link) for link in (one, two)]
        contents = [bytes([n]) * (PIECE_BYTES + n) for n in range(2)]
        names = [hashlib.sha256(data).hexdigest() for data in contents]

        async def act(head: int, which: int, reference: str, stores: bool) -> None:
            await asyncio.sleep(chance.random() / 50)
            if stores:
                await heads[head].put("ada", contents[which], reference=reference)
            else:
                await heads[head].release("ada", names[which], reference)

        for _ in range(12):
            await asyncio.gather(
                *(act(n % 2, n // 2 % 2, str(n % 3 or OWNER), chance.random() < 0.5) for n in range(12))
            )
            account = await one.accounts.of("ada")
            await account.caught_up()
            for which, name in enumerate(names):
                there = await found(two, f"ada/{name}")
                assert (there is not None) == (name in account.blobs)
                if there is not None:
                    assert (await heads[1].fetch("ada", name)).data == contents[which]

    on_two_links(tmp_path, check)


def test_what_is_stored_while_its_last_reference_goes_stays(tmp_path: Path) -> None:
    """Another head writes it between two looks of the head that is about to take it away."""

    async def check(one: Link, two: Link) -> None:
        data = os.urandom(1000)
        name, heads = hashlib.sha256(data).hexdigest(), [PoolBlobs(link) for link in (one, two)]
        await heads[0].put("ada", data)

        async def meanwhile(link: Link, stored: str) -> Any:
            if link is one and not seen:
                seen.append(stored)
                await heads[1].put("ada", data, reference="7")
            return await found(link, stored)

        seen: list[str] = []
        with patch("eddy.pool.blobs.found", meanwhile):
            assert await heads[0].release("ada", name, OWNER)
        assert seen
        assert (await heads[0].fetch("ada", name)).data == data

    on_two_links(tmp_path, check)


@pytest.mark.parametrize("releases", [0, 1])
def test_a_reference_given_up_while_the_same_is_made_again_takes_nothing_away(tmp_path: Path, releases: int) -> None:
    """The blob is written, and not yet said to be there, when a head gives up the reference that it will have."""

    async def check(one: Link, two: Link) -> None:
        data = os.urandom(1000)
        name, heads = hashlib.sha256(data).hexdigest(), [PoolBlobs(link) for link in (one, two)]
        keep, kept = Reservation.keep, list[bool]()

        async def late(reservation: Reservation, size_bytes: int) -> None:
            if not kept:
                kept.append(False)
                await heads[1 - releases].put("ada", data, reference="2")
                kept.append(await heads[releases].release("ada", name, "2"))
            await keep(reservation, size_bytes)

        with patch.object(Reservation, "keep", late):
            await heads[0].put("ada", data, reference="2")
        assert kept == [False, True]
        account = await two.accounts.of("ada")
        await account.caught_up()
        assert [*account.blobs[name]] == ["2"]
        assert (await heads[1].fetch("ada", name)).data == data
        assert account.total == len(data) + REFERENCE_BYTES

    on_two_links(tmp_path, check)


def test_what_is_not_kept_leaves_the_reference_of_before(tmp_path: Path) -> None:
    """A blob that was lost is sent again, and the sender goes away."""

    async def check(one: Link, two: Link) -> None:
        data = os.urandom(1000)
        name, blobs = hashlib.sha256(data).hexdigest(), PoolBlobs(one)
        await blobs.put("ada", data)
        known = await found(two, f"ada/{name}")
        assert known is not None
        await one.js.purge_stream("OBJ_eddy_blobs", subject=f"{PIECES_OF}{known[0].nuid}")

        async def gone() -> AsyncIterator[bytes]:
            yield data[:10]
            raise ConnectionError

        account = await two.accounts.of("ada")
        most = len(data) + REFERENCE_BYTES  # all that it may keep, and does
        with pytest.raises(ConnectionError):
            await blobs.store(Incoming("ada", name, OWNER, len(data), most), gone())
        await account.caught_up()
        assert (account.total, [*account.blobs[name]]) == (most, [OWNER])

        async def whole() -> AsyncIterator[bytes]:
            yield data

        await blobs.store(Incoming("ada", name, OWNER, len(data), most), whole())
        assert (await PoolBlobs(two).fetch("ada", name)).data == data
        await account.caught_up()
        assert account.total == most

    on_two_links(tmp_path, check)
