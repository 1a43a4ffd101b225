# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The integer program: which slot takes which task, and in which order loads follow each other.

The formulation is that of task graphs with reconfiguration nodes which [004] 2.3.2 takes over from DML. Unknown are for
each task, the begin of its load, the begins of its items, and its slot; for each two tasks, which is loaded first and
whether they share a slot. Two tasks that share one follow each other whole. Slots are alike, so an ancestor may as well
be loaded before its descendants (where it is not, exchanging the two loads, and what their slots do from there on, does
no harm), and task `t` need not look beyond slot `t`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

from eddy.model.highs import HighsModelStatus, SolutionStatus, make_solver

from eddy_studies.saturation.graph import LoadedGraph, list_schedule_s, lower_bound_s

CLOSE = 1e-4
"""A relative gap at which a makespan counts as proven."""


@dataclass(frozen=True, slots=True)
class Makespan:
    """What was found for a number of slots.

    Attributes:
        makespan_s: Of the best schedule found.
        bound_s: No schedule is below it.
        spent_s: Seconds the solver took; 0 where it was not needed.
    """

    makespan_s: float
    bound_s: float
    spent_s: float

    @property
    def gap(self) -> float:
        """How much shorter, at most, the best there can be is; 0 where it was found."""
        return 1 - self.bound_s / self.makespan_s if self.makespan_s > 0 else 0.0


def solve(graph: LoadedGraph, batch: int, slots: int, limit_s: float, known_s: float = float("inf")) -> Makespan:
    """The least makespan, or the best found in the time given.

    Args:
        batch: Number of items.
        slots: Number of slots.
        limit_s: Seconds the solver may take.
        known_s: A makespan that is known to be possible, of fewer slots say.
    """
    best_s = min(known_s, list_schedule_s(graph, batch, slots))
    bound_s = lower_bound_s(graph, batch, slots)
    if best_s <= bound_s * (1 + CLOSE) or limit_s <= 0:
        return Makespan(best_s, min(bound_s, best_s), 0.0)
    solver, makespan = _program(graph, batch, slots, bound_s, best_s)
    solver.setOptionValue("time_limit", float(limit_s))
    solver.setOptionValue("mip_rel_gap", CLOSE)
    solver.minimize(makespan)
    info = solver.getInfo()
    if info.primal_solution_status == SolutionStatus.kSolutionStatusFeasible:
        best_s = min(best_s, float(solver.val(makespan)))
    elif solver.getModelStatus() == HighsModelStatus.kInfeasible:
        # Nothing is strictly below what is known.
        bound_s = best_s
    if info.mip_dual_bound > bound_s:
        bound_s = float(info.mip_dual_bound)
    return Makespan(best_s, min(bound_s, best_s), float(solver.getRunTime()))


def _program(graph: LoadedGraph, batch: int, slots: int, bound_s: float, best_s: float) -> tuple[Any, Any]:
    """The program and its objective; schedules longer than `best_s` are left out."""
    solver = make_solver()
    solver.setOptionValue("threads", 1)
    solver.setOptionValue("random_seed", 0)
    tasks, load_s, horizon_s = range(len(graph.latency_s)), graph.load_s, best_s
    makespan = solver.addVariable(lb=bound_s, ub=best_s)
    load = [solver.addVariable(lb=0, ub=horizon_s) for _ in tasks]
    item = [[solver.addVariable(lb=0, ub=horizon_s) for _ in range(batch)] for _ in tasks]
    end = [item[t][-1] + graph.latency_s[t] for t in tasks]
    for t in tasks:
        solver.addConstr(item[t][0] >= load[t] + load_s)
        for i in range(1, batch):
            solver.addConstr(item[t][i] >= item[t][i - 1] + graph.latency_s[t])
        for p in graph.before[t]:
            for i in range(batch):
                solver.addConstr(item[t][i] >= item[p][i] + graph.latency_s[p])
        solver.addConstr(makespan >= end[t])
    place = [[solver.addBinary() if k <= t else None for k in range(slots)] for t in tasks]
    for t in tasks:
        solver.addConstr(sum(x for x in place[t] if x is not None) == 1)
    for t, u in combinations(tasks, 2):
        first = None if t in graph.ancestors[u] else solver.addBinary()
        shared = solver.addBinary()
        for a, b in zip(place[t], place[u], strict=True):
            if a is not None and b is not None:
                solver.addConstr(shared >= a + b - 1)
        late: Any = 0 if first is None else 1 - first
        solver.addConstr(load[u] >= load[t] + load_s - horizon_s * late)
        solver.addConstr(load[u] >= end[t] - horizon_s * late - horizon_s * (1 - shared))
        if first is not None:
            solver.addConstr(load[t] >= load[u] + load_s - horizon_s * first)
            solver.addConstr(load[t] >= end[u] - horizon_s * first - horizon_s * (1 - shared))
    return solver, makespan
