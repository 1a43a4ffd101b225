# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy demo`: three tenants share the simulated board over HTTP, and every answer is checked."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from eddy.cli.support.installed import not_installed
from eddy.cli.support.options import PROFILE, AsJson, default, option
from eddy.cli.support.output import FAILED, Column, errors_in_one_line, print_json, print_status, table
from eddy.core.units import format_duration
from eddy.host import signals


def demo(
    profile: Annotated[str, option("profile")] = PROFILE,
    policy: Annotated[str, option("policy")] = default("policy"),
    out: Annotated[str, option("out")] = default("out"),
    slowdown: Annotated[
        bool, typer.Option("--slowdown", help="Instead: three tenants on one GPU cluster, one hungry for memory.")
    ] = False,
    pool: Annotated[
        bool, typer.Option("--pool", help="Instead: a pool of three boards, one of which is killed in mid-work.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Build the simulated board, let three tenants submit real jobs over HTTP, check every result.

    With --slowdown, show how much tenants of one cluster slow each other down, and what price policies do about it.
    With --pool, place jobs on three boards and kill one of them.
    """
    with signals.catch_signals(), errors_in_one_line(as_json), signals.raise_on_signal():
        try:
            from eddy.cli.demo import demo_run, demo_slowdown
        except ModuleNotFoundError as missing:
            raise not_installed(missing, "demo") from missing
        folder = Path(out)
        clock = ProgressClock()
        if slowdown:
            with tempfile.TemporaryDirectory(prefix="eddy-demo-") as data:
                shown = demo_slowdown.run(Path(data), folder, clock.say, clock.progress).to_json()
            if as_json:
                print_json(shown)
            else:
                _show_slowdown(shown)
            if not shown["verified"]:
                print_status("eddy: a result is wrong")
                raise typer.Exit(FAILED)
            return
        if pool:
            _run_pool(profile, folder, clock, as_json)
            return
        with tempfile.TemporaryDirectory(prefix="eddy-demo-") as data:
            report = demo_run.run(profile, policy, Path(data), folder, clock.say, clock.progress)
    if as_json:
        print_json(report.to_json())
    else:
        _show(report.to_json())
    if not report.verified:
        print_status("eddy: a result is wrong")
        raise typer.Exit(FAILED)


def _run_pool(profile: str, folder: Path, clock: ProgressClock, as_json: bool) -> None:
    """Run the demonstration of a pool, and print what came of it."""
    try:
        from eddy.cli.demo import demo_pool
    except ModuleNotFoundError as missing:
        raise not_installed(missing, "demo") from missing
    with tempfile.TemporaryDirectory(prefix="eddy-demo-") as data:
        shown = demo_pool.run(profile, Path(data), folder, clock.say, clock.progress).to_json()
    if as_json:
        print_json(shown)
    else:
        rows = [{**job, "boards": ", ".join(job["boards"])} for job in shown["jobs"]]
        table("Where each job ran", _POOL_COLUMNS, rows)
        print(
            f"{shown['took_s']:.1f} s from the first submission to the last end; {shown['killed']['board']} was killed"
        )
        print(f"picture  {shown['picture']}")
    if not shown["verified"]:
        print_status("eddy: a result is wrong")
        raise typer.Exit(FAILED)


class ProgressClock:
    """Progress lines with the wall time since the start."""

    QUIET_S = 5.0
    """Seconds between two lines about the same thing, where lines cannot change."""

    def __init__(self) -> None:
        self._start = self._told_s = time.monotonic()
        self._open_line = False

    def say(self, text: str) -> None:
        """One line to standard error."""
        if self._open_line:
            print(file=sys.stderr)
            self._open_line = False
        print_status(self._timed(text))

    def progress(self, text: str) -> None:
        """How far something is: one line that changes on a terminal, a line now and then elsewhere."""
        now_s = time.monotonic()
        if sys.stderr.isatty():
            print(f"\r\x1b[K{self._timed(text)}", end="", file=sys.stderr, flush=True)
            self._open_line = True
        elif now_s - self._told_s >= self.QUIET_S:
            self._told_s = now_s
            print_status(self._timed(text))

    def _timed(self, text: str) -> str:
        return f"eddy: [{time.monotonic() - self._start:4.0f} s] {text}"


_COLUMNS = (
    Column("Tenant", "tenant"),
    Column("Application", "application"),
    Column("Batch", "batch", right=True),
    Column("Waiting", "waiting", right=True),
    Column("Reconf.", "reconfiguring", right=True),
    Column("Running", "running", right=True),
    Column("Verified", "verified"),
    Column("Quality", "quality"),
)


_POOL_COLUMNS = (
    Column("Job", "id", right=True),
    Column("Tenant", "tenant"),
    Column("Batch", "batch", right=True),
    Column("Boards", "boards"),
    Column("Moves", "moves", right=True),
    Column("Verified", "verified"),
)


def _show_slowdown(report: dict[str, Any]) -> None:
    names = [tenant["name"] for tenant in report["tenants"]]
    numbers = (("fairness", "Fairness"), ("stp", "STP"), ("antt", "ANTT"))
    columns = (
        Column("Policy", "policy"),
        *(Column(name, name, right=True) for name in names),
        *(Column(title, key, right=True) for key, title in numbers),
    )
    rows = [
        {
            "policy": each["policy"],
            **{name: f"{each['progress'][name]:.2f}" for name in names},
            **{key: f"{each[key]:.2f}" for key, _ in numbers},
        }
        for each in report["policies"]
    ]
    table("Measured progress: speed beside the others over speed alone", columns, rows)
    for tenant in report["tenants"]:
        promise = f"; promised {tenant['promised']:g}" if tenant["promised"] else ""
        print(f"{tenant['name']:<9}{tenant['does']}{promise}")
    print(f"{'picture':<9}{report['picture']}")


def _show(report: dict[str, Any]) -> None:
    rows = [
        {
            **job,
            "waiting": format_duration(job["waiting_s"]),
            "reconfiguring": format_duration(job["reconfiguring_s"]),
            "running": format_duration(job["running_s"]),
        }
        for job in report["jobs"]
    ]
    table("Board time of each job", _COLUMNS, rows)
    for name in ("timeline", "trace", "picture"):
        print(f"{name:<9}{report[name]}")
    print("Open the trace at https://ui.perfetto.dev")
