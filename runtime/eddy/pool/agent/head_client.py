# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The pool as a board has it: requests to heads, its lease, its queue, and bytes at addresses that heads gave it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import httpx
from nats.aio.client import Client as Nats
from nats.errors import TimeoutError as NatsTimeout
from nats.js import JetStreamContext

from eddy.api.access.uploads import TooManyUploads
from eddy.core.errors import (
    Conflict,
    EddyError,
    InvalidRequest,
    NotFound,
    StorageFailed,
    StorageFull,
    StorageQuotaExceeded,
)
from eddy.pool.connection import connection
from eddy.pool.connection.credentials import PoolReplaced, PoolUnreachable
from eddy.pool.connection.refusals import PoolRefused
from eddy.pool.connection.streams import GATE, WORK
from eddy.pool.connection.transfer import SILENT_S, Address, DamagedBlob, FetchedBlob, TransferSecret, received, sent
from eddy.pool.records.record_json import board_from_json, job_from_json, to_json
from eddy.pool.records.records import JobFenced, PoolBoard, PoolJob

ANSWER_S = 5.0
"""Wall seconds a head has to answer."""
NOT_NOW = (
    PoolUnreachable.code, PoolRefused.code, StorageFull.code, StorageFailed.code, Conflict.code, TooManyUploads.code,
)  # fmt: skip
"""Codes of answers that are not this board's matter, nor its jobs': too many changed a record at once, say."""


