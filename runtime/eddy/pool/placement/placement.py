# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The head's decision, as a function: which waiting job goes to which board now, and how fast its inputs are sent.

The batch is given to a policy of `policy.place` as an instance of [002]: every board is a host with as many
accelerators as it runs jobs at once; what runs there already makes them ready later; the pool's store sends, at the
rate it was told, and every board receives at the rate of its link, as measured.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from eddy.core.board_constraints import ANY, COMPUTING, MODEL
from eddy.model.placement.instance import Floats, Instance, Placement
from eddy.pool.mirror.board_drops import refused_by
from eddy.pool.mirror.estimates import Estimates
from eddy.pool.mirror.planning_order import Fits, TurnOrder, order_by_weight, priority
from eddy.pool.placement.constraints import PlacementRules, is_particular, likeness
from eddy.pool.records.records import AHEAD, GUEST, PoolBoard, PoolJob

Method = Callable[[Instance], Placement]

LINK_BPS = 1e9
"""Rate of a link that no transfer has measured yet."""
HORIZON, AT_LEAST = 200, 4
"""Waiting jobs that are planned at once: so many, or so many times the boards that have room where that is more. The
first by priority and arrival; what is behind them is planned when they have gone."""
MIN_S = 1e-4
"""Least time a job counts as; a time of 0 would mean that it keeps no accelerator."""


@dataclass(frozen=True, slots=True)
class PoolView:
    """The pool, as a decision sees it.

    Attributes:
        waiting: Jobs without a board; in order of arrival.
        given: Jobs that boards have and that have not ended.
        boards: Those whose lease holds.
        estimates: What is known of times.
        sizes: Bytes of each blob, by (tenant, sha256).
        there: Of the inputs of jobs in question, those that a board has already, by board; (tenant, sha256).
        egress_bps: What the pool's store can send in all.
        weights: Of tenants in the pool, by name; 1 where a name is missing.
        partners: Boards of jobs that others go with (`PlacementRules`).
    """

    waiting: Sequence[PoolJob]
    given: Sequence[PoolJob]
    boards: Sequence[PoolBoard]
    estimates: Estimates
    sizes: Mapping[tuple[str, str], int]
    there: Mapping[str, frozenset[tuple[str, str]]]
    egress_bps: float = LINK_BPS
    weights: Mapping[str, float] = field(default_factory=dict)
    partners: Mapping[int, str] = field(default_factory=dict)

    def rules(self) -> PlacementRules:
        """Which boards may have which jobs, with what boards have now."""
        return PlacementRules.of(self.given, self.partners)


@dataclass(frozen=True, slots=True)
class PlacementDecision:
    """One decision: a job goes to a board, its inputs at a rate of `bps`."""

    job: int
    board: str
    bps: float
    why: Mapping[str, Any]


def remaining_s(job: PoolJob, board: PoolBoard, estimates: Estimates) -> float:
    """Seconds that what is left of a job takes on a board; infinite where it cannot run there."""
    if not board.runs(job):
        return float("inf")
    return max((job.batch - job.done) * estimates.item_s(job.timed, board.kind)[0], MIN_S)


def _times_s(
    jobs: Sequence[PoolJob], boards: Sequence[PoolBoard], estimates: Estimates, rules: PlacementRules
) -> Floats:
    """`remaining_s` of every job on every board; infinite where the board may not have it. Rows differ by work, items
    and kind of board, columns by kind and by what runs there; only jobs that ask for more of a board are compared with
    each."""
    works: dict[tuple[str, str], int] = {}
    kinds: dict[tuple[Any, ...], int] = {}
    row = [works.setdefault((job.timed, job.board_kind), len(works)) for job in jobs]
    plain = likeness(())
    column = [kinds.setdefault(plain(board), len(kinds)) for board in boards]
    one_job = {(job.timed, job.board_kind): job for job in jobs}
    one_board = {plain(board): board for board in boards}
    item_s = np.full((len(works), len(kinds)), np.inf)
    for work, i in works.items():
        for kind, j in kinds.items():
            job, board = one_job[work], one_board[kind]
            if board.runs(job) and job.board_kind in (ANY, COMPUTING if board.computes else MODEL):
                item_s[i, j] = estimates.item_s(job.timed, board.kind)[0]
    items = np.array([job.batch - job.done for job in jobs], np.float64)
    found: Floats = np.maximum(item_s[row][:, column] * items[:, None], MIN_S)
    for i, job in enumerate(jobs):
        if is_particular(job):
            found[i, [not rules.allow(job, board) for board in boards]] = np.inf
    return found


