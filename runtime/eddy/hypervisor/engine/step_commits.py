# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Makes durable what each step of the machine changed, and knows whom that concerns."""

from __future__ import annotations

import dataclasses
import logging
import time
from collections.abc import Collection, Sequence

from eddy.core.errors import BoardUnreachable, StorageFailed
from eddy.core.faults import Fault
from eddy.core.records import JobEvent, JobRecord
from eddy.hypervisor.engine.board_events import BoardEvents
from eddy.hypervisor.engine.output_writer import OutputWriter
from eddy.hypervisor.intake.intake import Intake
from eddy.hypervisor.jobs.buffers import JobBuffers
from eddy.hypervisor.jobs.job_records import record_of, snapshot_of
from eddy.hypervisor.jobs.messages import Input, StepResult
from eddy.hypervisor.jobs.slot import DRAINED
from eddy.hypervisor.jobs.work import JobMemory
from eddy.hypervisor.machine.failures import explain
from eddy.hypervisor.machine.machine import Machine
from eddy.hypervisor.machine.slot_drainer import QUARANTINED
from eddy.store import Store
from eddy.store.db.rows import LOG, Commit, ItemOutput, ResultRow

_log = logging.getLogger(__name__)


class StepCommits:
    """Commits one transaction for each step that changed something.

    Args:
        intake: Has the work of the jobs, and what is stored of those that came.
        buffers: The memory that logs of jobs are read from.
        output_writer: Brings outputs to the disk, and waits for the disk.

    Attributes:
        told: Jobs of which something was committed that their followers have not been told of.
    """

    def __init__(self, store: Store, intake: Intake, buffers: JobBuffers, output_writer: OutputWriter) -> None:
        self._store, self._intake, self._buffers, self._output_writer = store, intake, buffers, output_writer
        self.jobs_to_publish: set[int] = set()
        self._deferred: StepResult | None = None
        """What steps changed that the next commit makes durable."""
        self._rows: list[ResultRow] = []
        """Of outputs that are on disk, to be committed with the step that takes note of them."""
        self._uncounted: dict[int, set[str]] = {}
        """By job that has not ended: outputs that are on disk, and of which the machine took no note."""

    def clear(self) -> None:
        """Forget what is not committed: store and board are recovered."""
        self._deferred = None
        self._rows.clear()
        self._uncounted.clear()

    def take_unnamed_outputs(self, job: int) -> frozenset[str]:
        """Outputs of a job that has ended, of which something is on disk that no row names; forgets them."""
        return frozenset(self._uncounted.pop(job, ()))

    def take_jobs_to_publish(self) -> frozenset[int]:
        """`jobs_to_publish`, which is empty then."""
        told = frozenset(self.jobs_to_publish)
        self.jobs_to_publish.clear()
        return told

    def take_stored_outputs(self, jobs: Collection[int]) -> list[Input]:
        """What the machine is told of outputs that have come to the disk; the next commit names them.

        Args:
            jobs: That have not ended; outputs of others count for nothing.
        """
        found = [kept for kept in self._output_writer.take_finished() if kept.message.job in jobs]
        self._rows += [row for kept in found for row in kept.rows]
        return [kept.message for kept in found]

    def note(self, event: JobEvent) -> None:
        """Commit an entry of the log of a job that is not in the machine."""
        self._store.commit(Commit(events=(event,)))
        self.jobs_to_publish.add(event.job)

    def defer(self, outcome: StepResult) -> None:
        """Have the next commit make durable what a step changed.

        Args:
            outcome: Of a step that was not the last one and ended no job.
        """
        self._deferred = outcome if self._deferred is None else self._deferred.then(outcome)

    def commit(self, outcome: StepResult, machine: Machine, events: BoardEvents) -> None:
        """Make durable what a step changed, and name the outputs that had come to the disk before it.

        Args:
            events: Which of them were dealt with, and the time.
        """
        if self._deferred is not None:
            outcome, self._deferred = self._deferred.then(outcome), None
        # What the machine takes no note of is named by no row, the item is done again; nor is one named twice.
        counted = {row[:3]: row for row in self._rows if (row[0], row[2]) in outcome.stored}
        kept = (*counted.values(), *self._logs(outcome.ended, machine))
        for row in self._rows:
            if row[:3] not in counted:
                self._uncounted.setdefault(row[0], set()).add(row[1])
        self._rows.clear()
        jobs = self._changed([number for number in outcome.jobs if machine.job(number).spec.kept], machine)
        if not (jobs or outcome.log or outcome.slots or kept):
            return  # slices came and went, or jobs came that wait
        with self._intake.slots_kept_drained(outcome.drained) as drained:
            commit = Commit(
                jobs=tuple((_at_its_end(record), snapshot_of(machine.job(record.id))) for record in jobs),
                events=tuple(outcome.log),
                kept=kept,
                slots={index: machine.slots[index].snapshot() for index in sorted(outcome.slots)},
                meta={
                    **{"seen": str(events.seen), "now_s": repr(events.now_s), "offset_s": repr(events.offset_s)},
                    **{DRAINED.format(slot): because for slot, because in drained.items()},
                },
            )
            self._store.commit(commit, wait=False)
            for slot, because in drained.items():
                self._say_drained(slot, because)
        if commit.must_survive:
            self._output_writer.settle()
        self.jobs_to_publish.update(event.job for event in outcome.log)

    def _changed(self, numbers: Collection[int], machine: Machine) -> list[JobRecord]:
        """Records of jobs to which something happened, but for those that are on disk just so since they came."""
        records = [record_of(machine.job(number)) for number in sorted(numbers)]
        return [record for record in records if self._intake.accepted.pop(record.id, None) != record]

    def _say_drained(self, slot: int, because: str) -> None:
        """Tell the log of a slot that nobody asked to drain, or that was."""
        if self._intake.drained.get(slot, "") != because:
            if because.startswith(QUARANTINED):
                self._store.happened.fault(Fault.QUARANTINE)
            _log.error("slot %d is %s", slot, because or "given to jobs again")

    def _logs(self, ended: Sequence[int], machine: Machine) -> list[ResultRow]:
        """Write what the jobs that ended printed, as far as it can be had; answers the rows that name it."""
        rows: list[ResultRow] = []
        for number in ended:
            if not machine.job(number).spec.kept:
                continue
            try:
                text = self._intake.work[number].log(JobMemory(self._buffers, number))
                if text:
                    rows += self._store.outputs.write([ItemOutput(number, LOG, 0, text)], {})
            except (BoardUnreachable, StorageFailed):
                raise
            except Exception as error:
                explain(error, f"keeping the log of job {self._store.numbers.job.public_id(number)}")
                continue
            machine.job(number).log_bytes = len(text)
        return rows


def _at_its_end(record: JobRecord) -> JobRecord:
    """A record that says when it ended by wall time, where it has."""
    return dataclasses.replace(record, ended_unix_s=time.time()) if record.state.is_final else record
