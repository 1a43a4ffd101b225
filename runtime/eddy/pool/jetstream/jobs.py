# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Records of jobs in JetStream: made once, and changed only from the revision they were read at."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import hashlib
import json
import re
import secrets
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import structlog
from nats.js.api import RawStreamMsg
from nats.js.errors import KeyNotFoundError, KeyWrongLastSequenceError
from nats.js.errors import NotFoundError as NatsNotFound
from nats.js.kv import KeyValue

from eddy.api.http.problems import BodyTooLarge
from eddy.core.errors import Conflict, EddyError, NotFound
from eddy.core.submission_options import ArrayPlace
from eddy.pool.jetstream.bucket_reader import confirm_bucket, entries, newest_revision, operation_of, read_entry
from eddy.pool.jetstream.link import Link
from eddy.pool.records.record_json import UnreadableRecord, job_from_json, to_json
from eddy.pool.records.records import PoolJob

TRIES = 64
"""Times a change is tried again because somebody else changed the record in between."""
MAX_RECORD_BYTES = 1 << 20
"""Largest record of a job that is accepted: as large as a submission that a board takes. Servers and answers to boards
take eight times as much, so there is room for what becomes of it."""
AT_ONCE = 32
"""Records of an array that are on their way to the servers at once."""
_log = structlog.get_logger("eddy.pool")


@dataclass(frozen=True, slots=True)
class _Number:
    """A number, as the entry of a submission has it.

    Attributes:
        value: It: the entry's revision.
        digest: What the entry says: of what was submitted.
        new: Whether the entry was written just now. No record has the number then, unless the servers lost entries.
    """

    value: int
    entry: str
    digest: bytes
    new: bool


@dataclass(frozen=True, slots=True)
class JobEntry:
    """An entry of the bucket of jobs, as it is told.

    Attributes:
        job: The record; None where it cannot be read, or is gone.
        revision: Of the entry; 0 where not even a mark is left that it was taken away.
        written_us: When it was written, microseconds since 1970 by the servers' clocks.
        data: The record as it is kept.
        gone: Whether it was taken away.
    """

    key: str
    job: PoolJob | None
    revision: int
    written_us: int
    data: bytes = b""
    gone: bool = False

    @property
    def number(self) -> int | None:
        """Of the job; None where the key is none."""
        return int(self.key) if re.fullmatch("[0-9]{1,18}", self.key) else None


