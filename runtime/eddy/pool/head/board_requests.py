# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a board may do to the pool's records: it asks, and any head answers after looking at what was placed there.

A board has no right to read or write a bucket. It sends a request to `eddy.gate.BOARD`, a subject that the server lets
nobody else publish on, so a head knows who asks. A request about a job is answered only while the job is placed on
that board. What changes a record is the same change from the revision that was read, by whichever head answers.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, replace
from typing import Any

import structlog
from nats.aio.msg import Msg
from nats.errors import MaxPayloadError

from eddy.api.request_bodies.base import SHA256
from eddy.core.board_constraints import COMPUTING
from eddy.core.errors import EddyError, InvalidRequest, NotFound
from eddy.core.units import format_bytes
from eddy.pool.connection.credentials import PoolUnreachable
from eddy.pool.connection.refusals import AWAY, LASTING, SAID_NO, UNDONE, PoolRefused, translate_refusal
from eddy.pool.connection.streams import GATE, WORK, work_of
from eddy.pool.connection.transfer import Address, DamagedBlob
from eddy.pool.jetstream.blobs import PoolBlobs
from eddy.pool.jetstream.boards import change_board
from eddy.pool.jetstream.bucket_reader import confirm_bucket
from eddy.pool.jetstream.jobs import PoolJobs
from eddy.pool.jetstream.link import Link
from eddy.pool.jetstream.naming import identity
from eddy.pool.mirror.board_drops import after_board_failure
from eddy.pool.mirror.flood_guard import REQUESTS, FloodGuard
from eddy.pool.records.records import JobFenced, JobPart, PoolBoard, PoolJob
from eddy.pool.records.reports import MAX_SAID_BYTES, CommitReport, ErrorReport, TransferReport, board_read
from eddy.pool.routes.open_transfers import OpenTransfers, Transfer, Transfers

MAX_ASKED = 256
"""Requests of one board that a head works on at once; it drops what is beyond."""
MAX_OUTPUT_BYTES = 256 << 20
INBOXES = ("_R_.", "_INBOX.")
"""Subjects that answers go to: those that servers make for requests from another account, and clients' own."""
ZEROS = {"code": "job-failed", "cause": "not-computed", "message": "The board models times alone."}
"""What becomes of a part of zeros that was to be computed: its board has another adapter than as the job was placed."""
_log = structlog.get_logger("eddy.pool")
Ask = Mapping[str, Any]


