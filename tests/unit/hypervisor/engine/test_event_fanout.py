# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Everyone who follows is told everything once and in order, from one reading; who has no room harms nobody."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator, Sequence

import anyio
import pytest
from eddy.core.jobs import JobState
from eddy.core.records import JobEvent, JobEventKind, JobRecord, JobRequest
from eddy.hypervisor.engine import event_fanout
from eddy.hypervisor.engine.event_fanout import EventFanout, Follower
from eddy.hypervisor.engine.job_subscriptions import ANY, JobSubscriptions
from eddy.store import Store
from eddy.store.db.rows import Commit


def words(events: Sequence[JobEvent]) -> bytes:
    return b"".join(b"%d " % event.seq for event in events)


class World:
    """A log that grows, and those who follow it."""

    def __init__(self, store: Store) -> None:
        self.store, self.followers, self.reads = store, JobSubscriptions(), 0
        self.crowd_reads = 0
        self.fanout = EventFanout(self.followers, store, words, b"beat ", lambda: 60.0)
        read = store.events.list_events

        def counted(*arguments: object) -> Sequence[JobEvent]:
            self.reads += 1
            self.crowd_reads += len(arguments) == 4  # with a limit
            return read(*arguments)  # type: ignore[arg-type]

        store.events.list_events = counted  # type: ignore[assignment, method-assign]

    def job(self, tenant: str = "ada") -> JobRecord:
        record, _ = self.store.submissions.add_job(JobRequest(tenant, "chain", 1), 0.0)
        self.followers.publish([record.id])
        return record

    def happen(self, *records: JobRecord, state: JobState | None = None, told: bool = True) -> None:
        events = [JobEvent(0, record.id, record.tenant, 0.0, JobEventKind.STATE, state=state) for record in records]
        self.store.commit(Commit(events=tuple(events)))
        if told:
            self.followers.publish([record.id for record in records])


class Client:
    """A follower that reads the log as a stream does, and notes what it is handed."""

    def __init__(self, world: World, tenant: str | None, job: int | None = None) -> None:
        self.world, self.got, self.handed, self.room = world, list[int](), list[bytes](), True
        self.follower = Follower(tenant, job, self.take)

    def take(self, wire: bytes) -> bool:
        if self.room:
            self.handed.append(wire)
            self.got += [int(part) for part in wire.split() if part != b"beat"]
        return self.room

    async def run(self) -> None:
        with self.world.fanout.subscribe(self.follower):
            while True:
                self.follower.begin_read()
                events = await asyncio.to_thread(
                    self.world.store.events.list_events, self.follower.tenant, self.follower.job, self.follower.after
                )
                while events and not self.room:
                    await asyncio.sleep(0.001)
                self.got += [event.seq for event in events]
                self.follower.after = events[-1].seq if events else self.follower.after
                await self.follower.receive_new()


@contextlib.asynccontextmanager
async def running(*clients: Client) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(client.run()) for client in clients]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def until(condition: Callable[[], bool]) -> None:
    with anyio.fail_after(180):
        while not condition():
            await asyncio.sleep(0.001)


@pytest.fixture
def world() -> Iterator[World]:
    store = Store(":memory:")
    yield World(store)
    store.close()


def test_a_hundred_feeds_share_one_reading_and_one_text(world: World) -> None:
    async def main() -> None:
        jobs = [world.job("ada"), world.job("grace")]
        clients = [Client(world, (None, "ada", "grace")[number % 3]) for number in range(99)]
        async with running(*clients):
            # Before the log is read for all, each is told to read for himself once more.
            await until(lambda: world.crowd_reads == 1 and all(client.follower.live for client in clients))
            world.reads = 0
            world.happen(*jobs, jobs[0])
            await until(lambda: all(client.handed for client in clients))
            assert world.reads == 1
            assert {client.follower.tenant: client.got for client in clients} == {
                None: [1, 2, 3, 4, 5],
                "ada": [1, 3, 5],
                "grace": [2, 4],
            }
            for some in (clients[0::3], clients[1::3], clients[2::3]):
                assert len({id(client.handed[-1]) for client in some}) == 1

    asyncio.run(main())


