# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy drain | undrain | policy | purge`: what the operator changes while jobs run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from eddy.cli.support.local import connect
from eddy.cli.support.options import KEY, URL, AsJson, Key, Url
from eddy.cli.support.output import errors_in_one_line, print_json, print_status
from eddy.cli.tenant.resources import phase_of

DAY_S = 86400.0
SlotIndex = Annotated[int, typer.Argument(metavar="SLOT", min=0, help="Its index, as `eddy slots` shows it.")]


def drain(
    slot: SlotIndex,
    because: Annotated[str, typer.Option("--because", help="Why, for operators who see it later.")] = "",
    url: Url = URL,
    key: Key = KEY,
    as_json: AsJson = False,
) -> None:
    """Take a slot out of use: what runs there ends, its job continues elsewhere. Survives restarts."""
    with errors_in_one_line(as_json), connect(url, key) as client:
        answer = client.drain(slot, because)
    _say(answer, as_json)


def undrain(slot: SlotIndex, url: Url = URL, key: Key = KEY, as_json: AsJson = False) -> None:
    """Put a drained or quarantined slot back into use."""
    with errors_in_one_line(as_json), connect(url, key) as client:
        answer = client.undrain(slot)
    _say(answer, as_json)


def _say(slot: Mapping[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(slot)
    else:
        print_status(
            f"slot {slot['slot']}: {phase_of(slot)}" + (f" ({slot['drained_because']})" if slot["drained"] else "")
        )


def purge(
    days: Annotated[float, typer.Option("--days", min=0, help="Only jobs that ended at least so many wall days ago.")],
    tenant: Annotated[str, typer.Option("--tenant", help="Only this tenant's.")] = "",
    keep: Annotated[int, typer.Option("--keep", min=0, help="Ended jobs of each tenant that stay: the latest.")] = 0,
    url: Url = URL,
    key: Key = KEY,
    as_json: AsJson = False,
) -> None:
    """Remove jobs that have ended, with their events and outputs; `eddy serve --retention-age-s` does it by itself."""
    with errors_in_one_line(as_json), connect(url, key) as client:
        removed = client.purge_jobs(days * DAY_S, tenant=tenant, keep=keep)
    if as_json:
        print_json({"removed": removed})
    else:
        print_status(f"{removed} jobs removed")


def policy(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="Policy to change to, at once.")] = "",
    url: Url = URL,
    key: Key = KEY,
    as_json: AsJson = False,
) -> None:
    """Show the dispatch policy, or change it while jobs run. Survives restarts."""
    with errors_in_one_line(as_json), connect(url, key) as client:
        answer = client.set_policy(name) if name else client.policy_in_force()
    if as_json:
        print_json(answer)
        return
    print(answer["policy"])
    if not name:
        print_status(f"there are {', '.join(answer['allowed'])}")
