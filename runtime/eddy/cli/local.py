"""A client for a command: with the key it was given, or with the operator's key of this user's own server."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from eddy import presence
from eddy.settings import SETTINGS

if TYPE_CHECKING:
    from eddy.client import Client


def connect(url: str, key: str) -> Client:
    """The client of a command.

    Args:
        url: Where the server answers.
        key: What `--key` or `EDDY_KEY` says; where both are silent and the server at `url` runs over this user's data
            directory (`EDDY_DATA`), that server's operator key is taken.
    """
    from eddy.client import Client

    return Client(url, key_for(url, key))


def key_for(url: str, key: str) -> str:
    """The key `connect` would use; "" for none."""
    return key or presence.operator_key(Path(str(SETTINGS["data"].value())).expanduser(), url)
