# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The hypervisor's state machine: events in, commands out, and nothing else.

It uses no board, no store and no clock. `step` gets the time and what happened, updates the state, launches every item
that may start, asks the policies, and returns the commands to carry out. So the same machine runs jobs on a real board,
on simulated RTL, and in virtual time. It is deterministic: the same inputs give the same trace.

Guarantees, whatever the policy decides:

- one load at a time, over all pools; no two tasks in a slot; every job in slots of its own pool;
- an item of a task starts after every predecessor's same item (in bulk mode, after all their items), items in order;
- a slot is taken from a job only between items, and a finished item stays finished;
- a module that served one tenant is loaded again before it serves another, or scrubbed if that is verified to clear it;
- a job that ends releases its slots first and its memory last;
- slots go to tenants by weight before the policy ranks their jobs (see `fair_share`);
- jobs that wait for memory get it tenant by tenant, of each in order of arrival, so none starves.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from eddy.core.projects import WeightsOf, equal_weights
from eddy.core.slots import Pool
from eddy.hypervisor.clusters.clusters import SharedClusters
from eddy.hypervisor.cores.market_loop import PriceLoop
from eddy.hypervisor.jobs.application_graph import Graph
from eddy.hypervisor.jobs.job import Job
from eddy.hypervisor.jobs.job_views import Fits
from eddy.hypervisor.jobs.messages import (
    AdmitModules,
    Allocate,
    Allocated,
    Arrive,
    Cancel,
    CloseSoon,
    Collect,
    Collected,
    Configured,
    Drain,
    Fetch,
    Free,
    Input,
    ItemEnded,
    JobFault,
    JobSpec,
    LaunchItem,
    LaunchSlice,
    LaunchStreamReport,
    LeaseSlot,
    Load,
    LoadFailed,
    LoadLeased,
    NoMemory,
    Overdue,
    ReadAhead,
    Resume,
    ScrubSlot,
    SliceEnded,
    StepResult,
    StopItem,
    Switch,
    SwitchPrice,
    Undrain,
    UnleaseSlot,
    Wake,
)
from eddy.hypervisor.jobs.slot import MachineSlot, Phase
from eddy.hypervisor.machine.board_reports import ItemReportHandler, LoadReportHandler
from eddy.hypervisor.machine.calendar import ClosingCalendar
from eddy.hypervisor.machine.policy_driver import PolicyDriver
from eddy.hypervisor.machine.request_handler import RequestHandler
from eddy.hypervisor.machine.slot_drainer import SlotDrainer
from eddy.hypervisor.machine.slot_leases import SlotLeases
from eddy.hypervisor.slots.machine_state import MachineState
from eddy.hypervisor.slots.pools import PoolSlots, PoolState
from eddy.hypervisor.slots.residency import LIVE, Residency
from eddy.hypervisor.slots.resident_images import ResidentImages
from eddy.policy.dispatch.sharing.fair_share import FairShare
from eddy.policy.dispatch.views.view import DispatchPolicy, DispatchView


class InputHandler:
    """Processes what happened, one input after the other.

    Attributes:
        leases: Withholds slots for persons.
    """

    def __init__(self, state: MachineState) -> None:
        self.state, draining = state, SlotDrainer(state)
        self._items, loads = ItemReportHandler(state, draining), LoadReportHandler(state, draining)
        requests = RequestHandler(state, draining, ClosingCalendar(state))
        self.leases = leases = SlotLeases(state)
        self._takes: Mapping[type[Any], Callable[[Any], None]] = {
            ItemEnded: self._items.finish_item,
            SliceEnded: self._items.finish_slice,
            Collected: self._items.store_outputs,
            Configured: loads.finish_load,
            LoadFailed: loads.fail_load,
            Arrive: requests.add_job,
            Cancel: requests.cancel,
            Allocated: requests.grant_memory,
            NoMemory: requests.deny_memory,
            JobFault: requests.fail_job,
            Overdue: requests.mark_overdue,
            Drain: requests.drain,
            Undrain: requests.undrain,
            CloseSoon: requests.close_soon,
            LeaseSlot: leases.lease,
            UnleaseSlot: leases.unlease,
            LoadLeased: leases.load,
            AdmitModules: requests.admit_modules,
            Switch: requests.switch,
            SwitchPrice: requests.switch_price,
            LaunchStreamReport: requests.set_streaming,
            Resume: self._resume,
            Wake: self._wake,
        }

    def take(self, message: Input) -> None:
        """Book one input."""
        self._takes[type(message)](message)

    def _resume(self, _: Resume) -> None:
        """What was ending goes on ending; outputs that were finished and not stored are collected."""
        for job in list(self.state.jobs.values()):
            if job.ending is not None:
                self.state.end(job, job.ending, self.state.now_s, job.cause, job.detail)
                continue
            for item in range(job.items.committed, job.items.finished):
                self._items.complete_item(job, item, self.state.now_s)

    def _wake(self, _: Wake) -> None:
        for pool in self.state.pools.values():
            pool.wake_s = None


