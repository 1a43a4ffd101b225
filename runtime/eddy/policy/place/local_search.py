"""Local search: take the fullest accelerator and move a job away, or swap one for a shorter."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from eddy.model.placement.instance import Floats, Ints


def improve(time_s: Floats, host: Ints, loads: Floats, target_s: float, steps: int) -> int:
    """Lower the largest load, in place, until it is at most `target_s`, nothing helps, or `steps` are done.

    A step looks at every move of a job of the fullest accelerator, and at every swap of one of its jobs with any other
    job, and takes the one after which the larger of the two loads is least.

    Args:
        time_s: (jobs, accelerators).
        host: (jobs,) changed in place.
        loads: (accelerators,) float64, ready times included; changed in place.
        target_s: Good enough.
        steps: At most so many.

    Returns:
        Steps done.
    """
    own = time_s[np.arange(len(host)), host]
    busy = np.bincount(host, minlength=len(loads)) > 0
    for step in range(steps):
        fullest = int(np.where(busy, loads, -1.0).argmax())
        top = float(loads[fullest])
        if top <= target_s:
            return step
        mine = np.flatnonzero(host == fullest)
        rows = time_s[mine]
        left_s = top - rows[:, fullest]
        move = _best_move(rows, mine, loads, left_s, fullest)
        swap = _best_swap(rows, mine, time_s[:, fullest], loads[host] - own, host, left_s)
        if min(move.load_s, swap.load_s) >= top * (1 - 1e-6):
            return step
        if move.load_s <= swap.load_s:
            _put(time_s, host, loads, own, move.job, move.other)
            busy[move.other] = True
            busy[fullest] = len(mine) > 1
        else:
            there = int(host[swap.other])
            _put(time_s, host, loads, own, swap.other, fullest)
            _put(time_s, host, loads, own, swap.job, there)
    return steps


class _Change(NamedTuple):
    """A job of the fullest accelerator, the accelerator it goes to or the job it is swapped with, and the larger of the
    two loads then."""

    job: int
    other: int
    load_s: float


def _best_move(rows: Floats, mine: Ints, loads: Floats, left_s: Floats, fullest: int) -> _Change:
    """The best move of a job of the fullest accelerator: `rows` are the times of its jobs `mine`, and `left_s` is its
    load without each."""
    after_s = np.maximum(loads + rows, left_s[:, None])
    after_s[:, fullest] = np.inf
    row, there = divmod(int(after_s.argmin()), len(loads))
    return _Change(int(mine[row]), there, float(after_s[row, there]))


def _best_swap(rows: Floats, mine: Ints, here_s: Floats, without_s: Floats, host: Ints, left_s: Floats) -> _Change:
    """The best swap of one of its jobs with another: `here_s` is what each job takes on the fullest accelerator, and
    `without_s` the load of each job's own accelerator without it."""
    after_s = np.maximum(left_s[:, None] + here_s, without_s + rows[:, host])
    after_s[:, mine] = np.inf
    row, other = divmod(int(after_s.argmin()), len(host))
    return _Change(int(mine[row]), other, float(after_s[row, other]))


def _put(time_s: Floats, host: Ints, loads: Floats, own: Floats, job: int, there: int) -> None:
    loads[host[job]] -= own[job]
    own[job] = time_s[job, there]
    loads[there] += own[job]
    host[job] = there
