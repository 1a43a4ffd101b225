# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Values that are kept: a sorted map, and the jobs of a view, beside the plain collections they stand for."""

from __future__ import annotations

import dataclasses
import random

import pytest
from eddy.policy.dispatch.views.job_view import JobView, TaskView
from eddy.policy.dispatch.views.jobs import Jobs
from eddy.policy.dispatch.views.sorted_mapping import CHUNK, SortedMapping
from hypothesis import given, settings
from hypothesis import strategies as st


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 10_000), st.integers(0, 3 * CHUNK), st.sampled_from([5, 10 * CHUNK]))
def test_a_sorted_map_is_a_dict_in_order_and_never_changes(seed: int, begin: int, span: int) -> None:
    rng = random.Random(seed)
    plain = {number: -number for number in range(0, 2 * begin, 2)}
    kept: SortedMapping[int, int] = SortedMapping(sorted(plain.items()))
    versions = [(kept, dict(plain))]
    for _ in range(400):
        key = rng.randrange(span)
        if rng.random() < 0.5:
            plain[key] = rng.random().__hash__()
            kept = kept.put(key, plain[key])
        else:
            plain.pop(key, None)
            kept = kept.drop(key)
        versions.append((kept, dict(plain)))
    for found, expected in (versions[0], rng.choice(versions), versions[-1]):
        assert list(found.items()) == sorted(expected.items())
        assert len(found) == len(expected)
        assert found == SortedMapping(sorted(expected.items()))
        for key in range(0, span, 7):
            assert found.get(key) == expected.get(key)
            assert (key in found) is (key in expected)
        if expected:
            keys = sorted(expected)
            place = rng.randrange(len(keys))
            assert (found.at(place), found.first(), found.last()) == (
                expected[keys[place]],
                expected[keys[0]],
                expected[keys[-1]],
            )
            assert found.at(-1) == found.last()


def test_a_sorted_map_says_what_is_not_there() -> None:
    kept: SortedMapping[int, str] = SortedMapping([(1, "a"), (3, "c")])
    assert kept.drop(2) is kept
    assert kept.put(1, "a") is kept
    for key in (0, 2, 4):
        with pytest.raises(KeyError):
            kept[key]
    for place in (2, -3):
        with pytest.raises(IndexError):
            kept.at(place)
    assert kept != SortedMapping([(1, "a")])


def job(rng: random.Random, number: int, begun: bool) -> JobView:
    kind = rng.randrange(2)
    slot = 3 if begun and rng.random() < 0.3 else None
    tasks = tuple(TaskView(i, f"m{kind}{i}", 1e-3, int(begun), slot, (i - 1,) if i else ()) for i in range(1 + kind))
    due, shown_s = rng.choice([None, None, 5.0]), rng.choice([None, None, None, 9.0])
    arrival_s, batch = float(rng.randrange(4)), 2 + rng.randrange(3)
    return JobView(
        number, f"a{kind}", rng.choice("xy"), batch, rng.choice((1, 9)), arrival_s, due, 1, tasks, shown_s=shown_s
    )


def check(found: Jobs, expected: dict[int, JobView]) -> None:
    """Everything a policy may ask, beside a look at every job."""
    every = sorted(expected.values(), key=lambda each: (each.arrival_s, each.id))
    assert list(found) == every
    assert [found[place] for place in range(len(found))] == every
    begun = [each for each in every if each.shown_s is not None or any(task.items_done for task in each.tasks)]
    assert sorted(each.id for each in begun) == list(found.begun)
    waiting = [each for each in every if each not in begun]
    lines: dict[object, list[JobView]] = {}
    for each in waiting:
        key = each.application, each.tasks, each.priority, each.deadline_s is not None, each.batch
        lines.setdefault(key, []).append(each)
    for kind in found.kinds.values():
        assert kind.jobs == sum(len(line) for line in kind.lines.values())
        assert kind.items == sum(batch * len(line) for batch, line in kind.lines.items())
        for batch, line in kind.lines.items():
            assert list(line.values()) == lines.pop((kind.application, kind.tasks, kind.priority, kind.due, batch))
        heads = [line.first() for line in kind.lines.values()]
        assert [head for _, head in kind.heads] == sorted(heads, key=lambda head: head.age)
        assert list(kind.front) == [
            head for at, head in enumerate(heads) if all(head.age < other.age for other in heads[:at])
        ]
        assert kind.largest.batch == max(head.batch for head in heads)
    assert not lines, "somebody stands in no line"
    holding = [each for each in begun if any(task.slot is not None for task in each.tasks)]
    assert sorted(each.id for each in holding) == list(found.holding)
    paused = [each for each in begun if each not in holding]
    for kind in found.paused.values():
        ((batch, line),) = kind.lines.items()
        alike = [
            each
            for each in paused
            if (each.application, each.tasks, each.batch) == (kind.application, kind.tasks, batch)
        ]
        alike = [each for each in alike if (each.priority, each.deadline_s is not None) == (kind.priority, kind.due)]
        assert list(line.values()) == alike
    assert sum(kind.jobs for kind in found.paused.values()) == len(paused)
    assert list(found.tenants) == sorted({each.tenant for each in every})
    for tenant, mine in found.tenants.items():
        assert list(mine) == [each for each in every if each.tenant == tenant]
        assert list(mine.begun) == [
            each.id for each in sorted(begun, key=lambda each: each.id) if each.tenant == tenant
        ]
        assert sum(kind.jobs for kind in mine.kinds.values()) == sum(each.tenant == tenant for each in waiting)


@pytest.mark.parametrize("seed", range(20))
def test_jobs_are_found_in_every_way_and_a_view_never_changes(seed: int) -> None:
    rng = random.Random(seed)
    plain: dict[int, JobView] = {}
    kept, first = Jobs(), Jobs()
    for _ in range(120):
        number = rng.randrange(40)
        if number in plain and rng.random() < 0.4:
            del plain[number]
            kept = kept.drop(number)
        else:
            plain[number] = job(rng, number, rng.random() < 0.3)
            kept = kept.put(plain[number])
        if rng.random() < 0.1:
            first, then = kept, dict(plain)
            check(kept, plain)
            kept = kept.drop(number).put(job(rng, 99, False))
            check(first, then)
            kept = first
    check(kept, plain)
    assert kept == Jobs(plain.values())
    assert kept.drop(77) is kept
    with pytest.raises(KeyError):
        kept.job(77)


def test_what_follows_from_a_view_is_no_part_of_it() -> None:
    one, other = (job(random.Random(1), 1, False) for _ in range(2))
    one.facts["seen"] = True
    one.shape.facts["seen"] = True
    assert one == other
    assert hash(one.shape) == hash(other.shape)
    assert not one.shape.has_begun
    held = dataclasses.replace(one, tasks=tuple(dataclasses.replace(task, slot=1) for task in one.tasks))
    assert held.shape.has_begun
