# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""One job of the pool on one board: inputs fetched, parts run one after another, each committed under the token.

The board computes while the pool is told: the next part while the one before is committed, and the next job while the
last part is.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import structlog

from eddy.client.transport.errors import JobFailed
from eddy.core.errors import Conflict, EddyError, Unauthorized
from eddy.pool.agent.head_client import HeadClient
from eddy.pool.agent.local_board import LocalBoard
from eddy.pool.connection.connection import steadily
from eddy.pool.connection.refusals import AWAY
from eddy.pool.connection.tasks import ended
from eddy.pool.connection.transfer import DamagedBlob, FetchedBlob
from eddy.pool.records.records import RUNNING, PoolJob

PART_S = 0.5
"""Wall seconds a part should take: what is lost when a board drops out, against what a commit costs."""
PART_OF_ALL = 0.01
"""Of the time that a job has run here, what a part may take: the record of a long one would have too many parts."""
LOOK_S = 1.0
"""While a part runs, the job's record is read again so often: it may have been cancelled or placed elsewhere."""
MIN_LOOK_S = 0.05
"""At most so often it is asked for, and the board asked how far it is, while the servers are away."""


FETCHES = 3
"""Times an input is fetched that comes damaged, or not whole though the servers answer."""
MAX_TEXT = 2_000
"""Characters of a message that a head is told."""
T = TypeVar("T")
_ending: set[asyncio.Task[None]] = set()
"""Runs that are being ended on their boards."""
_log = structlog.get_logger("eddy.pool")


@dataclass(frozen=True, slots=True)
class ComputedPart:
    """A part that the board has computed.

    Attributes:
        first: Its first item.
        number: Of the board's job.
        took_s: Wall seconds.
    """

    first: int
    items: int
    number: int
    shown: dict[str, Any]
    took_s: float


