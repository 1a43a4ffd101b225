# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A board's agent stays in its pool whatever its own server or a head answers."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from eddy.core.errors import EddyError, Unauthorized
from eddy.pool.agent.agent import Agent, AgentSettings
from eddy.pool.agent.local_board import BoardFacts, CurrentSlots, LocalBoard
from eddy.pool.agent.runner import JobRun
from eddy.pool.connection.tasks import ended
from eddy.pool.records.records import GUEST, PoolBoard, PoolJob
from fastapi import FastAPI

WAIT_S = 180.0


class Board(LocalBoard):
    """A board whose server refuses some questions for a time."""

    def __init__(self, refuses: set[str]) -> None:
        super().__init__(FastAPI(), "eddy_operator", "k")
        self.refuses = refuses
        self.weighed = 0

    def _said(self, what: str) -> None:
        if what in self.refuses:
            raise Unauthorized(f"The operator's key was exchanged: {what}")

    async def facts(self) -> BoardFacts:
        self._said("facts")
        return BoardFacts("k", 1, ("a",), True)

    async def slots(self) -> CurrentSlots:
        self._said("slots")
        return CurrentSlots(1, True, ())

    async def load(self) -> int:
        self._said("load")
        return 7

    async def market(self) -> dict[str, Any]:
        self._said("market")
        return {"tenants": {"ada": {}}}

    async def set_weights(self, weights: object) -> None:
        self.weighed += 1


class Pool:
    """What a board asks heads."""

    def __init__(self, refuses: set[str]) -> None:
        self.refuses = refuses
        self.joined = 0
        self.leases: list[PoolBoard] = []
        self.placed: list[int] = []
        self.asked: list[int] = []

    def _said(self, what: str) -> None:
        if what in self.refuses:
            raise EddyError("This cannot be read: TypeError", cause="invalid-request")

    async def join(self, board: PoolBoard) -> PoolBoard:
        self.joined += 1
        self._said("join")
        return board

    async def renew(self, board: PoolBoard) -> None:
        self.leases.append(board)

    async def weights(self) -> dict[str, float]:
        self._said("weights")
        return {}

    async def placed_jobs(self) -> list[int]:
        return self.placed

    async def job(self, number: int, token: int | None = None) -> PoolJob:
        self.asked.append(number)
        raise EddyError("The answer is too long.", cause="payload-too-large")

    async def queue(self) -> None:
        await asyncio.sleep(3600)

    async def leave(self) -> None:
        pass

    async def aclose(self) -> None:
        pass


def play(board: Board, pool: Pool, monkeypatch: pytest.MonkeyPatch, until: Callable[[], bool]) -> asyncio.Task[None]:
    @contextlib.asynccontextmanager
    async def connected(*_: object, **__: object) -> AsyncIterator[None]:
        yield None

    monkeypatch.setattr("eddy.pool.agent.agent.connected", connected)
    monkeypatch.setattr("eddy.pool.agent.agent.HeadClient", lambda *_: pool)
    monkeypatch.setattr("eddy.pool.agent.agent.RENEW_S", 0.001)

    async def go() -> asyncio.Task[None]:
        task = asyncio.ensure_future(Agent(AgentSettings("nats://x", "b1"), board).run())

        async def look() -> None:
            while not (until() or task.done()):
                await asyncio.sleep(0.001)

        await asyncio.wait_for(look(), WAIT_S)
        going = not task.done()
        task.cancel()
        await asyncio.wait([task])
        assert going, "it has left its pool for good"
        return task

    return asyncio.run(go())


@pytest.mark.parametrize("what", ["slots", "load", "market"])
def test_the_lease_is_renewed_though_the_boards_server_refuses_to_say_how_it_is(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    board, pool = Board({what}), Pool(set())
    play(board, pool, monkeypatch, lambda: len(pool.leases) >= 5)
    assert pool.joined == 1
    assert {lease.load for lease in pool.leases} == {0 if what == "load" else 7}


def test_the_lease_is_renewed_though_heads_refuse_to_say_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    board, pool = Board(set()), Pool({"weights"})
    play(board, pool, monkeypatch, lambda: len(pool.leases) >= 5)
    assert (pool.joined, board.weighed) == (1, 0)


def test_an_agent_that_cannot_join_tries_again(monkeypatch: pytest.MonkeyPatch) -> None:
    board, pool = Board({"facts"}), Pool({"join"})

    def until() -> bool:
        board.refuses.clear()
        if pool.joined >= 3:
            pool.refuses.clear()
        return len(pool.leases) >= 2

    play(board, pool, monkeypatch, until)
    assert pool.joined == 4


def test_a_job_that_heads_cannot_tell_of_keeps_no_board_from_its_others(monkeypatch: pytest.MonkeyPatch) -> None:
    board, pool = Board(set()), Pool(set())
    pool.placed = [3, 4]
    play(board, pool, monkeypatch, lambda: len(pool.asked) >= 2 and len(pool.leases) >= 5)
    assert (pool.joined, pool.asked) == (1, [3, 4])


def test_a_run_whose_job_was_placed_here_again_ends_though_it_loses_a_cancellation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ends: list[int] = []

    class Run:
        def __init__(self, _pool: object, _board: object, job: PoolJob, _turn: object) -> None:
            self.job, self.token = job, job.token

        async def run(self) -> None:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
            try:
                await asyncio.Event().wait()
            finally:
                ends.append(self.token)

    monkeypatch.setattr("eddy.pool.agent.agent.JobRun", Run)
    monkeypatch.setattr("eddy.pool.connection.tasks.AGAIN_S", 0.01)
    board, pool = Board(set()), Pool(set())
    pool.placed = [3]
    tokens = iter([1, 2])

    async def job(number: int, token: int | None = None) -> PoolJob:
        return PoolJob(number, "ada", {"application": "a"}, 0.0, "running", "b1", next(tokens, 2))

    async def resume_twice(self: Agent, asked: Any) -> None:
        await resume(self, asked)
        await asyncio.sleep(0)
        await resume(self, asked)

    resume = Agent._resume
    monkeypatch.setattr(Agent, "_resume", resume_twice)
    monkeypatch.setattr(pool, "job", job)
    play(board, pool, monkeypatch, lambda: ends == [1])
    assert ends == [1, 2], "nothing is left where the agent has ended"


def test_a_guest_runs_beside_the_jobs_that_its_board_has() -> None:
    async def go() -> None:
        agent, pool, began = Agent(AgentSettings("nats://x", "b1"), Board(set())), Pool(set()), list[int]()
        agent._turn, agent._guest_turn = asyncio.Semaphore(1), asyncio.Semaphore(1)

        async def run(run: JobRun) -> None:
            async with run._turn:
                began.append(run.job.id)
                await asyncio.sleep(3600)

        agent._run = run  # type: ignore[method-assign]
        request = {"application": "a"}
        for number, policy in ((1, "prompt"), (2, "prompt"), (3, GUEST), (4, GUEST)):
            job = PoolJob(number, f"t{number}", request, 0.0).place_on("b1", 0.0, {"policy": policy})
            agent._begin(pool, job)  # type: ignore[arg-type]
        for _ in range(10):
            await asyncio.sleep(0)
        assert began == [1, 3]
        await ended(agent._tasks.values())

    asyncio.run(asyncio.wait_for(go(), WAIT_S))
