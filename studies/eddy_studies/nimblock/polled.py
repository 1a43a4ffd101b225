# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""[004]'s published hypervisor, a loop that polls, on the `model` board.

The artefact is a bare-metal program of one loop. What its board runs show, and the thesis' text does not say, comes
from that: an item that ended is noticed when the loop comes by; a load, the SD card included, blocks everything else;
and so does a line on the serial console. Policies decide here as in the hypervisor; only what is around them differs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from eddy.board.model.model import ModelBoard
from eddy.board.port import port
from eddy.core.records import JobEvent, JobRecord
from eddy.core.slots import Pool
from eddy.hypervisor.jobs import messages as m
from eddy.hypervisor.jobs.job_records import record_of
from eddy.hypervisor.jobs.job_views import Fits
from eddy.hypervisor.jobs.slot import MachineSlot, Phase
from eddy.hypervisor.machine.machine import Machine
from eddy.hypervisor.machine.translate import index_images, item_name, to_input
from eddy.hypervisor.machine.virtual import Stalled, VirtualRun
from eddy.policy.dispatch.views.view import DispatchPolicy, Preempt

from eddy_studies.nimblock.console import LAUNCH_S, PREEMPTION, RETIREMENT, Console, Contention, printed
from eddy_studies.nimblock.machines import RELOADING

NEVER = float("inf")


class PolledMachine:
    """A machine's parts in the order of the artefact's loop.

    A turn looks at every slot once: an item that ended is counted and its slot waits, a slot that waited is started.
    Then the policy decides, and what it loads blocks the loop; only the slot just loaded is started before the next
    turn. So the next item of a slot waits for a load that begins in between, and what ended during a load ended, for
    the loop, after it. Time passes inside a turn: `starts` and `until_s` say how much, for the loop to let pass.

    Args:
        load_s: Load times the policy is told, by slot.
        policy: Who gets which slot; at most one load a call.
        images: Module to slot to image.
        console: What the artefact prints on.

    Attributes:
        inner: Slots, jobs, and what moves them.
        starts: Board times of the launches a turn commanded, in order.
        until_s: Board time at which the turn is over, but for its load.
        again: Whether the next turn may do something though nothing happens in between.
    """

    def __init__(self, load_s: Mapping[int, float], policy: DispatchPolicy, images: Fits, console: Console) -> None:
        self.inner, self.console = Machine(load_s, policy, images, residency=RELOADING), console
        self._state, self._pool = self.inner.state, self.inner.state.pools[Pool.PIPELINE]
        self._pool.switch(policy)  # the artefact knows no tenants
        self.starts: list[float] = []
        self.until_s = 0.0
        self.again = False

    def step(self, now_s: float, inputs: Iterable[m.Input]) -> m.StepResult:
        """One turn of the loop; see `Machine.step`."""
        out, before = self._begin(now_s), self._pool.memory
        ended: dict[int, m.ItemEnded] = {}
        for message in inputs:
            if isinstance(message, m.ItemEnded):
                ended[message.slot] = message
            else:
                self.inner.reports.take(message)
        self._poll(ended)
        self._state.derive_states()
        self._state.now_s = self.console.write(self._state.now_s, RETIREMENT * len(out.ended))
        self._decide()
        self._state.derive_states()
        self.again = bool(ended) or self._pool.memory != before
        self.until_s = self._state.now_s
        return out

    def launch_loaded(self, now_s: float, message: m.Configured) -> m.StepResult:
        """The end of a turn that loaded: the task just loaded is started."""
        out = self._begin(now_s)
        self.inner.reports.take(message)
        self._start(self.inner.slots[message.slot])
        self._state.derive_states()
        self.again, self.until_s = True, self._state.now_s
        return out

    def _begin(self, now_s: float) -> m.StepResult:
        self.starts = []
        return self._state.begin(now_s)

    def _decide(self) -> None:
        """Ask the policy once; what it says and what a preemption says is printed before a load begins."""
        pool = self._pool
        before, dispatch = pool.memory, pool.decide(self.inner.view())
        pool.wake_s = dispatch.wake_s
        preempts = any(isinstance(decision, Preempt) for decision in dispatch.decisions)
        self._state.now_s = self.console.write(self._state.now_s, printed(before, dispatch.memory))
        for decision in dispatch.decisions:
            self.inner.decisions.carry_out(decision, pool)
        if preempts:
            self._state.now_s = self.console.write(self._state.now_s, PREEMPTION)

    def _poll(self, ended: Mapping[int, m.ItemEnded]) -> None:
        """Look at every slot once."""
        for slot in self.inner.slots.values():
            if slot.index in ended:
                self.inner.reports.take(dataclasses.replace(ended[slot.index], at_s=self._state.now_s))
            else:
                self._start(slot)

    def _start(self, slot: MachineSlot) -> None:
        """Start the next item of a slot, if it waits and the item may start."""
        if self.inner.decisions.launch(slot):
            self.starts.append(self._state.now_s)
            self._state.now_s += LAUNCH_S


