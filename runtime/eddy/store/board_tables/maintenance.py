# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Maintenance windows: few rows, read at the start and kept in memory as well."""

from __future__ import annotations

import dataclasses
import json
import sqlite3
from collections.abc import Iterable, Mapping

from eddy.core.errors import NotFound, QuotaExceeded
from eddy.core.maintenance import MaintenanceWindow, WindowStage
from eddy.store.db.damage import RecordKind, names_damage
from eddy.store.db.database import Database
from eddy.store.db.field_types import check_types

MAX_WINDOWS = 200
"""Windows that are kept; of those that are over, the ones that ended first go."""


class Maintenance:
    """The calendar."""

    def __init__(self, db: Database) -> None:
        self._db = db
        rows = db.rows("SELECT * FROM maintenance")
        found = db.damage.read_rows(RecordKind.MAINTENANCE, rows, lambda row: row["id"], window_from_row)
        self._windows: Mapping[str, tuple[MaintenanceWindow, str]] = {each.id: (each, told) for each, told in found}

    def all(self) -> tuple[MaintenanceWindow, ...]:
        """Every window that is kept, by its beginning."""
        return tuple(
            sorted((each for each, _ in self._windows.values()), key=lambda each: (each.begins_unix_s, each.id))
        )

    def notified(self) -> Mapping[str, str]:
        """By window: the stage that notices were made of last; "" for none."""
        return {name: told for name, (_, told) in self._windows.items()}

    def get(self, window: str) -> MaintenanceWindow:
        """A window by its name.

        Raises:
            NotFound: There is none.
        """
        found = self._windows.get(window)
        if found is None:
            message = f"There is no maintenance window {window!r:.80}: `eddy maintenance list` lists them."
            raise NotFound(message, field="window", asked=window)
        return found[0]

    def add(self, window: MaintenanceWindow, now_unix_s: float) -> None:
        """Keep a window; of those that are over, the oldest go where there are too many.

        Raises:
            QuotaExceeded: Too many are still to come.
        """
        over = [each for each in self.all() if each.stage(now_unix_s) in (WindowStage.ENDED, WindowStage.CANCELLED)]
        excess = len(self._windows) + 1 - MAX_WINDOWS
        if excess > len(over):
            message = f"{MAX_WINDOWS} maintenance windows are planned: cancel one first."
            raise QuotaExceeded(message, limit=MAX_WINDOWS, asked=MAX_WINDOWS + 1)
        gone = [each.id for each in sorted(over, key=lambda each: each.ends_unix_s)[: max(excess, 0)]]
        with self._db.transaction() as db:
            db.executemany("DELETE FROM maintenance WHERE id = ?", [(name,) for name in gone])
            _write(db, window, "")
            self._db.after_commit(lambda: self._changed([(window, "")], gone))

    def cancel(self, window: str, now_unix_s: float) -> MaintenanceWindow:
        """End a window early, or have it not begin; one that is over stays as it is.

        Raises:
            NotFound: There is none of that name.
        """
        found = self.get(window)
        if found.stage(now_unix_s) in (WindowStage.ENDED, WindowStage.CANCELLED):
            return found
        changed = dataclasses.replace(found, cancelled_unix_s=now_unix_s)
        with self._db.transaction() as db:
            db.execute("UPDATE maintenance SET cancelled_unix_s = ? WHERE id = ?", (now_unix_s, window))
            self._db.after_commit(lambda: self._changed([(changed, self._windows[window][1])]))
        return changed

    def write_notified(self, db: sqlite3.Connection, told: Mapping[str, str]) -> None:
        """Note in a transaction what notices were made of."""
        db.executemany("UPDATE maintenance SET told = ? WHERE id = ?", [(stage, name) for name, stage in told.items()])
        changed = [(self._windows[name][0], stage) for name, stage in told.items() if name in self._windows]
        self._db.after_commit(lambda: self._changed(changed))

    def _changed(self, windows: Iterable[tuple[MaintenanceWindow, str]], gone: Iterable[str] = ()) -> None:
        """A new mapping: others read the old one."""
        kept = {name: entry for name, entry in self._windows.items() if name not in set(gone)}
        for window, told in windows:
            kept[window.id] = window, told
        self._windows = kept


def _write(db: sqlite3.Connection, window: MaintenanceWindow, told: str) -> None:
    values = dataclasses.asdict(window)
    values["slots"] = json.dumps(list(window.slots))
    db.execute(
        f"INSERT OR REPLACE INTO maintenance ({', '.join(values)}, told) VALUES ({', '.join('?' * len(values))}, ?)",
        (*values.values(), told),
    )


@names_damage("a maintenance window")
def window_from_row(row: sqlite3.Row) -> tuple[MaintenanceWindow, str]:
    """A window from its row, and the stage that was told last.

    Raises:
        RecordDamaged: It is not what was written.
    """
    values = {each.name: row[each.name] for each in dataclasses.fields(MaintenanceWindow)}
    values["slots"] = tuple(json.loads(row["slots"]))
    told = WindowStage(row["told"]).value if row["told"] != "" else ""
    return check_types(MaintenanceWindow(**values)), told
