# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The step of `eddy board-test` that finds memory's address map, by how long a module reads pairs of words."""

from __future__ import annotations

import itertools
import statistics
from dataclasses import dataclass
from random import Random

from eddy.board.port.port import Access, BoardPort, Buffer, EventKind, Grant, Launch
from eddy.board.port.profile import Dram
from eddy.board.pynq.dram_finder import FoundMap, find_map, profile_map
from eddy.board.selftest.board_test_steps import StepOutcome, StepReport, load, load_failure, next_event
from eddy.core.errors import MemoryExhausted
from eddy.core.units import format_bytes

DRAM_MAP = "DRAM address map"
PROBE = "row_probe"
_A, _B, _PAIRS, _STATUS = 0x10, 0x1C, 0x28, 0x30
LOWEST_BIT = 6
"""Words of one line of 64 bytes lie in one row on every board."""
SAMPLES, ROUNDS = 64, 8
_BOUND_S = 2.0
_CHECKS = 32
EXPLAINED = 0.95
"""The part of fresh pairs that a found map must call rightly slow or not."""


class NotMeasured(Exception):
    """No pair could be timed, or none is slower than others."""


@dataclass(frozen=True)
class PairTiming:
    """How long pairs are read: on a board an item's end comes late by tens of microseconds, on RTL it does not.

    Attributes:
        pairs: Reads of each address.
        repeats: Items, of which the fastest counts.
    """

    pairs: int
    repeats: int


SIMULATED, HARDWARE = PairTiming(16, 1), PairTiming(1 << 14, 3)
"""A row that is closed and opened again costs some 30 ns: a slow pair's item takes a millisecond longer on a board."""
MIN_S = 5e-9
"""What a read of a slow pair takes longer, at least; DDR4's row cycles are six times that."""


def dram_map(board: BoardPort, dram: Dram, pace: PairTiming) -> StepReport:
    """Find the map of what lies in the arena, check it on fresh pairs, and compare it with the profile's.

    Args:
        board: The board.
        dram: What its profile says of memory.
        pace: How long pairs are read.
    """
    image = next((image for image in board.images() if image.module == PROBE), None)
    if image is None:
        return StepReport(DRAM_MAP, StepOutcome.NOT_RUN, f"no image of {PROBE}, which reads pairs of words")
    if failure := load_failure(load(board, image)[0], image):
        return StepReport(DRAM_MAP, StepOutcome.FAIL, failure)
    buffer = _largest(board)
    try:
        pairs = _Pairs(board, image.slot, buffer, dram.base, pace)
        pairs.find_threshold()
        found = find_map(pairs.slow, pairs.bits, Random(1))
        if found is None:
            return StepReport(DRAM_MAP, StepOutcome.FAIL, "slow pairs are there, and no linear map explains them")
        return _report(pairs, found, dram)
    except NotMeasured as why:
        return StepReport(DRAM_MAP, StepOutcome.NOT_RUN, str(why))
    finally:
        board.free(buffer.id)


def _report(pairs: _Pairs, found: FoundMap, dram: Dram) -> StepReport:
    planned = profile_map(dram, found.bits)
    fresh = [pairs.random_difference() for _ in range(_CHECKS)]
    # One random difference in as many as there are units is slow; as many again that should be.
    fresh += [each for each in _slow_ones(found, pairs) if each]
    right = statistics.fmean(pairs.slow(each) == found.slow(each) for each in fresh)
    agrees = found.agrees(planned)
    measured = {
        "units": float(1 << len(found.unit_masks)),
        "row_bytes": float(found.row_bytes),
        "explained": right,
        "as_planned": float(agrees),
        "expressible": float(found.expressible),
        **{f"unit_bit_{number}_mask": float(mask) for number, mask in enumerate(found.unit_masks)},
    }
    masks = ", ".join(f"{mask:#x}" for mask in found.unit_masks)
    span = f"bits {LOWEST_BIT} to {found.bits.bit_length() - 1}"
    seen = f"{1 << len(found.unit_masks)} units by the parities of {masks} in {span}"
    seen += f", rows of {format_bytes(found.row_bytes)}"
    if right < EXPLAINED:
        why = f"{seen}: explains {right:.0%} of fresh pairs only; measure again on a quiet board"
        return StepReport(DRAM_MAP, StepOutcome.FAIL, why, measured)
    compared = "as the profile says" if agrees else f"the profile says {_say(planned)}: row hits are counted by that"
    return StepReport(DRAM_MAP, StepOutcome.PASS, f"{seen}; {compared}", measured)