def instance_of(
    view: PoolView,
    jobs: Sequence[PoolJob],
    boards: Sequence[PoolBoard],
    ready: _Ready | None = None,
    rules: PlacementRules | None = None,
) -> Instance:
    """The batch as [002] has it.

    Args:
        boards: Those they may go to.
        ready: When these are ready, where that is known.
        rules: Which of them may have which; those of the view, if left out.
    """
    host_of = np.repeat(np.arange(len(boards)), [board.width for board in boards])
    rules = rules or view.rules()
    by_board = _times_s(jobs, boards, view.estimates, rules)
    ready = ready or _Ready(view, boards)
    return Instance(
        time_s=by_board if len(host_of) == len(boards) else by_board[:, host_of],
        size_bits=np.array(_missing_bits(view, jobs, boards, rules)),
        requester=np.zeros(len(jobs), np.int64),
        egress_bps=np.array([view.egress_bps]),
        ingress_bps=np.array([board.link_bps or LINK_BPS for board in boards]),
        host_of=host_of,
        ready_s=np.array([time for board in boards for time in ready.of(board)]),
    )


class _Ready:
    """When accelerators of boards end what they have: longest first onto the one that is free first.

    Args:
        boards: Those that are asked for.
    """

    def __init__(self, view: PoolView, boards: Sequence[PoolBoard]) -> None:
        self._estimates = view.estimates
        ways: dict[object, int] = {}
        self._way = {
            board.name: ways.setdefault((board.kind, board.applications, board.kernels), len(ways)) for board in boards
        }
        self._item_s: dict[tuple[int, bool, str], float] = {}
        self._times: dict[str, list[float]] = {}
        self._known: dict[str, list[float]] = {}
        at = {board.name: board for board in boards}
        for job in view.given:
            if job.board in at:
                self.add(job, at[job.board])

    def add(self, job: PoolJob, board: PoolBoard) -> None:
        """A board has a job more."""
        key = self._way[board.name], bool(job.request.get("kernel")), job.timed
        item_s = self._item_s.get(key)
        if item_s is None:
            runs = board.runs(job)
            item_s = self._item_s[key] = self._estimates.item_s(job.timed, board.kind)[0] if runs else float("inf")
        if item_s < float("inf"):
            self._times.setdefault(board.name, []).append(max((job.batch - job.done) * item_s, MIN_S))
            self._known.pop(board.name, None)

    def of(self, board: PoolBoard) -> list[float]:
        """Seconds from now, of each of its accelerators."""
        if board.name not in self._known:
            free = [0.0] * board.width
            for time in sorted(self._times.get(board.name, ()), reverse=True):
                free[free.index(min(free))] += time
            self._known[board.name] = free
        return self._known[board.name]


def _missing_bits(
    view: PoolView, jobs: Sequence[PoolJob], boards: Sequence[PoolBoard], rules: PlacementRules
) -> list[float]:
    """Bits to be sent of each job: those no board that can run it has. [002] knows one size for all hosts, so what one
    of them has counts as there; `remaining_s` does not count sending."""
    # Of boards that have the same and can run the same, one is looked at.
    way = likeness(jobs)
    alike = {(view.there.get(board.name), way(board)): board for board in boards}
    has = [(board, there) for (there, _), board in alike.items() if there]
    found = []
    for job in jobs:
        needed = [(job.tenant, sha) for sha in job.blobs]
        sent = sum(view.sizes.get(blob, 0) for blob in needed)
        for board, there in has:
            if sent and not there.isdisjoint(needed) and rules.allow(job, board):
                sent = min(sent, sum(view.sizes.get(blob, 0) for blob in needed if blob not in there))
        found.append(8.0 * sent)
    return found


def _with_room(view: PoolView) -> tuple[list[PoolBoard], dict[str, int]]:
    """Boards that are not drained, and how many more jobs each takes."""
    boards = [board for board in view.boards if not board.drained]
    room = {board.name: board.width + AHEAD for board in boards}
    for job in view.given:
        if job.board in room:
            room[job.board] -= 1
    return boards, room


def next_planned(view: PoolView, in_turn: TurnOrder | None = None) -> list[PoolJob]:
    """The waiting jobs that `decide` plans, in its order, and guests behind them; sizes of inputs are not needed. Of
    these alone it makes the same of a view as of all.

    A job that no board with room can run is not planned, and keeps nothing from those behind it.

    Args:
        in_turn: Jobs that wait and are kept in turn, in place of those of the view.
    """
    boards, room = _with_room(view)
    in_turn, rules = in_turn or partial(order_by_weight, view.waiting), view.rules()
    planned = _planned_in_turn(view, boards, room, in_turn, rules)
    known = {job.id for job in planned}
    return [*planned, *(job for job in _guests(view, boards, room, in_turn, rules) if job.id not in known)]


