# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The audit log: what operators and owners of keys changed, each entry chained to the one before it by a keyed hash.

Nobody without the server's secret can write, change, move or take out an entry unseen. That the last ones are missing
shows by the head, a file beside the data base with the number and hash of the last entry. Before the next entry
replaces it, it is compared with the log, and where they differ that becomes an entry of its own. Who replaces both by
older copies is found out by a head that was kept elsewhere.
"""

from __future__ import annotations

import json
import logging
import math
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eddy.core.errors import RecordDamaged, UnknownCursor
from eddy.host.files import translate_os_errors, write_private
from eddy.store.db.damage import RecordKind, names_damage
from eddy.store.db.database import Database
from eddy.store.db.field_types import check_types
from eddy.store.db.rows import parse_object
from eddy.store.db.schema import MIGRATIONS, UPGRADED_FROM

HEAD = "audit.head"
"""Name of the head's file, in the data folder; a pool's heads keep it as an entry of that name."""
EMPTIED = (
    f"{HEAD} is missing and there is no entry: the log was emptied, unless no server of this version has started here"
    " yet"
)
WRONG = "audit-log-wrong"
"""Action of an entry that says in what the log and its head differed when the entry was added."""
START = "0" * 64
"""What the first entry is chained to."""
_log = logging.getLogger(__name__)
_noting = threading.Lock()
"""An older head must not replace a newer one; where the process ends between entry and head, the head is behind."""
Announce = Callable[[int, str], None]
"""Takes the number and the chain of the last entry."""
Sign = Callable[[str], str]
"""A keyed hash of a text, in hex."""


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One entry.

    Attributes:
        seq: Counts from 1.
        at_unix_s: When.
        actor: The tenant who did it; "" for Eddy itself.
        key: Name of the key it was done with; "" for none.
        action: What was done, as `drain-slot`.
        chain: Keyed hash of all that and of the entry before.
    """

    seq: int
    at_unix_s: float
    actor: str
    key: str
    action: str
    facts: Mapping[str, Any]
    chain: str

    def text(self, before: str) -> str:
        """What is hashed."""
        fields = [self.seq, repr(self.at_unix_s), self.actor, self.key, self.action, dict(self.facts)]
        return f"audit\n{before}\n{json.dumps(fields, sort_keys=True)}"


