"""`eddy events`: what happens to all your jobs."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from eddy.cli.jobs import event_line
from eddy.cli.local import connect
from eddy.cli.options import KEY, URL, AsJson, Key, Url, one_of
from eddy.cli.output import errors_in_one_line, print_json, refuse_endless, say


def events(
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on as they happen, until interrupted.")] = False,
    last: Annotated[int, typer.Option("--last", "-n", min=0, max=1000, help="Begin with so many past ones.")] = 20,
    form: Annotated[
        str, typer.Option("--format", callback=one_of(("text", "json")), help="text, or lines of JSON.")
    ] = "text",
    url: Url = URL,
    key: Key = KEY,
    as_json: AsJson = False,
) -> None:
    """Print events of all your jobs, oldest first."""
    from eddy.client.stream import RESTARTED

    with errors_in_one_line(as_json), connect(url, key) as client:
        if as_json:
            refuse_endless("--follow", follow)
            print_json({"events": [{"id": event.id, **event.data} for event in client.events(last=last, follow=False)]})
            return
        for event in client.events(last=last, follow=follow):
            if event.kind == RESTARTED:
                say(f"the events begin again: {event.data['detail']}")
                continue
            data = event.data
            line = (
                json.dumps({"id": event.id, **data})
                if form == "json"
                else f"job {data['job']:<13}{event_line(event.kind, data)}"
            )
            print(line, flush=True)
