# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy apps | slots`."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

from eddy.cli.support.local import Answer, Client, asks_server
from eddy.cli.support.output import Column, print_status, table
from eddy.core.units import format_duration


@asks_server
def apps(client: Client) -> Answer:
    """List applications: their tasks, and what they take and give."""
    found = client.apps()
    yield {"apps": found}
    for app in found:
        print("\n".join(app_lines(app)))
    if not found:
        print_status("no applications")


def app_lines(app: Mapping[str, Any]) -> list[str]:
    """An application for people, in lines of at most 80 characters."""
    tasks = textwrap.wrap(" ".join(task["name"] for task in app["tasks"]), width=70)
    lines = [f"{app['name']}  (batch up to {app['max_batch']})"]
    lines += [f"  {'tasks' if number == 0 else '':<7}{line}" for number, line in enumerate(tasks)]
    if app.get("refused"):
        lines += textwrap.wrap(f"refused: {app['refused']}", width=78, initial_indent="  ", subsequent_indent="    ")
    for buffer in app["buffers"]:
        if buffer["role"] != "intermediate":
            note = "  ships with the package" if buffer["shipped"] else ""
            lines.append(f"  {buffer['role']:<9}{buffer['name']}  {buffer['dtype']}{buffer['shape']}{note}")
    return lines


_SLOTS = (
    Column("Slot", "slot", right=True),
    Column("Pool", "pool"),
    Column("Phase", "phase"),
    Column("Since", "since", right=True),
    Column("Module", "module"),
    Column("Tenant", "tenant"),
    Column("Job", "job", right=True),
    Column("Item", "item", right=True),
)


@asks_server
def slots(client: Client) -> Answer:
    """List slots: what each holds and does now; other tenants' names do not show."""
    found = client.slots()
    yield found
    rows = [
        {**slot, "phase": phase_of(slot), "since": format_duration(found["now_s"] - slot["since_s"])}
        for slot in found["slots"]
    ]
    table(f"board time {found['now_s']:.6f} s", _SLOTS, rows)
    for slot in found["slots"]:
        if slot.get("drained_because"):
            print_status(f"slot {slot['slot']}: {slot['drained_because']}")
    if not found.get("computes", True):
        print_status("eddy: this board models times: accelerators compute nothing, and their outputs are zeros")


def phase_of(slot: Mapping[str, Any]) -> str:
    """What a slot does, in a word or two."""
    if not slot.get("drained"):
        return str(slot["phase"])
    return "drained" if slot["phase"] in ("empty", "idle", "faulted") else "draining"
