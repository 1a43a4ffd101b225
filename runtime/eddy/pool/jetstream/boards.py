# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Records of boards in JetStream: an operator drains them while they join, so each is changed from what was read."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import replace

from nats.js.errors import KeyNotFoundError, KeyWrongLastSequenceError
from nats.js.errors import NotFoundError as NatsNotFound

from eddy.core.errors import Conflict, NotFound
from eddy.pool.connection.streams import WORK
from eddy.pool.jetstream.bucket_reader import read_entry
from eddy.pool.jetstream.link import Link
from eddy.pool.records.record_json import UnreadableRecord, board_from_json, to_json
from eddy.pool.records.records import PoolBoard

TRIES = 64
"""Times a change is tried again because somebody else changed the record in between."""
UNREADABLE = "what was kept of it could not be read"
"""Why a board gets nothing that has joined over such a record, until an operator says otherwise."""


async def change_board(link: Link, name: str, how: Callable[[PoolBoard | None], PoolBoard]) -> PoolBoard:
    """Change a board's record, on what it is at that moment; None where there is none that can be read. `how` may be
    called again.

    Raises:
        Conflict: Too many change it at once.
        EddyError: What `how` raises.
    """
    for tried in range(TRIES):
        await asyncio.sleep(0.01 * max(tried - 2, 0))
        try:
            entry = await read_entry(link.boards, name)
            revision = int(entry.revision or 0)
            kept: PoolBoard | None = board_from_json(entry.value, name)
        except KeyNotFoundError:
            kept, revision = None, 0
        except UnreadableRecord:
            kept = None
        changed = how(kept)
        if changed == kept:
            return changed
        if revision and kept is None:  # it may have been drained
            changed = replace(changed, drained=changed.drained or UNREADABLE)
        try:
            if not revision:
                await link.boards.create(name, to_json(changed))
            else:
                await link.boards.update(name, to_json(changed), last=revision)
        except KeyWrongLastSequenceError:
            continue
        return changed
    raise Conflict(f"Board {name} is changed by too many at once; try again.", board=name)


async def forget_board(link: Link, name: str) -> None:
    """Take away what is kept of a board that is gone: its queue and its record. One that joins again is a new one.

    Raises:
        NotFound: There is none.
    """
    try:
        await read_entry(link.boards, name)
    except KeyNotFoundError:
        raise NotFound(f"There is no board {name!r} in the pool.", field="board", asked=name) from None
    with contextlib.suppress(NatsNotFound):
        await link.js.delete_consumer(WORK, f"board-{name}")
    await link.js.purge_stream(WORK, subject=f"eddy.work.{name}")
    await link.boards.delete(name)  # last: what is left where this breaks off is taken away by the next try
