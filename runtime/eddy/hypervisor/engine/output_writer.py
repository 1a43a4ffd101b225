# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What must be on disk before the machine hears of it, and the disk that nobody in the engine waits for.

A synchronisation of the disk takes longer than most steps. So the outputs of an item are written, synchronised and
named by a thread of their own, together with all others that wait; the engine goes on with other jobs, and takes note
of the item in a later step. The end of a job is committed likewise without waiting for the disk: nobody is shown it
before the disk has it (see `eddy.store.disk.disk`).
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from eddy.hypervisor.jobs.messages import Collected, JobFault
from eddy.store import Store
from eddy.store.db.rows import ItemOutput, ResultRow
from eddy.store.disk.files import DamagedFile

_log = logging.getLogger(__name__)
MAX_BYTES = 64 << 20
"""Bytes of outputs that may wait for the disk; the engine waits with more."""
Ends = dict[tuple[int, str], int]
"""Where files end, in bytes, by job and output."""
Spawn = Callable[[Callable[[], None]], object]
"""Has something called, now or in another thread, one call after the other."""


def run_inline(call: Callable[[], None]) -> None:
    """The `Spawn` of who is to wait: the same steps give the same trace, whatever the disk does meanwhile."""
    call()


@dataclass(frozen=True, slots=True)
class StoredOutputs:
    """Outputs that are on disk, or cannot come there.

    Attributes:
        message: What the machine is told.
        rows: What the data base is told.
    """

    message: Collected | JobFault
    rows: tuple[ResultRow, ...]


class OutputWriter:
    """Outputs on their way to the disk, in order.

    Args:
        done: Called, from that thread, when something is there to be taken.
    """

    def __init__(self, store: Store, spawn: Spawn = run_inline, done: Callable[[], None] = lambda: None) -> None:
        self._store, self._spawn, self._done = store, spawn, done
        self._changed = threading.Condition()
        self._waiting: deque[tuple[tuple[ItemOutput, ...], Collected]] = deque()
        self._under_way: dict[int, set[str]] = {}
        """Outputs that are being written now, by job."""
        self._kept: deque[StoredOutputs] = deque()
        self._promised = False
        self._working = False
        self._bytes = 0
        self._failure: Exception | None = None
        self._ends: dict[int, dict[str, int]] = {}
        """By job and output, where files end whose last rows may not be committed yet; touched under the lock alone."""
        self._ended: set[int] = set()
        """Jobs that ended while outputs of theirs were still on their way."""
        self._loose: dict[int, set[str]] = {}
        """By job that has ended: outputs whose files may have more than rows name."""

    def submit(self, results: Sequence[ItemOutput], message: Collected) -> None:
        """Have outputs on disk, then the message among what `take_finished` gives."""
        with self._changed:
            while self._working and self._bytes > MAX_BYTES:
                self._changed.wait()
            self._waiting.append((tuple(results), message))
            self._bytes += sum(len(result.data) for result in results)
        self._start()

    def settle(self) -> None:
        """Have what was committed on disk; `take_finished` raises where the disk refuses."""
        with self._changed:
            self._promised = True
        self._start()

    def take_finished(self) -> list[StoredOutputs]:
        """What is on disk since this was asked last.

        Raises:
            Exception: Why something is not, `StorageFailed` mostly. Nothing goes on before `clear`.
        """
        with self._changed:
            if self._failure is not None:
                raise self._failure
            found = list(self._kept)
            self._kept.clear()
        return found

    def forget(self, job: int, loose: Iterable[str] = ()) -> None:
        """A job has ended: what it left is committed. What of it is on its way counts for nothing, and goes.

        Args:
            loose: Outputs of it that came to the disk and are named by no row.
        """
        with self._changed:
            self._ends.pop(job, None)
            late = {result.name for results, message in self._waiting if message.job == job for result in results}
            late |= self._under_way.get(job, set())
            if late:
                self._ended.add(job)
            late |= {row[1] for kept in self._kept if kept.message.job == job for row in kept.rows}
            late.update(loose)
            if not late:
                return
            self._loose[job] = late
        self._start()

    def clear(self) -> None:
        """Forget everything, once nothing is being written any more: store and board are recovered."""
        with self._changed:
            self._waiting.clear()
            self._promised = False
            while self._working:
                self._changed.wait()
            self._kept.clear()
            self._ends.clear()
            self._ended.clear()
            self._under_way = {}
            self._failure, self._bytes = None, 0

    @property
    def ready(self) -> bool:
        """Whether `take_finished` would give or raise something."""
        return bool(self._kept) or self._failure is not None

    @property
    def has_work(self) -> bool:
        """Whether something is on its way, or there."""
        return self._working or self.ready

    def _start(self) -> None:
        with self._changed:
            if self._working or self._failure is not None:
                return
            self._working = True
        self._spawn(self._work)

    def _work(self) -> None:
        """Write what waits until nothing does."""
        while True:
            with self._changed:
                group, promised, loose = list(self._waiting), self._promised, self._loose
                if not (group or promised or loose) or self._failure is not None:
                    self._working = False
                    self._changed.notify_all()
                    return
                self._waiting.clear()
                self._promised, self._loose, self._under_way = False, {}, {}
                for results, message in group:
                    self._under_way.setdefault(message.job, set()).update(result.name for result in results)
                ends = {(job, name): end for job in self._under_way for name, end in self._ends.get(job, {}).items()}
            try:
                self._keep(group, ends)
                for job, names in loose.items():
                    self._store.outputs.trim(job, names)
                if promised:
                    self._store.database.settle()
            except Exception as failure:
                with self._changed:
                    self._failure, self._loose = failure, {**loose, **self._loose}
                self._done()

    def _keep(self, group: Sequence[tuple[tuple[ItemOutput, ...], Collected]], ends: Ends) -> None:
        if not group:
            return
        try:
            rows = iter(self._store.outputs.write([result for results, _ in group for result in results], ends))
            kept = [StoredOutputs(message, tuple(next(rows) for _ in results)) for results, message in group]
        except DamagedFile:
            kept = [self._keep_one(results, message, ends) for results, message in group]
        with self._changed:
            self._remember(ends)
            self._kept += kept
            self._bytes -= sum(len(result.data) for results, _ in group for result in results)
            self._changed.notify_all()
        self._done()

    def _remember(self, ends: Ends) -> None:
        """Where files end now, but for jobs that ended meanwhile: nobody would ever ask for those to be forgotten."""
        for (job, name), end in ends.items():
            if job not in self._ended:
                self._ends.setdefault(job, {})[name] = end
        self._ended &= {message.job for _, message in self._waiting}
        self._under_way = {}

    def _keep_one(self, results: Sequence[ItemOutput], message: Collected, ends: Ends) -> StoredOutputs:
        """The outputs of one item, or that they have no file to go to: whoever shares the group goes on."""
        try:
            return StoredOutputs(message, tuple(self._store.outputs.write(results, ends)))
        except DamagedFile as damage:
            facts = {"job": self._store.numbers.job.public_id(message.job), "code": damage.code}
            _log.error("%s (%s)", damage.message, damage.path, extra=facts)
            return StoredOutputs(JobFault(message.job, damage.code, damage.message, message.item), ())
