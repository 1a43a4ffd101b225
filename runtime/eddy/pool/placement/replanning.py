# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""When the leading head plans again what boards have already, and which jobs it takes from them then.

What waits at a head is planned at every change. A job that a board has stays there, unless something the plan was made
on has changed (`ReplanState.cause`) and another board would end it so much sooner that moving it pays
(`profitable_moves`, a pure function).
"""

from __future__ import annotations

import heapq
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from eddy.pool.mirror.board_drops import refused_by
from eddy.pool.mirror.estimates import Estimates
from eddy.pool.mirror.planning_order import order_by_weight
from eddy.pool.placement.constraints import likeness
from eddy.pool.placement.forecast import time_left
from eddy.pool.placement.placement import LINK_BPS, Method, PlacementDecision, PoolView, decide, remaining_s
from eddy.pool.placement.rebalance import PAYS, RecalledJob
from eddy.pool.records.records import AHEAD, KERNEL, RUNNING, PoolBoard, PoolJob

GAIN_S = 0.5
"""A job is moved for more than this many seconds: as long as a part should take, which moving may have done again."""
NAMED = 3
"""Boards that a cause names; of more, the number is told."""


@dataclass(frozen=True, slots=True)
class ReplanSettings:
    """How readily boards' jobs are planned again.

    Attributes:
        factor: Measured times, over or under those planned with by so much, are a cause.
        interval_s: Wall seconds between two times, and for which a job that was moved stays.
    """

    factor: float = 2.0
    interval_s: float = 10.0


class ReplanState:
    """What the plan in force was made on.

    Args:
        settings: When it is made again.
        clock: Seconds that never jump.

    Attributes:
        made: How often this head has planned boards' jobs again.
        moved: Jobs it took from boards then.
    """

    def __init__(self, settings: ReplanSettings, clock: Callable[[], float] = time.monotonic) -> None:
        self.settings, self._clock = settings, clock
        self._boards: frozenset[tuple[str, str]] | None = None
        self._item_s: dict[tuple[str, str], float] = {}
        self._seen = frozenset[tuple[str, str]](), self._item_s
        self._last_s = float("-inf")
        self.made, self.moved = 0, 0

    def cause(self, boards: Sequence[PoolBoard], jobs: Iterable[PoolJob], estimates: Estimates) -> str:
        """Why what boards have is to be planned again now; "" where there is no cause, or the interval is not over.
        A cause stays until `mark_replanned` is called.

        Args:
            boards: Those whose lease holds.
            jobs: Jobs that boards have.
            estimates: What is known of times.
        """
        usable = frozenset((board.name, board.session) for board in boards if not board.drained)
        kinds = {board.name: board.kind for board in boards}
        pairs = {(job.timed, kinds[job.board]) for job in jobs if job.board in kinds}
        item_s = {pair: estimates.item_s(*pair)[0] for pair in pairs}
        led = self._boards is not None
        known = (self._boards or frozenset()) & usable  # a board that left is new when it comes back
        planned = {pair: self._item_s.get(pair, now_s) for pair, now_s in item_s.items()}
        self._boards, self._item_s = known if pairs else usable, planned
        if not pairs or self._clock() - self._last_s < self.settings.interval_s:
            return ""
        why = _joined(usable - known) or _off(planned, item_s, self.settings.factor)
        self._seen = usable, item_s
        if led or not why:
            return why
        self._boards = None
        return "another head leads"

    def mark_replanned(self) -> None:
        """It was planned again, with what the last call of `cause` was told."""
        self._boards, self._item_s = self._seen
        self._last_s = self._clock()
        self.made += 1


def _joined(new: frozenset[tuple[str, str]]) -> str:
    names = sorted(name for name, _ in new)
    if not names:
        return ""
    return f"{', '.join(names) if len(names) <= NAMED else f'{len(names)} boards'} joined"


def _off(planned: Mapping[tuple[str, str], float], item_s: Mapping[tuple[str, str], float], factor: float) -> str:
    """The first kind of work whose times have left what was planned with."""
    for (work, kind), before_s in sorted(planned.items()):
        now_s = item_s[work, kind]
        if max(now_s, before_s) >= factor * min(now_s, before_s) and now_s != before_s:
            if work.startswith(KERNEL):  # of some tenant, and this is told to others
                return f"times of a kernel on {kind} have changed"
            return f"an item of {work} takes {now_s:.3g} s on {kind}, planned with {before_s:.3g} s"
    return ""


@dataclass(frozen=True, slots=True)
class ProfitableMove:
    """A job that is better taken from its board.

    Attributes:
        board: Where it would end sooner.
        here_s: Seconds until it would end where it is.
        there_s: The same there, with all that moving costs.
    """

    job: PoolJob
    board: str
    here_s: float
    there_s: float

    def recalled_job(self, cause: str) -> RecalledJob:
        """To be taken from its board for a cause."""
        gain_s = self.here_s - self.there_s
        return RecalledJob(self.job, f"{cause}; {self.board} would end it {gain_s:.2g} s sooner")


def profitable_moves(view: PoolView, now_unix_s: float, interval_s: float) -> list[ProfitableMove]:
    """Jobs that another board would end sooner: in `PAYS` of the time and by `GAIN_S`, with their inputs sent and what
    is not committed done again.

    What waits at the head has the first choice of places. A job that waits on a board may move to any board that has
    room; a running one only to where it begins at once. One that was taken from a board within the interval stays.

    Args:
        view: The pool, with sizes of the inputs of what boards have.
        now_unix_s: Wall time.
        interval_s: How long a job stays that was moved.
    """
    boards = {board.name: board for board in view.boards}
    ends_s, ready_s = _as_it_stands(view, now_unix_s)
    places = _Places(view, ready_s)
    for job in order_by_weight(view.waiting, view.given, view.weights):
        if not places.room:
            return []
        if (place := places.best(job)) is not None:
            places.take(place, job)
    found = []
    # The last of each board's queue first, so that what is expected of those before it stays true.
    for job in sorted(view.given, key=lambda job: (job.state == RUNNING, -job.id)):
        if job.board not in boards or _moved_lately(job, now_unix_s, interval_s):
            continue
        here_s, place = ends_s[job.id], places.best(job, send=True)
        if place is None or place.board == job.board or (job.state == RUNNING and place.ready_s > 0):
            continue
        if place.board in refused_by(job):
            continue
        if place.end_s <= PAYS * here_s and here_s - place.end_s > GAIN_S:
            places.take(place, job)
            found.append(ProfitableMove(job, place.board, here_s, place.end_s))
    return found


def replace_moves(view: PoolView, moves: Sequence[ProfitableMove], method: Method) -> list[PlacementDecision]:
    """Each job that is moved, given to the board that was found for it: what a policy says of the jobs that go to one
    board. They share what the pool's store sends equally by board."""
    taken = {move.job.id for move in moves}
    boards = {board.name: board for board in view.boards}
    to: dict[str, list[PoolJob]] = {}
    for move in moves:
        to.setdefault(move.board, []).append(move.job)
    has: dict[str, list[PoolJob]] = {}
    for job in view.given:
        if job.board in to and job.id not in taken:
            has.setdefault(job.board, []).append(job)
    found = []
    for name, jobs in to.items():
        egress_bps = view.egress_bps / len(to)
        alone = replace(view, waiting=jobs, given=has.get(name, []), boards=[boards[name]], egress_bps=egress_bps)
        found += decide(alone, method)
    return found