def run_polled(
    board: ModelBoard,
    policy: DispatchPolicy,
    arrivals: Iterable[m.JobSpec],
    load_s: Mapping[int, float],
    card_s: Mapping[str, float],
    contention: Contention,
) -> VirtualRun:
    """Run jobs to their end as the artefact's loop does; jobs need no memory.

    Args:
        board: Fresh, with images of every module.
        policy: Who gets which slot; at most one load a call.
        arrivals: Jobs; one a turn is admitted, when its `arrival_s` has come and the loop comes by.
        load_s: Load times the policy is told.
        card_s: By application, what finding an image on the SD card adds to a load, the loop waiting.

    Raises:
        Stalled: Jobs are left that the policy never gives a slot.
    """
    return _Loop(board, policy, arrivals, load_s, card_s, contention).run()


class _Loop:
    """The loop of `run_polled`."""

    def __init__(
        self,
        board: ModelBoard,
        policy: DispatchPolicy,
        arrivals: Iterable[m.JobSpec],
        load_s: Mapping[int, float],
        card_s: Mapping[str, float],
        contention: Contention,
    ) -> None:
        self.card_s, self.contention = card_s, contention
        self.board, self.console = board, Console()
        self.machine = PolledMachine(load_s, policy, index_images(board.images(), load_s), self.console)
        self.coming = sorted(arrivals, key=lambda job: (job.arrival_s, job.id), reverse=True)
        self.log: list[JobEvent] = []
        self.jobs: dict[int, JobRecord] = {}
        self.heard: list[port.BoardEvent] = []
        self.seen = -1

    def run(self) -> VirtualRun:
        """Turn until nothing is left."""
        while self._wait():
            inputs = self._admit()
            self._hear(self.board.now_s())
            messages = [to_input(event, self.machine.inner) for event in self.heard]
            self.heard.clear()
            self._turn(inputs + [message for message in messages if message is not None])
        left = sorted(self.machine.inner.jobs)
        if left:
            raise Stalled(f"jobs {left} are left and no event will come", jobs=left)
        return VirtualRun(tuple(self.log), self.jobs, self.board.now_s())

    def _wait(self) -> bool:
        """Let time pass until a turn may do something; whether one may."""
        machine = self.machine
        if machine.again or self.heard:
            return True
        wake_s = machine.inner.wake_s if machine.inner.wake_s is not None and machine.inner.jobs else NEVER
        until_s = min(self.coming[-1].arrival_s if self.coming else NEVER, wake_s)
        self._hear(until_s)
        return bool(self.heard) or until_s < NEVER

    def _admit(self) -> list[m.Input]:
        """Admit one application that has come, and let pass what that takes."""
        if not self.coming or self.coming[-1].arrival_s > self.board.now_s():
            return []
        job = self.coming.pop()
        self._pass(self.console.admit(self.board.now_s(), job.application.name))
        return [m.Arrive(job)]

    def _turn(self, inputs: list[m.Input]) -> None:
        load = self._carry_out(self.machine.step(self.board.now_s(), inputs))
        if load is None:
            return
        holder = self.machine.inner.slots[load.slot].job
        assert holder is not None
        self._pass(self.board.now_s() + self.card_s.get(self.machine.inner.jobs[holder].spec.application.name, 0.0))
        self.board.load(load.slot, load.image)
        self._hear(self.board.now_s())
        for event in self.heard:
            if event.kind is port.EventKind.CONFIGURED:
                self.heard.remove(event)
                message = m.Configured(event.slot, event.at_s, event.started_s)
                self._carry_out(self.machine.launch_loaded(self.board.now_s(), message))
                return

    def _carry_out(self, outcome: m.StepResult) -> m.Load | None:
        """Do what a turn commanded, at the times it said, and let it pass; answers the load it asked for, if any."""
        machine, load, starts = self.machine, None, iter(self.machine.starts)
        self.log += outcome.log
        for number in outcome.ended:
            self.jobs[number] = record_of(machine.inner.job(number))
        for command in outcome.commands:
            if isinstance(command, m.LaunchItem):
                self._pass(next(starts))
                name = item_name(command.job, command.task, command.item)
                self.contention.others = sum(slot.phase is Phase.RUNNING for slot in machine.inner.slots.values()) - 1
                task = machine.inner.job(command.job).spec.application.tasks[command.task]
                self.board.launch(command.slot, port.Launch(name, (), (), task.time_limit_s))
            elif isinstance(command, m.Load):
                load = command
        self._pass(machine.until_s)
        return load

    def _hear(self, until_s: float) -> None:
        """Take the board's events; where there are none, let time pass until there are, or until a time."""
        events = self.board.wait(until_s, self.seen)
        if events:
            self.seen = events[-1].seq
            self.heard += events

    def _pass(self, until_s: float) -> None:
        """Let time pass, whatever happens in it."""
        while self.board.now_s() < until_s:
            self._hear(until_s)
