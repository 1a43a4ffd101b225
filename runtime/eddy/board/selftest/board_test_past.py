# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Steps of `eddy board-test` that go past a board's checks: a damaged image, and clocks above a module's.

Whatever they find, each leaves its slot with a sound image at its own clock, or says that it could not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from eddy.board.port.port import BoardPort, EventKind, SlotPhase
from eddy.board.pynq.check_bypass import CheckBypass
from eddy.board.selftest.board_test_steps import StepOutcome, StepReport, load, load_failure, next_event
from eddy.board.selftest.known_answers import KnownAnswer, KnownKernel, find_mismatch, known_answers
from eddy.core.errors import EddyError
from eddy.core.slots import Image
from eddy.core.units import format_frequency

DAMAGED, CLOCKS = "damaged image", "highest clocks"
COARSE, FINE = 0.05, 0.01
"""Steps of the sweep, as parts of the clock a module was built for."""
HIGHEST_TIMES = 2.0
"""Where the sweep ends, in clocks a module was built for: the slot's path would be the first to fail beyond."""


def damaged_image(board: BoardPort, past: CheckBypass) -> StepReport:
    """A wrong bit in an image must end its load, whatever the port calls that; the next load must come up."""
    image = board.images()[0]
    if failure := load_failure(load(board, image)[0], image):
        return StepReport(DAMAGED, StepOutcome.FAIL, f"before anything was damaged: {failure}")
    past.load_damaged(image.slot, image.sha256)
    event, shown = next_event(board), past.port_error()
    after = load_failure(load(board, image)[0], image)
    measured = {"prerror": float(shown)}
    where = f"{image.module} in slot {image.slot} with a wrong bit"
    if event is None or event.kind is EventKind.CONFIGURED:
        said = "did not end" if event is None else "came up as if it were sound"
        return StepReport(DAMAGED, StepOutcome.FAIL, f"{where} {said}", measured)
    if after:
        return StepReport(DAMAGED, StepOutcome.FAIL, f"{where} was found, and then the sound one: {after}", measured)
    told = "PRERROR showed" if shown else f"PRERROR did not show, {event.cause.value} did"
    return StepReport(DAMAGED, StepOutcome.PASS, f"{where} did not come up: {told}; the sound one did", measured)


def highest_clocks(board: BoardPort, past: CheckBypass) -> StepReport:
    """For every image whose results are known: the highest clock at which all of them are right."""
    found, unknown, measured = list[float](), set[str](), dict[str, float]()
    for image in board.images():
        trials = known_answers().get(image.module)
        if trials is None:
            unknown.add(image.module)
            continue
        at_hz = None
        try:
            at_hz = _highest(board, past, image, trials)
        finally:
            failure = load_failure(load(board, image)[0], image) or _wrong(board, image, trials)
        where = f"{image.module} in slot {image.slot} at the {format_frequency(image.clk_hz)} it was built for"
        if at_hz is None or failure:
            why = failure or "some results were wrong"
            return StepReport(CLOCKS, StepOutcome.FAIL, f"{where}: {why}", measured)
        measured[f"{image.module}_slot{image.slot}_hz"] = at_hz
        found.append(at_hz / image.clk_hz)
    without = f"; no known results of {', '.join(sorted(unknown))}" if unknown else ""
    if not found:
        return StepReport(CLOCKS, StepOutcome.NOT_RUN, f"no image has known results{without}")
    bounds = f"{min(found):.2f} to {max(found):.2f} times the clock they were built for"
    said = f"{len(found)} images right up to {bounds}, where {HIGHEST_TIMES:g} is the end of the sweep{without}"
    return StepReport(CLOCKS, StepOutcome.PASS, said, measured)


def _highest(
    board: BoardPort, past: CheckBypass, image: Image, trials: Sequence[KnownAnswer | KnownKernel]
) -> float | None:
    def attempt(hz: float) -> tuple[float, bool]:
        if board.state().slots[image.slot].image != image.sha256 or _phase(board, image) is not SlotPhase.IDLE:
            load(board, image)
        if _phase(board, image) is not SlotPhase.IDLE:
            return hz, False
        made_hz = past.retime(image.slot, hz)
        event = next_event(board)
        came_up = event is not None and event.kind is EventKind.CONFIGURED
        return made_hz, came_up and not _wrong(board, image, trials)

    return find_highest_correct_clock(attempt, image.clk_hz, HIGHEST_TIMES * image.clk_hz)


def find_highest_correct_clock(
    attempt: Callable[[float], tuple[float, bool]], built_hz: float, limit_hz: float
) -> float | None:
    """The highest clock below the first at which something is wrong, in coarse steps and then in fine ones.

    Args:
        attempt: Tries a clock; answers the one that was made of it, which is not above it, and whether all was right.
        built_hz: Where to begin.
        limit_hz: Where to end.

    Returns:
        The clock; None where something is wrong at `built_hz` already.
    """
    best_hz, right = attempt(built_hz)
    if not right:
        return None
    wrong_hz = math.inf
    for part in (COARSE, FINE):
        hz = best_hz
        while (hz := hz + part * built_hz) < min(wrong_hz, limit_hz * (1 + 1e-9)):
            made_hz, right = attempt(hz)
            if not right:
                wrong_hz = hz
                break
            best_hz = max(best_hz, made_hz)
    return best_hz


def _phase(board: BoardPort, image: Image) -> SlotPhase:
    return board.state().slots[image.slot].phase


def _wrong(board: BoardPort, image: Image, trials: Sequence[KnownAnswer | KnownKernel]) -> str:
    for trial in trials:
        try:
            if found := find_mismatch(board, image.slot, trial):
                return found
        except EddyError as error:  # a module that its clock makes misbehave ends in any of them
            return f"{error.code}: {error.message}"
    return ""
