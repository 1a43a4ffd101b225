"""Whether the board answers, as the calls to it show; changes are logged, one line each."""

from __future__ import annotations

import logging

PROBE_S = 2.0
"""Wall seconds between two looks at a board that has nothing to do."""

_log = logging.getLogger(__name__)


class BoardWatch:
    """What is known of a board's answers."""

    def __init__(self) -> None:
        self.away = ""
        """Why the board does not answer; "" where it does."""

    def mark_unreachable(self, why: str) -> None:
        """Note that the board cannot be reached."""
        if not self.away:
            _log.error("the board is unreachable: %s; jobs that have not ended continue once it is back", why)
        self.away = f"The board is away: {why}"

    def mark_answering(self) -> None:
        """Note that the board answers, and what it holds was recovered."""
        if self.away:
            _log.warning("the board is back; jobs continue")
        self.away = ""
