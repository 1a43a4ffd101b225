# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Records of an array come in any order, and again: none counts before that of its first place, which comes last."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from eddy.core.submission_options import ArrayPlace
from eddy.pool.jetstream.jobs import JobEntry
from eddy.pool.mirror.projection import Projection
from eddy.pool.records.record_json import to_json
from eddy.pool.records.records import RUNNING, PoolJob


def job(number: int, array: int | None = None, index: int = 0) -> PoolJob:
    place = None if array is None else ArrayPlace(array, index, 3)
    return PoolJob(number, "ada", {"application": "fir"}, 0.0, array=place)


def put(projection: Projection, job: PoolJob, revision: int = 1) -> tuple[PoolJob, ...]:
    return projection.put(JobEntry(str(job.id), job, revision, 0, to_json(job)))


def test_a_job_of_its_own_counts_at_once() -> None:
    projection = Projection()
    assert projection.is_accepted(job(1))
    assert put(projection, job(1)) == (job(1),)


@pytest.mark.parametrize("array", [4, 5])
def test_an_array_counts_once_its_first_place_is_there_whatever_came_before(array: int) -> None:
    """Its number is its own, or its first job's as in earlier releases."""
    every = {5: 0, 6: 1, 7: 2}
    for order in itertools.permutations(every):
        projection, counted = Projection(), list[int]()
        for number in order:
            came = put(projection, job(number, array, every[number]))
            counted += [each.id for each in came]
            accepted = projection.is_accepted(job(number, array, every[number]))
            assert (number in counted) == (5 in counted) == accepted
        assert sorted(counted) == [job.id for job in projection.members(array)] == [5, 6, 7]
        assert counted.index(5) == 0
        assert put(projection, job(6, array, 1)) == (job(6, array, 1),), "whatever is told of it from now on counts"
        assert put(projection, job(5, array)) == (job(5, array),)


def test_of_a_record_that_comes_again_the_latest_counts_and_of_other_arrays_none() -> None:
    projection = Projection()
    put(projection, job(6, 4, 1))
    later = replace(job(6, 4, 1), state=RUNNING, board="b1")
    put(projection, later, 2)
    put(projection, job(9, 8, 1))
    assert put(projection, job(5, 4)) == (job(5, 4), later)
    assert not projection.is_accepted(job(9, 8, 1))
    assert projection.open_jobs() == [job(5, 4), later]