class Audit:
    """The log.

    Args:
        folder: Where its head is kept.

    Attributes:
        announce: Told of every new head; it raises nothing.
    """

    def __init__(self, db: Database, folder: Path) -> None:
        self._db, self._folder = db, folder
        self.announce: Announce = lambda _number, _chain: None

    def announce_head(self) -> None:
        """Tell of the head there is: of a server that starts."""
        row = self._db.row("SELECT seq, chain FROM audit ORDER BY seq DESC LIMIT 1")
        if row is not None:
            self.announce(row["seq"], row["chain"])

    def begin(self, sign: Sign) -> None:
        """Write the head of an empty log, on a folder's first start: without it, an emptied log would look like it."""
        with _noting:
            self._write_head(sign, 0, START)

    def note_upgrade(self, sign: Sign) -> None:
        """Note that the folder was brought from an older version to this one, where it was and nobody has yet.

        A log that had no entry, and in older versions no head either, has both from now on.
        """
        row = self._db.row("SELECT value FROM meta WHERE key = ?", UPGRADED_FROM)
        if row is None:
            return
        known = str(row["value"])
        facts: dict[str, Any] = {"from_schema": int(known) if known.isdecimal() else 0, "to_schema": len(MIGRATIONS)}
        if read_head(self._folder) is None:
            facts["without_head"] = True
        self.note(sign, "", "", "upgrade-data-folder", facts)
        with self._db.transaction() as db:
            db.execute("DELETE FROM meta WHERE key = ?", (UPGRADED_FROM,))

    def _write_head(self, sign: Sign, number: int, chain: str) -> None:
        write_private(self._folder / HEAD, signed_head(sign, number, chain))

    def note(self, sign: Sign, actor: str, key: str, action: str, facts: Mapping[str, Any]) -> AuditEntry:
        """Add an entry; it and the head are on disk when this returns."""
        with _noting:
            self._keep_what_is_wrong(sign)
            entry = self._add(sign, actor, key, action, facts)
            self._write_head(sign, entry.seq, entry.chain)
            self.announce(entry.seq, entry.chain)
        return entry

    def _keep_what_is_wrong(self, sign: Sign) -> None:
        """The next head would hide that entries were cut off: an entry keeps it."""
        last = self._db.row("SELECT seq, chain FROM audit ORDER BY seq DESC LIMIT 1")
        head = read_head(self._folder)
        if last is None and head is None:
            return
        problem = find_wrong_end(0 if last is None else last["seq"], self._chain, head, sign)
        if problem:
            _log.error("the audit log is not what was written: %s", problem)
            self._add(sign, "", "", WRONG, {"problem": problem})

    def _chain(self, number: int) -> str:
        row = self._db.row("SELECT chain FROM audit WHERE seq = ?", number)
        return START if row is None else str(row["chain"])

    def _add(self, sign: Sign, actor: str, key: str, action: str, facts: Mapping[str, Any]) -> AuditEntry:
        at_unix_s = time.time()
        with self._db.transaction() as db:
            row = self._db.row("SELECT seq, chain FROM audit ORDER BY seq DESC LIMIT 1")
            number, before = (1, START) if row is None else (row["seq"] + 1, row["chain"])
            entry = AuditEntry(number, at_unix_s, actor, key, action, facts, "")
            chain = sign(entry.text(before))
            values = (number, at_unix_s, actor, key, action, json.dumps(dict(facts), sort_keys=True), chain)
            db.execute("INSERT INTO audit VALUES (?, ?, ?, ?, ?, ?, ?)", values)
        return AuditEntry(number, at_unix_s, actor, key, action, facts, chain)

    def entries(self, after: int = 0, limit: int = 1 << 30) -> tuple[AuditEntry, ...]:
        """Entries in order, after a number.

        Raises:
            UnknownCursor: No entry has had that number yet: it is of another log.
        """
        row = self._db.row("SELECT MAX(seq) AS last FROM audit")
        if after > (0 if row is None else int(row["last"] or 0)):
            message = f"There is no entry {after} in this log: ask without `after`, which begins with the first one."
            raise UnknownCursor(message, field="after", asked=after)
        query = "SELECT * FROM audit WHERE seq > ? ORDER BY seq LIMIT ?"
        return self._loaded(self._db.rows(query, after, limit))

    def _loaded(self, rows: Iterable[sqlite3.Row]) -> tuple[AuditEntry, ...]:
        entries = tuple(map(load_entry, rows))
        for entry in entries:
            if set(entry.facts) == {"damaged"}:
                self._db.damage.note(RecordKind.AUDIT, entry.seq, "it is not what was written")
        return entries

    def latest(self, count: int) -> tuple[AuditEntry, ...]:
        """The latest entries, in order."""
        query = "SELECT * FROM (SELECT * FROM audit ORDER BY seq DESC LIMIT ?) ORDER BY seq"
        return self._loaded(self._db.rows(query, count))


def load_entry(row: sqlite3.Row) -> AuditEntry:
    """An entry from its row. Of one that is damaged stands what can be shown, with `damaged` among its facts: the chain
    says that it was changed."""
    try:
        return _parse_entry(row)
    except RecordDamaged:
        at_s = row["at_unix_s"] if isinstance(row["at_unix_s"], float) and math.isfinite(row["at_unix_s"]) else 0.0
        actor, key, action = (str(row[name]) for name in ("actor", "key", "action"))
        facts = {"damaged": str(row["facts"])}
        return AuditEntry(row["seq"], at_s, actor, key, action, facts, str(row["chain"]))


@names_damage("an entry of the audit log")
def _parse_entry(row: sqlite3.Row) -> AuditEntry:
    facts = parse_object(row["facts"])
    entry = AuditEntry(row["seq"], row["at_unix_s"], row["actor"], row["key"], row["action"], facts, row["chain"])
    return check_types(entry)


@dataclass(frozen=True, slots=True)
class AuditVerdict:
    """What a look at the whole log found.

    Attributes:
        head: Number and chain of the last, as `17:5f3a...`, to be kept elsewhere; "" for an empty log.
        problems: What is wrong, for people; empty where all is well.
    """

    entries: int
    head: str
    problems: tuple[str, ...]


