"""Tokens and candidates, as PREMA accumulates them and [004] Algorithm 1 uses them.

A waiting job gathers tokens in proportion to its priority and to how much waiting has slowed it down, measured in
lengths of the job itself. The jobs whose tokens exceed the threshold are the candidates.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from eddy.core.jobs import PRIORITIES
from eddy.policy.dispatch.facts import fact
from eddy.policy.dispatch.view import JobView


@dataclass(frozen=True, slots=True)
class Tokens:
    """What is remembered from call to call.

    Attributes:
        by_job: Job id to tokens.
        counted_s: Board time up to which waiting has been counted.
    """

    by_job: Mapping[int, float] = field(default_factory=dict)
    counted_s: float = 0.0


@fact
def serial_estimate_s(job: JobView) -> float:
    """The estimated time of the job's tasks laid end to end, for the whole batch, in board seconds ([004] 2.3.1)."""
    return max(job.batch * sum(task.estimate_s for task in job.tasks), 1e-9)


def accumulate(tokens: Tokens, jobs: Iterable[JobView], now_s: float, alpha: float) -> Tokens:
    """Add what each job has earned since tokens were last counted ([004] Algorithm 1, first two loops).

    A job that is new starts with its priority. Waiting is counted once: from the last count, or from the job's arrival.

    Args:
        tokens: As of the last call.
        jobs: All that have arrived and not ended; others are forgotten.
        now_s: Board time.
        alpha: Weight of waiting against the initial priority; 1/8 in [004]'s own policy, 1 in its PREMA.
    """
    known, since_s = tokens.by_job, tokens.counted_s
    counted: dict[int, float] = {}
    for job in jobs:
        number, priority, arrival_s = job.id, job.priority, job.arrival_s
        held = known[number] if number in known else float(priority)
        waited_s = now_s - (arrival_s if arrival_s > since_s else since_s)
        if waited_s > 0.0:
            held += alpha * priority * waited_s / serial_estimate_s(job)
        counted[number] = held
    return Tokens(counted, now_s)


def floor_to_priority(tokens: float) -> int:
    """The highest priority level not above `tokens`; the lowest level for anything smaller."""
    return max((level for level in PRIORITIES if level <= tokens), default=PRIORITIES[0])


def candidates(tokens: Tokens, jobs: Sequence[JobView]) -> tuple[JobView, ...]:
    """The jobs above the threshold ([004] Algorithm 1), oldest first; ties by id.

    The text asks for strictly more than the threshold, which a job that has just arrived at an idle board never has:
    where nobody exceeds it, those who reach it are the candidates, so that slots do not idle for want of a token.

    Args:
        tokens: Of every one of the jobs.
        jobs: Oldest first, as a view has them.
    """
    if not jobs:
        return ()
    held = tokens.by_job
    # The floor grows with what is floored, so the largest floor is the floor of the largest.
    threshold = floor_to_priority(max([held[job.id] for job in jobs]))
    above = tuple([job for job in jobs if held[job.id] > threshold])
    return above or tuple([job for job in jobs if held[job.id] >= threshold])
