# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A client for a command: with the URL and key it was given, else those of the context in use."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from eddy.cli.support import contexts
from eddy.cli.support.options import UnsetDefault
from eddy.host import presence
from eddy.settings import SETTINGS

if TYPE_CHECKING:
    from eddy.client import Client


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
