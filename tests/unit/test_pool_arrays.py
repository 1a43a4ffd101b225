"""Records of an array come in any order, and again: none counts before the first job's, which is written last."""

from __future__ import annotations

import itertools
from dataclasses import replace

from eddy.core.asked import ArrayPlace
from eddy.pool.records import RUNNING, PoolJob
from eddy.pool.whole_arrays import WholeArrays


def job(number: int, first: int | None = None, size: int = 3) -> PoolJob:
    place = None if first is None else ArrayPlace(first, number - first, size)
    return PoolJob(number, "ada", {"application": "fir"}, 0.0, array=place)


def test_a_job_of_its_own_counts_at_once() -> None:
    arrays = WholeArrays()
    assert arrays.accepted(job(1))
    assert arrays.take(job(1)) == (job(1),)


def test_an_array_counts_once_its_first_job_is_there_whatever_came_before() -> None:
    for order in itertools.permutations((5, 6, 7)):
        arrays, counted = WholeArrays(), list[int]()
        for number in order:
            came = arrays.take(job(number, 5))
            counted += [each.id for each in came]
            assert (number in counted) == (5 in counted) == arrays.accepted(job(number, 5))
        assert sorted(counted) == [5, 6, 7]
        assert counted.index(5) == 0
        assert arrays.take(job(6, 5)) == (job(6, 5),), "whatever is told of it from now on counts"
        assert arrays.take(job(5, 5)) == (job(5, 5),)


def test_of_a_record_that_comes_again_the_latest_counts_and_of_other_arrays_none() -> None:
    arrays = WholeArrays()
    arrays.take(job(6, 5))
    later = replace(job(6, 5), state=RUNNING)
    arrays.take(later)
    arrays.take(job(9, 8))
    assert arrays.take(job(5, 5)) == (job(5, 5), later)
    assert not arrays.accepted(job(9, 8))
