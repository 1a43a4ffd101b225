# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the board did, minute by minute, for pictures of hours and days; bounded, and of all tenants together."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean

from eddy.store.db.damage import RecordKind, names_damage
from eddy.store.db.database import Database
from eddy.store.db.field_types import check_types
from eddy.store.db.rows import parse_object

KEPT_S = 7 * 86400
"""Wall seconds for which samples are kept: 10,080 rows of some 200 bytes, of one a minute."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Means over some time.

    Attributes:
        unix_s: When it ended, by the wall clock.
        busy: Slots that ran an item or loaded a module.
        running, waiting: Jobs.
        ended, failed: Jobs that ended well, and otherwise, in that time; sums.
        prices: Price of one core of a cluster, by slot.
        celsius: The hottest sensor; None where the kernel shows none.
    """

    unix_s: int
    slots: int
    busy: float
    running: float
    waiting: float
    ended: int
    failed: int
    prices: dict[str, float]
    celsius: float | None = None


def mean_of(samples: Sequence[Sample]) -> Sample:
    """One sample for several, of which there is at least one: means, sums where those are meant, and the highest
    temperature."""
    slots = {slot: [each.prices[slot] for each in samples if slot in each.prices] for slot in samples[-1].prices}
    degrees = [each.celsius for each in samples if each.celsius is not None]
    return Sample(
        samples[-1].unix_s,
        samples[-1].slots,
        fmean(each.busy for each in samples),
        fmean(each.running for each in samples),
        fmean(each.waiting for each in samples),
        sum(each.ended for each in samples),
        sum(each.failed for each in samples),
        {slot: fmean(prices) for slot, prices in slots.items()},
        max(degrees, default=None),
    )


def thin_out(samples: Sequence[Sample], points: int) -> list[Sample]:
    """At most so many samples for all of them, over equal times; times without samples have none."""
    if len(samples) <= points:
        return list(samples)
    begin, width = samples[0].unix_s, (samples[-1].unix_s - samples[0].unix_s + 1) / points
    groups: dict[int, list[Sample]] = {}
    for each in samples:
        groups.setdefault(int((each.unix_s - begin) / width), []).append(each)
    return [mean_of(group) for group in groups.values()]


class Samples:
    """The samples that are kept."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def add(self, sample: Sample) -> None:
        """Keep a sample, and drop those that are too old; a loss of power may take the last ones back."""
        body = json.dumps({name: value for name, value in asdict(sample).items() if name != "unix_s"})
        with self._db.transaction(durable=False) as db:
            db.execute("INSERT OR REPLACE INTO sample (unix_s, body) VALUES (?, ?)", (sample.unix_s, body))
            db.execute("DELETE FROM sample WHERE unix_s < ?", (sample.unix_s - KEPT_S,))

    def since(self, unix_s: float) -> list[Sample]:
        """Samples since a wall time, oldest first; damaged ones are left out."""
        rows: Iterable[sqlite3.Row] = self._db.rows("SELECT * FROM sample WHERE unix_s >= ? ORDER BY unix_s", unix_s)
        return list(self._db.damage.read_rows(RecordKind.SAMPLE, rows, lambda row: row["unix_s"], sample_from_row))


@names_damage("a sample")
def sample_from_row(row: sqlite3.Row) -> Sample:
    """A sample from its row.

    Raises:
        RecordDamaged: It is not what was written.
    """
    return check_types(Sample(row["unix_s"], **parse_object(row["body"])))
