# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What jobs had whose records were removed: an entry a tenant, changed only from the revision it was read at.

An entry names jobs whose records are about to go, with what each had. Such a job counts by its record for as long as
that is there, and by the entry from then on. So a head that ends between the two counts nothing twice, nor loses it;
who goes on removes the records of these jobs first.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from nats.js.errors import KeyNotFoundError, KeyWrongLastSequenceError

from eddy.core.errors import Conflict
from eddy.pool.jetstream.bucket_reader import read_entry
from eddy.pool.jetstream.link import Link
from eddy.pool.records.record_json import NO_SENSE, parse_json

KEPT_USAGE = "usage."
"""What these entries begin with, in the bucket of keys, which heads alone may read."""
Days = Mapping[str, tuple[int, int]]
"""Nanoseconds of places and of cores, by day."""


@dataclass(frozen=True, slots=True)
class KeptUsage:
    """Of one tenant.

    Attributes:
        had: By jobs whose records are gone, all together.
        removing: By jobs whose records go, by number.
        revision: Of the entry; 0 where there is none.
    """

    had: Days = field(default_factory=dict)
    removing: Mapping[int, Days] = field(default_factory=dict)
    revision: int = 0


def kept_usage_read(link: Link, tenant: str, data: bytes | None, revision: int = 0) -> KeptUsage:
    """What an entry says; one that cannot be read is set aside, and begun again by who removes the next records."""
    try:
        raw = parse_json(data)
        kept = KeptUsage(
            _days(raw["had"]), {int(number): _days(days) for number, days in raw["removing"].items()}, revision
        )
    except NO_SENSE as wrong:
        link.troubles.record_unreadable("eddy_keys", f"{KEPT_USAGE}{tenant}", str(wrong))
        return KeptUsage(revision=revision)
    link.troubles.forget("eddy_keys", f"{KEPT_USAGE}{tenant}")
    return kept


def _days(raw: Mapping[str, list[int]]) -> dict[str, tuple[int, int]]:
    return {str(day): (int(slot_ns), int(core_ns)) for day, (slot_ns, core_ns) in raw.items()}


async def read_kept_usage(link: Link, tenant: str) -> KeptUsage:
    """What is kept of a tenant."""
    try:
        entry = await read_entry(link.keys, f"{KEPT_USAGE}{tenant}")
    except KeyNotFoundError:
        return KeptUsage()
    return kept_usage_read(link, tenant, entry.value, int(entry.revision or 0))


async def announce_removal(link: Link, tenant: str, kept: KeptUsage, removing: Mapping[int, Days]) -> None:
    """Write down that records go. Those of the jobs that were named before are gone.

    Args:
        kept: What was read of it.
        removing: What each of the jobs had, by number.

    Raises:
        Conflict: Another head removes some at this moment.
    """
    had = dict(kept.had)
    for days in kept.removing.values():
        for day, (slot_ns, core_ns) in days.items():
            before = had.get(day, (0, 0))
            had[day] = before[0] + slot_ns, before[1] + core_ns
    text = json.dumps({"had": had, "removing": dict(removing)}).encode()
    try:
        await link.keys.update(f"{KEPT_USAGE}{tenant}", text, last=kept.revision)
    except KeyWrongLastSequenceError:
        raise Conflict(f"Records of {tenant} are removed by another head at this moment.", tenant=tenant) from None