class BoardRequestHandler:
    """One head's answers to boards.

    Args:
        on_board: Numbers of the jobs on a board that have not ended.
        weights: Of tenants that have kernels on a board, there.
        transfers: Where this head gives and takes bytes.
    """

    def __init__(
        self,
        link: Link,
        on_board: Callable[[str], Awaitable[list[int]]],
        weights: Callable[[str], Awaitable[Mapping[str, float]]],
        floods: FloodGuard,
        transfers: OpenTransfers,
    ) -> None:
        self._link, self._on_board, self._weights, self._floods = link, on_board, weights, floods
        self._table, self._blobs = PoolJobs(link), PoolBlobs(link)
        self._open, self._transfers, self._checking = transfers, Transfers(), asyncio.Semaphore(1)
        self._answering: set[asyncio.Task[None]] = set()
        self._asked: Counter[str] = Counter()
        self._ways: Mapping[str, Callable[[str, Ask], Awaitable[Any]]] = {
            "pool": self._pool,
            "join": self._join,
            "mine": self._mine,
            "job": self._job,
            "taken-up": self._taken_up,
            "committed": self._committed,
            "failed": self._failed,
            "blob": self._blob,
            "has": self._has,
            "output": self._output,
            "sent": self._sent,
            "weights": self._of_tenants,
        }

    async def run(self) -> None:
        """Answer until cancelled. Heads share the requests: each is answered by one."""
        asked = await self._link.nats.subscribe(f"{GATE}.*", queue="heads")
        try:
            async for message in asked.messages:
                board = message.subject.rsplit(".", 1)[-1]
                if self._floods.count_and_check(board, REQUESTS) or self._asked[board] >= MAX_ASKED:
                    continue  # a board of this project asks again
                self._asked[board] += 1
                task = asyncio.ensure_future(self._answer(board, message))
                self._answering.add(task)
                task.add_done_callback(self._answering.discard)
        finally:
            for task in self._answering:
                task.cancel()
            with contextlib.suppress(*UNDONE):
                await asked.unsubscribe()

    async def _answer(self, board: str, message: Msg) -> None:
        try:
            await self._respond(message, await self._answered(board, message.data))
        finally:
            self._asked[board] -= 1

    async def _answered(self, board: str, asked: bytes) -> Mapping[str, Any]:
        try:
            if len(asked) > MAX_SAID_BYTES:
                raise InvalidRequest(f"A board may send at most {format_bytes(MAX_SAID_BYTES)} at once.", field="what")
            ask = json.loads(asked)
            return {"ok": await self._ways[ask["what"]](board, ask)}
        except EddyError as error:
            return {"error": {"code": error.code, "message": error.message}}
        except LASTING as failure:
            return {"error": {"code": EddyError.code, "message": f"The servers do not take this: {failure!r}."}}
        except AWAY as failure:
            return {"error": {"code": PoolUnreachable.code, "message": repr(failure)}}
        except SAID_NO as said:
            _log.error("the pool's servers refuse what a board asks", board=board, error=str(said))
            return {"error": {"code": PoolRefused.code, "message": translate_refusal(said).message}}
        except (AttributeError, KeyError, OverflowError, RecursionError, TypeError, ValueError) as wrong:
            _log.warning("a board asks what cannot be read", board=board, error=repr(wrong)[:200])
            return {"error": {"code": InvalidRequest.code, "message": f"This cannot be read: {repr(wrong)[:200]}."}}

    async def _respond(self, message: Msg, answer: Mapping[str, Any]) -> None:
        # Whoever asks says where the answer goes, and a head may write anywhere.
        if not message.reply.startswith(INBOXES):
            return
        with contextlib.suppress(*UNDONE):
            try:
                await message.respond(json.dumps(answer).encode())
            except MaxPayloadError:
                refusal = {"code": EddyError.code, "message": "The answer is larger than a message may be."}
                await message.respond(json.dumps({"error": refusal}).encode())

    async def _pool(self, board: str, _: Ask) -> Any:
        """Which pool this is, in a form that tells nothing of how it numbers jobs."""
        if not (kept := await identity(self._link)):
            raise PoolUnreachable("The servers keep no pool now.", board=board)
        return hashlib.sha256(kept).hexdigest()

    async def _join(self, board: str, ask: Ask) -> Any:
        """Keep what a board is, under the name it was let in by; answers it with what operators said of it."""
        said = board_read(board, ask["board"])
        await self._link.js.add_consumer(WORK, work_of(board))
        now = await change_board(
            self._link, board, lambda kept: said if kept is None else _as_operators_set(said, kept)
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
        for certain in (False, True):
            job = await self._table.job(int(ask["job"]))
            if job.board == board and not job.is_ended and job.token == ask.get("token", job.token):
                return job
            if not certain:  # it may have been placed there since the servers were parted
                await confirm_bucket(self._link.jobs)
        raise NotFound(f"No job {ask['job']} is placed on {board} now.", job=ask["job"])

    async def _change(self, board: str, ask: Ask, how: Callable[[PoolJob], PoolJob]) -> Any:
        def on_this_board(job: PoolJob) -> PoolJob:
            if job.board != board:
                raise NotFound(f"Job {job.id} is not on {board}.", job=job.id)
            return how(job)

        return asdict(await self._table.change(int(ask["job"]), on_this_board))

    async def _taken_up(self, board: str, ask: Ask) -> Any:
        token, now_s = int(ask["token"]), self._table.now()
        return await self._change(board, ask, lambda job: job.start(token, now_s))

    async def _committed(self, board: str, ask: Ask) -> Any:
        """A part: its board says how long it took, and its end is the head's time, because clocks of boards jump."""
        said, token, now_s = CommitReport.model_validate(dict(ask)), int(ask["token"]), self._table.now()
        part = JobPart(
            **said.part.model_dump(), board=board, token=token, started_unix_s=now_s - said.took_s, ended_unix_s=now_s
        )
        job = await self._table.job(int(ask["job"]))
        if not part.computed and job.board_kind == COMPUTING:
            await self._change(board, ask, lambda job: after_board_failure(job, token, ZEROS, now_s))
            raise JobFenced(f"Job {job.id} asks for a board that computes; it is placed again.", job=job.id)
        for sha in part.outputs.values() if job.board == board else ():
            if not await self._blobs.refer(job.tenant, sha, str(job.id)):
                raise InvalidRequest("An output of this part is not stored.", field="outputs", asked=sha)
        kernel = said.kernel.model_dump(mode="json") if said.kernel else None

        def with_part(job: PoolJob) -> PoolJob:
            if any(part.outputs.keys() != before.outputs.keys() for before in job.parts[:1]):
                raise InvalidRequest("This part has other outputs than the one before.", field="outputs")
            now = job.commit_part(part)
            return job if now is job else replace(now, kernel=kernel)  # one said again changes nothing

        return await self._change(board, ask, with_part)

    async def _failed(self, board: str, ask: Ask) -> Any:
        token, now_s = int(ask["token"]), self._table.now()
        error = ErrorReport.model_validate(ask["error"]).model_dump()
        if DamagedBlob.code in (error["code"], error["cause"]):
            job = await self._own(board, ask)
            if lost := await self._damaged_input(job):
                message = f"The pool's copy of input {lost} is damaged: upload it again, then submit again."
                error = {"code": "job-failed", "cause": DamagedBlob.code, "message": message}
                return await self._change(board, ask, lambda job: job.failed(token, error, now_s))
        return await self._change(board, ask, lambda job: after_board_failure(job, token, error, now_s))

    async def _damaged_input(self, job: PoolJob) -> str:
        """The first of a job's inputs that is not what it should be; "" where all are: a board may err."""
        async with self._checking:
            for sha in job.blobs:
                if not await self._blobs.is_right(job.tenant, sha):
                    return sha
        return ""

    async def _blob(self, board: str, ask: Ask) -> Any:
        """Where an input can be fetched, once."""
        job, sha = await self._own(board, ask), str(ask["sha256"])
        if sha not in job.blobs:
            raise NotFound(f"Job {job.id} does not name this blob.", job=job.id)
        try:
            size_bytes = await self._blobs.size_of(job.tenant, sha)
        except NotFound as gone:  # the job is placed there all the same
            raise DamagedBlob(f"The pool has lost input {sha}.", asked=sha) from gone
        transfer = Transfer(board, job.id, job.token, job.tenant, sha, size_bytes, False, job.bps)
        return await self._address(transfer, ask)

    async def _address(self, transfer: Transfer, ask: Ask) -> Any:
        digest = str(ask["proof"])
        if not re.fullmatch(SHA256, digest):
            raise InvalidRequest("proof is a sha256 in lower-case hex.", field="proof")
        jobs = len(await self._on_board(transfer.board))
        return asdict(Address(self._open.offer(transfer, digest, jobs), transfer.size_bytes))

    async def _has(self, board: str, ask: Ask) -> Any:
        """Of what it was given or has committed itself: of other bytes nobody tells a board whether the tenant has
        them."""
        job, sha = await self._own(board, ask), str(ask["sha256"])
        committed = any(sha in part.outputs.values() for part in job.parts)
        return (committed or sha in job.blobs) and await self._blobs.size(job.tenant, sha, look=True) is not None

    async def _output(self, board: str, ask: Ask) -> Any:
        """Where an output can be sent, once."""
        job, size_bytes, sha = await self._own(board, ask), int(ask["bytes"]), str(ask["sha256"])
        if not re.fullmatch(SHA256, sha):
            raise InvalidRequest("sha256 is in lower-case hex.", field="sha256")
        if not 0 <= size_bytes <= MAX_OUTPUT_BYTES:
            raise InvalidRequest(f"An output of a pool has at most {format_bytes(MAX_OUTPUT_BYTES)}.", field="bytes")
        return await self._address(Transfer(board, job.id, job.token, job.tenant, sha, size_bytes, True), ask)

    async def _sent(self, board: str, ask: Ask) -> Any:
        job, told = await self._own(board, ask), TransferReport.model_validate(dict(ask)).model_dump()
        if not self._transfers.count_transfer(job):
            return None
        await self._link.tell(job.tenant, job.id, "sent", **told, board=board)
        return None


def _as_operators_set(said: PoolBoard, kept: PoolBoard) -> PoolBoard:
    """What a board says of itself, with what operators said of it."""
    return replace(said, drained=kept.drained, labels=kept.labels)
