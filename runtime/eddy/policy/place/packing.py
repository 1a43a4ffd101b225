"""Fill accelerators up to a given make-span: each job to its cheapest place that has room, larger jobs first."""

from __future__ import annotations

import numpy as np

from eddy.model.placement.instance import Floats, Ints


def pack(time_s: Floats, price: Floats, room_s: Floats, size: Floats, jitter: float = 0.0) -> tuple[Ints, Ints]:
    """Place what fits into `room_s` (seconds left on each accelerator; updated in place).

    In rounds: every waiting job bids for its cheapest accelerator with room; an accelerator takes its bidders by
    falling `size` while they fit, and the rest bid again. A job leaves when no accelerator has room for it.

    Args:
        time_s: (jobs, accelerators).
        price: (accelerators,) per second.
        room_s: (accelerators,) float64.
        size: (jobs,) precedence, larger first.
        jitter: Relative spread of costs, to deal out jobs whose cheapest places tie. 0 for none.

    Returns:
        (jobs,) accelerator or -1, and the jobs without a place, in order of precedence.
    """
    jobs, accelerators = time_s.shape
    weight = price.astype(time_s.dtype)
    waiting = np.argsort(-size, kind="stable")
    host = np.full(jobs, -1, np.int64)
    without = []
    generator = np.random.default_rng(0)
    cost = time_s[waiting] * weight
    times = time_s[waiting]
    if jitter:
        cost *= 1 + jitter * generator.random(cost.shape, dtype=np.float32)
    while len(waiting):
        cost[times > room_s.astype(time_s.dtype)] = np.inf
        choice = cost.argmin(axis=1)
        able = np.isfinite(cost[np.arange(len(waiting)), choice])
        if not able.all():
            without.append(waiting[~able])
            waiting, choice, cost, times = waiting[able], choice[able], cost[able], times[able]
            if not len(waiting):
                break
        wanted = times[np.arange(len(waiting)), choice].astype(np.float64)
        taken = _accepted(choice, wanted, room_s)
        host[waiting[taken]] = choice[taken]
        room_s -= np.bincount(choice[taken], weights=wanted[taken], minlength=accelerators)
        keep = ~taken
        waiting, cost, times = waiting[keep], cost[keep], times[keep]
    left = np.concatenate(without) if without else np.zeros(0, np.int64)
    return host, left


def _accepted(choice: Ints, wanted: Floats, room_s: Floats) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which bids are taken: for each accelerator, in order, as long as their sum fits."""
    order = np.argsort(choice, kind="stable")
    at, need = choice[order], wanted[order]
    sums = np.cumsum(need)
    first = np.flatnonzero(np.r_[True, at[1:] != at[:-1]])
    before = np.repeat(sums[first] - need[first], np.diff(np.r_[first, len(at)]))
    fits = sums - before <= room_s[at] * (1 + 1e-9)
    fits[first] = True  # alone it has been seen to fit
    taken = np.empty(len(choice), bool)
    taken[order] = fits
    return taken
