# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A job from the tenant's side: wait for it, follow it, cancel it, take its outputs as arrays."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from eddy.client import answers
from eddy.client.calls import pictures
from eddy.client.calls.views import Timeline
from eddy.client.transport.errors import JobFailed, WaitTimeout
from eddy.client.transport.stream import Event, follow

Tell = Callable[[Mapping[str, Any]], None]
"""Called with a job object whenever it has changed."""


class Card:
    """A job object that a notebook draws."""

    def __init__(self, job: Mapping[str, Any]) -> None:
        self._job = job

    def __repr__(self) -> str:
        return f"<Job {self._job['id']} {self._job['state']}>"

    def _repr_html_(self) -> str:
        return f"<b>Job {int(self._job['id'])}</b> {pictures.progress(self._job)}"


@contextmanager
def show_progress(job: Mapping[str, Any]) -> Iterator[Tell]:
    """Show how far a job is for as long as the block runs; gives what is to be called as it changes."""
    if is_notebook():
        yield _in_notebook(job)
    elif sys.stderr.isatty():
        with _in_terminal(job) as tell:
            yield tell
    else:
        yield lambda job: None


def is_notebook() -> bool:
    """Whether a Jupyter kernel runs this."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and "IPKernelApp" in shell.config


def _in_notebook(job: Mapping[str, Any]) -> Tell:
    from IPython.display import display

    handle = display(Card(job), display_id=True)  # type: ignore[no-untyped-call]
    return lambda job: handle.update(Card(job))


@contextmanager
def _in_terminal(job: Mapping[str, Any]) -> Iterator[Tell]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn("job {task.fields[job]} {task.description}"), BarColumn(), MofNCompleteColumn()
    with Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task(job["state"], total=job["progress"]["total"], job=job["id"])

        def tell(job: Mapping[str, Any]) -> None:
            bar.update(task, description=job["state"], completed=job["progress"]["done"])

        tell(job)
        yield tell


if TYPE_CHECKING:
    from eddy.client.transport.arrays import Array
    from eddy.client.transport.session import Session

FINAL = frozenset({"succeeded", "failed", "cancelled"})
"""States a job never leaves."""


MAX_WAIT_S = 20.0
"""Wall seconds one long poll takes at most: less than a request may take."""
SHOWN_EVERY_S = 0.5
"""The same where somebody looks at the progress."""
_PAUSE_S = 0.02
"""Wall seconds between two polls, should the server not wait."""


class Job:
    """A handle on a job of the server.

    Attributes:
        data: The job object as last seen; see docs/reference/http-api.md.
    """

    def __init__(self, client: Session, data: answers.Job) -> None:
        self._client = client
        self.data = data.copy()

    def __repr__(self) -> str:
        return f"<Job {self.id} {self.data['application']} {self.state}>"

    @property
    def id(self) -> int:
        """The job's id."""
        return int(self.data["id"])

    @property
    def state(self) -> str:
        """The state as last seen."""
        return str(self.data["state"])

    @property
    def computed(self) -> bool:
        """Whether the board computes what was asked for; else every output is zeros."""
        return bool(self.data.get("computed", True))

    @property
    def ended(self) -> bool:
        """Whether it was in a final state when last seen."""
        return self.state in FINAL

    def refresh(self) -> Job:
        """Ask the server how it stands."""
        self.data = self._client.show(self.id)
        return self

    def cancel(self) -> Job:
        """Ask for its end; it reaches `cancelled` once its slots are given back."""
        self.data = self._client.cancel(self.id)
        return self

    def events(self, after: int = -1) -> Iterator[Event]:
        """Its events from the first (or after a known one) until it has ended, across broken connections."""
        return follow(self._client.transport, f"/v1/jobs/{self.id}/events", after)

    def _repr_html_(self) -> str:
        return pictures.job(self.data)

    def timeline(self) -> Timeline:
        """What slots did for it, as far as the server's overview goes back; a notebook draws it."""
        return Timeline.of(self._client.overview(), self.id)

    def wait(
        self,
        timeout_s: float | None = None,
        on_change: OnChange | None = None,
        *,
        progress: bool = False,
    ) -> Job:
        """Wait until it has succeeded.

        Args:
            timeout_s: Wall seconds to wait; None for as long as it takes.
            on_change: Called with the job, refreshed, whenever its state or progress has changed; a last time when it
                has ended.
            progress: Whether to show a progress bar, in a notebook or on a terminal.

        Raises:
            JobFailed: It ended otherwise; `details` has `state` and `cause`.
            WaitTimeout: It goes on, but the time is over.
        """
        if progress:
            with show_progress(self.data) as tell:
                return self._wait(timeout_s, call_both(lambda job: tell(job.data), on_change))
        return self._wait(timeout_s, on_change)

    def _wait(self, timeout_s: float | None, on_change: OnChange | None) -> Job:
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        seen: object = None
        for event in (
            self.events()
            if timeout_s is None
            else self._polled(timeout_s, MAX_WAIT_S if on_change is None else SHOWN_EVERY_S)
        ):
            if on_change is not None and event.kind in ("state", "result", "poll"):
                seen = self.refresh()._tell(on_change, seen)
            if deadline is not None and time.monotonic() > deadline:
                break
        self.refresh()
        if on_change is not None:
            self._tell(on_change, seen)
        if not self.ended:
            message = f"Job {self.id} is {self.state} after {timeout_s:g} s; it continues: wait again, or cancel it."
            raise WaitTimeout(message, job=self.id, state=self.state)
        if self.state != "succeeded":
            raise self._failure()
        return self

    def _tell(self, on_change: OnChange, seen: object) -> object:
        """Call where state or progress is another than was seen; answers what was seen now."""
        now = (self.state, self.data["progress"])
        if now != seen:
            on_change(self)
        return now

    def _polled(self, timeout_s: float, most_s: float) -> Iterator[Event]:
        """Long polls instead of following: a stream that is silent could not be left in time."""
        deadline = time.monotonic() + timeout_s
        while not self.refresh().ended:
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                return
            yield Event(-1, "poll")
            self.data = self._client.show(self.id, wait_s=min(left_s, most_s), while_state=self.state)
            time.sleep(min(left_s, _PAUSE_S))

    def _failure(self) -> JobFailed:
        why, cause = describe_end(self.data)
        return JobFailed(f"Job {self.id} ended as {self.state}{why}", job=self.id, state=self.state, cause=cause)

    @property
    def outputs(self) -> dict[str, Array]:
        """Every output as an array of shape ``(batch, *shape)``, fetched now.

        Raises:
            Conflict: It has not succeeded.
        """
        return self._client.outputs(self.id)


OnChange = Callable[[Job], None]
"""Called with a job that has changed."""


def describe_end(job: answers.Job) -> tuple[str, str]:
    """How a message on a job's end goes on, "" where there is nothing to say; and the cause."""
    error = job.get("error")
    if not error:
        return "", ""
    message = error.get("message", "")
    return f": {message}" if message else "", error.get("cause", "")


def call_both(first: OnChange, second: OnChange | None) -> OnChange:
    """Calls one after the other."""

    def call(job: Job) -> None:
        first(job)
        if second is not None:
            second(job)

    return call
