"""Slots that are kept for tasks whose load must wait, and lent to others meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from eddy.policy.dispatch.choosing.eviction import Eviction
from eddy.policy.dispatch.choosing.forecast import Forecast
from eddy.policy.dispatch.choosing.free_slots import FreeSlots
from eddy.policy.dispatch.choosing.slot_lending import choose_borrower
from eddy.policy.dispatch.views.job_view import JobView, TaskView
from eddy.policy.dispatch.views.outlook import Outlook
from eddy.policy.dispatch.views.view import Configure, Decision, DispatchView, Prefetch, SlotView

READS = 1
"""Images that are read at a time because they are needed, at most: who comes next shall not wait for more."""


class KeptSlots:
    """The slots that one decision keeps.

    Args:
        view: Jobs, slots and time.
        free: Slots that may be given; one that is kept leaves them.
        decisions: What is decided; reads and loans are added.
        eviction: Which of several slots is wanted least.
        fetched: Module and slot of the image that was read ahead last for a task that waits for the port; or None.
    """

    def __init__(
        self,
        view: DispatchView,
        free: FreeSlots,
        decisions: list[Decision],
        eviction: Eviction,
        fetched: tuple[str, int] | None,
    ) -> None:
        self._view, self._free, self._decisions, self._eviction = view, free, decisions, eviction
        self.fetched = fetched
        self._for_port = False
        """Whether a slot is kept for a task that waits for the port."""
        self._lent: list[SlotView] = []
        """Slots that are kept, and hold a module meanwhile."""
        self._reading = sum(len(slot.coming) for slot in view.slots)
        """Images that are being read because they are needed."""

    def await_port(self, task: TaskView, slot: SlotView) -> None:
        """Keep a slot for a task that waits for the port; the first such task's image is read ahead."""
        self._set_aside(slot)
        wanted = task.module, slot.index
        if not self._for_port and self.fetched != wanted:
            self.fetched = wanted
            self._decisions.append(Prefetch(*wanted))
        self._for_port = True

    def await_image(self, task: TaskView, slots: list[SlotView]) -> bool:
        """Keep a slot for a task whose image is read for it, or begin that read; the port serves others meanwhile.

        Answers whether it will have one: a few reads are under way at a time, see `READS`.
        """
        coming = [slot for slot in slots if task.module in slot.coming]
        if coming:
            self._set_aside(coming[0])
            return True
        if self._reading >= READS:
            return False
        self._reading += 1
        slot = slots[0] if len(slots) == 1 else self._eviction.least_wanted(slots)
        self._set_aside(slot)
        self._decisions.append(Prefetch(task.module, slot.index))
        return True

    def lend(
        self, outlooks: Mapping[int, Outlook], forecast: Forecast, rank: Callable[[JobView, Outlook, int], float]
    ) -> None:
        """Give kept slots to those who need no load there and are done before a load would be."""
        served = {(made.job, made.task) for made in self._decisions if isinstance(made, Configure)}
        for slot in self._lent:
            found = choose_borrower(self._view, outlooks, forecast.look, rank, slot, forecast.load_s, served)
            if found is not None:
                job, task = found
                self._decisions.append(Configure(job.id, task.id, slot.index))
                served.add((job.id, task.id))

    def _set_aside(self, slot: SlotView) -> None:
        self._free.remove_slot(slot)
        if slot.module:
            self._lent.append(slot)