def _planned_in_turn(
    view: PoolView, boards: Sequence[PoolBoard], room: Mapping[str, int], in_turn: TurnOrder, rules: PlacementRules
) -> list[PoolJob]:
    """The waiting jobs that are planned for boards with room."""
    free = [board for board in boards if room[board.name] > 0]
    if not free:
        return []
    return in_turn(view.given, view.weights, max(HORIZON, AT_LEAST * len(free)), _fit(free, rules))


def _fit(boards: Sequence[PoolBoard], rules: PlacementRules) -> Fits:
    """Whether one of some boards can run a job, and may have it."""
    ways = {(board.applications, board.kernels, board.computes): board for board in boards}.values()
    return lambda job: any(rules.allow(job, board) for board in (boards if is_particular(job) else ways))


def _guests(
    view: PoolView, boards: Sequence[PoolBoard], room: Mapping[str, int], in_turn: TurnOrder, rules: PlacementRules
) -> list[PoolJob]:
    """The first waiting job of each tenant that has none on a board, and that a full board takes as a guest."""
    hosts = [board for board in boards if _takes_guest(board, room)]
    if not hosts:
        return []
    has, fit = {job.tenant for job in view.given}, _fit(hosts, rules)
    found = in_turn(view.given, view.weights, HORIZON, lambda job: job.tenant not in has and fit(job))
    return [*{job.tenant: job for job in reversed(found)}.values()][::-1]


def _takes_guest(board: PoolBoard, room: Mapping[str, int]) -> bool:
    return 0 >= room[board.name] > -board.guests


def decide(view: PoolView, method: Method) -> list[PlacementDecision]:
    """What to give to whom now: of the whole plan, what boards have room for.

    A board has room for the jobs it runs at once and `AHEAD` more. The rest of the plan is made again at the next
    decision, with what is known then. Which tenants' jobs get the room goes by weight (`order_by_weight`), which board
    each gets by the policy. A tenant that has no job on a board is a guest where all are full: one job of it goes to
    one.
    """
    boards, room = _with_room(view)
    in_turn, rules = partial(order_by_weight, view.waiting), view.rules()
    jobs = _planned_in_turn(view, boards, room, in_turn, rules)
    guests = _guests(view, boards, room, in_turn, rules)
    gives = _in_room(view, jobs, boards, room, method, rules)
    given = {give.job for give in gives}
    served = {job.tenant for job in jobs if job.id in given}
    return [*gives, *_hosted(view, [job for job in guests if job.tenant not in served], boards, room, rules)]


def _hosted(
    view: PoolView,
    guests: Sequence[PoolJob],
    boards: Sequence[PoolBoard],
    room: dict[str, int],
    rules: PlacementRules,
) -> list[PlacementDecision]:
    """Guests on full boards, each where it ends first; `room` is what is left then."""
    times, gives = _times_by_kind(boards, view.estimates), []
    for job in guests:
        refused = refused_by(job)
        free = [each for each in boards if _takes_guest(each, room) and each.name not in refused]
        hosts = [each for each in free if rules.allow(job, each)]
        if hosts:
            host = min(hosts, key=lambda board: (remaining_s(job, board, view.estimates), board.name))
            room[host.name] -= 1
            rules.add(job, host.name)
            gives.append(
                PlacementDecision(
                    job.id, host.name, 0.0, {"policy": GUEST, "starts_in_s": 0.0, "kinds": _kinds(job, times(job))}
                )
            )
    return gives


def _in_room(
    view: PoolView,
    jobs: Sequence[PoolJob],
    boards: Sequence[PoolBoard],
    room: dict[str, int],
    method: Method,
    rules: PlacementRules,
) -> list[PlacementDecision]:
    """Of the plan of all jobs, what boards have room for; `room` is what is left then."""
    if not jobs:
        return []
    ready = _Ready(view, boards)
    if len({job.tenant for job in jobs}) == 1:
        return _planned(view, jobs, boards, room, ready, method, rules)
    # With several tenants, those whose turn it is go first, and the rest gets what they leave.
    turn = sum(left for left in room.values() if left > 0)
    gives = _planned(view, jobs[:turn], boards, room, ready, method, rules, elsewhere=True)
    if len(jobs) > turn and any(left > 0 for left in room.values()):
        on, at = {give.job: give.board for give in gives}, {board.name: board for board in boards}
        for job in jobs[:turn]:
            if job.id in on:
                ready.add(job, at[on[job.id]])
        rest = [job for job in jobs[turn:] if not is_particular(job) or any(rules.allow(job, each) for each in boards)]
        gives += _planned(view, rest, boards, room, ready, method, rules)
    return gives


