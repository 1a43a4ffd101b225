# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Who refers to which bytes of a pool: what is referred to is there, and nothing else, whoever acts when."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
from eddy.core.errors import NotFound
from eddy.pool.bytes.byte_store import BlobName
from eddy.pool.bytes.folder_store import FolderStore
from eddy.pool.connection.transfer import PIECE_BYTES
from eddy.pool.head import output_collector
from eddy.pool.head.output_collector import OutputCollector
from eddy.pool.jetstream import byte_accounts
from eddy.pool.jetstream.blobs import IncomingBlob, PoolBlobs
from eddy.pool.jetstream.byte_accounts import OWNER, REFERENCE_BYTES, Reservation
from eddy.pool.jetstream.link import Link
from pool_boards import fetched, file_of, objects_in, on_two_links


def test_what_many_store_at_once_is_kept_once(tmp_path: Path) -> None:
    async def check(one: Link, two: Link) -> None:
        data = os.urandom(3 * PIECE_BYTES + 7)
        name = hashlib.sha256(data).hexdigest()
        heads = [PoolBlobs(link) for link in (one, two)]
        await asyncio.gather(*(heads[n % 2].put("ada", data, reference=str(n % 3 or OWNER)) for n in range(12)))
        for link, blobs in zip((one, two), heads, strict=True):
            account = await link.accounts.of("ada")
            await account.wait_caught_up()
            assert account.total == len(data) + 3 * REFERENCE_BYTES
            assert await fetched(blobs, "ada", name) == data
        assert (await heads[0].size("grace", name)) is None
        assert await at_rest(one, two) == {name: len(data)}

    on_two_links(tmp_path, check)


def test_who_is_the_last_of_many_to_send_the_same_keeps_what_came_first(tmp_path: Path) -> None:
    """Each of two jobs refers to it, at two heads; it lies there once. One that is damaged meanwhile is written."""

    async def check(one: Link, two: Link) -> None:
        for damaged in (False, True):
            data, first = os.urandom(2 * PIECE_BYTES), asyncio.Event()
            name = hashlib.sha256(data).hexdigest()

            async def slowly(data: bytes = data, first: asyncio.Event = first) -> AsyncIterator[bytes]:
                yield data[:PIECE_BYTES]
                await first.wait()
                yield data[PIECE_BYTES:]

            late = asyncio.ensure_future(
                PoolBlobs(two).store(IncomingBlob("ada", name, "2", len(data), 1 << 40), slowly())
            )
            await asyncio.sleep(0)
            assert await PoolBlobs(one).put("ada", data, reference="1") == name
            if damaged:
                (there,) = [each for each in await objects_in(one) if each.sha256 == name]
                file_of(one, there).write_bytes(bytes(len(data)))
            account = await two.accounts.of("ada")
            await account.wait_caught_up()
            first.set()
            assert await late == (len(data), damaged)
            assert len([each for each in await objects_in(one) if each.sha256 == name]) == 1 + damaged
            assert await fetched(PoolBlobs(two), "ada", name) == data

    on_two_links(tmp_path, check)


