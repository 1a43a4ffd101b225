"""What happened since the server started, counted as it is committed: for metrics, summed over tenants."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from eddy.core.faults import Fault, fault_from_cause
from eddy.core.records import JobEvent, JobEventKind, JobRecord


class EventCounts:
    """Counts that only grow.

    Attributes:
        events: Entries of the event log, by kind.
        ended: Jobs that ended, by state.
        faults: Faults, by their codes; those that never happened are not there.
        spent_s: Board seconds of the jobs that ended: `running`, `reconfiguring`, and waiting by cause.
    """

    def __init__(self) -> None:
        self.events: Counter[str] = Counter()
        self.ended: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self.spent_s: dict[str, float] = {}

    def note(self, events: Iterable[JobEvent], ended: Iterable[JobRecord]) -> None:
        """Count what was committed."""
        for event in events:
            self.events[event.what.value] += 1
            self._note_fault(event)
        for record in ended:
            self.ended[record.state.value] += 1
            spent = {"running": record.running_s, "reconfiguring": record.reconfiguring_s, **record.waiting_s}
            for what, seconds in spent.items():
                self.spent_s[what] = self.spent_s.get(what, 0.0) + seconds

    def fault(self, fault: Fault) -> None:
        """Count a fault that no event of a job tells of."""
        self.faults[fault.value] += 1

    def _note_fault(self, event: JobEvent) -> None:
        if event.what is JobEventKind.CONFIGURATION_FAILED:
            self.fault(Fault.FAILED_LOAD)
        elif event.what is JobEventKind.ITEM_FAILED:
            found = fault_from_cause(event.detail.partition(" ")[0])
            if found is not None:
                self.fault(found)
