# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A progress bar while a job is waited for: in a notebook, in a terminal, and nowhere else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from eddy.client.calls import pictures

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
def shown(job: Mapping[str, Any]) -> Iterator[Tell]:
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
