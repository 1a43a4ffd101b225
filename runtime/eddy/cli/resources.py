"""`eddy apps | slots | tenant`."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from eddy.cli.local import connect
from eddy.cli.options import KEY, URL, AsJson, Key, Url
from eddy.cli.output import Column, errors_in_one_line, print_json, say, seconds, table

tenant = typer.Typer(help="Tenants and their keys (the operator's key is needed).", no_args_is_help=True)


def apps(url: Url = URL, key: Key = KEY, as_json: AsJson = False) -> None:
    """List applications: their tasks, and what they take and give."""
    with errors_in_one_line(as_json), connect(url, key) as client:
        found = client.apps()
    if as_json:
        print_json({"apps": found})
        return
    for app in found:
        print("\n".join(app_lines(app)))
    if not found:
        say("no applications")


def app_lines(app: Mapping[str, Any]) -> list[str]:
    """An application for people, in lines of at most 80 characters."""
    tasks = textwrap.wrap(" ".join(task["name"] for task in app["tasks"]), width=70)
    lines = [f"{app['name']}  (batch up to {app['max_batch']})"]
    lines += [f"  {'tasks' if number == 0 else '':<7}{line}" for number, line in enumerate(tasks)]
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


def slots(url: Url = URL, key: Key = KEY, as_json: AsJson = False) -> None:
    """List slots: what each holds and does now; other tenants' names do not show."""
    with errors_in_one_line(as_json), connect(url, key) as client:
        found = client.slots()
    if as_json:
        print_json(found)
        return
    rows = [
        {**slot, "phase": phase_of(slot), "since": seconds(found["now_s"] - slot["since_s"])} for slot in found["slots"]
    ]
    table(f"board time {found['now_s']:.6f} s", _SLOTS, rows)
    for slot in found["slots"]:
        if slot.get("drained_because"):
            say(f"slot {slot['slot']}: {slot['drained_because']}")
    if not found.get("computes", True):
        say("eddy: this board models times alone: nothing is computed, and outputs are zeros")


def phase_of(slot: Mapping[str, Any]) -> str:
    """What a slot does, in a word or two."""
    if not slot.get("drained"):
        return str(slot["phase"])
    return "drained" if slot["phase"] in ("empty", "idle", "faulted") else "draining"


@tenant.command("add")
def tenant_add(
    name: Annotated[str, typer.Argument(help="Letters, digits, _ . - ; begins with a letter.")],
    max_jobs: Annotated[int, typer.Option("--max-jobs", min=1, help="Jobs that have not ended, at once.")] = 64,
    max_blob_bytes: Annotated[int, typer.Option("--max-blob-bytes", min=0, help="Bytes of blobs kept.")] = 1 << 30,
    weight: Annotated[
        float | None,
        typer.Option("--weight", min=1e-6, max=1e6, help="What it is entitled to beside the others; 1 else."),
    ] = None,
    admin: Annotated[bool, typer.Option("--admin", help="May do what the operator may.")] = False,
    url: Url = URL,
    key: Key = KEY,
    as_json: AsJson = False,
) -> None:
    """Add a tenant and print its key, this once."""
    with errors_in_one_line(as_json), connect(url, key) as client:
        bounds = {"max_jobs": max_jobs, "max_blob_bytes": max_blob_bytes}
        created = client.add_tenant(name, admin=admin, weight=weight, **bounds)
    if as_json:
        print_json(created)
        return
    say(f"tenant {name} added; its key is shown this once:")
    print(created["key"])


@tenant.command("list")
def tenant_list(url: Url = URL, key: Key = KEY, as_json: AsJson = False) -> None:
    """List tenants and their bounds."""
    with errors_in_one_line(as_json), connect(url, key) as client:
        found = client.tenants()
    if as_json:
        print_json({"tenants": found})
        return
    columns = (
        Column("Tenant", "id"),
        Column("Operator", "admin"),
        Column("Jobs", "max_jobs", right=True),
        Column("Blob bytes", "max_blob_bytes", right=True),
    )
    table("", columns, [{**entry, **entry["quota"]} for entry in found])
