"""What a board may do to the pool's records: it asks, and any head answers after looking at what was placed there.

A board has no right to read or write a bucket. It sends a request to `eddy.gate.BOARD`, a subject that the server lets
nobody else publish on, so a head knows who asks. A request about a job is answered only while the job is placed on
that board. What changes a record is the same change from the revision that was read, by whichever head answers.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, replace
from typing import Any

import structlog
from nats.aio.msg import Msg
from nats.js.api import ConsumerConfig

from eddy.core.errors import EddyError, InvalidRequest, NotFound
from eddy.pool.blobs import PoolBlobs
from eddy.pool.boards import change_board
from eddy.pool.credentials import PoolUnreachable
from eddy.pool.link import AWAY, WORK, Link
from eddy.pool.records import JobPart, PoolBoard, PoolJob
from eddy.pool.table import PoolJobs

GATE = "eddy.gate"
_log = structlog.get_logger("eddy.pool")
Ask = Mapping[str, Any]


class Gate:
    """One head's answers to boards.

    Args:
        link: The pool.
        on_board: Numbers of the jobs on a board that have not ended.
        weights: Of tenants that have kernels on a board, there.
    """

    def __init__(
        self,
        link: Link,
        on_board: Callable[[str], Awaitable[list[int]]],
        weights: Callable[[str], Awaitable[Mapping[str, float]]],
    ) -> None:
        self._link, self._on_board, self._weights = link, on_board, weights
        self._table, self._blobs = PoolJobs(link), PoolBlobs(link)
        self._answering: set[asyncio.Task[None]] = set()
        self._ways: Mapping[str, Callable[[str, Ask], Awaitable[Any]]] = {
            "join": self._join,
            "mine": self._mine,
            "job": self._job,
            "taken-up": self._taken_up,
            "committed": self._committed,
            "failed": self._failed,
            "blob": self._blob,
            "has": self._has,
            "written": self._written,
            "sent": self._sent,
            "weights": self._of_tenants,
        }

    async def run(self) -> None:
        """Answer until cancelled. Heads share the requests: each is answered by one."""
        asked = await self._link.nats.subscribe(f"{GATE}.*", queue="heads")
        try:
            async for message in asked.messages:
                task = asyncio.ensure_future(self._answer(message))
                self._answering.add(task)
                task.add_done_callback(self._answering.discard)
        finally:
            for task in self._answering:
                task.cancel()
            with contextlib.suppress(*AWAY):
                await asked.unsubscribe()

    async def _answer(self, message: Msg) -> None:
        board = message.subject.rsplit(".", 1)[-1]
        try:
            ask = json.loads(message.data)
            answer = {"ok": await self._ways[ask["what"]](board, ask)}
        except EddyError as error:
            answer = {"error": {"code": error.code, "message": error.message}}
        except AWAY as failure:
            answer = {"error": {"code": PoolUnreachable.code, "message": repr(failure)}}
        except (KeyError, TypeError, ValueError) as wrong:
            _log.warning("a board asks what cannot be read", board=board, error=repr(wrong))
            answer = {"error": {"code": InvalidRequest.code, "message": f"This cannot be read: {wrong!r}."}}
        with contextlib.suppress(*AWAY):
            await message.respond(json.dumps(answer).encode())

    async def _join(self, board: str, ask: Ask) -> Any:
        """Keep what a board is, under the name it was let in by; answers it with what operators said of it."""
        said = replace(PoolBoard.decode(json.dumps(ask["board"]).encode()), name=board)
        name = f"board-{board}"
        await self._link.js.add_consumer(
            WORK, ConsumerConfig(durable_name=name, filter_subject=f"eddy.work.{board}", ack_wait=10)
        )
        now = await change_board(
            self._link, board, lambda kept: replace(said, drained=said.drained if kept is None else kept.drained)
        )
        return asdict(now)

    async def _mine(self, board: str, _: Ask) -> Any:
        return await self._on_board(board)

    async def _of_tenants(self, board: str, _: Ask) -> Any:
        """A board names the tenants itself, in its report; it hears nothing of others."""
        return dict(await self._weights(board))

    async def _job(self, board: str, ask: Ask) -> Any:
        return asdict(await self._own(board, ask))

    async def _own(self, board: str, ask: Ask) -> PoolJob:
        job = await self._table.job(int(ask["job"]))
        if job.board != board or job.ended or job.token != ask.get("token", job.token):
            raise NotFound(f"No job {ask['job']} is placed on {board} now.", job=ask["job"])
        return job

    async def _change(self, board: str, ask: Ask, how: Callable[[PoolJob], PoolJob]) -> Any:
        def on_this_board(job: PoolJob) -> PoolJob:
            if job.board != board:
                raise NotFound(f"Job {job.id} is not on {board}.", job=job.id)
            return how(job)

        return asdict(await self._table.change(int(ask["job"]), on_this_board))

    async def _taken_up(self, board: str, ask: Ask) -> Any:
        token, now_s = int(ask["token"]), self._table.now()
        return await self._change(board, ask, lambda job: job.taken_up(token, now_s))

    async def _committed(self, board: str, ask: Ask) -> Any:
        """A part: its board says how long it took, and its end is the head's time, because clocks of boards jump."""
        given, now_s = ask["part"], self._table.now()
        part = JobPart(
            **{**given, "board": board, "token": int(ask["token"])},
            started_unix_s=now_s - max(float(ask["took_s"]), 0.0), ended_unix_s=now_s,
        )  # fmt: skip
        kernel = ask.get("kernel")
        return await self._change(board, ask, lambda job: replace(job.committed(part), kernel=kernel))

    async def _failed(self, board: str, ask: Ask) -> Any:
        token, now_s = int(ask["token"]), self._table.now()
        return await self._change(board, ask, lambda job: job.failed(token, ask["error"], now_s))

    async def _blob(self, board: str, ask: Ask) -> Any:
        job = await self._own(board, ask)
        if ask["sha256"] not in job.blobs:
            raise NotFound(f"Job {job.id} does not name this blob.", job=job.id)
        return asdict(await self._blobs.waiting(job.tenant, ask["sha256"]))

    async def _has(self, board: str, ask: Ask) -> Any:
        job = await self._own(board, ask)
        return await self._blobs.size(job.tenant, ask["sha256"]) is not None

    async def _written(self, board: str, ask: Ask) -> Any:
        job = await self._own(board, ask)
        if not str(ask["pieces"]).startswith(f"{board}."):
            raise NotFound("A board names what it wrote itself.", job=job.id)
        await self._blobs.written(job.tenant, ask["sha256"], ask["pieces"], int(ask["bytes"]), int(ask["count"]))
        return None

    async def _sent(self, board: str, ask: Ask) -> Any:
        job = await self._own(board, ask)
        numbers = {name: float(ask[name]) for name in ("bytes", "took_s", "given_bps")}
        await self._link.tell(job.tenant, job.id, "sent", **numbers, board=board)
        return None
