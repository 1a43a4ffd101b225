# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a pool's jobs and events are called outside: counts would tell each tenant how much others do
(docs/decisions/what-tenants-learn-of-each-other.md)."""

from __future__ import annotations

import json
import secrets

from nats.js.errors import BucketNotFoundError, KeyNotFoundError, KeyWrongLastSequenceError, NotFoundError

from eddy.core.numbering import MultiKeyNumbering, Numbering
from eddy.pool.connection.streams import EVENTS
from eddy.pool.jetstream.bucket_reader import read_entry
from eddy.pool.jetstream.link import Link
from eddy.pool.records.record_json import NO_SENSE, parse_json, unreadable_record_error
from eddy.store.db.numbers import EVENT_DIGITS, JOB_DIGITS, Numbers

ENTRY = "numbering"
"""In the bucket of keys, which heads alone may read."""


async def load_pool_numbers(link: Link) -> Numbers:
    """How all heads of a pool tell its counts; made by the first. What was told before stays as it was told."""
    try:
        return _read((await read_entry(link.keys, ENTRY)).value)
    except KeyNotFoundError:
        jobs = (await link.submissions.status()).stream_info.state.last_seq
        events = (await link.js.stream_info(EVENTS)).state.last_seq
        made = json.dumps({"key": secrets.token_hex(32), "job": int(jobs) + 1, "event": int(events) + 1}).encode()
    try:
        await link.keys.create(ENTRY, made)
    except KeyWrongLastSequenceError:  # of two heads that begin at once, the first one's holds
        made = (await read_entry(link.keys, ENTRY)).value or b"{}"
    return _read(made)


async def pool_secret(link: Link) -> bytes:
    """What heads alone know, and a restored pool keeps.

    Raises:
        UnreadableRecord: What is kept of numbers cannot be read.
        KeyNotFoundError: Nothing is: no head ever began.
    """
    entry = await read_entry(link.keys, ENTRY)
    _read(entry.value)
    return bytes.fromhex(parse_json(entry.value)["key"])


async def renew_pool_numbers(link: Link) -> None:
    """Have a pool that was restored be told from the one that it is a copy of: by boards and heads that knew that one
    as it went on, and by clients, whose jobs of that time are not those that get their counts now.

    Raises:
        UnreadableRecord: What is kept of numbers cannot be read.
        KeyNotFoundError: Nothing is: no head ever began.
    """
    entry = await read_entry(link.keys, ENTRY)
    _read(entry.value)
    kept = parse_json(entry.value)
    jobs = (await link.submissions.status()).stream_info.state.last_seq
    events = (await link.js.stream_info(EVENTS)).state.last_seq
    made = {"key": secrets.token_hex(32), "job": int(jobs) + 1, "event": int(events) + 1}
    text = json.dumps({**kept, "renewed": [*kept.get("renewed", []), made]}).encode()
    await link.keys.update(ENTRY, text, last=int(entry.revision or 0))


async def identity(link: Link) -> bytes:
    """What tells this pool from one that its servers keep later; empty where they keep none."""
    try:
        return (await link.keys.get(ENTRY)).value or b""
    except (BucketNotFoundError, KeyNotFoundError, NotFoundError):
        return b""


def _read(data: bytes | None) -> Numbers:
    """What is kept of it.

    Raises:
        UnreadableRecord: It is something else. Nobody can tell what jobs are called then.
    """
    try:
        kept = parse_json(data)
        key = bytes.fromhex(kept["key"])
        jobs, events = Numbering(key, JOB_DIGITS, int(kept["job"])), Numbering(key, EVENT_DIGITS, int(kept["event"]))
        for each in kept.get("renewed", ()):
            key = bytes.fromhex(each["key"])
            jobs = MultiKeyNumbering(jobs, key, JOB_DIGITS, int(each["job"]))
            events = MultiKeyNumbering(events, key, EVENT_DIGITS, int(each["event"]))
        return Numbers(jobs, events)
    except NO_SENSE as wrong:
        raise unreadable_record_error("eddy_keys", ENTRY, wrong) from wrong
