# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Carries the commands of the state machine out: on the board, in the memory of jobs, and on the way to the disk."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from eddy.board.port.port import BoardPort
from eddy.core.errors import BoardUnreachable, EddyError, ImageRefused, MemoryExhausted, StorageDamaged, StorageFailed
from eddy.hypervisor.engine.output_writer import OutputWriter
from eddy.hypervisor.jobs import messages as m
from eddy.hypervisor.jobs.buffers import JobBuffers, needed
from eddy.hypervisor.jobs.work import BoardWork, JobMemory
from eddy.hypervisor.machine.failures import cause_of, explain, launch_failure, stop_failure
from eddy.hypervisor.machine.machine import Machine
from eddy.store import Store
from eddy.store.db.rows import ItemOutput


class Commands:
    """Carries commands out, one blocking call at a time.

    Args:
        store: For the blobs that buffers are filled with.
        buffers: The jobs' memory on the board.
        writer: Brings outputs to the disk.
        work: Of every job that has not ended.
    """

    def __init__(
        self,
        board: BoardPort,
        store: Store,
        buffers: JobBuffers,
        output_writer: OutputWriter,
        work: Mapping[int, BoardWork],
    ) -> None:
        self._board, self._store, self._buffers, self._output_writer, self._work = (
            board,
            store,
            buffers,
            output_writer,
            work,
        )

    def carry_out(self, command: m.Command, machine: Machine, now_s: float, offset_s: float) -> list[m.Input]:
        """Carry one command out; answers what came of it at once.

        An error concerns only the job the command was for: others must not notice. A store that cannot
        be read now is nobody's fault; a blob that is damaged concerns its job.

        Args:
            now_s: Time of the step it came of.
            offset_s: Between the board's time and ours.
        """
        try:
            return self._command(command, machine, now_s)
        except BoardUnreachable:
            raise
        except Exception as error:
            if isinstance(error, StorageFailed) and not isinstance(error, StorageDamaged):
                raise
            return self._went_wrong(command, error, machine, self._board.now_s() + offset_s)

    def _command(self, command: m.Command, machine: Machine, now_s: float) -> list[m.Input]:
        if isinstance(command, m.LaunchItem):
            launch = self._work[command.job].launch(JobMemory(self._buffers, command.job), command)
            self._board.launch(command.slot, launch)
        elif isinstance(command, m.Collect):
            self._output_writer.submit(self._outputs(command), m.Collected(command.job, command.item, now_s))
        elif isinstance(command, m.Allocate):
            return self._allocate(machine.jobs[command.job].spec)
        elif isinstance(command, m.Load):
            self._board.load(command.slot, command.image)
        elif isinstance(command, m.ScrubSlot):
            self._board.scrub(command.slot)
        elif isinstance(command, m.Free):
            self._buffers.free(command.job)
        elif isinstance(command, m.StopItem):
            self._board.stop(command.slot, command.item)
        elif isinstance(command, m.Fetch):
            self._board.prefetch(command.image)
        elif isinstance(command, m.ReadAhead):
            self._board.read_ahead(command.images)
        return []

    def _outputs(self, command: m.Collect) -> list[ItemOutput]:
        """The outputs of an item every task is done with."""
        found = self._work[command.job].outputs(JobMemory(self._buffers, command.job), command.item)
        return [ItemOutput(command.job, name, command.item, data) for name, data in found]

    def _went_wrong(self, command: m.Command, error: Exception, machine: Machine, now_s: float) -> list[m.Input]:
        """What the machine is told of a command that raised an error."""
        cause, why = explain(error, str(command))
        if isinstance(command, m.LaunchItem):
            if not isinstance(error, EddyError):
                self._close(command.slot)
            return [launch_failure(command, error, now_s, why)]
        if isinstance(command, m.StopItem):
            return [stop_failure(command, machine, cause_of(error), now_s, why)]
        if isinstance(command, m.ScrubSlot):
            return [m.LoadFailed(command.slot, now_s, cause, why)]
        if isinstance(command, m.Load):
            return [m.LoadFailed(command.slot, now_s, cause, why, isinstance(error, ImageRefused))]
        if isinstance(command, m.Allocate):
            self._buffers.free(command.job)
            return [m.JobFault(command.job, cause, why)]
        if isinstance(command, m.Collect):
            return [m.JobFault(command.job, cause, why, command.item)]
        return []

    def _close(self, slot: int) -> None:
        """Close a slot in which something may have been started, as far as the board still can."""
        try:
            self._board.close(slot)
        except BoardUnreachable:
            raise
        except Exception as error:
            explain(error, f"closing slot {slot}")

    def _allocate(self, spec: m.JobSpec) -> list[m.Input]:
        number = spec.id
        content = self._work[number].contents(partial(self._store.blobs.file, spec.tenant))
        try:
            self._buffers.allocate(number, needed(spec.application, spec.batch), content)
        except MemoryExhausted as error:
            return [m.NoMemory(number, error.message)]
        return [m.Allocated(number)]