@pytest.mark.parametrize("count", [1, event_fanout.FEW, event_fanout.FEW + 1, 40])
def test_followers_of_jobs_miss_nothing_be_they_few_or_many(world: World, count: int) -> None:
    async def main() -> None:
        jobs = [world.job() for _ in range(count)]
        clients = [Client(world, "ada", job.id) for job in jobs]
        async with running(*clients):
            for _ in range(20):
                world.happen(*jobs)
                await asyncio.sleep(0)
            world.happen(*jobs, state=JobState.SUCCEEDED)
            await until(lambda: all(len(client.got) == 22 for client in clients))
            for client in clients:
                theirs = world.store.events.list_events("ada", client.follower.job)
                assert client.got == [event.seq for event in theirs]
        assert not world.followers.has_followers([jobs[0].id])

    asyncio.run(main())


def test_nothing_is_missed_or_told_twice_while_followers_come_and_go(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_fanout, "READ", 3)
    monkeypatch.setattr(event_fanout, "STRIDE", 2)

    async def main() -> None:
        job = world.job()
        clients = [Client(world, None if number % 2 else "ada", job.id if number % 3 else None) for number in range(30)]
        async with contextlib.AsyncExitStack() as stack:
            for number, client in enumerate(clients):
                await stack.enter_async_context(running(client))
                world.happen(*[job] * (number % 5 + 1), told=bool(number % 4))
                clients[number // 2].room = bool(number % 7)
                await asyncio.sleep(0.001 * (number % 3))
            for client in clients:
                client.room = True
            world.happen(job)
            last = world.store.events.before_last(None, 0)
            await until(lambda: all(client.got[-1:] == [last] for client in clients))
            for client in clients:
                assert client.got == list(range(1, last + 1))

    asyncio.run(main())


def test_who_has_no_room_harms_nobody_and_reads_on_when_he_can(world: World) -> None:
    async def main() -> None:
        job = world.job()
        slow, quick = Client(world, "ada"), Client(world, "ada")
        async with running(slow, quick):
            await until(lambda: world.crowd_reads == 1 and slow.follower.live and quick.follower.live)
            slow.room = False
            for number in range(50):
                world.happen(job)
                await until(lambda number=number: len(quick.got) == number + 2)  # type: ignore[misc]
            assert slow.got == [1]
            assert slow.handed == []
            slow.room = True
            await until(lambda: slow.got == quick.got == list(range(1, 52)))
            await until(lambda: slow.follower.live)
            world.happen(job)
            await until(lambda: slow.handed == [b"52 "])

    asyncio.run(main())


def test_silence_is_broken_by_one_timer_for_all(world: World) -> None:
    world.fanout = EventFanout(world.followers, world.store, words, b"beat ", lambda: 0.02)

    async def main() -> None:
        clients = [Client(world, "ada") for _ in range(20)]
        async with running(*clients):
            await until(lambda: all(client.handed.count(b"beat ") >= 2 for client in clients))

    asyncio.run(main())


def test_a_log_that_cannot_be_read_for_a_while_is_read_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_fanout, "RETRY_S", 0.01)

    async def main() -> None:
        job, client = world.job(), Client(world, "ada")
        async with running(client):
            await until(lambda: world.crowd_reads == 1 and client.follower.live)
            read, failures = world.store.events.list_events, [OSError("gone")] * 2

            def failing(*arguments: object) -> Sequence[JobEvent]:
                if failures and arguments[0] is None:  # as the crowd reads; the follower reads as its tenant
                    raise failures.pop()
                return read(*arguments)  # type: ignore[arg-type]

            world.store.events.list_events = failing  # type: ignore[assignment, method-assign]
            world.happen(job)
            await until(lambda: client.got == [1, 2] and not failures)
            world.happen(job)
            await until(lambda: client.got == [1, 2, 3])

    asyncio.run(main())


def test_what_a_listener_watches_is_told_soon() -> None:
    followers = JobSubscriptions()
    followers.watch(7)
    assert followers.has_followers([6, 7])
    assert not followers.has_followers([6])
    followers.unwatch(7)
    assert not followers.has_followers([7])
    followers.watch(ANY)
    assert followers.has_followers([6])
    assert not followers.has_followers([])
