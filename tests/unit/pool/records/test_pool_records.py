# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What a pool keeps of a job: parts are committed once, in order, and under the token in force."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest
from eddy.core.errors import Conflict
from eddy.pool.mirror.estimates import UNKNOWN_S, Estimates
from eddy.pool.placement.forecast import _known
from eddy.pool.records.record_json import board_from_json, job_from_json, to_json
from eddy.pool.records.records import JobFenced, JobPart, PoolBoard, PoolJob
from eddy.pool.routes.open_transfers import Transfers
from eddy.pool.routes.rendering import explain_placement, render_job


def job(batch: int = 4) -> PoolJob:
    return PoolJob(7, "ada", {"application": "a", "batch": batch, "inputs": {"x": ["s1", "s2"]}}, 100.0)


def part(it: PoolJob, items: int, token: int | None = None) -> JobPart:
    token = it.token if token is None else token
    return JobPart(it.done, items, {"y": f"sha{it.done}-{token}"}, it.board, token, 1.0, 2.0)


def test_a_job_goes_from_queue_to_success() -> None:
    placed = job().place_on("b1", 1e6, {"policy": "sjf"})
    running = placed.start(placed.token, 101.0)
    half = running.commit_part(part(running, 3))
    assert (half.state, half.done, half.started_unix_s) == ("running", 3, 101.0)
    whole = half.commit_part(part(half, 1))
    assert (whole.state, whole.done, whole.ended_unix_s) == ("succeeded", 4, 2.0)
    assert job_from_json(to_json(whole)) == whole


def test_modules_that_nobody_checked_stay_in_the_record() -> None:
    placed = job().place_on("b1", 0.0, {})
    half = placed.commit_part(replace(part(placed, 2), unchecked=("mix",)))
    whole = half.commit_part(replace(part(half, 2), unchecked=("mix", "flip")))
    assert job_from_json(to_json(whole)) == whole
    assert render_job(whole, lambda number: number).unchecked == ["flip", "mix"]
    older = json.loads(to_json(half))
    for each in older["parts"]:
        del each["unchecked"]
    assert render_job(job_from_json(json.dumps(older).encode()), lambda number: number).unchecked == []


def test_what_a_board_commits_late_does_not_count() -> None:
    placed = job().place_on("b1", 0.0, {})
    late = part(placed, 4)
    moved = placed.recall("its lease ended", 5.0).place_on("b2", 0.0, {})
    with pytest.raises(JobFenced):
        moved.commit_part(late)
    with pytest.raises(JobFenced):
        moved.start(placed.token, 6.0)
    with pytest.raises(JobFenced):
        moved.failed(placed.token, {"code": "x"}, 6.0)
    assert moved.commit_part(part(moved, 4)).state == "succeeded"


def test_an_answer_that_was_lost_is_given_again() -> None:
    placed = job().place_on("b1", 0.0, {})
    first = part(placed, 2)
    once = placed.commit_part(first)
    assert once.commit_part(first) == once
    whole = once.commit_part(part(once, 2))
    assert whole.commit_part(first) == whole


def test_what_is_committed_stays_when_a_job_moves() -> None:
    placed = job().place_on("b1", 0.0, {})
    moved = placed.commit_part(part(placed, 3)).recall("gone", 9.0)
    assert (moved.state, moved.board, moved.done) == ("queued", "", 3)
    assert moved.moves == ({"from": "b1", "because": "gone", "at_unix_s": 9.0, "done": 3},)


@pytest.mark.parametrize(("first", "items"), [(1, 1), (0, 5), (0, 0)])
def test_parts_leave_no_gap_and_do_not_overlap(first: int, items: int) -> None:
    placed = job().place_on("b1", 0.0, {})
    with pytest.raises(JobFenced):
        placed.commit_part(replace(part(placed, 1), first=first, items=items))


