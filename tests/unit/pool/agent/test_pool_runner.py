# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A board's agent computes while the pool is told: the next part, and the next job; commits stay in order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from eddy.client.transport.errors import ServerUnreachable
from eddy.core.errors import EddyError
from eddy.pool.agent.runner import JobRun
from eddy.pool.records.records import JobFenced, JobPart, PoolJob

WAIT_S = 180.0


class Gates:
    """Things that happen when the test lets them."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.held: dict[str, asyncio.Event] = {}
        self._moved = asyncio.Event()

    def hold(self, name: str) -> asyncio.Event:
        return self.held.setdefault(name, asyncio.Event())

    async def passes(self, name: str) -> None:
        self.seen.append(name)
        self._moved.set()
        if name in self.held:
            await self.held[name].wait()

    async def until(self, name: str) -> None:
        while name not in self.seen:
            self._moved.clear()
            await asyncio.wait_for(self._moved.wait(), WAIT_S)


class Pool:
    """What a board asks heads; records are kept here, and changed as heads change them."""

    def __init__(self, gates: Gates, jobs: list[PoolJob]) -> None:
        self.gates, self.jobs = gates, {job.id: job for job in jobs}

    async def report_started(self, job: PoolJob) -> PoolJob:
        await self.gates.passes(f"taken up {job.id}")
        now = self.jobs[job.id] = self.jobs[job.id].start(job.token, 1.0)
        return now

    async def report_part(self, job: PoolJob, part: Mapping[str, Any], took_s: float, kernel: object) -> PoolJob:
        await self.gates.passes(f"commit {job.id}.{part['first']}")
        made = JobPart(**part, board="b", token=job.token, started_unix_s=1.0, ended_unix_s=1.0 + took_s)
        now = self.jobs[job.id] = self.jobs[job.id].commit_part(made)
        self.gates.seen.append(f"committed {job.id}.{part['first']}")
        return now

    async def failed(self, job: PoolJob, error: Mapping[str, Any]) -> PoolJob:
        now = self.jobs[job.id] = self.jobs[job.id].failed(job.token, error, 2.0)
        return now

    async def put(self, job: PoolJob, data: bytes) -> str:
        return data.decode()

    async def job(self, number: int, token: int) -> PoolJob:
        return self.jobs[number]


class Board:
    """A board that runs one thing at a time; told by the name of job and first item what ends it."""

    def __init__(self, gates: Gates, fails: frozenset[str] = frozenset()) -> None:
        self.gates, self.fails, self.running, self.most = gates, fails, 0, 1 << 31
        self.names: dict[int, str] = {}
        self.shows: dict[str, Any] = {}
        self.cancelled: list[str] = []

    async def client(self, tenant: str) -> Board:
        return self

    def most_items(self, job: PoolJob) -> int:
        return self.most

    async def submit(self, client: Board, job: PoolJob, first: int, items: int, key: str) -> int:
        number = len(self.names) + 1
        self.names[number] = f"{job.id}.{first}"
        await self.gates.passes(f"submit {self.names[number]}")
        return number

    async def show(self, number: int, wait_s: float = 0.0) -> dict[str, Any]:
        self.running += 1
        assert self.running == 1, "one at a time"
        try:
            await self.gates.passes(f"run {self.names[number]}")
        finally:
            self.running -= 1
        if self.names[number] in self.fails:
            return {"state": "failed", "error": {"cause": "kernel-trap", "message": "it trapped"}}
        return {"state": "succeeded", "outputs": ["y"], **self.shows}

    async def output_bytes(self, number: int, name: str) -> bytes:
        return f"out {self.names[number]}".encode()

    async def cancel(self, client: Board, number: int) -> None:
        self.cancelled.append(self.names[number])


def placed(number: int, batch: int) -> PoolJob:
    return PoolJob(number, "ada", {"application": "a", "batch": batch}, 0.0).place_on("b", 0.0, {})


class Rig:
    def __init__(self, *batches: int, fails: frozenset[str] = frozenset()) -> None:
        self.gates = Gates()
        jobs = [placed(number, batch) for number, batch in enumerate(batches, 1)]
        self.pool, self.board = Pool(self.gates, jobs), Board(self.gates, fails)
        self.turn = asyncio.Semaphore(1)

    def begin(self, number: int) -> asyncio.Task[None]:
        run = JobRun(self.pool, self.board, self.pool.jobs[number], self.turn)  # type: ignore[arg-type]
        return asyncio.ensure_future(run.run())


def play(what: Callable[[], Awaitable[None]]) -> None:
    async def go() -> None:
        await asyncio.wait_for(what(), WAIT_S)

    asyncio.run(go())


def test_the_next_job_runs_while_the_last_part_of_one_is_committed() -> None:
    async def go() -> None:
        rig = Rig(1, 1)
        held = rig.gates.hold("commit 1.0")
        first, second = rig.begin(1), rig.begin(2)
        await second
        assert rig.pool.jobs[2].state == "succeeded"
        assert rig.pool.jobs[1].state == "running"
        held.set()
        await first
        assert rig.pool.jobs[1].state == "succeeded"
        assert rig.pool.jobs[1].parts[0].outputs == {"y": "out 1.0"}

    play(go)


def test_the_next_part_runs_while_one_is_committed_and_none_is_committed_before_another() -> None:
    async def go() -> None:
        rig = Rig(15)
        held = [rig.gates.hold(name) for name in ("commit 1.0", "commit 1.1")]
        task = rig.begin(1)
        await rig.gates.until("run 1.1")
        assert "committed 1.0" not in rig.gates.seen
        held[0].set()
        await rig.gates.until("run 1.3")
        for _ in range(20):
            await asyncio.sleep(0)
        assert "run 1.7" not in rig.gates.seen, "at most one part waits for its commit"
        held[1].set()
        await task
        assert [(part.first, part.items) for part in rig.pool.jobs[1].parts] == [(0, 1), (1, 2), (3, 4), (7, 8)]

    play(go)


@pytest.mark.parametrize("modules", [[], ["mix"]])
def test_modules_that_nobody_checked_are_said_with_each_part(modules: list[str]) -> None:
    async def go() -> None:
        rig = Rig(1)
        rig.board.shows = {"unchecked": modules}
        await rig.begin(1)
        assert [list(part.unchecked) for part in rig.pool.jobs[1].parts] == [modules]

    play(go)


@pytest.mark.parametrize("at", ["taken up 1", "commit 1.0"])
def test_a_job_that_was_placed_elsewhere_ends_on_the_board_though_it_computes(at: str) -> None:
    async def go() -> None:
        rig = Rig(3, 1)
        held, running = rig.gates.hold(at), "run 1.0" if at == "taken up 1" else "run 1.1"
        rig.gates.hold(running)
        first = rig.begin(1)
        await rig.gates.until(running)
        second = rig.begin(2)
        await rig.gates.until(at)
        rig.pool.jobs[1] = rig.pool.jobs[1].recall("why", 1.0)
        held.set()
        with pytest.raises(JobFenced):
            await first
        assert rig.board.cancelled == [running.removeprefix("run ")]
        await second
        assert rig.pool.jobs[2].state == "succeeded", "its turn came"

    play(go)


def test_a_run_that_is_only_being_submitted_is_ended_too() -> None:
    async def go() -> None:
        rig = Rig(1)
        held = rig.gates.hold("submit 1.0")
        rig.pool.jobs[1] = replace(rig.pool.jobs[1], token=9)
        task = asyncio.ensure_future(JobRun(rig.pool, rig.board, placed(1, 1), rig.turn).run())  # type: ignore[arg-type]
        await rig.gates.until("submit 1.0")
        await rig.gates.until("taken up 1")
        for _ in range(20):
            await asyncio.sleep(0)
        held.set()
        with pytest.raises(JobFenced):
            await task
        assert rig.board.cancelled == ["1.0"]

    play(go)


def test_what_was_computed_before_a_failure_is_committed_before_it_is_told() -> None:
    async def go() -> None:
        rig = Rig(3, fails=frozenset({"1.1"}))
        held = rig.gates.hold("commit 1.0")
        task = rig.begin(1)
        await rig.gates.until("run 1.1")
        for _ in range(20):
            await asyncio.sleep(0)
        held.set()
        await task
        assert [part.first for part in rig.pool.jobs[1].parts] == [0]
        assert rig.pool.jobs[1].state == "failed"
        assert (rig.pool.jobs[1].error or {})["cause"] == "kernel-trap"

    play(go)


def test_an_agent_that_is_ended_leaves_nothing_running_on_its_board() -> None:
    async def go() -> None:
        rig = Rig(3)
        for name in ("commit 1.0", "run 1.1"):
            rig.gates.hold(name)
        task = rig.begin(1)
        await rig.gates.until("run 1.1")
        await rig.gates.until("commit 1.0")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert rig.board.cancelled == ["1.1"]
        assert not rig.turn.locked()
        assert "committed 1.0" not in rig.gates.seen

    play(go)


def test_errors_of_the_pool_are_told_and_not_kept() -> None:
    class Refuses(Pool):
        async def report_part(self, *_: Any) -> PoolJob:
            raise EddyError("It cannot be read.")

    async def go() -> None:
        rig = Rig(1)
        rig.pool = Refuses(rig.gates, [placed(1, 1)])
        await rig.begin(1)
        assert rig.pool.jobs[1].state == "failed"

    play(go)


def test_a_run_that_is_being_submitted_is_ended_though_its_task_is_cancelled_twice() -> None:
    async def go() -> None:
        rig = Rig(1)
        held = rig.gates.hold("submit 1.0")
        task = rig.begin(1)
        await rig.gates.until("submit 1.0")
        for _ in range(2):
            task.cancel()
            for _ in range(20):
                await asyncio.sleep(0)
        held.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        for _ in range(20):
            await asyncio.sleep(0)
        assert rig.board.cancelled == ["1.0"]

    play(go)


@pytest.mark.parametrize(
    ("raised", "cause"),
    [(ServerUnreachable("It does not answer."), "server-unreachable"), (KeyError("outputs"), "internal-error")],
)
def test_a_run_that_cannot_be_followed_is_told_and_does_not_stay_on_the_board(raised: Exception, cause: str) -> None:
    class Silent(Board):
        async def show(self, number: int, wait_s: float = 0.0) -> dict[str, Any]:
            raise raised

    async def go() -> None:
        rig = Rig(1)
        rig.board = Silent(rig.gates)
        await rig.begin(1)
        assert rig.board.cancelled == ["1.0"]
        assert (rig.pool.jobs[1].error or {})["cause"] == cause

    play(go)


def test_parts_of_a_long_job_grow_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its record would have thousands of them, and is written whole with each."""
    clock, item_s = [0.0], 1.0

    class Slow(Board):
        async def submit(self, client: Board, job: PoolJob, first: int, items: int, key: str) -> int:
            clock[0] += items * item_s
            return await super().submit(client, job, first, items, key)

    async def go() -> None:
        rig = Rig(10_000)
        rig.board = Slow(rig.gates)
        await rig.begin(1)
        parts = rig.pool.jobs[1].parts
        assert sum(part.items for part in parts) == 10_000
        assert len(parts) < 600
        assert all(part.items <= max(1, 2 * 0.01 * max(part.first, 1)) for part in parts)

    monkeypatch.setattr("eddy.pool.agent.runner.time", SimpleNamespace(monotonic=lambda: clock[0]))
    play(go)


def test_parts_have_no_more_items_than_their_board_takes_at_once() -> None:
    """A job failed once its parts had grown beyond what a tenant may have of the board's memory."""

    async def go() -> None:
        rig = Rig(15)
        rig.board.most = 3
        await rig.begin(1)
        assert [part.items for part in rig.pool.jobs[1].parts] == [1, 2, 3, 3, 3, 3]

    play(go)
