# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A handle on an array of jobs: what was submitted together, is looked at, waited for and cancelled together."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from eddy.client import answers
from eddy.client.calls.job import Job, describe_end
from eddy.client.transport.errors import JobFailed, WaitTimeout

if TYPE_CHECKING:
    from eddy.client.transport.session import Session

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 1.0


class JobArray:
    """An array of jobs on the server.

    Args:
        client: Whoever asks.
        data: The array object, as the server gave it.
    """

    def __init__(self, client: Session, data: answers.Array) -> None:
        self._client, self.data = client, data

    def __repr__(self) -> str:
        counts = ", ".join(f"{jobs} {state}" for state, jobs in self.data["counts"].items() if jobs)
        return f"<JobArray {self.id}: {counts}>"

    def __len__(self) -> int:
        return int(self.data["size"])

    @property
    def id(self) -> int:
        """Its id, which none of its jobs has."""
        return int(self.data["id"])

    @property
    def ended(self) -> bool:
        """Whether all of its jobs had ended when last seen."""
        return bool(self.data["ended"])

    def refresh(self) -> JobArray:
        """Ask the server how it stands."""
        self.data = self._client.show_array(self.id)
        return self

    def cancel(self) -> JobArray:
        """Ask for the end of all jobs of it that have not ended.

        Raises:
            Conflict: All have ended.
        """
        self.data = self._client.cancel_array(self.id)
        return self

    def jobs(self) -> list[Job]:
        """Handles on its jobs, in order."""
        return [Job(self._client, data) for data in self._client.jobs(array=self.id, sort="oldest")]

    def wait(self, timeout_s: float | None = None) -> JobArray:
        """Wait until all have succeeded.

        Args:
            timeout_s: Wall seconds to wait; None for as long as it takes.

        Raises:
            JobFailed: All have ended, and some otherwise; `details` has `jobs`, their ids.
            WaitTimeout: Some go on, but the time is over.
        """
        for _ in _polls(timeout_s):
            if self.refresh().ended:
                break
        if not self.ended:
            message = f"{self!r} after {timeout_s:g} s; its jobs continue: wait again, or cancel them."
            raise WaitTimeout(message, array=self.id)
        bad = [job for job in self.jobs() if job.state != "succeeded"]
        if bad:
            why, _ = describe_end(bad[0].data)
            message = f"{len(bad)} of {len(self)} jobs did not succeed; job {bad[0].id} ended as {bad[0].state}{why}"
            raise JobFailed(message, array=self.id, jobs=[job.id for job in bad])
        return self


def _polls(timeout_s: float | None) -> Iterator[None]:
    """When to ask, with pauses that grow."""
    pause_s, deadline = _FIRST_PAUSE_S, None if timeout_s is None else time.monotonic() + timeout_s
    while True:
        yield
        left_s = _LONGEST_PAUSE_S if deadline is None else deadline - time.monotonic()
        if left_s <= 0:
            return
        time.sleep(min(pause_s, left_s))
        pause_s = min(pause_s * 1.5, _LONGEST_PAUSE_S)
