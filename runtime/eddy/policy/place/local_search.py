"""Local search: take the fullest accelerator and move a job away, or swap one for a shorter."""

from __future__ import annotations

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
    jobs, accelerators = time_s.shape
    own = time_s[np.arange(jobs), host]
    busy = np.bincount(host, minlength=accelerators) > 0
    for step in range(steps):
        fullest = int(np.where(busy, loads, -1.0).argmax())
        top = float(loads[fullest])
        if top <= target_s:
            return step
        mine = np.flatnonzero(host == fullest)
        rows = time_s[mine]
        here = rows[:, fullest]
        moved = np.maximum(loads + rows, (top - here)[:, None])
        moved[:, fullest] = np.inf
        at_move = int(moved.argmin())
        swapped = np.maximum((top - here)[:, None] + time_s[:, fullest], (loads[host] - own) + rows[:, host])
        swapped[:, mine] = np.inf
        at_swap = int(swapped.argmin())
        best_move, best_swap = float(moved.flat[at_move]), float(swapped.flat[at_swap])
        if min(best_move, best_swap) >= top * (1 - 1e-6):
            return step
        if best_move <= best_swap:
            i, there = int(mine[at_move // accelerators]), at_move % accelerators
            _put(time_s, host, loads, own, i, there)
            busy[there] = True
            busy[fullest] = len(mine) > 1
        else:
            i, k = int(mine[at_swap // jobs]), at_swap % jobs
            there = int(host[k])
            _put(time_s, host, loads, own, k, fullest)
            _put(time_s, host, loads, own, i, there)
    return steps


def _put(time_s: Floats, host: Ints, loads: Floats, own: Floats, job: int, there: int) -> None:
    loads[host[job]] -= own[job]
    own[job] = time_s[job, there]
    loads[there] += own[job]
    host[job] = there
