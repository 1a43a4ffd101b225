# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Lists of jobs: which columns, in which form, and whether to go on as jobs change."""

from __future__ import annotations

import csv
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

from eddy.cli.support.output import Column, format_age, table
from eddy.core import names as texts
from eddy.core.units import format_duration

if TYPE_CHECKING:
    from eddy.client import Client

MAX_AGAIN = 500
"""Jobs that are looked at again, the newest, where the server's history began again."""
FORMATS = ("table", "csv", "json")
COLUMNS: Mapping[str, Column] = {
    column.key: column
    for column in (
        Column("Job", "id", right=True),
        Column("Tenant", "tenant"),
        Column("Application", "application"),
        Column("State", "state"),
        Column("Prio", "priority", right=True),
        Column("Items", "items", right=True),
        Column("Age", "age", right=True),
        Column("Waiting", "waiting", right=True),
        Column("Reconf.", "reconfiguring", right=True),
        Column("Running", "running", right=True),
        Column("Response", "response", right=True),
        Column("Loads", "reconfigurations", right=True),
        Column("Reuses", "reuses", right=True),
        Column("Preempted", "preemptions", right=True),
        Column("Place", "position", right=True),
        Column("Starts in", "starts", right=True),
        Column("Ends in", "ends", right=True),
        Column("Error", "error"),
        Column("Submitted", "submitted"),
        Column("Labels", "labels"),
    )
}
USUAL = ("id", "application", "state", "items", "age", "waiting", "reconfiguring", "running")
SPARED = ("reconfiguring", "waiting", "items", "running")
"""What a narrow terminal does without, first to last."""


def known_columns(text: str) -> str:
    """Refuse names that are no columns."""
    for name in text.split(",") if text else ():
        if name not in COLUMNS:
            raise typer.BadParameter(f"{name!r} is not one of {', '.join(COLUMNS)}.")
    return text


def default_columns(jobs: Sequence[Mapping[str, Any]], width: int | None = None) -> list[str]:
    """The columns of a list, with tenants where there are several.

    Args:
        width: Of the table that has them; what can be spared is left out where it would not fit, for a time that is cut
            tells nothing. None for other forms.
    """
    several = len({job["tenant"] for job in jobs}) > 1
    names = ["id", *(["tenant"] if several else []), *USUAL[1:]]
    rows = [_row(job) for job in jobs]
    spared = list(SPARED)
    while spared and width is not None and _needed(names, rows) > width:
        names = [name for name in names if name != spared[0]]
        del spared[0]
    return names


def _needed(names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> int:
    """Columns of a terminal that a table takes, two of them between its own."""
    cells = {name: [COLUMNS[name].title, *(str(row.get(name) or "-") for row in rows)] for name in names}
    widths = [max(map(texts.width, cells[name])) for name in names]
    return sum(widths) + 2 * len(names)


def show_list(jobs: Sequence[Mapping[str, Any]], columns: Sequence[str], form: str) -> None:
    """Print jobs."""
    if form == "json":
        for job in jobs:
            print(json.dumps({name: _plain(job, name) for name in columns}), flush=True)
    elif form == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([_cell(job, name) for name in columns] for job in jobs)
        sys.stdout.flush()
    elif jobs:
        table("", [COLUMNS[name] for name in columns], [_row(job) for job in jobs])


def follow_list(
    client: Client,
    known: Sequence[Mapping[str, Any]],
    columns: Sequence[str],
    form: str,
    state: str | None,
    fits: Callable[[Mapping[str, Any]], bool] = lambda job: True,
) -> None:
    """Print a line for every change of a job, until interrupted.

    Args:
        known: What was printed already.
        form: As `show_list` takes it; a table has no lines of its own, so its columns stand in one line.
        state: Only jobs that come into this state.
        fits: Whether a job is one of those asked for.
    """
    from eddy.client.transport.stream import RESTARTED

    last = {job["id"]: _state(job) for job in known}
    for event in client.events():
        if event.kind == RESTARTED:  # what happened meanwhile shows in the jobs as they are now
            changed = [*reversed(client.jobs(limit=MAX_AGAIN))]
        elif event.kind in ("submitted", "state", "result"):
            changed = [client.show(event.data["job"])]
        else:
            continue
        for job in changed:
            if last.get(job["id"]) == _state(job) or state not in (None, job["state"]) or not fits(job):
                continue
            last[job["id"]] = _state(job)
            if form == "json":
                show_list([job], columns, form)
            else:
                values = [str(_cell(job, name) if form == "csv" else _row(job).get(name, "")) for name in columns]
                print((",".join if form == "csv" else "  ".join)(values), flush=True)


def _state(job: Mapping[str, Any]) -> tuple[str, int]:
    return job["state"], job["progress"]["done"]


def _row(job: Mapping[str, Any]) -> dict[str, Any]:
    """For people."""
    progress, error = job["progress"], job["error"]
    times = {name: format_duration(job[f"{name}_s"]) for name in ("waiting", "reconfiguring", "running", "response")}
    return {
        **job,
        **times,
        "items": f"{progress['done']}/{progress['total']}",
        "age": format_age(job["submitted_unix_s"], time.time()),
        **{name: "" if value is None else format_duration(value) for name, value in _expected(job).items()},
        "position": (job.get("estimate") or {}).get("position"),
        "error": error["cause"] if error else "",
        "submitted": time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(job["submitted_unix_s"])),
        "labels": " ".join(f"{name}={value}" for name, value in job["labels"].items()),
    }


def _cell(job: Mapping[str, Any], name: str) -> Any:
    """One value in one cell."""
    return _row(job)[name] if name == "labels" else _plain(job, name)


def _expected(job: Mapping[str, Any]) -> dict[str, float | None]:
    """Board seconds until it starts and ends, nine times in ten; None where that is not known."""
    estimate = job.get("estimate") or {}
    at_s = estimate.get("at_s", 0.0)
    times = {"starts": estimate.get("start_p90_s"), "ends": estimate.get("end_p90_s")}
    return {name: None if time_s is None else max(time_s - at_s, 0.0) for name, time_s in times.items()}


def _plain(job: Mapping[str, Any], name: str) -> Any:
    """For programs: seconds as numbers."""
    progress, error = job["progress"], job["error"]
    special = {
        "items": f"{progress['done']}/{progress['total']}",
        "age": round(time.time() - job["submitted_unix_s"], 3),
        "submitted": job["submitted_unix_s"],
        "position": (job.get("estimate") or {}).get("position"),
        **_expected(job),
        "error": error["cause"] if error else "",
    }
    return special[name] if name in special else job.get(f"{name}_s", job.get(name))
