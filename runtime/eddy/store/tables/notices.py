# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Subscriptions, and the messages that are on their way to them.

Messages are made of what is durable already: ends of jobs in the event log, and what was last told of slots and
windows. How far that was read is written in the transaction that keeps the messages, so whenever the process ends, each
thing is told: a receiver may get a message twice, under the same id, and misses none.
"""

from __future__ import annotations

import dataclasses
import json
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from eddy.core.errors import NotFound, QuotaExceeded, RecordDamaged
from eddy.core.jobs import JobState
from eddy.core.notices import Delivery, DeliveryState, NoticeKind, Subscription
from eddy.core.records import JobEvent, JobEventKind
from eddy.store.db.damage import RecordKind, names_damage
from eddy.store.db.database import Database
from eddy.store.db.field_types import check_types, parse_flag
from eddy.store.db.rows import damaged_event, load_event, parse_object
from eddy.store.job_tables.events import Events

MAX_SUBSCRIPTIONS = 16
"""Subscriptions of a tenant."""
MAX_WAITING = 1000
"""Messages of a subscription that wait; further ones are counted, not kept."""
KEPT_ENDED = 500
"""Messages of a subscription that are delivered or given up, and still known."""
PART = 1000
"""Ends of jobs that are read at once."""
CURSOR = "notices.events"
"""Name of the value that says up to which event messages were made."""
SLOTS = "notices.slots"
"""Name of the value that says why each slot was drained when that was told last, as JSON."""
LEASES = "notices.leases"
"""Name of the value that says what was told last of each lease, as JSON."""
_FINAL = tuple(state.value for state in JobState if state.is_final)


@dataclass(frozen=True, slots=True)
class Notice:
    """Something to be told.

    Attributes:
        tenant: Whose matter it is; None for everyone's.
        data: As JSON has it.
        at_unix_s: When it happened.
        event: Number of the event it is made of; 0 for none.
    """

    kind: NoticeKind
    tenant: str | None
    data: Mapping[str, object]
    at_unix_s: float
    event: int = 0

    @property
    def body(self) -> str:
        """The message."""
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.at_unix_s))
        return json.dumps({"type": self.kind.value, "timestamp": stamp, "data": dict(self.data)}, ensure_ascii=False)


def new_subscription_id() -> str:
    """What names a subscription."""
    return f"n{secrets.token_hex(6)}"


def new_delivery(subscription: Subscription, notice: Notice, now_unix_s: float) -> Delivery:
    """A message to a subscriber, due at once."""
    name = f"msg_{secrets.token_hex(12)}"
    return Delivery(
        name, subscription.id, subscription.tenant, notice.kind, notice.body, now_unix_s, next_unix_s=now_unix_s
    )


class Notices:
    """All subscriptions, in memory as well, and their messages.

    Args:
        events: The log of jobs.
    """

    def __init__(self, db: Database, events: Events) -> None:
        self._db, self._events = db, events
        rows = db.rows("SELECT * FROM subscription")
        found = db.damage.read_rows(RecordKind.SUBSCRIPTION, rows, lambda row: row["id"], subscription_from_row)
        self._known: Mapping[str, Subscription] = {each.id: each for each in found}

    # Subscriptions ------------------------------------------------------------------------------------------------

    def all(self, tenant: str | None = None) -> tuple[Subscription, ...]:
        """Those of a tenant, or all, oldest first."""
        mine = [each for each in self._known.values() if tenant in (None, each.tenant)]
        return tuple(sorted(mine, key=lambda each: (each.created_unix_s, each.id)))

    def get(self, name: str, tenant: str | None = None) -> Subscription:
        """A subscription by its name.

        Args:
            tenant: Whose it must be; None for anybody's (operators).

        Raises:
            NotFound: There is none.
        """
        found = self._known.get(name)
        if found is None or tenant not in (None, found.tenant):
            message = f"There is no subscription {name!r:.80}: `eddy notify list` lists them."
            raise NotFound(message, field="subscription", asked=name)
        return found

    def add(self, subscription: Subscription) -> Subscription:
        """Keep a subscription; it is told of what happens from now on.

        Raises:
            QuotaExceeded: Its tenant has as many as it may.
        """
        with self._db.transaction() as db:
            if len(self.all(subscription.tenant)) >= MAX_SUBSCRIPTIONS:
                message = f"Tenant {subscription.tenant} has {MAX_SUBSCRIPTIONS} subscriptions: remove one first."
                raise QuotaExceeded(message, limit=MAX_SUBSCRIPTIONS, asked=MAX_SUBSCRIPTIONS + 1)
            made = dataclasses.replace(subscription, since=self._events.last())
            if not self._known:
                self._write_cursor(db, made.since)
            self._write(db, made)
        return made

    def remove(self, name: str) -> None:
        """Forget a subscription with its messages."""
        with self._db.transaction() as db:
            db.execute("DELETE FROM subscription WHERE id = ?", (name,))
            db.execute("DELETE FROM delivery WHERE subscription = ?", (name,))
            self._db.after_commit(lambda: self._forget([name]))

    def forget_tenant(self, tenant: str) -> None:
        """Tell nobody of a removed tenant any more."""
        for each in self.all(tenant):
            self.remove(each.id)

    def switch_off(self, name: str, why: str) -> None:
        """Send nothing more to a subscriber, and give up what waits; `why` is shown."""
        known = self._known.get(name)
        if known is None:
            return
        with self._db.transaction() as db:
            self._write(db, dataclasses.replace(known, off=why))
            failed, waiting = DeliveryState.FAILED.value, DeliveryState.WAITING.value
            db.execute(
                "UPDATE delivery SET state = ?, said = ? WHERE subscription = ? AND state = ?",
                (failed, why, name, waiting),
            )

    def _write(self, db: sqlite3.Connection, each: Subscription) -> None:
        kinds = json.dumps([kind.value for kind in each.kinds])
        values = (each.id, each.tenant, each.target, kinds, each.everyone, each.label, each.created_unix_s)
        db.execute(
            "INSERT OR REPLACE INTO subscription VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*values, each.since, each.off, each.dropped),
        )
        self._db.after_commit(lambda: self._learn(each))

    def _learn(self, each: Subscription) -> None:
        self._known = {**self._known, each.id: each}

    def _forget(self, names: Iterable[str]) -> None:
        gone = set(names)
        self._known = {name: each for name, each in self._known.items() if name not in gone}

    # Messages are made --------------------------------------------------------------------------------------------

    def read_ends(self) -> tuple[tuple[JobEvent, ...], int]:
        """Ends of jobs that no message was made of yet, and the event up to which that is all there are."""
        after, last = self._reached(), self._events.last()
        if after == last:
            return (), last
        marks = ", ".join("?" * len(_FINAL))
        rows = self._db.rows(
            f"SELECT * FROM event WHERE seq > ? AND seq <= ? AND what = ? AND state IN ({marks}) ORDER BY seq LIMIT ?",
            *(after, last, JobEventKind.STATE.value, *_FINAL, PART),
        )
        found = tuple(_legible(row) for row in rows)
        return found, found[-1].seq if len(rows) == PART else last

    def _reached(self) -> int:
        rows = self._db.fresh_rows("SELECT value FROM meta WHERE key = ?", CURSOR)
        return int(rows[0]["value"]) if rows and str(rows[0]["value"]).isdigit() else 0

    def notified_slots(self) -> dict[int, str]:
        """Why each slot was drained when that was told last."""
        rows = self._db.fresh_rows("SELECT value FROM meta WHERE key = ?", SLOTS)
        try:
            found = json.loads(rows[0]["value"]) if rows else {}
            return {int(slot): str(because) for slot, because in found.items()}
        except (ValueError, AttributeError):
            return {}

    def notified_leases(self) -> dict[str, str] | None:
        """What was told last of each lease; None where nothing ever was: what is there then, is told of nobody."""
        rows = self._db.fresh_rows("SELECT value FROM meta WHERE key = ?", LEASES)
        try:
            return {str(lease): str(kind) for lease, kind in json.loads(rows[0]["value"]).items()} if rows else None
        except (ValueError, AttributeError):
            return None

    def enqueue(
        self,
        notices: Sequence[Notice],
        now_unix_s: float,
        cursor: int | None = None,
        slots: Mapping[int, str] | None = None,
        leases: Mapping[str, str] | None = None,
        beside: Callable[[sqlite3.Connection], None] = lambda _: None,
    ) -> int:
        """Make messages of what is to be told, and note that they are made; answers how many.

        Args:
            notices: What is to be told.
            now_unix_s: Wall time.
            cursor: The event up to which all ends were read; None for as before.
            slots: Why each slot is drained; None for as before.
            leases: What is told of each lease; None for as before.
            beside: Writes what else is told now.
        """
        made: list[Delivery] = []
        with self._db.transaction() as db:
            for each in self.all():
                mine = [
                    new_delivery(each, notice, now_unix_s)
                    for notice in notices
                    if each.wants(notice.kind, notice.tenant) and (not notice.event or notice.event > each.since)
                ]
                if mine:
                    made += self._insert(db, each, mine)
            if cursor is not None:
                self._write_cursor(db, cursor)
            if slots is not None:
                _remember(db, SLOTS, json.dumps(slots))
            if leases is not None:
                _remember(db, LEASES, json.dumps(leases))
            beside(db)
        return len(made)

    def add_delivery(self, delivery: Delivery) -> None:
        """Keep one message.

        Raises:
            QuotaExceeded: Too many wait for that subscriber.
        """
        with self._db.transaction() as db:
            subscription = self._known[delivery.subscription]
            if not self._insert(db, subscription, [delivery]):
                message = f"{MAX_WAITING} messages wait for {delivery.subscription}: its receiver takes none."
                raise QuotaExceeded(message, limit=MAX_WAITING, asked=MAX_WAITING + 1)

    def _insert(self, db: sqlite3.Connection, to: Subscription, mine: Sequence[Delivery]) -> Sequence[Delivery]:
        """Keep messages to one subscriber, as many as may wait."""
        waiting = DeliveryState.WAITING.value
        (known,) = db.execute(
            "SELECT count(*) FROM delivery WHERE subscription = ? AND state = ?", (to.id, waiting)
        ).fetchone()
        kept = mine[: max(MAX_WAITING - known, 0)]
        db.executemany(f"INSERT INTO delivery ({_COLUMNS}) VALUES ({_MARKS})", [_values(each) for each in kept])
        if len(kept) < len(mine):
            self._write(db, dataclasses.replace(to, dropped=to.dropped + len(mine) - len(kept)))
        db.execute(
            "DELETE FROM delivery WHERE subscription = ? AND state != ? AND seq <= (SELECT seq FROM delivery"
            " WHERE subscription = ? AND state != ? ORDER BY seq DESC LIMIT 1 OFFSET ?)",
            (to.id, waiting, to.id, waiting, KEPT_ENDED),
        )
        return kept

    def _write_cursor(self, db: sqlite3.Connection, seq: int) -> None:
        _remember(db, CURSOR, str(seq))

    # Messages are sent --------------------------------------------------------------------------------------------

    def due(self, now_unix_s: float, busy: Iterable[str]) -> tuple[Delivery, ...]:
        """The next message of each subscriber that is due, where nothing is on its way to it. What was made or tried
        later than now is due: the clock was set back since, and its time to wait is not known any more."""
        taken = set(busy)
        rows = self._db.fresh_rows(
            # Of each group the row with the least time: SQLite takes the other columns from it.
            "SELECT *, min(next_unix_s) FROM delivery WHERE state = 'waiting'"
            " AND (next_unix_s <= ? OR coalesce(tried_unix_s, created_unix_s) > ?) GROUP BY subscription",
            now_unix_s,
            now_unix_s,
        )
        mine = [row for row in rows if row["subscription"] in self._known and row["subscription"] not in taken]
        return tuple(self._db.damage.read_rows(RecordKind.DELIVERY, mine, lambda row: row["id"], delivery_from_row))

    def deliveries(self, subscription: str, limit: int) -> tuple[Delivery, ...]:
        """The latest messages of a subscription, newest first."""
        query = "SELECT * FROM delivery WHERE subscription = ? ORDER BY seq DESC LIMIT ?"
        rows = self._db.rows(query, subscription, limit)
        return tuple(self._db.damage.read_rows(RecordKind.DELIVERY, rows, lambda row: row["id"], delivery_from_row))

    def delivery(self, subscription: str, name: str) -> Delivery:
        """A message.

        Raises:
            NotFound: There is none of that name to that subscriber.
        """
        query = "SELECT * FROM delivery WHERE subscription = ? AND id = ?"
        for row in self._db.rows(query, subscription, name):
            with self._db.damage.name_record(RecordKind.DELIVERY, name):
                return delivery_from_row(row)
        message = f"There is no message {name!r:.80} to {subscription}: `eddy notify log {subscription}` lists them."
        raise NotFound(message, field="delivery", asked=name)

    def put(self, delivery: Delivery) -> None:
        """Write down what became of a message, where it is still known."""
        changed = {name: value for name, value in _fields(delivery).items() if name in _CHANGING}
        names = ", ".join(f"{name} = ?" for name in changed)
        with self._db.transaction() as db:
            db.execute(f"UPDATE delivery SET {names} WHERE id = ?", (*changed.values(), delivery.id))


_CHANGING = ("state", "attempts", "next_unix_s", "tried_unix_s", "status", "said")
_NAMES = tuple(each.name for each in dataclasses.fields(Delivery))
_COLUMNS, _MARKS = ", ".join(_NAMES), ", ".join("?" * len(_NAMES))


def _fields(delivery: Delivery) -> dict[str, object]:
    values = dict(zip(_NAMES, dataclasses.astuple(delivery), strict=True))
    return {**values, "kind": delivery.kind.value, "state": delivery.state.value}


def _values(delivery: Delivery) -> tuple[object, ...]:
    return tuple(_fields(delivery).values())


def _remember(db: sqlite3.Connection, key: str, value: str) -> None:
    db.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (key, value))


def _legible(row: sqlite3.Row) -> JobEvent:
    try:
        return load_event(row)
    except RecordDamaged:  # the log notes it where it is followed; here the place in order is what counts
        return damaged_event(row)


@names_damage("a subscription")
def subscription_from_row(row: sqlite3.Row) -> Subscription:
    """A subscription from its row.

    Raises:
        RecordDamaged: It is not what was written.
    """
    kinds = tuple(NoticeKind(kind) for kind in json.loads(row["kinds"]))
    return check_types(
        Subscription(
            *(row["id"], row["tenant"], row["target"], kinds, parse_flag(row["everyone"]), row["label"]),
            *(row["created_unix_s"], row["since"], row["off"], row["dropped"]),
        )
    )


@names_damage("a message")
def delivery_from_row(row: sqlite3.Row) -> Delivery:
    """A message from its row.

    Raises:
        RecordDamaged: It is not what was written.
    """
    values = {name: row[name] for name in _NAMES}
    values |= {"kind": NoticeKind(row["kind"]), "state": DeliveryState(row["state"])}
    parse_object(row["body"])
    return check_types(Delivery(**values))
