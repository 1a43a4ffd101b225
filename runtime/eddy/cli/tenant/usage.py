# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy usage | quota`: what was had of the board by day, and what may be had."""

from __future__ import annotations

import csv
import sys
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from eddy.cli.support.local import Answer, Client, asks_server
from eddy.cli.support.output import Column, print_status, table

_NS = 1e9


@asks_server
def usage(
    client: Client,
    first: Annotated[str, typer.Option("--from", metavar="DAY", help="First day (UTC), as 2026-11-22.")] = "",
    last: Annotated[str, typer.Option("--to", metavar="DAY", help="Last day.")] = "",
    tenant: Annotated[str, typer.Option("--tenant", help="Only this tenant's (operators).")] = "",
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV, in whole nanoseconds.")] = False,
) -> Answer:
    """Show accounts of slots and cores by day and tenant; the operator's add up to the board's time exactly."""
    found = client.usage(first, last, tenant)
    yield found
    if as_csv:
        writer = csv.DictWriter(sys.stdout, ["day", "tenant", "slot_ns", "shared_ns", "core_ns"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(found["entries"])
        return
    columns = (
        Column("Day", "day"),
        Column("Tenant", "who"),
        Column("Slot-seconds", "slot_s", right=True),
        Column("Shared slots, s", "shared_s", right=True),
        Column("Core-seconds", "core_s", right=True),
    )
    table("", columns, [_row(entry) for entry in found["entries"]])
    board = found["board"]
    if board and not (first or last or tenant):
        passed_ns = board["before_ns"] + board["slots"] * (board["to_ns"] - board["from_ns"])
        charged_ns = sum(entry["slot_ns"] + entry["shared_ns"] for entry in found["entries"])
        said = f"{board['slots']} slots for {(board['to_ns'] - board['from_ns']) / _NS:.6f} s of board time"
        if board["before_ns"]:
            said += f", and {board['before_ns'] / _NS:.6f} slot-seconds of before with another number of slots"
        print_status(
            f"{said}: {'all of it is charged' if charged_ns == passed_ns else f'{passed_ns - charged_ns} ns are not'}"
        )


def _row(entry: Mapping[str, Any]) -> dict[str, str]:
    seconds = {f"{unit}_s": f"{entry[f'{unit}_ns'] / _NS:.6f}" for unit in ("slot", "shared", "core")}
    return {"day": entry["day"], "who": entry["tenant"] or "(nobody)", **seconds}


def _seconds(used: float | None) -> str | None:
    """None where it is not counted, as at a head of a pool."""
    return None if used is None else f"{used:.6f}"


@asks_server
def quota(client: Client) -> Answer:
    """Show your bounds, and how much of each is used."""
    found = client.quota()
    yield found
    bounds = found["quota"]
    rows = [
        ("jobs not ended", found["jobs"], bounds["max_jobs"]),
        ("bytes of blobs", found["blob_bytes"], bounds["max_blob_bytes"]),
        ("slot-seconds today (UTC)", _seconds(found["slot_s"]), bounds["max_slot_s"]),
        ("core-seconds today (UTC)", _seconds(found["core_s"]), bounds["max_core_s"]),
        ("requests a second", None, bounds["max_requests_per_s"]),
        ("highest priority", None, bounds["max_priority"]),
        ("weight", None, found["weight"]),
    ]
    columns = (Column("What", "what"), Column("Used", "used", right=True), Column("Bound", "bound", right=True))
    shown = [{"what": what, "used": used, "bound": "any" if bound is None else bound} for what, used, bound in rows]
    table(f"tenant {found['tenant']}", columns, shown)
