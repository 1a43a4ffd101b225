# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Progress on standard error: bars on a terminal, a line for each change elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from eddy.cli.support.expected import estimate_line, short_outlook
from eddy.cli.support.output import print_status

if TYPE_CHECKING:
    from eddy.client import Job


class Watch(Protocol):
    """Is told about jobs as they go on; safe to call from several threads."""

    def __call__(self, job: Job) -> None:
        """Take note of a job as it is now."""


@contextmanager
def show_progress() -> Iterator[Watch]:
    """Show jobs' progress while the block runs."""
    if sys.stderr.isatty():
        with _bars() as watch:
            yield watch
    else:
        yield _Lines()


class _Lines:
    """A line when a job reaches a state for the first time."""

    def __init__(self) -> None:
        self._seen: set[tuple[int, str]] = set()

    def __call__(self, job: Job) -> None:
        if (job.id, job.state) not in self._seen:
            self._seen.add((job.id, job.state))
            progress = job.data["progress"]
            said = f"job {job.id} {job.data['application']}: {job.state} ({progress['done']}/{progress['total']} items)"
            expected = estimate_line(job.data.get("estimate"), job.state)
            print_status(f"{said}; {expected}" if expected else said)


@contextmanager
def _bars() -> Iterator[Watch]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

    columns = (
        TextColumn("{task.description:<38}"),
        BarColumn(bar_width=14),
        MofNCompleteColumn(),
        TextColumn("{task.fields[state]:<27}"),
    )
    with Progress(*columns, console=Console(stderr=True)) as bars:
        known: dict[int, TaskID] = {}

        def watch(job: Job) -> None:
            progress = job.data["progress"]
            if job.id not in known:
                name = f"job {job.id} {job.data['tenant']} {job.data['application']}"
                known[job.id] = bars.add_task(name[:38], total=progress["total"], state=_state(job))
            bars.update(known[job.id], completed=progress["done"], state=_state(job))

        yield watch


def _state(job: Job) -> str:
    """A job's state, and what is next."""
    return f"{job.state} {short_outlook(job.data.get('estimate'))}".strip()