def _moved_lately(job: PoolJob, now_unix_s: float, interval_s: float) -> bool:
    """A move dated later than now was dated by a clock that was wrong, and holds nothing up."""
    return bool(job.moves) and 0 <= now_unix_s - float(job.moves[-1]["at_unix_s"]) < interval_s


def _as_it_stands(view: PoolView, now_unix_s: float) -> tuple[dict[int, float], dict[str, list[float]]]:
    """Seconds until each job on a board ends there, and until each board's accelerators are free."""
    has: dict[str, list[PoolJob]] = {}
    for job in view.given:
        has.setdefault(job.board, []).append(job)
    ends_s: dict[int, float] = {}
    ready_s: dict[str, list[float]] = {}
    for board in view.boards:
        free = [0.0] * board.width
        for job in sorted(has.get(board.name, ()), key=lambda job: (job.state != RUNNING, job.id)):
            ends_s[job.id] = free[0] + time_left(job, board, view.estimates, now_unix_s).mean_s
            heapq.heapreplace(free, ends_s[job.id])
        ready_s[board.name] = free
    return ends_s, ready_s


@dataclass(frozen=True, slots=True)
class _Place:
    """An accelerator where a job would end at `end_s`; free at `ready_s`."""

    end_s: float
    ready_s: float
    board: str


class _Places:
    """Accelerators of boards that have room, by what they can run and how fast: of those alike, the one that is free
    first is looked at."""

    def __init__(self, view: PoolView, ready_s: Mapping[str, Sequence[float]]) -> None:
        self._view, self.rules = view, view.rules()
        self._like = likeness([*view.waiting, *view.given])
        self._boards = {board.name: board for board in view.boards if not board.drained}
        has = Counter(job.board for job in view.given)
        left = {name: board.width + AHEAD - has[name] for name, board in self._boards.items()}
        self._left = {name: room for name, room in left.items() if room > 0}
        self._alike: dict[tuple[object, ...], list[tuple[float, str]]] = {}
        for name in self._left:
            heap = self._alike.setdefault(self._like(self._boards[name]), [])
            heap.extend((free_s, name) for free_s in ready_s[name])
        for heap in self._alike.values():
            heapq.heapify(heap)

    @property
    def room(self) -> bool:
        """Whether any board has room."""
        return bool(self._left)

    def best(self, job: PoolJob, send: bool = False) -> _Place | None:
        """Where a job would end first; None where no board with room can run it.

        Args:
            job: It, begun again from what is committed.
            send: Count the sending of its inputs, which goes on while others run.
        """
        found = None
        for heap in self._alike.values():
            while heap and heap[0][1] not in self._left:
                heapq.heappop(heap)
            if not heap or not self.rules.allow(job, board := self._boards[heap[0][1]]):
                continue
            begins_s = max(heap[0][0], self._sending_s(job, board) if send else 0.0)
            place = _Place(begins_s + remaining_s(job, board, self._view.estimates), heap[0][0], board.name)
            if found is None or place.end_s < found.end_s:
                found = place
        return found

    def take(self, place: _Place, job: PoolJob) -> None:
        """A place, as `best` has just answered it for a job, is taken."""
        heapq.heapreplace(self._alike[self._like(self._boards[place.board])], (place.end_s, place.board))
        self.rules.add(job, place.board)
        self._left[place.board] -= 1
        if not self._left[place.board]:
            del self._left[place.board]

    def _sending_s(self, job: PoolJob, board: PoolBoard) -> float:
        """Seconds to send a job's inputs that a board has not."""
        view, there = self._view, self._view.there.get(board.name, frozenset())
        missing = sum(view.sizes.get((job.tenant, sha), 0) for sha in job.blobs if (job.tenant, sha) not in there)
        return 8.0 * missing / min(view.egress_bps, board.link_bps or LINK_BPS)
