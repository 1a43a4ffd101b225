# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy drain | undrain | policy | purge`: what the operator changes while jobs run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from eddy.cli.support.local import Answer, Client, asks_server
from eddy.cli.support.output import print_status
from eddy.cli.tenant.resources import phase_of

DAY_S = 86400.0
SlotIndex = Annotated[int, typer.Argument(metavar="SLOT", min=0, help="Its index, as `eddy slots` shows it.")]


@asks_server
def drain(
    client: Client,
    slot: SlotIndex,
    because: Annotated[str, typer.Option("--because", help="Why, for operators who see it later.")] = "",
) -> Answer:
    """Take a slot out of use: what runs there ends, its job continues elsewhere. Survives restarts."""
    answer = client.drain(slot, because)
    yield answer
    _say(answer)


@asks_server
def undrain(client: Client, slot: SlotIndex) -> Answer:
    """Put a drained or quarantined slot back into use."""
    answer = client.undrain(slot)
    yield answer
    _say(answer)


def _say(slot: Mapping[str, Any]) -> None:
    print_status(
        f"slot {slot['slot']}: {phase_of(slot)}" + (f" ({slot['drained_because']})" if slot["drained"] else "")
    )


@asks_server
def purge(
    client: Client,
    days: Annotated[float, typer.Option("--days", min=0, help="Only jobs that ended at least so many wall days ago.")],
    tenant: Annotated[str, typer.Option("--tenant", help="Only this tenant's.")] = "",
    keep: Annotated[int, typer.Option("--keep", min=0, help="Ended jobs of each tenant that stay: the latest.")] = 0,
) -> Answer:
    """Remove jobs that have ended, with their events and outputs; `eddy serve --retention-age-s` does it by itself."""
    removed = client.purge_jobs(days * DAY_S, tenant=tenant, keep=keep)
    yield {"removed": removed}
    print_status(f"{removed} jobs removed")


@asks_server
def policy(
    client: Client,
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="Policy to change to, at once.")] = "",
) -> Answer:
    """Show the dispatch policy, or change it while jobs run. Survives restarts."""
    answer = client.set_policy(name) if name else client.policy_in_force()
    yield answer
    print(answer["policy"])
    if not name:
        print_status(f"there are {', '.join(answer['allowed'])}")
