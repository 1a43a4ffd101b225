# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy replay`: what a recorded live trace would have been under another policy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from eddy.cli.support.options import AsJson, one_of
from eddy.cli.support.output import Column, errors_in_one_line, print_json, table
from eddy.core.units import format_duration

if TYPE_CHECKING:
    from eddy_studies.replay import Replayed

POLICY_NAMES = ("eddy", "nimblock", "prema", "round_robin", "fcfs", "exclusive")
DATABASE = "eddy.sqlite3"
_COLUMNS = (
    Column("Job", "job", right=True),
    Column("Application", "application"),
    Column("Tenant", "tenant"),
    Column("Pri", "priority", right=True),
    Column("Then", "recorded", right=True),
    Column("Now", "replayed", right=True),
    Column("Change", "change", right=True),
    Column("Taken", "preemptions", right=True),
    Column("Loads", "loads", right=True),
)
"""Numbers are as wide as they get; names give way, see `_short`."""


def replay(
    trace: Annotated[Path, typer.Argument(help="The data folder of `eddy serve`, or the database in it.")],
    policy: Annotated[str, typer.Option(help=f"One of {', '.join(POLICY_NAMES)}.", callback=one_of(POLICY_NAMES))],
    bitstreams: Annotated[str, typer.Option(help="Where the applications' packages are; else the project's.")] = "",
    as_json: AsJson = False,
) -> None:
    """Run a recorded trace under another policy in virtual time, and print the difference."""
    from eddy.cli.support.installed import bitstreams_folder
    from eddy.core.errors import InvalidRequest
    from eddy.packages.catalogue import load_catalogue
    from eddy.store import Store

    from eddy_studies.replay import read_trace
    from eddy_studies.replay import replay as run

    with errors_in_one_line(as_json):
        database = trace / DATABASE if trace.is_dir() else trace
        if not database.is_file():
            raise InvalidRequest(f"there is no {database}; name the data folder of `eddy serve`", field="trace")
        applications = load_catalogue(bitstreams_folder(bitstreams), database.parent / "applications").applications
        store = Store(database)
        try:
            recorded = read_trace(store, applications)
        finally:
            store.close()
        rows = run(recorded, applications, policy)
    if as_json:
        print_json({"policy": policy, "left_out": recorded.left_out, "jobs": rows})
        return
    table(f"as recorded, and under {policy}", _COLUMNS, [_row(row) for row in rows])
    _summary(rows, recorded.left_out)


def _row(row: Replayed) -> dict[str, object]:
    return {
        "job": row.job,
        "application": _short(row.application, 19),
        "tenant": _short(row.tenant, 10),
        "priority": row.priority,
        "recorded": format_duration(row.response_s),
        "replayed": format_duration(row.replayed_s),
        "change": f"{row.replayed_s / row.response_s - 1:+.1%}" if row.response_s else "-",
        "preemptions": f"{row.preemptions}>{row.preemptions_replayed}",
        "loads": f"{row.reconfigurations}>{row.reconfigurations_replayed}",
    }


def _short(name: str, width: int) -> str:
    return name if len(name) <= width else name[: width - 1] + "…"


def _summary(rows: tuple[Replayed, ...], left_out: int) -> None:
    then, now = (sorted(values) for values in zip(*((r.response_s, r.replayed_s) for r in rows), strict=True))
    print(f"mean response  {format_duration(sum(then) / len(then))} -> {format_duration(sum(now) / len(now))}")
    print(f"median         {format_duration(then[len(then) // 2])} -> {format_duration(now[len(now) // 2])}")
    print(f"longest        {format_duration(then[-1])} -> {format_duration(now[-1])}")
    due = [row for row in rows if row.late is not None]
    if due:
        late, late_now = sum(bool(row.late) for row in due), sum(bool(row.late_replayed) for row in due)
        print(f"late           {late} -> {late_now} of {len(due)}")
    if left_out:
        print(f"left out       {left_out} jobs that did not succeed, or ran kernels")
