# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The machine in virtual time: a sequence of arrivals against a model board, no store, no threads.

It is what policy studies and property tests run. Items carry no data: nothing is granted, nothing collected.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from eddy.board.model.model import ModelBoard
from eddy.board.port import port
from eddy.core.errors import EddyError, ImageRefused
from eddy.core.projects import WeightsOf, equal_weights
from eddy.core.records import JobEvent, JobRecord
from eddy.core.slots import Pool
from eddy.hypervisor.jobs import messages as m
from eddy.hypervisor.jobs.job_records import record_of
from eddy.hypervisor.machine.machine import Machine
from eddy.hypervisor.machine.translate import (
    index_images,
    item_name,
    make_resident_images,
    pipeline_slots,
    pool_slots,
    scrubbed_modules,
    to_input,
)
from eddy.hypervisor.slots.pools import PoolSlots
from eddy.hypervisor.slots.residency import LIVE, Residency
from eddy.policy.dispatch.views.view import DispatchPolicy

MAX_STEPS = 10_000_000


class Stalled(EddyError):
    """Jobs are left, nothing runs, and the policy decides nothing."""

    code = "stalled"


class StepWatch(Protocol):
    """Told of every step of the machine."""

    def before(self, machine: Machine, inputs: Sequence[m.Input], now_s: float) -> None:
        """What comes in next, and when."""

    def after(self, machine: Machine, outcome: m.StepResult) -> None:
        """What came of it."""


@dataclass(frozen=True, slots=True)
class VirtualRun:
    """What happened.

    Attributes:
        log: Every entry of the event log, in order.
        jobs: The last record of every job, by id.
        end_s: Board time at the end.
        holding: Jobs whose memory was not given back; none, if all is well.
    """

    log: tuple[JobEvent, ...]
    jobs: Mapping[int, JobRecord]
    end_s: float
    holding: frozenset[int] = frozenset()


def run_virtual(
    board: ModelBoard,
    policy: DispatchPolicy,
    arrivals: Iterable[m.JobSpec],
    *,
    cancels: Iterable[tuple[float, int]] = (),
    load_s: Mapping[int, float] | None = None,
    arena_jobs: int | None = None,
    residency: Residency = LIVE,
    gpu_policy: DispatchPolicy | None = None,
    watch: StepWatch | None = None,
    weights_of: WeightsOf = equal_weights,
) -> VirtualRun:
    """Run jobs to their end.

    Args:
        board: Fresh, with images of every module.
        policy: Who gets which slot.
        arrivals: Jobs; each is put in when its `arrival_s` has come, or later if a blocking load is in the way.
        cancels: (board time, job id) at which a job's end is asked for.
        load_s: Load times the policy is told at first; else from the board's description.
        arena_jobs: How many jobs that need memory fit at once; None for any number.
        residency: What the machine makes of modules that stay in slots.
        gpu_policy: Who gets which slot of the `gpu` pool; None leaves that pool out.
        watch: Told of every step of the machine.
        weights_of: What tenants are entitled to that have work, relative to each other.

    Raises:
        Stalled: Jobs are left that the policy never gives a slot.
    """
    gpu = None if gpu_policy is None else PoolSlots(pool_slots(board.describe(), Pool.GPU), gpu_policy)
    slots = {**pipeline_slots(board.describe()), **(load_s or {})}
    known = index_images(board.images(), [*slots, *(gpu.slots if gpu is not None else ())])
    near = make_resident_images(board.describe())
    scrubbed = scrubbed_modules(board.images())
    made = Machine(slots, policy, known, scrubbed, gpu, residency, near=near, weights_of=weights_of)
    return _Driver(board, made, arrivals, cancels, arena_jobs, watch).run()


