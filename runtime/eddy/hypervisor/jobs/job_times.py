"""Where a job's time went: running, reconfiguring, or waiting, by cause."""

from __future__ import annotations

from eddy.core.records import WaitCause

_WAITS = frozenset(cause.value for cause in WaitCause)


class JobTimes:
    """Board seconds of one job, each booked once.

    Args:
        arrival_s: Board time at which the job was accepted.

    Attributes:
        bucket: What the time since `since_s` will count as.
        since_s: Board time up to which everything is booked.
        spent_s: Seconds by bucket.
    """

    __slots__ = ("bucket", "since_s", "spent_s")

    def __init__(self, arrival_s: float) -> None:
        self.bucket: str = WaitCause.SLOT.value
        self.since_s = arrival_s
        self.spent_s: dict[str, float] = {}

    @property
    def for_others_s(self) -> float:
        """What it waited for jobs that it comes after."""
        return self.spent_s.get(WaitCause.DEPENDENCY.value, 0.0)

    def book_dependency_wait(self, at_s: float) -> None:
        """Book the time up to now as waiting for other jobs; before anything else."""
        self.spent_s[WaitCause.DEPENDENCY.value] = at_s - self.since_s
        self.since_s = at_s

    def current_wait(self, now_s: float) -> tuple[str, float] | None:
        """The cause of a wait that goes on, and its seconds that are not booked yet; None where there is none."""
        bucket, since_s = self.bucket, self.since_s
        return (bucket, now_s - since_s) if bucket in _WAITS and now_s > since_s else None

    def book(self, at_s: float, bucket: str) -> None:
        """Book the time since the last call where it belongs; what follows counts as `bucket`."""
        elapsed_s = at_s - self.since_s
        if elapsed_s > 0:
            self.spent_s[self.bucket] = self.spent_s.get(self.bucket, 0.0) + elapsed_s
            self.since_s = at_s
        self.bucket = bucket
