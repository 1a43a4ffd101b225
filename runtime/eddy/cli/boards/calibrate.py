# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy calibrate`: what a board's memory gives by row-buffer hit rate, for policies that go by progress."""

from __future__ import annotations

import contextlib
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from eddy.cli.support.options import BOARD, PROFILE, AsJson, default, option
from eddy.cli.support.output import Column, errors_in_one_line, print_json, print_status, table
from eddy.core.errors import InvalidRequest
from eddy.core.units import format_rate
from eddy.host import signals

if TYPE_CHECKING:
    from eddy.hypervisor.cores.calibration import MemoryCalibration


def calibrate(
    board: Annotated[str, option("board")] = BOARD,
    profile: Annotated[str, option("profile")] = PROFILE,
    calibration: Annotated[str, option("calibration")] = default("calibration"),
    data: Annotated[str, option("data")] = default("data"),
    bitstreams: Annotated[str, option("bitstreams")] = default("bitstreams"),
    as_json: AsJson = False,
) -> None:
    """Run kernels alone on the board's largest cluster, and keep what they say of its memory ([001] 2.3.2).

    Nothing else may use the board meanwhile. `eddy serve` reads the file when it starts.
    """
    with signals.catch_signals(), errors_in_one_line(as_json), signals.raise_on_signal():
        if board == "model":
            message = "The model board has no memory that could be measured; calibrate rtl or pynq."
            raise InvalidRequest(message, field="board", allowed=["rtl", "pynq"])
        from eddy.board.port.profile import load_profile
        from eddy.board.remote.factory import open_board
        from eddy.cli.support.installed import bitstreams_folder
        from eddy.hypervisor.cores import calibration as kept
        from eddy.hypervisor.engine.calibration_run import calibrate as measure
        from eddy.packages.catalogue import load_catalogue

        path = Path(calibration).expanduser() if calibration else Path(data).expanduser() / kept.FILE
        bytes_per_s = load_profile(profile).dram.bytes_per_s
        modules = load_catalogue(bitstreams_folder(bitstreams)).modules
        print_status(f"eddy: opening {board} board, profile {profile}")
        opened = open_board(board, profile, progress=lambda text: print_status(f"eddy: {text}"))
        with contextlib.ExitStack() as ending:
            ending.callback(opened.release)
            found = measure(opened, modules, bytes_per_s, lambda text: print_status(f"eddy: {text}"))
        kept.save(found, path)
        report = report_of(found, path)
    if as_json:
        print_json(report)
    else:
        show(report)


def report_of(found: MemoryCalibration, path: Path) -> dict[str, Any]:
    """What `eddy calibrate --json` prints: the law, its points, and how far laws of pairs are from it."""
    from eddy.hypervisor.cores.calibration import laws_by_pair

    pairs = laws_by_pair(found)
    rates = [point.row_hit_rate for point in found.points]
    apart = [abs(law.utilisation(rate) / found.law.utilisation(rate) - 1) for law in pairs for rate in rates]
    mean, most = (sum(apart) / len(apart), max(apart)) if apart else (None, None)
    return {"file": str(path), **asdict(found), "pairs": {"count": len(pairs), "mean_apart": mean, "most_apart": most}}


def show(report: dict[str, Any]) -> None:
    """Print a report for people."""
    law, pairs = report["law"], report["pairs"]
    columns = (
        Column("Kernel", "kernel"),
        Column("Hit rate", "rate", right=True),
        Column("Of bandwidth", "reached", right=True),
    )
    rows = [
        {**p, "rate": f"{p['row_hit_rate']:.3f}", "reached": f"{100 * p['utilisation']:.1f} %"}
        for p in report["points"]
    ]
    table("", columns, rows)
    print(f"utilisation = {law['c1']:.4f} x hit rate + {law['c2']:.4f}, of {format_rate(law['peak_bytes_per_s'])}")
    if pairs["count"]:
        apart = f"{100 * pairs['mean_apart']:.1f} % apart in the mean, {100 * pairs['most_apart']:.1f} % at most"
        print(f"laws of {pairs['count']} pairs of a low and a high hit rate: {apart}")
    print_status(f"eddy: kept in {report['file']}; `eddy serve` reads it when it starts")
