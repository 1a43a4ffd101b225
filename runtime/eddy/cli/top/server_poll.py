# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Asks the server for what a frame shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eddy.cli.top.frame import FrameData
from eddy.core.errors import EddyError, NotFound

if TYPE_CHECKING:
    from eddy.client import Client


def look(client: Client, url: str, fails: bool = False) -> FrameData:
    """Ask the server; with `fails`, what it refuses is raised, otherwise it is shown."""
    try:
        return FrameData(url, client.overview(), _market(client))
    except EddyError as error:
        if fails:
            raise
        return FrameData(url, None, problem=error.message)


def _market(client: Client) -> dict[str, object] | None:
    try:
        return client.market()
    except NotFound:
        return None
