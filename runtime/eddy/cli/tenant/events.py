# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy events`: what happens to all your jobs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from eddy.cli.support.local import connect
from eddy.cli.support.options import KEY, URL, AsJson, Key, Url, one_of
from eddy.cli.support.output import errors_in_one_line, print_json, print_status, refuse_endless
from eddy.cli.tenant.jobs import event_line

if TYPE_CHECKING:
    from eddy.client.transport.stream import Event


def events(
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Follow new events until interrupted.")] = False,
    last: Annotated[int, typer.Option("--last", "-n", min=0, max=1000, help="Past events to begin with.")] = 20,
    form: Annotated[
        str, typer.Option("--format", callback=one_of(("text", "json")), help="text, or lines of JSON.")
    ] = "text",
    url: Url = URL,
    key: Key = KEY,
    as_json: AsJson = False,
) -> None:
    """Print events of all your jobs, oldest first; with -f as the server notes them."""
    from eddy.client.transport.stream import RESTARTED

    with errors_in_one_line(as_json), connect(url, key) as client:
        if as_json:
            refuse_endless("--follow", follow)
            past = in_order(client.events(last=last, follow=False))
            print_json({"events": [{"id": event.id, **event.data} for event in past]})
            return
        found = client.events(last=last, follow=follow)
        for event in found if follow else in_order(found):
            if event.kind == RESTARTED:
                print_status(f"the events begin again: {event.data['detail']}")
                continue
            data = event.data
            line = (
                json.dumps({"id": event.id, **data})
                if form == "json"
                else f"job {data['job']:<13}{event_line(event.kind, data)}"
            )
            print(line, flush=True)


def in_order(events: Iterable[Event]) -> list[Event]:
    """Past events by board time; those of one moment, and whatever has no time, as the server noted them."""
    found: list[tuple[float, Event]] = []
    at_s = 0.0
    for event in events:
        at_s = event.data.get("at_s", at_s)
        found.append((at_s, event))
    return [event for _, event in sorted(found, key=lambda each: each[0])]
