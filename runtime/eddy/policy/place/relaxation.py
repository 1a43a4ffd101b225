# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""CIM-LP of [002] (equations 1L to 1cL): the relaxation in which no job may go where it would take longer than T.

Algorithm 1 bisects T, solving one feasibility problem a step. Here each step *minimises* the makespan over the places
that T allows: if the minimum is at most T, T is feasible, and the minimum itself is a better upper end. Most instances
then need two or three linear programs, and the answer is the same.

A linear program over all (job, accelerator) pairs is large; few pairs matter. It is solved over each job's cheapest
places first, and grows by the pairs whose reduced cost is negative, until there is none: the optimum over all pairs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eddy.core.errors import InvalidRequest
from eddy.model.highs import HighsLp, HighsModelStatus, MatrixFormat, kHighsInf, make_solver
from eddy.model.placement.bounds import single_job
from eddy.model.placement.instance import Floats, Ints
from eddy.policy.place.dual_prices import search
from eddy.policy.place.schedule import makespan_of
from eddy.policy.place.sjf_ljf_computing import longest_first

SHARE = 1e-9
"""Fractions below this are rounding of the solver."""


@dataclass(frozen=True, slots=True)
class RelaxedSolution:
    """A vertex of CIM-LP.

    Attributes:
        bound_s: The smallest feasible T, within the accuracy asked for, from below: a valid lower bound.
        value_s: The T the fractions need; at most `bound_s` times (1 + accuracy).
        job, accelerator, share: x_ij > 0, as three lists.
    """

    bound_s: float
    value_s: float
    job: Ints
    accelerator: Ints
    share: Floats


def relax(time_s: Floats, ready_s: Floats, accuracy: float = 1e-4) -> RelaxedSolution:
    """Algorithm 1: the smallest T for which CIM-LP is feasible, and its solution.

    Args:
        time_s: (jobs, accelerators), infinite where a job cannot run.
        ready_s: (accelerators,), c_j of [002] (1a').
        accuracy: Relative width at which the bisection stops.
    """
    low = max(single_job(time_s, ready_s), search(time_s, ready_s, 8).bound_s)
    best = _minimise(time_s, ready_s, low)
    if best.value_s <= low * (1 + 1e-9):
        return RelaxedSolution(low, low, best.job, best.accelerator, best.share)
    loose = _minimise(time_s, ready_s, _any_makespan(time_s, ready_s))
    low = max(low, loose.bound_s)
    if loose.value_s < best.value_s:
        best = _minimise(time_s, ready_s, low)
    high = best.value_s
    while high - low > accuracy * low:
        middle = (low + high) / 2
        tried = _minimise(time_s, ready_s, middle)
        if tried.value_s <= middle * (1 + 1e-9):
            best, high = tried, max(tried.value_s, low)
        else:
            low = middle
    return RelaxedSolution(low, max(low, best.value_s), best.job, best.accelerator, best.share)


def _any_makespan(time_s: Floats, ready_s: Floats) -> float:
    """Algorithm 1, line 1: the makespan of some assignment."""
    host = longest_first(time_s, ready_s)
    if host is None:
        raise InvalidRequest("A job has no host that can run it.", field="time_s")
    return makespan_of(time_s, host, ready_s)


def _minimise(time_s: Floats, ready_s: Floats, limit_s: float) -> RelaxedSolution:
    """The smallest makespan of fractions, over places where the job alone ends by `limit_s`."""
    allowed = time_s + ready_s <= limit_s * (1 + 1e-9)
    start = search(np.where(allowed, time_s, np.inf), ready_s, 12).price
    cost = np.where(allowed, time_s * start, np.inf)
    keep = min(6, time_s.shape[1])
    columns = np.zeros(allowed.shape, bool)
    nearest = np.argpartition(cost, keep - 1, axis=1)[:, :keep] if keep < time_s.shape[1] else np.argsort(cost, axis=1)
    columns[np.arange(len(cost))[:, None], nearest] = True
    columns &= allowed
    finite = np.where(allowed, time_s, 0.0)
    while True:
        job, accelerator = np.nonzero(columns)
        share, value, price, worth = _solve(time_s, ready_s, job, accelerator, limit_s)
        reduced = np.where(allowed & ~columns, finite * price, np.inf) - worth[:, None]
        wrong = reduced < -1e-9 * max(value, 1e-300)
        if not wrong.any():
            break
        # The most negative few of each job are enough; all of them would be the whole table again.
        worst = np.argsort(reduced, axis=1)[:, :4]
        picked = np.zeros_like(columns)
        picked[np.arange(len(cost))[:, None], worst] = True
        columns |= picked & wrong
    used = share > SHARE
    return RelaxedSolution(value, value, job[used], accelerator[used], share[used])


def _solve(
    time_s: Floats, ready_s: Floats, job: Ints, accelerator: Ints, limit_s: float
) -> tuple[Floats, float, Floats, Floats]:
    """One linear program over the pairs given: shares, makespan, price of each accelerator, worth of each job.

    Times are scaled by `limit_s`, so that the solver's absolute tolerances mean the same for nanoseconds and hours.
    Only accelerators that are ready before `limit_s` get a row.
    """
    jobs, accelerators = time_s.shape
    scale = limit_s
    pairs = len(job)
    model = HighsLp()
    model.num_col_, model.num_row_ = pairs + 1, accelerators + jobs
    model.col_cost_ = np.r_[np.zeros(pairs), 1.0]
    model.col_lower_ = np.zeros(pairs + 1)
    model.col_upper_ = np.full(pairs + 1, kHighsInf)
    open_ = ready_s < limit_s
    ready = np.where(open_, ready_s, 0.0) / scale
    model.row_lower_ = np.r_[np.full(accelerators, -kHighsInf), np.ones(jobs)]
    model.row_upper_ = np.r_[-ready, np.ones(jobs)]
    values = time_s[job, accelerator].astype(np.float64) / scale
    model.a_matrix_.format_ = MatrixFormat.kColwise
    model.a_matrix_.start_ = np.r_[np.arange(pairs + 1) * 2, 2 * pairs + accelerators].astype(np.int32)
    model.a_matrix_.index_ = np.r_[
        np.column_stack([accelerator, accelerators + job]).ravel(), np.arange(accelerators)
    ].astype(np.int32)
    model.a_matrix_.value_ = np.r_[np.column_stack([values, np.ones(pairs)]).ravel(), np.where(open_, -1.0, 0.0)]
    solver = make_solver()
    solver.setOptionValue("solver", "simplex")  # a vertex is needed: Algorithm 2 rounds pseudo-trees
    solver.passModel(model)
    solver.run()
    if solver.getModelStatus() != HighsModelStatus.kOptimal:
        raise RuntimeError(f"HiGHS ended with {solver.getModelStatus()} on a problem that has a solution")
    answer = solver.getSolution()
    duals = np.asarray(answer.row_dual)
    value = float(answer.col_value[pairs]) * scale
    return np.asarray(answer.col_value[:pairs]), value, -duals[:accelerators], duals[accelerators:] * scale