class JobRun:
    """A job that was placed on this board.

    Args:
        job: As it was placed.
        turn: Held while a part runs; inputs are fetched before.
    """

    def __init__(self, pool: HeadClient, board: LocalBoard, job: PoolJob, turn: asyncio.Semaphore) -> None:
        self.job, self.token = job, job.token
        self._pool, self._board, self._turn = pool, board, turn
        self._sent_bytes = 0
        self._ran_s = 0.0
        self._items = 1
        """Of the next part: work is tried small first."""

    async def run(self) -> None:
        """Run what is left of the job.

        Raises:
            Fenced: It was placed elsewhere, or cancelled; nothing more of it runs here.
        """
        try:
            if self.job.state == RUNNING:  # before this agent was started again: it has its turn before what is new
                async with self._turn:
                    await self._taken_up()
                    await self._send()
                    telling = await self._parts(asyncio.ensure_future(asyncio.sleep(0)))
            else:
                await self._send()
                async with self._turn:
                    telling = await self._parts(asyncio.ensure_future(self._taken_up()))
            await telling
        except JobFailed as failure:
            code = f"job-{failure.details.get('state', 'failed')}"
            await self._failed(code, str(failure.details.get("cause") or ""), failure.message)
        except Conflict:
            raise
        except EddyError as refused:
            if isinstance(refused, Unauthorized):
                self._board.forget(self.job.tenant)
            await self._failed("job-failed", refused.code, refused.message)
        except Exception as wrong:
            _log.exception("a job of the pool stopped", job=self.job.id)
            await self._failed("job-failed", "internal-error", repr(wrong))

    async def _failed(self, code: str, cause: str, message: str) -> None:
        """Say why nothing more of it comes from here; a head decides whether that is the job's own matter."""
        error = {"code": code, "cause": cause, "message": message[:MAX_TEXT]}
        await steadily(lambda: self._pool.failed(self.job, error))

    async def _send(self) -> None:
        """Bring the inputs that are not here, at the rate the job was given."""
        client = await self._board.client(self.job.tenant)
        for sha in self.job.blobs:
            if await self._board.has(client, sha):
                continue
            fetched = await self._fetched(sha)
            await self._board.keep(client, self.job.tenant, fetched.data)
            self._board.record_transfer(len(fetched.data), fetched.took_s, bool(self.job.bps))
            self._sent_bytes += len(fetched.data)
            with suppress(*AWAY):
                await self._pool.report_transfer(self.job, fetched)

    async def _fetched(self, sha: str) -> FetchedBlob:
        """An input. What is damaged is asked for some times more: a server that has not caught up has not all of it.

        Raises:
            DamagedBlob: It is damaged each time.
        """
        for tried in range(1, FETCHES + 1):
            try:
                return await steadily(lambda: self._pool.fetch(self.job, sha))
            except DamagedBlob:
                if tried == FETCHES:
                    raise
                await asyncio.sleep(LOOK_S)
        raise AssertionError

    async def _taken_up(self) -> None:
        self.job = await steadily(lambda: self._pool.report_started(self.job))

    async def _parts(self, telling: asyncio.Future[None]) -> asyncio.Future[None]:
        """Compute what is left; answers with the commit of the last part under way.

        Args:
            telling: What the pool is told before the first part is committed; it goes on while that is computed.
        """
        first = self.job.done
        try:
            while first < self.job.batch:
                items = min(self._items, self._board.most_items(self.job), self.job.batch - first)
                part = await _beside(telling, self._computed(first, items))
                await telling
                telling = asyncio.ensure_future(self._commit(part))
                first += part.items
                self._ran_s += part.took_s
                if part.took_s < max(PART_S, PART_OF_ALL * self._ran_s):
                    self._items *= 2
        except BaseException as failure:
            if isinstance(failure, EddyError) and not isinstance(failure, Conflict):
                await telling  # what the board had computed before counts
            await ended((telling,))
            raise
        return telling

    async def _commit(self, part: ComputedPart) -> None:
        """Bring the outputs into the pool, and have the part count."""
        client = await self._board.client(self.job.tenant)
        kernel = part.shown.get("kernel")
        outputs = {}
        for name in kernel["outputs"] if kernel else part.shown["outputs"]:
            data = await client.output_bytes(part.number, name)
            outputs[name] = await steadily(lambda data=data: self._pool.put(self.job, data))  # type: ignore[misc]
        said = {
            "first": part.first,
            "items": part.items,
            "outputs": outputs,
            "computed": bool(part.shown.get("computed", True)),
            "sent_bytes": self._sent_bytes,
        }
        if part.shown.get("unchecked"):
            said["unchecked"] = list(part.shown["unchecked"])
        self._sent_bytes = 0
        self.job = await steadily(lambda: self._pool.report_part(self.job, said, part.took_s, kernel))

    async def _computed(self, first: int, items: int) -> ComputedPart:
        """Run items on the board."""
        began_s = time.monotonic()
        client = await self._board.client(self.job.tenant)
        # Numbers begin again where the pool's store was emptied; the time tells those jobs apart.
        key = f"pool-{self.job.id}-{self.job.submitted_unix_s:.6f}-{self.token}-{first}-{items}"
        submitting = asyncio.ensure_future(self._board.submit(client, self.job, first, items, key))
        try:
            shown = await self._ended(client, await asyncio.shield(submitting))
        except JobFailed:
            raise
        except BaseException:
            # On its own: this task may be cancelled again meanwhile, and the run is to be ended all the same.
            _ending.add(ending := asyncio.ensure_future(self._no_more(client, submitting)))
            ending.add_done_callback(_ending.discard)
            await asyncio.shield(ending)
            raise
        number = submitting.result()
        return ComputedPart(first, items, number, shown, time.monotonic() - began_s)

    async def _no_more(self, client: Any, submitting: asyncio.Future[int]) -> None:
        """End a run that is on the board, or about to be."""
        with suppress(EddyError):
            await self._board.cancel(client, await submitting)

    async def _ended(self, client: Any, number: int) -> dict[str, Any]:
        """The board's job once it has succeeded.

        Raises:
            Fenced: The pool's job was placed elsewhere meanwhile.
            JobFailed: It ended otherwise.
        """
        while True:
            shown = await client.show(number, wait_s=LOOK_S)
            if shown["state"] == "succeeded":
                return dict(shown)
            if shown["state"] in ("failed", "cancelled"):
                error = shown["error"] or {}
                message = str(error.get("message") or f"Its board ended it as {shown['state']}.")
                raise JobFailed(message, state=shown["state"], cause=error.get("cause"))
            await self._still_ours()

    async def _still_ours(self) -> None:
        try:
            await asyncio.wait_for(self._pool.job(self.job.id, self.token), LOOK_S)
        except AWAY:
            # The board works on; the commit will tell. One that ends answers at once, and is not asked all the time.
            await asyncio.sleep(MIN_LOOK_S)


async def _beside(telling: asyncio.Future[None], work: Coroutine[Any, Any, T]) -> T:
    """Work while the pool is told; where that fails, the work is ended and this raises what that raised."""
    task = asyncio.ensure_future(work)
    try:
        either: set[asyncio.Future[Any]] = {task, telling}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            telling.result()
        return await task
    except BaseException:
        await ended((task,))
        raise