def _say(planned: FoundMap) -> str:
    masks = ", ".join(f"{mask:#x}" for mask in planned.unit_masks)
    return f"{masks}, rows of {format_bytes(planned.row_bytes)}"


def _slow_ones(found: FoundMap, pairs: _Pairs) -> list[int]:
    tries = (pairs.random_difference() for _ in itertools.count())
    return list(itertools.islice((each for each in tries if found.slow(each)), _CHECKS))


def _largest(board: BoardPort) -> Buffer:
    """The largest buffer to be had, by halves of the arena."""
    size = board.describe().arena_bytes
    while True:
        try:
            return board.allocate(size, "board-test")
        except MemoryExhausted:
            if size <= 1 << 16:
                raise
            size //= 2


class _Pairs:
    """Pairs of words in a buffer, read in turn by the module in a slot."""

    def __init__(self, board: BoardPort, slot: int, buffer: Buffer, base: int, pace: PairTiming) -> None:
        self._board, self._slot, self._buffer, self._pace = board, slot, buffer, pace
        first, last = buffer.address - base, buffer.address - base + buffer.bytes
        span = 1 << buffer.bytes.bit_length()
        # The largest block of a power of two, at a multiple of itself, that lies in the buffer.
        while -(-first // span) * span + span > last:
            span //= 2
        self._origin, self._base = -(-first // span) * span, base
        self.bits = range(LOWEST_BIT, span.bit_length() - 1)
        self._random = Random(2)
        self._numbers = itertools.count()
        self._bound_s = 0.0

    def random_difference(self) -> int:
        """Another address of the block, as its difference to the first."""
        return self._random.getrandbits(self.bits.stop) >> LOWEST_BIT << LOWEST_BIT or 1 << LOWEST_BIT

    def slow(self, difference: int) -> bool:
        """Whether a pair is slow."""
        return self._time_s(difference) > self._bound_s

    def find_threshold(self) -> None:
        """Find the bound between slow pairs and others: where sampled times leave the widest gap.

        Raises:
            NotMeasured: No gap is wider than others are spread.
        """
        times: list[float] = []
        for _ in range(ROUNDS):
            times = sorted([*times, *(self._time_s(self.random_difference()) for _ in range(SAMPLES))])
            middle = len(times) // 2  # most pairs lie in different units
            gap, at = max((b - a, a) for a, b in itertools.pairwise(times[middle:]))
            spread = times[middle] - times[len(times) // 20]
            if gap > max(2 * spread, 2 * self._pace.pairs * MIN_S):
                self._bound_s = at + gap / 2
                return
        raise NotMeasured("no pair is slower than others: memory closes its rows by itself, or a cache answers")

    def _time_s(self, difference: int) -> float:
        return min(self._once_s(difference) for _ in range(self._pace.repeats))

    def _once_s(self, difference: int) -> float:
        words = [(_PAIRS, self._pace.pairs)]
        for register, offset in ((_A, self._origin), (_B, self._origin ^ difference)):
            address = self._base + offset
            words += [(register, address & 0xFFFF_FFFF), (register + 4, address >> 32)]
        grants = (Grant(self._buffer.id, Access.READ),)
        name = f"board-test-pair-{next(self._numbers)}"
        self._board.launch(self._slot, Launch(name, tuple(words), grants, _BOUND_S, status=_STATUS))
        event = next_event(self._board, 2 * _BOUND_S)
        if event is None or event.kind is not EventKind.ITEM_DONE:
            said = "nothing" if event is None else f"{event.cause.value} {event.detail}"
            raise NotMeasured(f"a pair could not be read: {said}")
        return event.at_s - event.started_s
