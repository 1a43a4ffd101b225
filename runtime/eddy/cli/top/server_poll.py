# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Asks the server for what a frame shows."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from eddy.cli.top.frame import HISTORY_HOURS, HISTORY_POINTS, FrameData
from eddy.core.errors import EddyError, NotFound

if TYPE_CHECKING:
    from eddy.client import Client

HISTORY_S = 30.0
"""Wall seconds for which a history is shown before it is asked for again: it gains a point a minute."""


class ServerPoll:
    """Asks one server, again and again.

    Args:
        url: As it is shown.
        now_s: Wall seconds that pass.
    """

    def __init__(self, client: Client, url: str, now_s: Callable[[], float] = time.monotonic) -> None:
        self._client, self._url, self._now_s = client, url, now_s
        self._history: Sequence[Any] = ()
        self._due_s: float | None = None

    def look(self, fails: bool = False) -> FrameData:
        """Ask the server; with `fails`, what it refuses is raised, otherwise it is shown."""
        try:
            overview = self._client.overview()
            return FrameData(self._url, overview, self._market(), history=self._read_history(overview))
        except EddyError as error:
            if fails:
                raise
            return FrameData(self._url, None, problem=error.message)

    def _market(self) -> dict[str, object] | None:
        try:
            return self._client.market()
        except NotFound:
            return None

    def _read_history(self, overview: Any) -> Sequence[Any]:
        """What the board did over hours, where the key may see it; a head of a pool has none."""
        if not overview["operator"] or "boards" in overview:
            return ()
        now_s = self._now_s()
        if self._due_s is None or now_s >= self._due_s:
            self._due_s = now_s + HISTORY_S
            self._history = self._client.board_history(HISTORY_HOURS, HISTORY_POINTS)
        return self._history
