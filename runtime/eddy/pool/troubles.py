"""What a head met in the pool's store that should not be there: counted, and shown to operators."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Troubles:
    """Of one head.

    Attributes:
        passed_over: Numbers of submissions that were another's already.
    """

    passed_over: int = 0