def test_what_has_ended_changes_no_more() -> None:
    cancelled = job().place_on("b1", 0.0, {}).cancelled(3.0)
    assert cancelled.state == "cancelled"
    with pytest.raises(Conflict):
        cancelled.cancelled(4.0)
    with pytest.raises(JobFenced):
        cancelled.recall("gone", 4.0)
    with pytest.raises(JobFenced):
        cancelled.place_on("b2", 0.0, {})


@pytest.mark.parametrize("seed", range(40))
def test_whatever_happens_every_item_is_committed_once(seed: int) -> None:
    """Boards that are declared gone go on committing; heads place at random. The outputs are of every item, once."""
    chance = random.Random(seed)
    now = job(batch=12)
    stale: list[PoolJob] = []
    while not now.is_ended:
        what = chance.random()
        if now.state == "queued":
            now = now.place_on(f"b{chance.randrange(3)}", 0.0, {})
        elif what < 0.3:
            stale.append(now)
            now = now.recall("gone", 1.0)
        elif what < 0.6 and stale:
            old = chance.choice(stale)
            with pytest.raises(JobFenced):
                now.commit_part(part(old, chance.randint(1, 12 - old.done)))
        else:
            now = now.commit_part(part(now, chance.randint(1, 12 - now.done)))
    covered = [item for each in now.parts for item in range(each.first, each.first + each.items)]
    assert covered == list(range(12))
    tokens = [each.token for each in now.parts]
    assert tokens == sorted(tokens)


def test_the_blobs_of_a_job_are_named_once() -> None:
    request = {"application": "a", "inputs": {"x": ["s1", "s1"]}, "constants": {"c": "s2"}}
    assert replace(job(), request=request).blobs == ("s1", "s2")
    kernel = {"kernel": {"kernel": "k", "arguments": [{"buffer": "s3"}, {"value": 3}]}}
    it = replace(job(), request=kernel)
    assert (it.blobs, it.work, it.batch) == (("s3",), "kernel:k", 1)


def test_what_a_kernel_takes_is_known_to_its_tenant_alone() -> None:
    """A dry run told whether anybody had run a kernel of a name, and how long it took."""
    kernel = {"kernel": {"kernel": "secret", "arguments": []}}
    ran = replace(job().place_on("b1", 0.0, {}), request=kernel, tenant="eve")
    estimates = Estimates()
    estimates.learn(ran.commit_part(JobPart(0, 1, {}, "b1", ran.token, 1.0, 8.25)), {"b1": "k"})
    asked = replace(job(), request=kernel)
    assert estimates.item_s(asked.timed, "k") == (UNKNOWN_S, 2 * UNKNOWN_S)
    assert not _known(asked, estimates)
    again = replace(asked, tenant="eve")
    assert estimates.item_s(again.timed, "k")[0] == 7.25
    assert _known(again, estimates)
    assert job().timed == replace(job(), tenant="eve").timed == "a"


def test_what_others_had_waiting_is_told_to_operators_alone() -> None:
    placed = job().place_on("b1", 0.0, {"policy": "prompt", "makespan_s": 9.0, "bound_s": 8.0, "starts_in_s": 1.0})
    assert explain_placement(placed, 7, everyone=False)["why"] == {"policy": "prompt", "starts_in_s": 1.0}
    assert explain_placement(placed, 7, everyone=True)["why"] == placed.why


def test_a_head_tells_of_as_many_transfers_as_a_job_has_inputs() -> None:
    transfers, placed = Transfers(), job().place_on("b1", 0.0, {})
    assert [transfers.count_transfer(placed) for _ in range(6)] == [True] * 4 + [False] * 2
    again = placed.recall("gone", 0.0).place_on("b2", 0.0, {})
    assert transfers.count_transfer(again)
    assert not transfers.count_transfer(replace(placed, id=8, request={"application": "a"}))


def test_a_board_is_kept_as_it_is() -> None:
    board = PoolBoard("b1", "rtl/kv260", 2, 4, ("a",), True, "s", modules=("m",), running=(3,))
    assert board_from_json(to_json(board)) == board
