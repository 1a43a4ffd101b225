"""One job of the pool on one board: inputs fetched, parts run one after another, each committed under the token."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import Any

from eddy.client.errors import JobFailed
from eddy.core.errors import Conflict, EddyError
from eddy.pool.asking import AskingBoard
from eddy.pool.link import AWAY, steadily
from eddy.pool.local_board import LocalBoard
from eddy.pool.records import RUNNING, PoolJob

PART_S = 0.5
"""Wall seconds a part should take: what is lost when a board drops out, against what a commit costs."""
LOOK_S = 1.0
"""While a part runs, the job's record is read again so often: it may have been cancelled or placed elsewhere."""


class JobRun:
    """A job that was placed on this board.

    Args:
        pool: The pool.
        board: The board.
        job: As it was placed.
        turn: Held while a part runs; inputs are fetched before.
    """

    def __init__(self, pool: AskingBoard, board: LocalBoard, job: PoolJob, turn: asyncio.Semaphore) -> None:
        self.job, self.token = job, job.token
        self._pool, self._board, self._turn = pool, board, turn
        self._sent_bytes = 0
        self._items = 1
        """Of the next part: work is tried small first."""

    async def run(self) -> None:
        """Run what is left of the job.

        Raises:
            Fenced: It was placed elsewhere, or cancelled; nothing more of it runs here.
        """
        try:
            ran = self.job.state == RUNNING  # before this agent was started again: it has its turn before what is new
            if not ran:
                await self._send()
            async with self._turn:
                self.job = await steadily(lambda: self._pool.taken_up(self.job))
                if ran:
                    await self._send()
                while not self.job.ended:
                    await self._part()
        except JobFailed as failure:
            code = f"job-{failure.details.get('state', 'failed')}"
            error = {"code": code, "cause": str(failure.details.get("cause") or ""), "message": failure.message}
            await steadily(lambda: self._pool.failed(self.job, error))
        except Conflict:
            raise
        except EddyError as refused:
            error = {"code": "job-failed", "cause": refused.code, "message": refused.message}
            await steadily(lambda: self._pool.failed(self.job, error))

    async def _send(self) -> None:
        """Bring the inputs that are not here, at the rate the job was given."""
        client = await self._board.client(self.job.tenant)
        for sha in self.job.blobs:
            if await self._board.has(client, sha):
                continue
            fetched = await steadily(lambda name=sha: self._pool.fetch(self.job, name))  # type: ignore[misc]
            await client.put_blob(fetched.data)
            self._board.transferred(len(fetched.data), fetched.took_s, bool(self.job.bps))
            self._sent_bytes += len(fetched.data)
            with suppress(*AWAY):
                await self._pool.sent(self.job, len(fetched.data), fetched.took_s)

    async def _part(self) -> None:
        began_s, first = time.monotonic(), self.job.done
        items = min(self._items, self.job.batch - first)
        outputs, ended = await self._computed(first, items)
        took_s = time.monotonic() - began_s
        part = {
            "first": first,
            "items": items,
            "outputs": outputs,
            "computed": bool(ended.get("computed", True)),
            "sent_bytes": self._sent_bytes,
        }
        kernel = ended.get("kernel")
        self.job = await steadily(lambda: self._pool.committed(self.job, part, took_s, kernel))
        self._sent_bytes = 0
        if took_s < PART_S:
            self._items *= 2

    async def _computed(self, first: int, items: int) -> tuple[dict[str, str], dict[str, Any]]:
        """Run items on the board; answers their outputs, which are in the pool by then, and the board's job."""
        client = await self._board.client(self.job.tenant)
        # Numbers begin again where the pool's store was emptied; the time tells those jobs apart.
        key = f"pool-{self.job.id}-{self.job.submitted_unix_s:.6f}-{self.token}-{first}-{items}"
        number = await self._board.submit(client, self.job, first, items, key)
        try:
            ended = await self._ended(client, number)
        except (Conflict, asyncio.CancelledError):
            await self._board.cancel(client, number)
            raise
        names = ended["kernel"]["outputs"] if ended.get("kernel") else ended["outputs"]
        outputs = {}
        for name in names:
            data = await client.output_bytes(number, name)
            outputs[name] = await steadily(lambda data=data: self._pool.put(self.job, data))  # type: ignore[misc]
        return outputs, ended

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
            return  # the board works on; the commit will tell
