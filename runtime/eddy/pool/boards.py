"""Records of boards in JetStream: an operator drains them while they join, so each is changed from what was read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from nats.js.errors import KeyNotFoundError, KeyWrongLastSequenceError

from eddy.core.errors import Conflict
from eddy.pool.link import Link
from eddy.pool.record_json import board_from_json, to_json
from eddy.pool.records import PoolBoard

TRIES = 64
"""Times a change is tried again because somebody else changed the record in between."""


async def change_board(link: Link, name: str, how: Callable[[PoolBoard | None], PoolBoard]) -> PoolBoard:
    """Change a board's record, on what it is at that moment; None where there is none. `how` may be called again.

    Raises:
        Conflict: Too many change it at once.
        EddyError: What `how` raises.
    """
    for tried in range(TRIES):
        await asyncio.sleep(0.01 * max(tried - 2, 0))
        try:
            entry = await link.boards.get(name)
            kept, revision = board_from_json(entry.value or b"{}"), int(entry.revision or 0)
        except KeyNotFoundError:
            kept, revision = None, 0
        changed = how(kept)
        if changed == kept:
            return changed
        try:
            if kept is None:
                await link.boards.create(name, to_json(changed))
            else:
                await link.boards.update(name, to_json(changed), last=revision)
        except KeyWrongLastSequenceError:
            continue
        return changed
    raise Conflict(f"Board {name} is changed by too many at once; try again.", board=name)