class PoolJobs:
    """The pool's jobs.

    Servers that lost the last of the submissions they kept, as a stream restored by itself has, give numbers again. So
    a number says nothing of whose a record is: its tenant and what was submitted do. One that is met with another's is
    passed over.

    Args:
        now: Wall time, seconds since 1970.
        array_owner: Whose array has a number; None where no array has it. Arrays have no record of their own.
    """

    def __init__(
        self,
        link: Link,
        now: Callable[[], float] = time.time,
        array_owner: Callable[[int], Awaitable[str | None]] | None = None,
    ) -> None:
        self._link, self.now, self._array_owner = link, now, array_owner

    async def submit(self, tenant: str, request: Mapping[str, Any], idempotency_key: str = "") -> PoolJob:
        """Accept a job; it is on the servers' disks when this returns. The same key and request name the same job.

        Raises:
            Conflict: The key was used for another request.
            BodyTooLarge: Its record would be larger than `MAX_RECORD_BYTES`; nothing is kept of it.
        """
        _check_size(tenant, [request])
        number = await self._number(tenant, idempotency_key or secrets.token_hex(16), _digest(request))
        job, new = await self._recorded(number, PoolJob(0, tenant, request, self.now()))
        if new:
            await self._tell(job)
        return job

    async def submit_array(
        self, tenant: str, requests: Sequence[Mapping[str, Any]], idempotency_key: str = ""
    ) -> PoolJob:
        """Accept jobs together, all or none; answers the first. The array has a number that no job has.

        The record of the first is written last. Nobody counts, shows or places one of the others before that is there,
        so what a head leaves that ends in between is nothing; the client's next try, with the same key, completes it.

        Raises:
            Conflict: The key was used for another request.
            BodyTooLarge: A record would be larger than `MAX_RECORD_BYTES`; nothing is kept of any.
        """
        _check_size(tenant, requests)
        key = idempotency_key or secrets.token_hex(16)
        number = first = await self._number(tenant, key, _digest(list(requests)))
        while await self._of_another_array(number, tenant) or await self._there(number.value):
            kept = await self._kept(number.value)
            # In arrays of an earlier release it is their first job's.
            if kept is not None and _same(kept, tenant, requests[0], ArrayPlace(number.value, 0, len(requests))):
                return kept
            number = await self._another(number)
        _tell_if_passed_over(tenant, first, number)
        now_s, size, array = self.now(), len(requests), number.value
        turns = asyncio.Semaphore(AT_ONCE)

        async def of_member(index: int) -> tuple[_Number, PoolJob]:
            # No key of a client has a space, so none names a place of another's array.
            number = await self._number(tenant, f"{key} {index}", _digest(requests[index]))
            return number, PoolJob(0, tenant, requests[index], now_s, array=ArrayPlace(array, index, size))

        async def member(index: int) -> PoolJob:
            async with turns:
                return (await self._recorded(*await of_member(index)))[0]

        head = await of_member(0)  # it has the first number, as jobs of one moment are listed by that
        members = await asyncio.gather(*map(member, range(1, size)))
        job, new = await self._recorded(*head)
        if not new:
            return job

        async def told(job: PoolJob) -> None:
            async with turns:
                await self._tell(job)

        await asyncio.gather(*map(told, (job, *members)))
        return job

    async def _number(self, tenant: str, key: str, digest: bytes) -> _Number:
        """The number that a key names.

        Raises:
            Conflict: The key was used for another request.
        """
        entry = _entry(tenant, key)
        try:
            return _Number(await self._link.submissions.create(entry, digest), entry, digest, True)
        except KeyWrongLastSequenceError:
            kept = await read_entry(self._link.submissions, entry)
            if kept.value != digest:
                message = "This Idempotency-Key was used for another submission; use a new one."
                raise Conflict(message, field="Idempotency-Key") from None
            return _Number(int(kept.revision or 0), entry, digest, False)

    async def _another(self, number: _Number) -> _Number:
        """A further number for a submission whose own is another's."""
        self._link.troubles.passed_over += 1
        try:
            value = await self._link.submissions.update(number.entry, number.digest, last=number.value)
        except KeyWrongLastSequenceError:  # another try of the same submission has done so
            value, new = int((await read_entry(self._link.submissions, number.entry)).revision or 0), False
        else:
            new = True
        return replace(number, value=value, new=new)

    async def _of_another_array(self, number: _Number, tenant: str) -> bool:
        """Whether a number is an array's that was not submitted under it."""
        owner = None if self._array_owner is None else await self._array_owner(number.value)
        return owner is not None and (number.new or owner != tenant)

    async def _recorded(self, number: _Number, job: PoolJob) -> tuple[PoolJob, bool]:
        """The record of a submission, and whether it was made just now.

        Args:
            number: Of the submission; where that is another's, the next that is nobody's is taken.
            job: The record to be made, under whatever number.
        """
        first = number
        while True:
            job = replace(job, id=number.value)
            if not await self._of_another_array(number, job.tenant):
                if await self._made(job):
                    _tell_if_passed_over(job.tenant, first, number)
                    return job, True
                kept = await self._kept(job.id)
                if kept is not None and _same(kept, job.tenant, job.request, job.array):
                    return kept, False
            number = await self._another(number)

    async def _there(self, number: int) -> bool:
        """Whether there is a record, that can be read or not."""
        try:
            await self.read(number)
        except NotFound:
            return False
        except UnreadableRecord:
            pass
        return True

    async def _kept(self, number: int) -> PoolJob | None:
        """A record; None where there is none that can be read."""
        with contextlib.suppress(NotFound, UnreadableRecord):
            return await self.job(number)
        return None

    async def _made(self, job: PoolJob) -> bool:
        try:
            await self._link.jobs.create(str(job.id), to_json(job))
        except KeyWrongLastSequenceError:
            return False
        return True

    async def _tell(self, job: PoolJob) -> None:
        await self._link.tell(job.tenant, job.id, "state", state=job.state, at_unix_s=job.submitted_unix_s)

    async def known(self, tenant: str, idempotency_key: str) -> bool:
        """Whether a tenant has used a key."""
        try:
            await read_entry(self._link.submissions, _entry(tenant, idempotency_key))
        except KeyNotFoundError:
            return False
        return True

    async def job(self, number: int) -> PoolJob:
        """A record.

        Raises:
            NotFound: There is none.
            UnreadableRecord: It cannot be read.
        """
        return (await self.read(number))[0]

    async def read(self, number: int) -> tuple[PoolJob, int]:
        """A record, and its revision.

        Raises:
            NotFound: There is none.
            UnreadableRecord: It cannot be read.
        """
        try:
            entry = await read_entry(self._link.jobs, str(number))
        except KeyNotFoundError:
            raise NotFound(f"There is no job {number}.", field="job", asked=number) from None
        return job_from_json(entry.value, str(number)), int(entry.revision or 0)

    async def change(self, number: int, how: Callable[[PoolJob], PoolJob]) -> PoolJob:
        """Change a record, on what it is at that moment; tells its followers. `how` may be called several times.

        Raises:
            NotFound: There is none.
            Fenced, Conflict: What `how` raises.
        """
        certain = False
        for tried in range(TRIES):
            await asyncio.sleep(0.01 * max(tried - 2, 0))
            job, revision = await self.read(number)
            try:
                changed = how(job)
            except EddyError:
                if certain:
                    raise
                # What was read may be what was before the servers were parted: nobody is refused anything for that.
                await confirm_bucket(self._link.jobs)
                certain = True
                continue
            if changed == job:
                return job
            try:
                await self._link.jobs.update(str(number), to_json(changed), last=revision)
            except KeyWrongLastSequenceError:
                continue
            said = {"state": changed.state, "board": changed.board, "done": changed.done, "token": changed.token}
            kind = "state" if changed.state != job.state else "part"
            await self._link.tell(changed.tenant, number, kind, **said, at_unix_s=self.now())
            return changed
        raise Conflict("The job is changed by too many at once; try again.")

    async def last_revision(self) -> int:
        """The revision of the change that was made last, to whichever record, also where that is there no more; for
        certain."""
        return (await self.state())[1]

    async def newest(self) -> int:
        """The revision of the entry that was written last, of those that are there; 0 where there is none."""
        return await newest_revision(self._link.jobs)

    async def following(self, after: int = 0) -> AsyncGenerator[JobEntry | None, None]:
        """Every entry of a later revision, and every change from then on; None once those that were there are through.
        Those that cannot be read are set aside."""
        async with contextlib.aclosing(entries(self._link.jobs, after)) as told:
            async for entry in told:
                yield None if entry is None else self._entry(entry)

    async def state(self) -> tuple[int, int]:
        """How many entries there are, marks of removed ones included, and the revision of the last change; for
        certain."""
        state = (await confirm_bucket(self._link.jobs)).state
        return int(state.messages), int(state.last_seq)

    async def lone_server(self) -> str:
        """The server that alone has the records, with a new name at each start of it; "" where others have copies."""
        replicas = (await confirm_bucket(self._link.jobs)).config.num_replicas or 1
        return "" if replicas > 1 else str(self._link.nats._server_info.get("server_id", ""))

    async def keys(self) -> set[str]:
        """Of all entries, marks of removed ones included, without a look at the entries."""
        js, bucket, found = self._link.js, self._link.jobs, set[str]()
        while True:
            asked = json.dumps({"subjects_filter": f"{bucket._pre}>", "offset": len(found)}).encode()
            answer = await js._api_request(f"{js._prefix}.STREAM.INFO.{bucket._stream}", asked, timeout=js._timeout)
            names = answer["state"].get("subjects") or {}
            found |= {name.removeprefix(bucket._pre) for name in names}
            if not names or len(found) >= int(answer.get("total") or 0):
                return found

    async def entry(self, key: str) -> JobEntry:
        """An entry as it is now."""
        subject = f"{self._link.jobs._pre}{key}"
        try:
            return self._entry(_as_told(key, await self._link.js.get_msg(self._link.jobs._stream, subject=subject)))
        except NatsNotFound:
            return JobEntry(key, None, 0, 0, gone=True)

    async def written_us(self, key: str, revision: int) -> int | None:
        """When an entry was written, microseconds since 1970; None where it is not of that revision any more."""
        try:
            message = await self._link.js.get_msg(self._link.jobs._stream, revision)
        except NatsNotFound:
            return None
        return _microseconds(message.time) if message.subject == f"{self._link.jobs._pre}{key}" else None

    def _entry(self, entry: KeyValue.Entry) -> JobEntry:
        data, told = entry.value or b"", (int(entry.revision or 0), _microseconds(entry.created))
        try:
            job = None if entry.operation else job_from_json(data, entry.key)
        except UnreadableRecord as wrong:
            self._link.troubles.record_unreadable("eddy_jobs", entry.key, wrong.details["cause"])
            return JobEntry(entry.key, None, *told, data)
        self._link.troubles.forget("eddy_jobs", entry.key)
        return JobEntry(entry.key, job, *told, data, gone=bool(entry.operation))


