# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`eddy login | logout | context`: which server commands talk to, and as whom."""

from __future__ import annotations

import dataclasses
import sys
from typing import Annotated
from urllib.parse import urlsplit

import typer

from eddy.cli.support import contexts
from eddy.cli.support.options import URL, AsJson, Url
from eddy.cli.support.output import Column, errors_in_one_line, print_json, print_status, table
from eddy.core.errors import InvalidRequest

Name = Annotated[str, typer.Option("--name", help="Its name; the server's host and port by default.")]
Which = Annotated[str, typer.Argument(metavar="[NAME]", help="Its name; the current one by default.")]


def login(
    name: Name = "",
    sso: Annotated[bool, typer.Option("--sso", help="Log in at the server's identity provider, in a browser.")] = False,
    tenant: Annotated[str, typer.Option("--tenant", help="With --sso: for which of your tenants.")] = "",
    browser: Annotated[bool, typer.Option(help="With --sso: open the browser, or only print where to go.")] = True,
    url: Url = URL,
    as_json: AsJson = False,
) -> None:
    """Ask for a key, try it, and keep it for later commands. Reads it from standard input where that is no terminal.

    With --sso the key comes from a log-in in a browser on this machine, and ends after 12 hours.
    """
    from eddy.client import Client

    with errors_in_one_line(as_json):
        if sso:
            from eddy.cli.support.browser_login import fetch_key

            key = fetch_key(url, tenant, browser)
        else:
            key = _ask_key()
        with Client(url, key) as client:
            who, address = client.who_am_i(), client.transport.url
        known = contexts.load()
        called = name or urlsplit(address).netloc
        kept = contexts.Contexts(called, {**known.by_name, called: contexts.KeptServer(address, key)})
        file = contexts.save(kept)
    if as_json:
        print_json({"context": called, "url": address, "tenant": who["tenant"], "operator": who["operator"]})
    else:
        print_status(f"logged in at {address} as {who['tenant']}; kept as context {called} in {file}")


def _ask_key() -> str:
    """A key that somebody types, or sends.

    Raises:
        InvalidRequest: There is none.
    """
    key = typer.prompt("API key", hide_input=True, err=True) if sys.stdin.isatty() else sys.stdin.readline()
    if not key.strip():
        raise InvalidRequest("There is no key: type it, or send it to standard input.", field="key")
    return str(key).strip()


def logout(name: Which = "", as_json: AsJson = False) -> None:
    """Forget a context and its key; the key stays valid: `eddy key revoke` ends it."""
    with errors_in_one_line(as_json):
        known = contexts.load()
        gone = name or known.current
        contexts.load_context(known, gone)
        left = {each: context for each, context in known.by_name.items() if each != gone}
        contexts.save(contexts.Contexts("" if gone == known.current else known.current, left))
    if as_json:
        print_json({"context": gone})
    else:
        print_status(f"context {gone} forgotten")


def context(name: Which = "", as_json: AsJson = False) -> None:
    """List contexts, or make another one the current one."""
    with errors_in_one_line(as_json):
        known = contexts.load()
        if name:
            contexts.load_context(known, name)
            known = dataclasses.replace(known, current=name)
            contexts.save(known)
    rows = [{"name": each, "url": kept.url, "current": each == known.current} for each, kept in known.by_name.items()]
    if as_json:
        print_json({"current": known.current, "contexts": rows})
    elif rows:
        table("", (Column("Context", "name"), Column("URL", "url"), Column("Current", "current")), rows)
    else:
        print_status("no contexts; `eddy login` makes one")