class Machine:
    """The state of every slot and of every job that has not ended.

    Args:
        slots: Index to expected load time in seconds, of the `pipeline` pool.
        policy: Who gets which slot of it.
        fits: Module to slot to image.
        scrubbed: Modules that may serve another tenant without a load, once the board has scrubbed them.
        gpu: The `gpu` pool, which kernel jobs run in; None where the board has none.
        residency: What becomes of modules that stay in slots.
        price: Shares the cores of the `gpu` pool between tenants; None where its policy gives kernels whole slots.
        near: The account of the images in the board's memory; empty where none are kept there.
        unchecked: Modules whose build has no check on record.
        weights_of: What tenants are entitled to that have work, relative to each other.
        most_memory: Bytes that the jobs of a tenant hold together at most; None for any number.
        arena_bytes: Of the board's memory; 0 where that is not known.

    Attributes:
        slots: By index.
        jobs: Those that have not ended, by id.
    """

    def __init__(
        self,
        slots: Mapping[int, float],
        policy: DispatchPolicy,
        fits: Fits,
        scrubbed: Collection[str] = (),
        gpu: PoolSlots | None = None,
        residency: Residency = LIVE,
        price: PriceLoop | None = None,
        near: ResidentImages | None = None,
        unchecked: Collection[str] = (),
        weights_of: WeightsOf = equal_weights,
        most_memory: Callable[[], int] | None = None,
        arena_bytes: int = 0,
    ) -> None:
        every = {**slots, **(gpu.slots if gpu is not None else {})}
        pools = {Pool.PIPELINE: PoolState(Pool.PIPELINE, FairShare(policy), slots, fits, weights_of)}
        if gpu is not None:
            # Where cores are shared by price, that policy decides between tenants.
            shared = gpu.policy if price is not None else FairShare(gpu.policy)
            pools[Pool.GPU] = PoolState(Pool.GPU, shared, gpu.slots, fits, weights_of)
        found = (MachineSlot(index, load_s) for index, load_s in sorted(every.items()))
        self.state = MachineState(found, pools, scrubbed, residency, near, unchecked, most_memory, arena_bytes)
        self.reports, self.decisions = InputHandler(self.state), PolicyDriver(self.state)
        self.clusters = SharedClusters(self.state, price) if price is not None and gpu is not None else None
        self.state.clusters = self.clusters
        self.slots, self.jobs = self.state.slots, self.state.jobs

    @property
    def wake_s(self) -> float | None:
        """Board time at which a policy wants to be asked again, or None."""
        wakes = [pool.wake_s for pool in self.state.pools.values()]
        if self.clusters is not None:
            wakes.append(self.clusters.wake_s)
        if self.state.has_work:
            wakes.append(self.state.images.next_s(self.state.now_s))
        return min((wake_s for wake_s in wakes if wake_s is not None), default=None)

    @property
    def busy(self) -> bool:
        """Whether the board works for it: a load or an item is under way, so an event will come."""
        return any(slot.phase in (Phase.LOADING, Phase.RUNNING) for slot in self.slots.values())

    def step(
        self, now_s: float, inputs: Iterable[Input], then: Callable[[list[int]], Iterable[Input]] | None = None
    ) -> StepResult:
        """Take in what happened, in order, and answer what is to be done.

        Args:
            now_s: Board time, not before the last step's.
            inputs: What happened since the last step.
            then: What follows from the jobs that ended by that, before anything is decided: the next launch of a
                stream is there when the core of the one before is given to somebody. Jobs without a record alone.
        """
        out = self.state.begin(now_s)
        if not self.state.begun:
            self.state.begun = True
            self.state.read_ahead(self.state.images.all_images(self.state.now_s))
        happened = False
        ended: set[int] = set()
        for message in itertools.chain(inputs, () if then is None else self._following(out, then)):
            self.reports.take(message)
            happened = happened or _concerns_policies(message)
            if isinstance(message, ItemEnded):
                ended.add(message.slot)
        self.reports.leases.begin_load()
        # Whatever was just loaded does an item at least; a slot between two items is the policy's to take first.
        self.decisions.launch_ready(ended)
        if happened:
            self.decisions.decide()
            self.decisions.launch_ready()
        if self.clusters is not None:
            self.clusters.assign()
        self.state.derive_states()
        out.commands.sort(key=_rank)
        return out

    @staticmethod
    def _following(out: StepResult, then: Callable[[list[int]], Iterable[Input]]) -> Iterator[Input]:
        """What follows, asked once all that happened was taken in."""
        yield from then(out.ended)

    def view(self, which: Pool = Pool.PIPELINE) -> DispatchView:
        """What a pool's policy sees now."""
        return self.decisions.view(which)

    def job(self, number: int) -> Job:
        """A job that has not ended, or ended in the last step.

        Raises:
            KeyError: There is none of that number.
        """
        return self.state.job(number)

    def graph(self, spec: JobSpec) -> Graph:
        """The edges of a job's application, shared by all its jobs."""
        return self.state.graph(spec)

    def adopt_job(self, job: Job) -> None:
        """Recover a job as it was."""
        self.state.adopt_job(job)

    def adopt_slot(self, known: MachineSlot) -> None:
        """Recover a slot as it was; its job, if any, was recovered before."""
        self.state.adopt_slot(known)


def _concerns_policies(message: Input) -> bool:
    """Whether dispatch policies are to be asked again: not because outputs are stored, as the job had no task left, nor
    because of slices and what sessions launch, which get cores."""
    if isinstance(message, Arrive):
        return message.job.kept
    return not isinstance(message, (Collected, SliceEnded, LaunchStreamReport))


_ORDER = (Collect, StopItem, LaunchItem, LaunchSlice, ScrubSlot, Free, Allocate, Fetch, ReadAhead, Load)


def _rank(command: object) -> tuple[int, int]:
    """Items start before a load that may block, in order of slots; memory is freed before it is asked for."""
    return _ORDER.index(type(command)), command.slot if isinstance(command, LaunchItem) else 0
