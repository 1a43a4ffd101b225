"""The input side of the state machine: hands each input to the part that changes the state by it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from eddy.hypervisor.jobs.messages import (
    Allocated,
    Arrive,
    Cancel,
    Collected,
    Configured,
    Drain,
    Input,
    ItemEnded,
    JobFault,
    LetIn,
    LoadFailed,
    NoMemory,
    Overdue,
    Resume,
    SliceEnded,
    Switch,
    SwitchPrice,
    Undrain,
    Wake,
)
from eddy.hypervisor.machine.draining import Draining
from eddy.hypervisor.machine.item_reports import ItemReports
from eddy.hypervisor.machine.load_reports import LoadReports
from eddy.hypervisor.machine.requests import MachineRequests
from eddy.hypervisor.slots.machine_state import MachineState


class Reports:
    """Processes what happened, one input after the other.

    Args:
        state: Where.
    """

    def __init__(self, state: MachineState) -> None:
        self.state, draining = state, Draining(state)
        self._items, loads = ItemReports(state, draining), LoadReports(state, draining)
        requests = MachineRequests(state, draining)
        self._takes: Mapping[type[Any], Callable[[Any], None]] = {
            ItemEnded: self._items.ended,
            SliceEnded: self._items.slice_ended,
            Collected: self._items.collected,
            Configured: loads.configured,
            LoadFailed: loads.failed,
            Arrive: requests.arrive,
            Cancel: requests.cancel,
            Allocated: requests.allocated,
            NoMemory: requests.no_memory,
            JobFault: requests.job_fault,
            Overdue: requests.overdue,
            Drain: requests.drain,
            Undrain: requests.undrain,
            LetIn: requests.let_in,
            Switch: requests.switch,
            SwitchPrice: requests.switch_price,
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
                self._items.finished(job, item, self.state.now_s)

    def _wake(self, _: Wake) -> None:
        for pool in self.state.pools.values():
            pool.wake_s = None
