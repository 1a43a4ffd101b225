# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""When jobs would end without sharing, kept from decision to decision."""

from __future__ import annotations

import random

import pytest
from eddy.policy.dispatch.choosing.unshared_schedule import MIN_S, UnsharedSchedule
from eddy.policy.dispatch.views.view import Jobs, JobView, TaskView


def job(number: int, arrival_s: float, length_s: float = 1.0) -> JobView:
    return JobView(number, "a", "t", 1, 1, arrival_s, None, 3, (TaskView(0, "m", length_s, 0, None, ()),))


def length_s(view: JobView) -> float:
    return view.tasks[0].estimate_s


def test_jobs_end_one_after_another() -> None:
    jobs = Jobs([job(0, 0.0, 2.0), job(1, 1.0, 3.0), job(2, 9.0, 1.0)])
    found = UnsharedSchedule().with_arrivals(jobs, length_s)
    assert [found.claim(each, 1.0) for each in jobs] == [2.0, 5.0, 10.0]
    assert found.with_arrivals(jobs, length_s) is found, "nothing came, nothing went"


def test_time_counts_from_the_oldest_that_is_left() -> None:
    jobs = Jobs([job(0, 0.0, 2.0), job(1, 1.0, 3.0)])
    found = UnsharedSchedule().with_arrivals(jobs, length_s)
    later = found.with_arrivals(jobs.drop(0), length_s)
    assert later.claim(jobs.job(1), 1.0) == 4.0
    assert list(later.ends_s) == [(1.0, 1)], "who went is forgotten"


def test_who_comes_late_with_an_early_arrival_ends_as_the_next_older_one() -> None:
    jobs = Jobs([job(0, 0.0, 2.0), job(2, 2.0, 3.0)])
    found = UnsharedSchedule().with_arrivals(jobs, length_s)
    assert found.claim(job(1, 1.0), 1.0) == 2.0
    assert found.claim(job(9, -1.0), 1.0) == MIN_S


@pytest.mark.parametrize("seed", range(5))
def test_it_is_what_working_everything_out_anew_gives_and_never_falls_with_age(seed: int) -> None:
    rng, jobs, found, now_s = random.Random(seed), Jobs(), UnsharedSchedule(), 0.0
    for number in range(300):
        now_s += rng.expovariate(1.0)
        jobs = jobs.put(job(number, now_s, rng.uniform(0.1, 3.0)))
        while len(jobs) > 1 and rng.random() < 0.45:
            jobs = jobs.drop(rng.choice(list(jobs)).id)
        found = found.with_arrivals(jobs, length_s)
        claims = [found.claim(each, 0.5) for each in jobs]
        assert claims == sorted(claims)
        assert min(found.ends_s)[0] >= jobs.oldest().arrival_s
    fresh = UnsharedSchedule().with_arrivals(jobs, length_s)
    assert all(found.ends_s[each.age] >= fresh.ends_s[each.age] for each in jobs), "those that went stood before"