class _Driver:
    """The loop of `run_virtual`."""

    def __init__(
        self,
        board: ModelBoard,
        machine: Machine,
        arrivals: Iterable[m.JobSpec],
        cancels: Iterable[tuple[float, int]],
        arena_jobs: int | None,
        watch: StepWatch | None = None,
    ) -> None:
        self.watch = watch
        self.board, self.machine = board, machine
        coming: list[tuple[float, int, m.Input]] = [(job.arrival_s, job.id, m.Arrive(job)) for job in arrivals]
        coming += [(at_s, job, m.Cancel(job)) for at_s, job in cancels]
        self.coming = sorted(
            coming, key=lambda entry: (entry[0], isinstance(entry[2], m.Cancel), entry[1]), reverse=True
        )
        self.log: list[JobEvent] = []
        self.jobs: dict[int, JobRecord] = {}
        self.arena_jobs, self.holders = arena_jobs, set[int]()

    def run(self) -> VirtualRun:
        """Alternate waiting and stepping until nothing is left."""
        seen = -1
        if self.machine.state.images.is_enabled:
            self._digest(self.board.now_s(), [m.Wake()])
        for _ in range(MAX_STEPS):
            until_s = self._next_wake_s()
            events = self.board.wait(until_s, seen)
            now_s = self.board.now_s()
            inputs = [message for message in (to_input(event, self.machine) for event in events) if message is not None]
            seen = events[-1].seq if events else seen
            inputs += self._take_due(now_s)
            if not inputs and not events and until_s == float("inf"):
                break
            self._digest(now_s, inputs)
        left = sorted(self.machine.jobs)
        if left:
            raise Stalled(f"jobs {left} are left and no event will come", jobs=left)
        return VirtualRun(tuple(self.log), self.jobs, self.board.now_s(), frozenset(self.holders))

    def _digest(self, now_s: float, inputs: list[m.Input]) -> None:
        """Step until nothing comes of it at once; a load, which may block, comes last of all."""
        load: m.Load | None = None
        while inputs or load is not None:
            if not inputs and load is not None:
                inputs, load = self._load(load), None
                continue
            if self.watch is not None:
                self.watch.before(self.machine, inputs, now_s)
            outcome = self.machine.step(now_s, inputs)
            self.log += outcome.log
            if self.watch is not None:
                self.watch.after(self.machine, outcome)
            for number in outcome.ended:
                self.jobs[number] = record_of(self.machine.job(number))
            inputs = []
            for command in outcome.commands:
                if isinstance(command, m.Load):
                    load = command
                else:
                    inputs += self._carry_out(command)

    def _next_wake_s(self) -> float:
        wake_s = self.machine.wake_s if self.machine.wake_s is not None and self.machine.jobs else float("inf")
        return min(self.coming[-1][0] if self.coming else float("inf"), wake_s)

    def _take_due(self, now_s: float) -> list[m.Input]:
        due: list[m.Input] = []
        while self.coming and self.coming[-1][0] <= now_s:
            due.append(self.coming.pop()[2])
        if not due and self.machine.wake_s is not None and self.machine.wake_s <= now_s:
            due.append(m.Wake())
        return due

    def _carry_out(self, command: m.Command) -> list[m.Input]:
        if isinstance(command, m.LaunchItem):
            application = self.machine.jobs[command.job].spec.application
            name = item_name(command.job, command.task, command.item)
            limit_s, task = application.tasks[command.task].time_limit_s, application.task_name(command.task)
            self.board.launch(command.slot, port.Launch(name, (), (), limit_s, task=task))
        elif isinstance(command, m.StopItem):
            self.board.stop(command.slot)
        elif isinstance(command, m.ScrubSlot):
            self.board.scrub(command.slot)
        elif isinstance(command, m.Fetch):
            self.board.prefetch(command.image)
        elif isinstance(command, m.ReadAhead):
            self.board.read_ahead(command.images)
        elif isinstance(command, m.Free):
            self.holders.discard(command.job)
        elif isinstance(command, m.Allocate):
            if self.arena_jobs is not None and len(self.holders) >= self.arena_jobs:
                return [m.NoMemory(command.job)]
            self.holders.add(command.job)
            return [m.Allocated(command.job)]
        return []

    def _load(self, command: m.Load) -> list[m.Input]:
        try:
            self.board.load(command.slot, command.image)
        except ImageRefused as error:
            return [m.LoadFailed(command.slot, self.board.now_s(), error.code, error.message, refused=True)]
        return []