@contextlib.contextmanager
def pausing(chance: random.Random) -> Iterator[None]:
    """Heads take their time between the steps in which blobs come and go."""

    def paused(real: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def late(*given: Any, **more: Any) -> Any:
            if chance.random() < 0.5:
                await asyncio.sleep(chance.random() / 50)
            return await real(*given, **more)

        return late

    account = byte_accounts.TenantBytes
    steps: list[tuple[Any, str]] = [(PoolBlobs, "_remove_unnamed"), (FolderStore, "remove"), (FolderStore, "keep")]
    steps += [(FolderStore, "look"), *((account, each) for each in ("read_entries", "announce", "withdraw"))]
    with contextlib.ExitStack() as patches:
        for of, step in steps:
            patches.enter_context(patch.object(of, step, paused(getattr(of, step))))
        yield


@pytest.mark.parametrize("kills", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_what_is_referred_to_is_there_and_nothing_else_whoever_acts_when(
    tmp_path: Path, seed: int, kills: bool
) -> None:
    """Two heads store, refer to and release the same blobs at random, all at once, and break off what they store. Where
    they are killed, that holds after a sweep."""

    async def check(one: Link, two: Link) -> None:
        chance, heads = random.Random(seed), [PoolBlobs(link) for link in (one, two)]
        contents = [bytes([n]) * (PIECE_BYTES + n) for n in range(2)]
        names = [hashlib.sha256(data).hexdigest() for data in contents]

        async def breaks_off(data: bytes) -> AsyncIterator[bytes]:
            yield data[: chance.randrange(1, len(data))]
            await asyncio.sleep(chance.random() / 50)
            raise ConnectionError

        async def act(head: int, which: int, reference: str, what: str) -> None:
            await asyncio.sleep(chance.random() / 50)
            if what == "stores":
                await heads[head].put("ada", contents[which], reference=reference)
            elif what == "refers":
                await heads[head].refer("ada", names[which], reference)
            elif what == "releases":
                await heads[head].release("ada", names[which], reference)
            else:
                data = contents[which]
                with contextlib.suppress(ConnectionError):
                    await heads[head].store(
                        IncomingBlob("ada", names[which], reference, chance.choice([len(data), None]), 1 << 40),
                        breaks_off(data),
                    )

        for _ in range(8):
            acts = chance.choices(["stores", "refers", "releases", "breaks off"], [2, 4, 5, 2], k=12)
            with pausing(chance):
                acting = [
                    asyncio.ensure_future(act(n % 2, n // 2 % 2, str(n % 3 or OWNER), what))
                    for n, what in enumerate(acts)
                ]
                if kills:
                    await asyncio.sleep(chance.random() / 5)
                    for each in acting:
                        each.cancel()
                await asyncio.gather(*acting, return_exceptions=kills)
            if kills:
                with patch.object(output_collector, "SETTLED_S", -10.0):
                    await collector(one).sweep()
            there = await at_rest(one, two)
            for name, data in zip(names, contents, strict=True):
                assert there.get(name, len(data)) == len(data)
                if name in there:
                    assert await fetched(heads[1], "ada", name) == data

    on_two_links(tmp_path, check)


async def at_rest(*links: Link) -> dict[str, int]:
    """What ada's blobs have, once it is seen that all that is there is referred to, and counts, and nothing else."""
    objects = await objects_in(links[0])
    for link in links:
        account = await link.accounts.of("ada")
        await account.wait_caught_up()
        named = {BlobName("ada", sha, each.at) for sha, of in account.blobs.items() for each in of.values()}
        assert named == {*objects}, account.blobs
        assert all(not each.coming for references in account.blobs.values() for each in references.values())
        references = sum(len(each) for each in account.blobs.values())
        sizes = {name.sha256: size for name, size in objects.items()}
        assert account.total == sum(sizes.values()) + REFERENCE_BYTES * references
    return sizes


def test_what_is_stored_while_its_last_reference_goes_stays(tmp_path: Path) -> None:
    """Another head writes it between two looks of the head that is about to take it away."""

    async def check(one: Link, two: Link) -> None:
        data = os.urandom(1000)
        name, heads = hashlib.sha256(data).hexdigest(), [PoolBlobs(link) for link in (one, two)]
        await heads[0].put("ada", data)

        read, seen = byte_accounts.TenantBytes.read_entries, list[str]()

        async def meanwhile(account: Any, sha: str) -> Any:
            if not seen:
                seen.append(sha)
                await heads[1].put("ada", data, reference="7")
            return await read(account, sha)

        with patch.object(byte_accounts.TenantBytes, "read_entries", meanwhile):
            assert await heads[0].release("ada", name, OWNER)
        assert seen
        assert await fetched(heads[0], "ada", name) == data

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
        await account.wait_caught_up()
        assert [*account.blobs[name]] == ["2"]
        assert await fetched(heads[1], "ada", name) == data
        assert account.total == len(data) + REFERENCE_BYTES

    on_two_links(tmp_path, check)


def test_what_is_not_kept_leaves_the_reference_of_before(tmp_path: Path) -> None:
    """A blob that was lost is sent again, and the sender goes away."""

    async def check(one: Link, two: Link) -> None:
        data = os.urandom(1000)
        name, blobs = hashlib.sha256(data).hexdigest(), PoolBlobs(one)
        await blobs.put("ada", data)
        (known,) = await objects_in(two)
        file_of(one, known).unlink()

        async def gone() -> AsyncIterator[bytes]:
            yield data[:10]
            raise ConnectionError

        account = await two.accounts.of("ada")
        most = len(data) + REFERENCE_BYTES  # all that it may keep, and does
        with pytest.raises(ConnectionError):
            await blobs.store(IncomingBlob("ada", name, OWNER, len(data), most), gone())
        await account.wait_caught_up()
        assert (account.total, [*account.blobs[name]]) == (most, [OWNER])

        async def whole() -> AsyncIterator[bytes]:
            yield data

        await blobs.store(IncomingBlob("ada", name, OWNER, len(data), most), whole())
        assert await fetched(PoolBlobs(two), "ada", name) == data
        await account.wait_caught_up()
        assert account.total == most

    on_two_links(tmp_path, check)


DATA = os.urandom(1000)
NAME = hashlib.sha256(DATA).hexdigest()
MOST = len(DATA) + 3 * REFERENCE_BYTES


class Slow:
    """DATA as a client sends it that waits after its first bytes, and then goes on or goes away."""

    def __init__(self) -> None:
        self.began, self._may_end = asyncio.Event(), asyncio.Event()
        self._breaks_off = False

    def end(self, breaks_off: bool = False) -> None:
        """Let it end."""
        self._breaks_off = breaks_off
        self._may_end.set()

    async def chunks(self) -> AsyncIterator[bytes]:
        """What it sends."""
        yield DATA[:10]
        self.began.set()
        await self._may_end.wait()
        if self._breaks_off:
            raise ConnectionError
        yield DATA[10:]


def incoming(reference: str = OWNER) -> IncomingBlob:
    return IncomingBlob("ada", NAME, reference, len(DATA), MOST)


def collector(link: Link, records: Callable[[int], Any] | None = None) -> OutputCollector:
    """One whose mirror knows of the jobs that have records, and of none that needs a blob."""
    projection = SimpleNamespace(select_ended=lambda numbers: [n for n in numbers if records is not None])
    mirror = SimpleNamespace(projection=projection, inputs=SimpleNamespace(is_needed=lambda *_: False))
    lead: Any = SimpleNamespace(mirror=mirror)
    collecting = OutputCollector(link, lead, PoolBlobs(link))
    if records is not None:
        table: Any = SimpleNamespace(job=records)
        collecting._table = table
    return collecting


@pytest.mark.parametrize("step", ["withdraw", "read_entries", "remove"])
def test_who_refers_to_a_blob_that_goes_stops_that_or_knows(tmp_path: Path, step: str) -> None:
    """Before the last reference is given up, before the last look, and after it."""

    async def check(one: Link, two: Link) -> None:
        heads, said = [PoolBlobs(link) for link in (one, two)], list[bool]()
        await heads[0].put("ada", DATA)
        of: Any = FolderStore if step == "remove" else byte_accounts.TenantBytes
        real = getattr(of, step)

        async def late(*given: Any) -> Any:
            if not said:
                said.append(True)
                said[0] = await heads[1].refer("ada", NAME, "7")
            return await real(*given)

        with patch.object(of, step, late):
            assert await heads[0].release("ada", NAME, OWNER)
        assert said == [step == "withdraw"]
        assert await at_rest(one, two) == ({NAME: len(DATA)} if said[0] else {})

    on_two_links(tmp_path, check)


@pytest.mark.parametrize("act", ["refer", "store", "sweep"])
def test_what_a_head_leaves_that_is_killed_as_it_takes_a_blob_away_is_harmless(tmp_path: Path, act: str) -> None:
    """It has given up the last reference, and its bytes are there still."""

    async def check(one: Link, two: Link) -> None:
        blobs, account = PoolBlobs(one), await two.accounts.of("ada")
        await blobs.put("ada", DATA)
        (left,) = await objects_in(one)
        await account.wait_caught_up()
        await account.withdraw(NAME, OWNER)
        if act == "refer":
            assert not await blobs.refer("ada", NAME, "7")
        elif act == "store":
            await blobs.put("ada", DATA, reference="7")
        with patch.object(output_collector, "SETTLED_S", -10.0):
            await collector(one).sweep()
        assert await at_rest(one, two) == ({NAME: len(DATA)} if act == "store" else {})
        # It was not killed after all: what it takes away now is nobody's.
        await two.bytes.remove(left)
        await at_rest(one, two)

    on_two_links(tmp_path, check)


def test_a_blob_deleted_while_another_sender_breaks_off_goes_with_it(tmp_path: Path) -> None:
    async def check(one: Link, two: Link) -> None:
        slow, heads = Slow(), [PoolBlobs(link) for link in (one, two)]
        storing = asyncio.ensure_future(heads[0].store(incoming(), slow.chunks()))
        await slow.began.wait()
        await heads[1].put("ada", DATA)
        assert await heads[1].release("ada", NAME, OWNER)
        slow.end(breaks_off=True)
        with pytest.raises(ConnectionError):
            await storing
        assert await at_rest(one, two) == {}

    on_two_links(tmp_path, check)


def test_a_blob_deleted_before_its_sender_is_answered_does_not_come_back(tmp_path: Path) -> None:
    async def check(one: Link, two: Link) -> None:
        heads, close = [PoolBlobs(link) for link in (one, two)], Reservation.__aexit__

        async def late(reservation: Reservation, *how: object) -> None:
            assert await heads[1].release("ada", NAME, OWNER)
            await close(reservation, *how)

        with patch.object(Reservation, "__aexit__", late):
            await heads[0].put("ada", DATA)
        assert await at_rest(one, two) == {}

    on_two_links(tmp_path, check)


def test_a_blob_put_again_after_another_head_deleted_it_is_its_tenants(tmp_path: Path) -> None:
    """Though this head has not heard of that yet, and a job refers to it."""

    async def check(one: Link, two: Link) -> None:
        heads = [PoolBlobs(link) for link in (one, two)]
        for reference in (OWNER, "7"):
            await heads[0].put("ada", DATA, reference=reference)
        account = await one.accounts.of("ada")
        take, held_back = account._take, list[Any]()
        with patch.object(account, "_take", held_back.append):
            assert await heads[1].release("ada", NAME, OWNER)
            while not held_back:
                await asyncio.sleep(0.01)
            putting = asyncio.ensure_future(heads[0].put("ada", DATA))
            await asyncio.sleep(0.1)
        for entry in held_back:
            take(entry)
        await putting
        assert account.is_referenced(NAME, OWNER)
        assert await at_rest(one, two) == {NAME: len(DATA)}

    on_two_links(tmp_path, check)


@pytest.mark.parametrize("shared", [False, True])
def test_what_is_on_its_way_for_long_is_nobodys_only_once_nothing_comes(tmp_path: Path, shared: bool) -> None:
    """Whether it is written, or read though it is there."""

    async def check(one: Link, two: Link) -> None:
        blobs, account = PoolBlobs(one), await two.accounts.of("ada")
        if shared:
            await blobs.put("ada", DATA, reference="7")

        async def slowly() -> AsyncIterator[bytes]:
            for n in range(20):
                yield DATA[50 * n : 50 * n + 50]
                await asyncio.sleep(0.2)
            await collector(two).sweep()
            await account.wait_caught_up()
            assert any(each.coming for each in account.blobs[NAME].values())

        with patch.object(byte_accounts, "SETTLED_S", 2.0), patch.object(output_collector, "SETTLED_S", 2.0):
            await blobs.store(incoming(), slowly())
            assert await at_rest(one, two) == {NAME: len(DATA)}
            slow = Slow()
            storing = asyncio.ensure_future(blobs.store(incoming("8"), slow.chunks()))
            await slow.began.wait()
            await asyncio.sleep(2.5)
            await collector(two).sweep()
            slow.end()
            with pytest.raises(asyncio.TimeoutError):
                await storing
        assert await at_rest(one, two) == {NAME: len(DATA)}

    on_two_links(tmp_path, check)


def test_a_head_follows_a_tenant_for_as_long_as_it_is_at_work_for_it(tmp_path: Path) -> None:
    async def check(one: Link, two: Link) -> None:
        slow, blobs = Slow(), PoolBlobs(one)
        with patch.object(byte_accounts, "MAX_FOLLOWED", 2):
            storing = asyncio.ensure_future(blobs.store(incoming(), slow.chunks()))
            await slow.began.wait()
            await asyncio.gather(*(blobs.put(tenant, b"x") for tenant in "bcdefgh"))
            slow.end()
            assert await storing == (len(DATA), True)
            await blobs.put("i", b"x")
            assert len(one.accounts._accounts) == 2
        account = await two.accounts.of("ada")
        await account.wait_caught_up()
        assert account.is_referenced(NAME, OWNER)

    on_two_links(tmp_path, check)


def test_a_sweep_takes_away_what_a_late_board_wrote_and_what_is_lost_and_leaves_what_just_came(tmp_path: Path) -> None:
    async def check(one: Link, two: Link) -> None:
        blobs = PoolBlobs(one)
        output, late = [await blobs.put("ada", each, reference="7") for each in (b"output", b"late")]
        account = await one.accounts.of("ada")

        async def job(number: int) -> Any:
            return SimpleNamespace(id=number, tenant="ada", output_blobs=frozenset([output]))

        given_up = await blobs.put("ada", b"given up, by a head that was killed before it took it away")
        await account.withdraw(given_up, OWNER)
        there, put = FolderStore.blobs, list[str]()

        async def beside(store: FolderStore) -> AsyncIterator[Any]:
            if not put:
                put.append(await PoolBlobs(two).put("ada", DATA))
            async with contextlib.aclosing(there(store)) as found:
                async for each in found:
                    yield each

        with patch.object(FolderStore, "blobs", beside), patch.object(output_collector, "SETTLED_S", -10.0):
            await collector(one, job).sweep()
        assert await at_rest(one, two) == {output: 6, NAME: len(DATA)}
        assert [*account.blobs[output]] == ["7"]
        assert late not in account.blobs

    on_two_links(tmp_path, check)


def test_who_reads_beside_uploads_and_removals_meets_no_damage(tmp_path: Path) -> None:
    """At either head: the bytes, or that there are none."""
    data = os.urandom(2 * PIECE_BYTES + 7)
    name = hashlib.sha256(data).hexdigest()

    async def check(one: Link, two: Link) -> None:
        writes, reads, ended, seen = PoolBlobs(one), [PoolBlobs(one), PoolBlobs(two)], asyncio.Event(), set[str]()

        async def read(blobs: PoolBlobs) -> None:
            while not ended.is_set():
                try:
                    await blobs.size_of("ada", name)
                    assert b"".join([piece async for piece in blobs.pieces("ada", name)]) == data
                    seen.add("bytes")
                except NotFound:
                    seen.add("none")

        readers = [asyncio.ensure_future(read(blobs)) for blobs in reads for _ in range(3)]
        with pausing(random.Random(7)):
            for _ in range(12):
                await writes.put("ada", data)
                await asyncio.sleep(0.02)
                await writes.release("ada", name, OWNER)
        ended.set()
        await asyncio.gather(*readers)
        assert "bytes" in seen

    on_two_links(tmp_path, check)
