# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What every step of `eddy board-test` is made of: its report, and loads with their ends."""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from eddy.board.port.port import BoardEvent, BoardPort, EventKind
from eddy.core.slots import Image

LOAD_BOUND_S = 5.0


class StepOutcome(enum.Enum):
    """How a step ended."""

    PASS = "PASS"
    FAIL = "FAIL"
    NOT_RUN = "NOT RUN"


@dataclass(frozen=True)
class StepReport:
    """What a step found.

    Attributes:
        step: Its name.
        outcome: How it ended.
        found: For people: what was seen, or why it was not run.
        measured: Values, by names that carry their units.
    """

    step: str
    outcome: StepOutcome
    found: str
    measured: Mapping[str, float] = field(default_factory=dict)


def next_event(board: BoardPort, within_s: float = LOAD_BOUND_S) -> BoardEvent | None:
    """The latest event within some board time, acknowledged; None where there is none."""
    events = board.wait(board.now_s() + within_s)
    if not events:
        return None
    board.wait(0.0, events[-1].seq)
    return events[-1]


def load(board: BoardPort, image: Image) -> tuple[BoardEvent | None, float]:
    """Load an image; how that ended, and the board seconds it took."""
    board.load(image.slot, image.sha256)
    event = next_event(board)
    return event, math.inf if event is None else event.at_s - event.started_s


def load_failure(event: BoardEvent | None, image: Image) -> str:
    """What was wrong with a load; "" where nothing was."""
    what = f"{image.module} in slot {image.slot}"
    if event is None:
        return f"{what}: nothing within {LOAD_BOUND_S:g} s"
    return "" if event.kind is EventKind.CONFIGURED else f"{what}: {event.cause.value}, {event.detail}"
