# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy tenant` and `eddy key`: who may use the board, within which bounds, and by which keys."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from eddy.cli.support.local import Answer, Client, asks_server
from eddy.cli.support.output import Column, print_status, say_damaged, table
from eddy.core.units import format_bytes

tenant = typer.Typer(help="Tenants and their bounds (the operator's key is needed).", no_args_is_help=True)
key = typer.Typer(help="API keys: several a tenant, shown once, scoped, expiring.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="The tenant's name.")]
NONE = "none"
_ANY = f"`{NONE}` for any number."


def _number(text: str) -> float | None:
    """A bound of the command line; None for `none`."""
    if text == NONE:
        return None
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is neither a number nor `{NONE}`.") from None


@tenant.command("add")
@asks_server
def tenant_add(
    client: Client,
    name: Annotated[str, typer.Argument(help="Letters, digits, _ . - ; begins with a letter.")],
    max_jobs: Annotated[
        int | None,
        typer.Option("--max-jobs", min=1, help="Unfinished jobs at once; 64 by default, at a pool's head any number."),
    ] = None,
    max_blob_bytes: Annotated[
        int | None, typer.Option("--max-blob-bytes", min=0, help="Bytes of blobs kept on a board; 1 GiB by default.")
    ] = None,
    weight: Annotated[
        float | None,
        typer.Option("--weight", min=1e-6, max=1e6, help="Its share relative to other tenants; 1 by default."),
    ] = None,
    called: Annotated[str, typer.Option("--display-name", help="What people call it, in any script.")] = "",
    max_priority: Annotated[
        int | None, typer.Option("--max-priority", help="Highest priority of its jobs: 1, 3 or 9; 1 by default.")
    ] = None,
    admin: Annotated[bool, typer.Option("--admin", help="May do what the operator may.")] = False,
) -> Answer:
    """Add a tenant and print its key, this once."""
    bounds = {"max_jobs": max_jobs, "max_blob_bytes": max_blob_bytes, "max_priority": max_priority}
    named = {field: value for field, value in bounds.items() if value is not None}
    created = client.add_tenant(name, admin=admin, weight=weight, display_name=called, **named)
    yield created
    print_status(f"tenant {name} added; its key is shown this once:")
    print(created["key"])


@tenant.command("set")
@asks_server
def tenant_set(
    client: Client,
    name: Name,
    weight: Annotated[
        float | None, typer.Option("--weight", min=1e-6, max=1e6, help="Its share relative to other tenants.")
    ] = None,
    min_progress: Annotated[
        float | None,
        typer.Option("--min-progress", min=0, max=1, help="Part of their speed alone that its kernels are promised."),
    ] = None,
    called: Annotated[
        str | None, typer.Option("--display-name", help='What people call it, in any script; "" for nothing else.')
    ] = None,
    max_jobs: Annotated[int | None, typer.Option("--max-jobs", min=1, help="Unfinished jobs at once.")] = None,
    max_blob_bytes: Annotated[int | None, typer.Option("--max-blob-bytes", min=0, help="Bytes of blobs kept.")] = None,
    max_priority: Annotated[int | None, typer.Option("--max-priority", help="Highest priority: 1, 3 or 9.")] = None,
    max_requests: Annotated[str, typer.Option("--max-requests", help=f"Requests a second; {_ANY}")] = "",
    max_slot_s: Annotated[str, typer.Option("--max-slot-s", help=f"Board seconds of slots a day; {_ANY}")] = "",
    max_core_s: Annotated[str, typer.Option("--max-core-s", help=f"Board seconds of cores a day; {_ANY}")] = "",
    max_leases: Annotated[int | None, typer.Option("--max-leases", min=0, help="Leases at once.")] = None,
    max_lease_s: Annotated[float | None, typer.Option("--max-lease-s", min=0, help="Seconds of a lease.")] = None,
) -> Answer:
    """Change a tenant's weight and bounds while it works; what is not named stays."""
    counts = {"max_jobs": max_jobs, "max_blob_bytes": max_blob_bytes, "max_priority": max_priority}
    leases = {"max_leases": max_leases, "max_lease_s": max_lease_s}
    named = {field: value for field, value in {**counts, **leases}.items() if value is not None}
    texts = {"max_requests_per_s": max_requests, "max_slot_s": max_slot_s, "max_core_s": max_core_s}
    quota: dict[str, Any] = {**named, **{field: _number(text) for field, text in texts.items() if text}}
    changed = client.change_tenant(name, weight=weight, min_progress=min_progress, display_name=called, **quota)
    yield changed
    _list([changed])


@tenant.command("remove")
@asks_server
def tenant_remove(
    client: Client,
    name: Name,
    cancel: Annotated[bool, typer.Option("--cancel", help="Cancel its jobs that have not ended.")] = False,
) -> Answer:
    """Remove a tenant with its jobs, blobs, outputs and keys; accounts of use and the audit log keep its name."""
    left = client.remove_tenant(name, cancel=cancel)
    yield left
    cancelled = f"; {left['jobs']} jobs of it are cancelled first" if left["jobs"] else ""
    print_status(f"tenant {name}: its keys are no good any more, and all else of it goes now{cancelled}")


@tenant.command("list")
@asks_server
def tenant_list(client: Client) -> Answer:
    """List tenants, their weights and bounds."""
    found = client.tenants()
    say_damaged("tenants", found.damaged)
    yield {"tenants": found}
    _list(found)


def _list(found: Sequence[Mapping[str, Any]]) -> None:
    columns = (
        Column("Tenant", "id"),
        *([Column("Called", "display_name")] if any(entry["display_name"] for entry in found) else []),
        Column("Oper.", "admin"),
        Column("Weight", "weight", right=True),
        Column("Jobs", "max_jobs", right=True),
        Column("Prio", "max_priority", right=True),
        Column("Req/s", "max_requests_per_s", right=True),
        Column("Slot-s", "max_slot_s", right=True),
        Column("Core-s", "max_core_s", right=True),
        Column("Blobs", "blobs", right=True),
    )
    rows = [
        {
            **entry,
            **entry["quota"],
            "blobs": format_bytes(entry["quota"]["max_blob_bytes"]),
            "weight": entry["attributes"].get("weight", 1.0),
        }
        for entry in found
    ]
    table("", columns, rows)


# Keys -----------------------------------------------------------------------------------------------------------------

Scope = Annotated[str, typer.Option("--scope", help="tenant, read (changes nothing) or operator.")]
Days = Annotated[float | None, typer.Option("--days", min=1e-6, help="Wall days until it expires; never by default.")]
Label = Annotated[str, typer.Option("--label", help="Name you give it.")]
KeyName = Annotated[str, typer.Argument(metavar="ID", help="The key's name, as `eddy key list` shows it.")]
DAY_S = 86400.0


@key.command("add")
@asks_server
def key_add(
    client: Client,
    for_tenant: Annotated[str, typer.Option("--tenant", help="For this tenant (operators); yourself by default.")] = "",
    scope: Scope = "tenant",
    days: Days = None,
    label: Label = "",
) -> Answer:
    """Make another key and print it, this once."""
    fields = {"tenant": for_tenant or None, "scope": scope, "label": label}
    made = client.make_key(**fields, expires_in_s=None if days is None else days * DAY_S)
    yield made
    _made(made)


@key.command("rotate")
@asks_server
def key_rotate(
    client: Client,
    old: KeyName,
    grace_s: Annotated[
        float, typer.Option("--grace-s", min=0, help="Wall seconds for which the old key stays valid.")
    ] = 0.0,
    days: Days = None,
) -> Answer:
    """Make a key in place of another, and print it, this once."""
    expires_in_s = None if days is None else days * DAY_S
    made = client.make_key(replaces=old, grace_s=grace_s, expires_in_s=expires_in_s)
    yield made
    _made(made)


def _made(made: Mapping[str, Any]) -> None:
    print_status(f"key {made['id']} of {made['tenant']} ({made['scope']}); it is shown this once:")
    print(made["key"])


@key.command("list")
@asks_server
def key_list(
    client: Client,
    of: Annotated[str, typer.Option("--tenant", help="Only this tenant's (operators).")] = "",
) -> Answer:
    """List keys: your own, or everyone's for the operator."""
    found = client.keys(of)
    say_damaged("keys", found.damaged)
    yield {"keys": found}
    columns = (
        Column("Key", "id"),
        Column("Tenant", "tenant"),
        Column("Scope", "scope"),
        Column("Label", "label"),
        Column("Made", "made"),
        Column("State", "state"),
    )
    table("", columns, [{**each, "made": _day(each["created_unix_s"]), "state": _state(each)} for each in found])


def _state(each: Mapping[str, Any]) -> str:
    if not each["valid"]:
        return "ended"
    ends = [at for at in (each["expires_unix_s"], each["revoked_unix_s"]) if at is not None]
    return f"until {_day(min(ends))}" if ends else "good"


def _day(unix_s: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(unix_s))


@key.command("revoke")
@asks_server
def key_revoke(client: Client, name: KeyName) -> Answer:
    """Revoke a key; sessions that were opened with it end too."""
    client.revoke_key(name)
    yield {"id": name, "valid": False}
    print_status(f"key {name}: no good any more")
