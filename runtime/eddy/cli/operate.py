"""`eddy drain | undrain | policy`: what the operator changes while jobs run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from eddy.cli.local import connect
from eddy.cli.options import KEY, URL, AsJson, Key, Url
from eddy.cli.output import errors_in_one_line, print_json, say
from eddy.cli.resources import phase_of

SlotIndex = Annotated[int, typer.Argument(metavar="SLOT", min=0, help="Its index, as `eddy slots` shows it.")]


def drain(
    slot: SlotIndex,
    because: Annotated[str, typer.Option("--because", help="Why, for operators who see it later.")] = "",
    url: Url = URL,
    key: Key = KEY,
    as_json: AsJson = False,
) -> None:
    """Give a slot to nobody any more: what runs there ends, its job goes on elsewhere. Survives restarts."""
    with errors_in_one_line(as_json), connect(url, key) as client:
        answer = client.drain(slot, because)
    _say(answer, as_json)


def undrain(slot: SlotIndex, url: Url = URL, key: Key = KEY, as_json: AsJson = False) -> None:
    """Give a slot to jobs again, drained or quarantined as it was."""
    with errors_in_one_line(as_json), connect(url, key) as client:
        answer = client.undrain(slot)
    _say(answer, as_json)


def _say(slot: Mapping[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(slot)
    else:
        say(f"slot {slot['slot']}: {phase_of(slot)}" + (f" ({slot['drained_because']})" if slot["drained"] else ""))


def policy(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="Another policy, put in force at once.")] = "",
    url: Url = URL,
    key: Key = KEY,
    as_json: AsJson = False,
) -> None:
    """Show the dispatch policy, or put another in force: what runs goes on. Survives restarts."""
    with errors_in_one_line(as_json), connect(url, key) as client:
        answer = client.set_policy(name) if name else client.policy_in_force()
    if as_json:
        print_json(answer)
        return
    print(answer["policy"])
    if not name:
        say(f"there are {', '.join(answer['allowed'])}")
