# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Commands that ask a server: with the URL and key they were given, else those of the context in use."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from eddy.cli.support import contexts
from eddy.cli.support.options import KEY, URL, AsJson, Key, UnsetDefault, Url
from eddy.cli.support.output import errors_in_one_line, print_json
from eddy.host import presence
from eddy.settings import SETTINGS

if TYPE_CHECKING:
    from eddy.client import Client as Client
else:
    Client = object
    """Named in annotations alone: a command that asks nothing starts without the client."""

Answer = Iterator[Any]
"""What a command says: one value, for `--json`; what follows it in the command says it to people."""


def asks_server(command: Callable[..., Answer]) -> Callable[..., None]:
    """A command that is given a client, with options that say where its server is, and whether to print JSON.

    It yields its answer, which `--json` prints. What follows prints it for people, once the client is closed.
    """

    @functools.wraps(command)
    def ask(url: str = URL, key: str = KEY, as_json: bool = False, **given: Any) -> None:
        with errors_in_one_line(as_json), connect(url, key) as client:
            steps = command(client, **given)
            answer = next(steps)
        if as_json:
            print_json(answer)
        else:
            next(steps, None)

    kinds = {**get_type_hints(command, include_extras=True), "url": Url, "key": Key, "as_json": AsJson}
    _, *own = inspect.signature(command).parameters.values()
    where = list(inspect.signature(ask, follow_wrapped=False).parameters.values())[:3]
    options = [
        each.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=kinds[each.name]) for each in (*own, *where)
    ]
    ask.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    ask.__annotations__ = {each.name: each.annotation for each in options}
    return ask


def connect(url: str, key: str) -> Client:
    """The client of a command.

    Args:
        url: Where the server answers; the context in use says it where neither `--url` nor `EDDY_URL` does.
        key: What `--key` or `EDDY_KEY` says; where both are silent, the key of a context of that server, or, where the
            server at `url` runs over this user's data directory (`EDDY_DATA`), its operator's key.
    """
    from eddy.client import Client

    known = contexts.load()
    if known.now is not None and isinstance(url, UnsetDefault):
        url = known.now.url
    kept = known.of_url(url if "://" in url else f"http://{url}")
    return Client(url, key or (kept.key if kept is not None else "") or key_for(url, key))


def key_for(url: str, key: str) -> str:
    """The key of this user's own server, where none was given; "" for none."""
    return key or presence.operator_key(Path(str(SETTINGS["data"].value())).expanduser(), url)
