"""What holds for jobs of every kind, as a submission says it; the server checks it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eddy.client.job import Job


def asked(
    labels: Mapping[str, str] | None = None,
    after: Iterable[int | Job] = (),
    retries: int | Mapping[str, Any] | None = None,
    end_late: bool = False,
    min_progress: float | None = None,
) -> dict[str, Any]:
    """Fields of a submission, without those nobody asked for.

    Args:
        labels: Name to value, for people and for `Client.jobs`.
        after: Jobs that must succeed first.
        retries: How often it is tried again after a fault it has no part in; or `{"max", "on"}`, with causes.
        end_late: Whether it ends where its deadline has passed.
        min_progress: For a kernel: part of its speed alone that it should keep beside others.
    """
    fields = {
        "labels": dict(labels or {}),
        "after": [job if isinstance(job, int) else job.id for job in after],
        "retries": {"max": retries} if isinstance(retries, int) and retries else retries,
        "late": "end" if end_late else "",
    }
    found = {name: value for name, value in fields.items() if value}
    return found if min_progress is None else {**found, "min_progress": min_progress}
