# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The audit log of a pool: a board's entries, chained as a board's are, in a stream of which no message can be taken.

An entry's number is its place in the stream, and it is written only behind the entry that it is chained to. So of two
heads that note something at once one reads again. That the last ones are missing, or all, shows by the log's head,
which is kept among the keys: number and chain of an entry, signed, as a board's file has them. It is written after the
entry, so the log may be ahead of it and is never behind. What is wrong as an entry is added becomes one of its own
before it.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import structlog
from nats.js.errors import APIError, KeyNotFoundError, KeyWrongLastSequenceError, NotFoundError

from eddy.core.errors import Conflict, UnknownCursor
from eddy.pool.connection.refusals import WRONG_LAST_SEQUENCE, code_of
from eddy.pool.connection.streams import AUDIT, AUDIT_SUBJECT
from eddy.pool.jetstream.bucket_reader import confirm_stream, read_entry
from eddy.pool.jetstream.link import Link
from eddy.pool.jetstream.naming import pool_secret
from eddy.pool.records.record_json import NO_SENSE, parse_json, value_from_json
from eddy.store.account_tables.audit import (
    HEAD,
    START,
    WRONG,
    AuditEntry,
    AuditVerdict,
    ChainCheck,
    Sign,
    find_wrong_end,
    parse_head,
    signed_head,
)
from eddy.store.account_tables.tenants import make_keyed_hash

TRIES = 64
"""Times that an entry is tried again because another head has written one in between."""
AT_ONCE = 50
"""Entries that are read at once."""
_log = structlog.get_logger("eddy.pool")


class PoolAudit:
    """The log, as every head has it."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def note(self, actor: str, key: str, action: str, facts: Mapping[str, Any]) -> None:
        """Add an entry; it is on the servers' disks when this returns.

        Args:
            actor: The tenant who does it.
            key: Name of the key it is done with.
            action: What, as `drain-board`.
            facts: With what; plain JSON, and no secret.

        Raises:
            Conflict: Others write at once, again and again.
        """
        sign = await self._sign()
        if wrong := await self._find_wrong(sign):
            _log.error("the audit log is not what was written", problem=wrong)
            await self._add(sign, "", "", WRONG, {"problem": wrong})
        entry = await self._add(sign, actor, key, action, facts)
        await self._keep_head(sign, entry, replace=bool(wrong))

    async def _find_wrong(self, sign: Sign) -> str:
        """In what the log and its head differ; "" for nothing. The first one of a pool is made here."""
        head, _ = await self._head()
        last = int((await self._link.js.stream_info(AUDIT)).state.last_seq)
        if head is None and not last:
            with contextlib.suppress(KeyWrongLastSequenceError):
                await self._create_head(signed_head(sign, 0, START))
            return ""
        if not await self._differs(last, head, sign):
            return ""
        last = int((await confirm_stream(self._link.js, AUDIT)).state.last_seq)  # a server that lags has not all
        return await self._differs(last, head, sign)

    async def _differs(self, last: int, head: bytes | None, sign: Sign) -> str:
        named = None if head is None else parse_head(head, sign)
        chain = START if named is None or not 0 < named[0] <= last else (await self._entry(named[0])).chain
        return find_wrong_end(last, lambda _: chain, head, sign)

    async def _head(self) -> tuple[bytes | None, int]:
        """The head that is kept, and its revision."""
        try:
            entry = await read_entry(self._link.keys, HEAD)
        except KeyNotFoundError:
            return None, 0
        return entry.value or b"", int(entry.revision or 0)

    async def _create_head(self, made: bytes) -> int:
        return int(await self._link.keys.create(HEAD, made))

    async def _keep_head(self, sign: Sign, entry: AuditEntry, replace: bool) -> None:
        """Have the head name an entry, where it names none that came later.

        Args:
            replace: Whether the one there is wrong.
        """
        for _ in range(TRIES):
            head, revision = await self._head()
            named = None if head is None else parse_head(head, sign)
            if not replace and (named is None or named[0] >= entry.seq):
                return  # a later one; or it was lost meanwhile, which the next entry says
            made = signed_head(sign, entry.seq, entry.chain)
            with contextlib.suppress(KeyWrongLastSequenceError):
                await (self._link.keys.update(HEAD, made, last=revision) if revision else self._create_head(made))
                return

    async def _add(self, sign: Sign, actor: str, key: str, action: str, facts: Mapping[str, Any]) -> AuditEntry:
        for _ in range(TRIES):
            # Where it lags, what is written is refused.
            last = int((await self._link.js.stream_info(AUDIT)).state.last_seq)
            before = (await self._entry(last)).chain if last else START
            entry = AuditEntry(last + 1, time.time(), actor, key, action, facts, "")
            entry = dataclasses.replace(entry, chain=sign(entry.text(before)))
            data = json.dumps(asdict(entry)).encode()
            try:
                await self._link.js.publish(AUDIT_SUBJECT, data, headers={"Nats-Expected-Last-Sequence": str(last)})
                return entry
            except APIError as refused:
                if code_of(refused) not in WRONG_LAST_SEQUENCE:
                    raise
        raise Conflict("Others change the pool at this moment; try again.")

    async def entries(self, after: int, limit: int, last: int | None = None) -> Sequence[AuditEntry]:
        """Entries in order.

        Args:
            after: Those of higher numbers alone.
            limit: At most so many.
            last: The latest, so many of them; the others are left.

        Raises:
            UnknownCursor: No entry has had that number yet.
        """
        newest = int((await confirm_stream(self._link.js, AUDIT)).state.last_seq)
        if last is not None:
            after, limit = max(newest - last, 0), last
        if after > newest:
            message = f"There is no entry {after} in this log: ask without `after`, which begins with the first one."
            raise UnknownCursor(message, field="after", asked=after)
        numbers, found = range(after + 1, min(newest, after + limit) + 1), list[AuditEntry]()
        for first in range(0, len(numbers), AT_ONCE):
            found += await self._piece(numbers[first : first + AT_ONCE])
        return found

    async def examine(self) -> AuditVerdict:
        """Read all of it, a piece at a time, and see whether it is as it was written; the loop goes on meanwhile."""
        sign, (head, _) = await self._sign(), await self._head()  # before the entries: the log is never behind it
        checked, last = ChainCheck(sign), 0
        newest = int((await confirm_stream(self._link.js, AUDIT)).state.last_seq)
        while last < newest:
            piece = await self._piece(range(last + 1, min(newest, last + AT_ONCE) + 1))
            last += len(piece)
            if not await asyncio.to_thread(checked.follow, piece):
                break
        if head is None and not newest:  # nothing was ever noted
            return AuditVerdict(0, "", ())
        return checked.verdict(head)

    async def _piece(self, numbers: range) -> list[AuditEntry]:
        return await asyncio.gather(*map(self._entry, numbers))

    async def _entry(self, number: int) -> AuditEntry:
        """An entry; of one that is lost, or cannot be read, stands its number: the chain says that it was changed."""
        try:
            entry = value_from_json(AuditEntry, parse_json((await self._link.js.get_msg(AUDIT, number)).data))
            return entry if entry.seq == number else AuditEntry(number, 0.0, "", "", "", {"damaged": entry.seq}, "")
        except NotFoundError:
            return AuditEntry(number, 0.0, "", "", "", {"damaged": "it is not there"}, "")
        except NO_SENSE as wrong:
            return AuditEntry(number, 0.0, "", "", "", {"damaged": str(wrong)}, "")

    async def _sign(self) -> Sign:
        return make_keyed_hash(await pool_secret(self._link))
