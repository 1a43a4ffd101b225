"""The input side of the state machine: hands each input to the part that changes the state by it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from eddy.hypervisor.jobs.messages import (
    AdmitModules,
    Allocated,
    Arrive,
    Cancel,
    Collected,
    Configured,
    Drain,
    Input,
    ItemEnded,
    JobFault,
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
from eddy.hypervisor.machine.item_reports import ItemReportHandler
from eddy.hypervisor.machine.load_reports import LoadReportHandler
from eddy.hypervisor.machine.request_handler import RequestHandler
from eddy.hypervisor.machine.slot_drainer import SlotDrainer
from eddy.hypervisor.slots.machine_state import MachineState


class InputHandler:
    """Processes what happened, one input after the other.

    Args:
        state: Where.
    """

    def __init__(self, state: MachineState) -> None:
        self.state, draining = state, SlotDrainer(state)
        self._items, loads = ItemReportHandler(state, draining), LoadReportHandler(state, draining)
        requests = RequestHandler(state, draining)
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
            AdmitModules: requests.admit_modules,
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
                self._items.complete_item(job, item, self.state.now_s)

    def _wake(self, _: Wake) -> None:
        for pool in self.state.pools.values():
            pool.wake_s = None
