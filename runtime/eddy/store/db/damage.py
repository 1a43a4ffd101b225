# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Records that are not what was written: named once in the log, counted, and passed over; the others go on."""

from __future__ import annotations

import enum
import functools
import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

from eddy.core.errors import RecordDamaged

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R")
MAX_REMEMBERED = 10_000
"""Records that are remembered by their names; more are no longer told apart, and not counted."""
_log = logging.getLogger(__name__)


class RecordKind(str, enum.Enum):
    """What a record is of."""

    JOB = "job"
    EVENT = "event"
    TENANT = "tenant"
    KEY = "key"
    SUBMISSION = "idempotency key"
    BLOB = "blob"
    OUTPUT = "output"
    HOLD = "hold"
    USAGE = "usage"
    AUDIT = "audit"
    EPOCH = "epoch"
    SAMPLE = "sample"
    SLOT = "slot"
    SESSION = "session"
    LEASE = "lease"
    VALUE = "value"
    SUBSCRIPTION = "subscription"
    DELIVERY = "delivery"
    LOGIN = "log-in"
    MAINTENANCE = "maintenance window"
    PROJECT = "project"


class Damage:
    """The damaged records that were met since the start.

    Attributes:
        told: How a person calls a record, by its kind and number.
    """

    def __init__(self) -> None:
        self._met: dict[tuple[RecordKind, object], str] = {}
        self._lock = threading.Lock()
        self.told: Callable[[RecordKind, object], str] = lambda kind, name: f"{kind.value} {name}"

    def counts(self) -> dict[str, int]:
        """How many there are, by kind; every kind is there."""
        found = dict.fromkeys((kind.value for kind in RecordKind), 0)
        with self._lock:
            for kind, _ in self._met:
                found[kind.value] += 1
        return found

    def note(self, kind: RecordKind, name: object, how: str) -> RecordDamaged:
        """Take note of a damaged record; answers the error that says so.

        Args:
            kind: Of what it is.
            name: What it is called, or its number.
        """
        called = self.told(kind, name)
        with self._lock:
            new = (kind, name) not in self._met and len(self._met) < MAX_REMEMBERED
            if new:
                self._met[kind, name] = how
        if new:
            _log.error("storage: what was kept of %s is damaged, and is passed over: %s", called, how)
        return RecordDamaged(f"What was kept of {called} is damaged", how=how)

    def mark_repaired(self, kind: RecordKind, name: object) -> None:
        """A record was written again."""
        with self._lock:
            self._met.pop((kind, name), None)

    @contextmanager
    def name_record(self, kind: RecordKind, name: object) -> Iterator[None]:
        """Say which record is damaged where the block reads one.

        Raises:
            RecordDamaged: It is.
        """
        try:
            yield
        except RecordDamaged as error:
            raise self.note(kind, name, str(error.details["how"])) from error

    def read_rows(
        self, kind: RecordKind, rows: Iterable[R], name: Callable[[R], object], load: Callable[[R], T]
    ) -> Iterator[T]:
        """Of some rows those that can be read, as `load` makes them; the others are noted.

        Args:
            kind: Of what they are.
            name: What one is called.
            load: Reads one; raises `RecordDamaged` where it cannot.
        """
        for row in rows:
            try:
                yield load(row)
            except RecordDamaged as error:
                self.note(kind, name(row), str(error.details["how"]))


_ILLEGIBLE = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)


def names_damage(what: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Let a function that reads a row's text say what is damaged where it is not what was written."""

    def wrap(load: Callable[P, T]) -> Callable[P, T]:
        @functools.wraps(load)
        def checked(*arguments: P.args, **named: P.kwargs) -> T:
            try:
                return load(*arguments, **named)
            except _ILLEGIBLE as error:
                how = f"{type(error).__name__}: {error}"
                raise RecordDamaged(f"{what} in the data base is damaged", how=how) from error

        return checked

    return wrap
