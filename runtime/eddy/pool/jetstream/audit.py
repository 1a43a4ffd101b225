# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The audit log of a pool: a board's entries, chained as a board's are, in a stream of which no message can be taken.

An entry's number is its place in the stream, and it is written only behind the entry that it is chained to. So of two
heads that note something at once one reads again; and that the last ones are missing shows by what the stream counts.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from nats.js.errors import APIError, NotFoundError

from eddy.core.errors import Conflict, UnknownCursor
from eddy.pool.connection.refusals import WRONG_LAST_SEQUENCE, code_of
from eddy.pool.connection.streams import AUDIT, AUDIT_SUBJECT
from eddy.pool.jetstream.bucket_reader import confirm_stream
from eddy.pool.jetstream.link import Link
from eddy.pool.jetstream.naming import pool_secret
from eddy.pool.records.record_json import NO_SENSE, parse_json, value_from_json
from eddy.store.account_tables.audit import START, AuditEntry, AuditVerdict, Sign, signed_head, verify
from eddy.store.account_tables.tenants import make_keyed_hash

TRIES = 64
"""Times that an entry is tried again because another head has written one in between."""
AT_ONCE = 50
"""Entries that are read at once."""


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
        for _ in range(TRIES):
            last = int(
                (await self._link.js.stream_info(AUDIT)).state.last_seq
            )  # where it lags, what is written is refused
            before = (await self._entry(last)).chain if last else START
            entry = AuditEntry(last + 1, time.time(), actor, key, action, facts, "")
            data = json.dumps({**asdict(entry), "chain": sign(entry.text(before))}).encode()
            try:
                await self._link.js.publish(AUDIT_SUBJECT, data, headers={"Nats-Expected-Last-Sequence": str(last)})
                return
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
            found += await asyncio.gather(*map(self._entry, numbers[first : first + AT_ONCE]))
        return found

    async def examine(self) -> AuditVerdict:
        """Read all of it, and see whether it is as it was written."""
        sign, found = await self._sign(), await self.entries(0, 1 << 62)
        head = signed_head(sign, found[-1].seq, found[-1].chain) if found else signed_head(sign, 0, START)
        return verify(found, head, sign)

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
