"""How long the engine waits for the board at a time, in board seconds."""

from __future__ import annotations

FIRST_S = 1e-3
"""Board seconds of the first wait."""
LEAST_S, MOST_S = 1e-6, 1e6
WANTED_S, LONG_S = 0.03, 0.05
"""Wall seconds a wait without events should take, and how many are too many: long enough to cost nothing, short enough
that a request does not wait for it."""


class Quantum:
    """The longest wait, fitted to how fast the board's time passes.

    Only the wait itself counts. What a step takes beside it, for decisions or because other threads are at work, is no
    reason to wait for less: on a board whose time passes only where it is waited for, nothing would be done.

    Attributes:
        at_s: Board seconds of the next wait, at most.
    """

    def __init__(self) -> None:
        self.at_s = FIRST_S

    def adapt(self, passed_s: float, took_s: float) -> None:
        """Take note of a wait, be it for all of the quantum or up to an event.

        Args:
            passed_s: Board seconds that passed; 0 where nobody waited.
            took_s: Wall seconds it took.
        """
        if passed_s <= 0:
            return
        if took_s > LONG_S:
            self.at_s = max(self.at_s / 2, LEAST_S)
        else:
            wanted_s = passed_s * WANTED_S / took_s if took_s > 0 else MOST_S
            self.at_s = max(self.at_s, min(self.at_s * 2, wanted_s, MOST_S))