def _planned(
    view: PoolView,
    jobs: Sequence[PoolJob],
    boards: Sequence[PoolBoard],
    room: dict[str, int],
    ready: _Ready,
    method: Method,
    rules: PlacementRules,
    elsewhere: bool = False,
) -> list[PlacementDecision]:
    """Of the plan of some jobs, what boards have room for; `room` is what is left then.

    Args:
        rules: Which boards may have which jobs; what is given here is added.
        elsewhere: Give a job that was planned for a board without room to one of the same kind that has some.
    """
    if not jobs:
        return []
    instance = instance_of(view, jobs, boards, ready, rules)
    placement = method(instance)
    rates: dict[int, float] = {}
    for rate in placement.rates:
        rates[rate.job] = max(rates.get(rate.job, 0.0), rate.bps)
    times = _times_by_kind(boards, view.estimates)
    alike = _Alike(boards, room, rules)
    gives = []
    order = sorted(range(len(jobs)), key=lambda i: (-priority(jobs[i]), float(placement.start_s[i]), jobs[i].id))
    for i in order:
        board: PoolBoard | None = boards[int(instance.host_of[placement.host[i]])]
        assert board is not None
        if refused := refused_by(jobs[i]):
            board = _not_refused(view, jobs[i], board, refused, room, rules)
        elif elsewhere and room[board.name] <= 0:
            board = alike.instead(board, jobs[i])
        if board is not None and is_particular(jobs[i]) and not rules.allow(jobs[i], board):
            # One that it is kept apart from was given to that board just now.
            board = next((each for each in boards if room[each.name] > 0 and rules.allow(jobs[i], each)), None)
        if board is not None and room[board.name] > 0:
            room[board.name] -= 1
            rules.add(jobs[i], board.name)
            gives.append(
                PlacementDecision(
                    jobs[i].id, board.name, rates.get(i, 0.0), _why(jobs[i], times(jobs[i]), placement, i)
                )
            )
    return gives


def _not_refused(
    view: PoolView,
    job: PoolJob,
    planned: PoolBoard,
    refused: Collection[str],
    room: Mapping[str, int],
    rules: PlacementRules,
) -> PoolBoard | None:
    """A board with room that has not refused a job: the one it was planned for, or another. None where the job waits
    for one. Where every board that can run it has refused it, they are asked again."""
    others = [board for board in view.boards if board.name not in refused and rules.allow(job, board)]
    if not others or planned.name not in refused:
        return planned
    return next((board for board in others if room.get(board.name, 0) > 0), None)


class _Alike:
    """Boards of each kind that may have room, in order; those seen to have none are not looked at again.

    Args:
        room: What each has; only ever less.
        rules: Which of them may have which jobs.
    """

    def __init__(self, boards: Sequence[PoolBoard], room: Mapping[str, int], rules: PlacementRules) -> None:
        self._room, self._rules = room, rules
        self._with_room: dict[str, deque[PoolBoard]] = {}
        for board in boards:
            self._with_room.setdefault(board.kind, deque()).append(board)

    def instead(self, board: PoolBoard, job: PoolJob) -> PoolBoard:
        """The first of a board's kind that has room and can run a job; the board itself where there is none."""
        left = self._with_room[board.kind]
        while left and self._room[left[0].name] <= 0:
            left.popleft()
        fits = (each for each in left if self._room[each.name] > 0 and self._rules.allow(job, each))
        return next(fits, board)


def _why(job: PoolJob, item_s: Mapping[str, tuple[float, float]], placement: Placement, i: int) -> dict[str, Any]:
    """What the decision was made on, for `explain`."""
    return {
        "policy": placement.method,
        "starts_in_s": float(placement.start_s[i]),
        "makespan_s": placement.makespan_s,
        "bound_s": placement.lower_bound_s,
        "kinds": _kinds(job, item_s),
    }


def _kinds(job: PoolJob, item_s: Mapping[str, tuple[float, float]]) -> dict[str, Any]:
    """What is left of a job would take on each kind of board."""
    items = job.batch - job.done
    return {kind: {"p50_s": items * p50, "p90_s": items * p90} for kind, (p50, p90) in item_s.items()}


def _times_by_kind(
    boards: Sequence[PoolBoard], estimates: Estimates
) -> Callable[[PoolJob], Mapping[str, tuple[float, float]]]:
    """Times of an item on every kind of board that can run a job; each asked for once."""
    ways = {(board.kind, board.applications, board.kernels): board for board in boards}.values()
    known: dict[str, dict[str, tuple[float, float]]] = {}

    def times(job: PoolJob) -> Mapping[str, tuple[float, float]]:
        if job.timed not in known:
            known[job.timed] = {way.kind: estimates.item_s(job.timed, way.kind) for way in ways if way.runs(job)}
        return known[job.timed]

    return times