def _as_told(key: str, message: RawStreamMsg) -> KeyValue.Entry:
    operation, at = operation_of(message.headers), message.time
    return KeyValue.Entry("eddy_jobs", key, message.data, message.seq, None, at, operation)  # type: ignore[arg-type]


def _microseconds(date: Any) -> int:
    return round(1e6 * date.timestamp()) if isinstance(date, datetime.datetime) else 0


def _check_size(tenant: str, requests: Sequence[Mapping[str, Any]]) -> None:
    for request in requests:
        size = len(to_json(PoolJob(0, tenant, request, 0.0)))
        if size > MAX_RECORD_BYTES:
            raise BodyTooLarge(MAX_RECORD_BYTES, size)


def _same(kept: PoolJob, tenant: str, request: Mapping[str, Any], array: ArrayPlace | None) -> bool:
    """Whether a record is of this very submission."""
    return (kept.tenant, _digest(kept.request), kept.array) == (tenant, _digest(request), array)


def _tell_if_passed_over(tenant: str, first: _Number, number: _Number) -> None:
    if number.value != first.value:
        _log.error(
            "numbers of submissions were met twice, and passed over: the servers lost the last of them",
            tenant=tenant, number=first.value, passed_over=number.value - first.value,
        )  # fmt: skip


def _digest(request: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> bytes:
    """What tells two submissions with the same key apart, and an array from a job."""
    return hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest().encode()


def _entry(tenant: str, idempotency_key: str) -> str:
    """What a submission is named by."""
    return f"{tenant}.{hashlib.sha256(idempotency_key.encode()).hexdigest()}"
