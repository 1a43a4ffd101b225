# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Slots that persons hold. Nothing here changes with what a holder does."""

from __future__ import annotations

import secrets
import sqlite3
import time
from collections.abc import Callable

from eddy.core.errors import QuotaExceeded
from eddy.core.leases import LeaseKind, LeaseOptions, LeaseRecord, LeaseState
from eddy.store.board_tables.held_records import HeldRecords
from eddy.store.db.damage import RecordKind, names_damage
from eddy.store.db.database import Database
from eddy.store.db.field_types import check_types, parse_flag
from eddy.store.db.rows import parse_object

KEPT_LEASES = 200
"""Leases of a tenant that have ended and are still known, for the calendar; beyond them, the oldest are forgotten."""


class LeaseTable(HeldRecords[LeaseRecord]):
    """The leases of all tenants."""

    def __init__(self, db: Database) -> None:
        super().__init__(db, RecordKind.LEASE, lease_from_row, KEPT_LEASES)

    def add(self, make: Callable[[str], LeaseRecord], most: int) -> LeaseRecord:
        """Keep a new lease; durable when this returns.

        Args:
            make: The lease, given its id; its number does not count.
            most: How many its tenant may have that have not ended.

        Raises:
            QuotaExceeded: Its tenant has as many as it may.
        """
        record = make(f"l{secrets.token_hex(6)}")

        def refusal(count: int) -> QuotaExceeded:
            message = f"tenant {record.tenant} has {count} leases, and may have {most}: release one"
            return QuotaExceeded(message, field="quota.max_leases", limit=most, asked=count + 1)

        return self._add(record, most, refusal)

    def left_s(self, tenant: str) -> float:
        """Slot-seconds that a tenant's leases of single slots have left, as far as they were asked for."""
        now_s = time.time()
        mine = [each for each in self.open() if each.tenant == tenant and each.options.kind is LeaseKind.SLOT]
        ends = [each.options.lasts_s if each.ends_unix_s is None else each.ends_unix_s - now_s for each in mine]
        return sum(max(0.0, each) for each in ends)


@names_damage("a lease's row")
def lease_from_row(row: sqlite3.Row) -> LeaseRecord:
    """A lease from its row.

    Raises:
        RecordDamaged: It is not what was written.
    """
    kept = parse_object(row["record"])
    options = LeaseOptions(**{**kept["options"], "kind": LeaseKind(kept["options"]["kind"])})
    slots, reloaded = tuple(kept["slots"]), tuple(kept.get("reloaded", ()))
    known = {**kept, "options": options, "state": LeaseState(kept["state"]), "slots": slots, "reloaded": reloaded}
    record = check_types(LeaseRecord(**known))
    columns = row["number"], row["id"], row["tenant"], parse_flag(row["final"])
    if columns != (record.number, record.id, record.tenant, record.state.is_final):
        raise ValueError(f"its columns say {columns!r:.80}")
    return record