class HeadBusy(NatsTimeout):
    """A head answers, and cannot do this now."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why

    def __str__(self) -> str:
        return self.why


class HeadClient:
    """One board's view of the pool."""

    def __init__(self, nats: Nats, board: str) -> None:
        self._nats, self.board, self._http = nats, board, httpx.AsyncClient(timeout=SILENT_S, trust_env=False)
        self._js: JetStreamContext = nats.jetstream(timeout=connection.CALL_S)
        self._pool = ""
        self._connection = -1

    async def _ask(self, what: str, **details: Any) -> Any:
        """A head's answer.

        Raises:
            Fenced: The job is not this board's, or not under this token.
            EddyError: A head refused it otherwise.
            NatsTimeout: No head, or no server, answers now.
        """
        body = json.dumps({"what": what, **details}).encode()
        answer = json.loads((await self._nats.request(f"{GATE}.{self.board}", body, timeout=ANSWER_S)).data)
        if "error" not in answer:
            return answer["ok"]
        code, message = answer["error"]["code"], answer["error"]["message"]
        if code in NOT_NOW:
            raise HeadBusy(message)
        if code == DamagedBlob.code:
            raise DamagedBlob(message)
        if code in (JobFenced.code, NotFound.code):
            raise JobFenced(message)
        raise EddyError(message, cause=code)

    async def join(self, board: PoolBoard) -> PoolBoard:
        """Say what this board is; answers that, with why it is drained."""
        self._pool = await self._which()
        return board_from_json(json.dumps(await self._ask("join", board=asdict(board))).encode())

    async def renew(self, now: PoolBoard) -> None:
        """Renew the lease, in the pool that was joined: a connection made again may lead to another.

        Raises:
            PoolReplaced: The servers keep another pool.
            NatsTimeout: No server answers now; what is sent then would come all at once when one does.
        """
        if not self._nats.is_connected:
            raise NatsTimeout
        if self._connection != (connection := int(self._nats.stats["reconnects"])):
            await self.check_pool()
            self._connection = connection
        await self._js.publish(f"$KV.eddy_leases.{self.board}", to_json(now))

    async def rejoin(self, board: PoolBoard) -> None:
        """Have the pool that was joined know this board and its queue, where something of that was lost.

        Raises:
            PoolReplaced: The servers keep another pool.
        """
        await self.check_pool()
        await self._ask("join", board=asdict(board))

    async def check_pool(self) -> None:
        """See that the servers keep the pool that was joined.

        Raises:
            PoolReplaced: They keep another: what was joined is gone, this board's queue too.
        """
        now = await self._which()
        if now and self._pool and now != self._pool:
            raise PoolReplaced("The pool's servers came back without what they kept.")

    async def _which(self) -> str:
        """Which pool the servers keep; empty from a head of an earlier release, which does not know the question."""
        try:
            return str(await self._ask("pool"))
        except EddyError as refused:
            if refused.details.get("cause") == InvalidRequest.code:
                return ""
            raise

    async def leave(self) -> None:
        """End the lease: this board leaves."""
        await self._js.publish(f"$KV.eddy_leases.{self.board}", headers={"KV-Operation": "DEL"})

    async def queue(self) -> JetStreamContext.PullSubscription:
        """Work for this board."""
        return await self._js.pull_subscribe_bind(f"board-{self.board}", stream=WORK)

    async def placed_jobs(self) -> list[int]:
        """Numbers of jobs that are placed here and have not ended."""
        return [int(number) for number in await self._ask("mine")]

    async def weights(self) -> dict[str, float]:
        """What tenants of the pool with kernels here weigh here."""
        return {str(name): float(weight) for name, weight in (await self._ask("weights")).items()}

    async def job(self, number: int, token: int | None = None) -> PoolJob:
        """A job that is placed here.

        Raises:
            Fenced: It is not, or not under this token.
        """
        return _job(await self._ask("job", job=number, **({} if token is None else {"token": token})))

    async def report_started(self, job: PoolJob) -> PoolJob:
        """Say that it runs."""
        return _job(await self._ask("taken-up", job=job.id, token=job.token))

    async def report_part(
        self, job: PoolJob, part: Mapping[str, Any], took_s: float, kernel: Mapping[str, Any] | None
    ) -> PoolJob:
        """Commit a part: what `eddy.pool.records.reports.PartReport` has."""
        return _job(
            await self._ask("committed", job=job.id, token=job.token, part=dict(part), took_s=took_s, kernel=kernel)
        )

    async def failed(self, job: PoolJob, error: Mapping[str, Any]) -> PoolJob:
        """Say that it failed."""
        return _job(await self._ask("failed", job=job.id, token=job.token, error=dict(error)))

    async def fetch(self, job: PoolJob, sha256: str) -> FetchedBlob:
        """An input, at the rate the job was given.

        Raises:
            DamagedBlob: It is something else.
        """
        proof = TransferSecret()
        told = await self._ask("blob", job=job.id, token=job.token, sha256=sha256, proof=proof.digest)
        return await received(self._http, Address(**told), proof, sha256)

    async def put(self, job: PoolJob, data: bytes) -> str:
        """Keep an output; answers its name."""
        sha = hashlib.sha256(data).hexdigest()
        about = {"job": job.id, "token": job.token, "sha256": sha}
        if not await self._ask("has", **about):
            proof = TransferSecret()
            told = await self._ask("output", **about, bytes=len(data), proof=proof.digest)
            try:
                await sent(self._http, Address(**told), proof, data)
            except EddyError as refused:
                code = refused.details.get("cause")
                if code == StorageQuotaExceeded.code:  # the head has failed the job
                    raise JobFenced(refused.message) from refused
                if code in (*NOT_NOW, NotFound.code):  # whether the job is placed here is asked with the next address
                    raise HeadBusy(refused.message) from refused
                raise
        return sha

    async def aclose(self) -> None:
        """Let connections to heads go."""
        await self._http.aclose()

    async def report_transfer(self, job: PoolJob, fetched: FetchedBlob) -> None:
        """Tell the job's followers of a transfer."""
        told = {"bytes": len(fetched.data), "took_s": fetched.took_s}
        await self._ask("sent", job=job.id, given_bps=job.bps, **told)


def _job(raw: Mapping[str, Any]) -> PoolJob:
    return job_from_json(json.dumps(raw).encode())