def verify(
    entries: Iterable[AuditEntry],
    head: bytes | None,
    sign: Sign,
    kept: str = "",
    signed: Sequence[tuple[int, str]] = (),
) -> AuditVerdict:
    """Check every entry, the chain, the end, and that the log goes on from a head that was kept elsewhere.

    Args:
        entries: All, by number.
        head: What the head's file holds; None where it is missing.
        sign: The server's keyed hash.
        kept: A head of before, as `AuditVerdict.head` gives it; "" for none.
        signed: Number and chain of each head that boardd has signed.
    """
    checked = ChainCheck(sign)
    checked.follow(entries)
    return checked.verdict(head, kept, signed)


class ChainCheck:
    """A check of a log that is read a piece at a time.

    Args:
        sign: The server's keyed hash.
    """

    def __init__(self, sign: Sign) -> None:
        self._sign = sign
        self._problems, self._noted = list[str](), list[str]()
        self._chains, self._before = {0: START}, START

    def follow(self, entries: Iterable[AuditEntry]) -> bool:
        """Check the entries that come next; answers whether there is sense in reading on."""
        for entry in entries:
            expected = len(self._chains)
            if entry.seq != expected:
                self._problems.append(f"entry {expected} is missing: entry {entry.seq} follows")
                break
            if self._sign(entry.text(self._before)) != entry.chain:
                how = "is not what was written, or one before it was taken out or put in"
                self._problems.append(f"entry {entry.seq} {how}")
                break
            if entry.action == WRONG:
                found = entry.facts.get("problem")
                self._noted.append(f"entry {entry.seq} was added after this was found: {found}")
            self._chains[entry.seq] = self._before = entry.chain
        return not self._problems

    def verdict(self, head: bytes | None, kept: str = "", signed: Sequence[tuple[int, str]] = ()) -> AuditVerdict:
        """What was found, and whether the log ends where it should; arguments as of `verify`."""
        problems, chains, count = list(self._problems), self._chains, len(self._chains) - 1
        if not problems:
            problems += self._noted
            problems += filter(None, [find_wrong_end(count, chains.__getitem__, head, self._sign)])
            problems += _check_kept(chains, kept)
            problems += _check_signed(chains, signed)
        return AuditVerdict(count, f"{count}:{self._before}" if count else "", tuple(problems))


def find_wrong_end(last: int, chain: Callable[[int], str], head: bytes | None, sign: Sign) -> str:
    """In what the head's file and a log differ that ends with entry `last`; "" for nothing."""
    if head is None:
        return f"{HEAD} is missing: entries may have been cut off at the end" if last else EMPTIED
    if (named := parse_head(head, sign)) is None:
        return f"{HEAD} is not what was written"
    number, expected = named
    if number > last:
        return f"entries {last + 1} to {number} were cut off at the end"
    return "" if chain(number) == expected else f"entry {number} is another one than {HEAD} names"


def parse_head(head: bytes, sign: Sign) -> tuple[int, str] | None:
    """Number and chain that a head names; None where it is not what was written."""
    parts = head.decode(errors="replace").split()
    if len(parts) != 3 or sign(f"head {parts[0]} {parts[1]}") != parts[2]:
        return None
    return int(parts[0]), parts[1]


def _check_kept(chains: Mapping[int, str], kept: str) -> list[str]:
    if not kept:
        return []
    number, _, chain = kept.partition(":")
    if not number.isdigit() or not chain:
        return [f"{kept!r} is no head: it looks like 17:5f3a..."]
    if int(number) not in chains:
        return [f"the log ends before entry {number}, which was kept elsewhere: it was put back to an older state"]
    same = chains[int(number)] == chain
    return [] if same else [f"entry {number} is another one than the one kept elsewhere: the log was written again"]


def _check_signed(chains: Mapping[int, str], signed: Sequence[tuple[int, str]]) -> list[str]:
    for number, chain in signed:
        if number not in chains:
            return [f"boardd signed entry {number}, and the log ends before: it was cut, or put back to an older state"]
        if chains[number] != chain:
            return [f"entry {number} is another one than boardd signed: the log was written again"]
    return []


def signed_head(sign: Sign, number: int, chain: str) -> bytes:
    """What a head's file holds."""
    head = f"{number} {chain}"
    return f"{head} {sign(f'head {head}')}\n".encode()


def read_head(folder: Path) -> bytes | None:
    """What the head's file holds; None where it is missing."""
    path = folder / HEAD
    with translate_os_errors(path):
        return path.read_bytes() if path.exists() else None
