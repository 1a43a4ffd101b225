"""What happened since the server started, counted as it is committed: for metrics, summed over tenants."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from eddy.core.records import JobEvent, JobRecord


class Happened:
    """Counts that only grow.

    Attributes:
        events: Entries of the event log, by kind.
        ended: Jobs that ended, by state.
        spent_s: Board seconds of the jobs that ended: `running`, `reconfiguring`, and waiting by cause.
    """

    def __init__(self) -> None:
        self.events: Counter[str] = Counter()
        self.ended: Counter[str] = Counter()
        self.spent_s: dict[str, float] = {}

    def note(self, events: Iterable[JobEvent], ended: Iterable[JobRecord]) -> None:
        """Count what was committed."""
        for event in events:
            self.events[event.what.value] += 1
        for record in ended:
            self.ended[record.state.value] += 1
            spent = {"running": record.running_s, "reconfiguring": record.reconfiguring_s, **record.waiting_s}
            for what, seconds in spent.items():
                self.spent_s[what] = self.spent_s.get(what, 0.0) + seconds
