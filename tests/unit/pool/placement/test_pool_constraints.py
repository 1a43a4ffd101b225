# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What jobs ask of boards: no decision gives a job to a board that does not meet it, and what keeps one is named."""

from __future__ import annotations

import random
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest
from eddy.core.board_constraints import label_rules
from eddy.core.errors import InvalidRequest
from eddy.policy.place import METHODS
from eddy.pool.mirror.estimates import Estimates
from eddy.pool.mirror.open_jobs import OpenJobs
from eddy.pool.placement.constraints import PlacementRules, obstacles
from eddy.pool.placement.forecast import forecast
from eddy.pool.placement.placement import PoolView, decide, next_planned
from eddy.pool.placement.rebalance import jobs_to_move
from eddy.pool.placement.replanning import profitable_moves
from eddy.pool.records.record_json import UnreadableRecord, job_from_json, to_json
from eddy.pool.records.records import FAILED, PoolBoard, PoolJob
from eddy.pool.routes.waiting import check_boards, render_obstacles, unmet_options

MODEL: dict[str, Any] = {"kind": "model/kv260", "computes": False}
CATALOGUE: Any = SimpleNamespace(modules={"dct": None})


def board(name: str, kind: str = "pynq/kv260", **more: Any) -> PoolBoard:
    return PoolBoard(
        name, kind, **{"width": 1, "slots": 4, "applications": ("a",), "kernels": True, "session": "s", **more}
    )


def job(number: int, tenant: str = "ada", **asked: Any) -> PoolJob:
    more = {name: asked.pop(name) for name in ("board", "state", "token", "moves") if name in asked}
    return PoolJob(number, tenant, {"application": "a", "batch": 10, **asked}, 0.0, **more)


def view(waiting: list[PoolJob], boards: list[PoolBoard], given: tuple[PoolJob, ...] = (), **more: Any) -> PoolView:
    return PoolView(waiting, list(given), boards, Estimates(), {}, {}, **more)


def given_to(it: PoolView, policy: str = "prompt") -> dict[int, str]:
    return {give.job: give.board for give in decide(it, METHODS[policy])}


@pytest.mark.parametrize("policy", ["prompt", "default", "sjf", "ljf"])
def test_a_job_that_says_nothing_gets_no_board_whose_outputs_are_zeros(policy: str) -> None:
    """Two of three jobs of a mixed pool came back with zeros."""
    boards = [board("m1", **MODEL), board("real"), board("m2", **MODEL)]
    assert set(given_to(view([job(i) for i in range(1, 9)], boards), policy).values()) == {"real"}
    either = given_to(view([job(i, board_kind="any") for i in range(1, 9)], boards), policy)
    assert set(either.values()) == {"m1", "real", "m2"}
    assert set(given_to(view([job(i, board_kind="model") for i in range(1, 9)], boards), policy).values()) == {
        "m1",
        "m2",
    }
    assert given_to(view([job(1)], [board("m1", **MODEL)]), policy) == {}


def test_labels_modules_and_partners_choose_boards() -> None:
    boards = [board("x", labels={"rack": "1"}), board("y", modules=("dct",)), board("z", "rtl/zcu106")]
    asked = {
        "rack=1": "x", "rack!=1,board!=z": "y", "adapter=rtl": "z", "profile=zcu106": "z", "board=y": "y",
    }  # fmt: skip
    for rules, name in asked.items():
        assert given_to(view([job(1, board_labels=rules)], boards)) == {1: name}, rules
    assert given_to(view([job(1, board_labels="rack=2")], boards)) == {}
    assert given_to(view([job(1, resident_module="dct")], boards)) == {1: "y"}
    beside = job(9, same_board_as=3)
    assert given_to(view([beside], boards, partners={3: "z"})) == {9: "z"}
    assert given_to(view([beside], boards, partners={3: ""})) == {}, "it has no board yet"
    assert len(given_to(view([beside], boards, partners={}))) == 1, "it never had one: nothing of it is anywhere"


def test_jobs_that_are_apart_share_no_board() -> None:
    boards = [board(name, width=4) for name in "xyz"]
    waiting = [job(i, apart="replica") for i in range(2, 9)] + [job(10), job(11, "grace", apart="replica")]
    given = (job(1, apart="replica", board="x", state="placed", token=1),)
    got = given_to(view(waiting, boards, given))
    mine = [got[number] for number in got if number < 9]
    assert sorted(mine) == ["y", "z"], "one each of the boards that have none"
    assert {10, 11} <= got.keys(), "a name is a tenant's own, and others wait for nothing"


def test_any_pool_is_decided_within_the_rules() -> None:
    """Random pools: every decision of every function keeps to what is asked, and one that could be placed is."""
    chance, placed = random.Random(7), Counter[str]()
    for _ in range(150):
        boards = [
            board(
                f"b{i}", chance.choice(["pynq/kv260", "rtl/kv260"]), width=chance.randint(1, 2), guests=1,
                computes=chance.random() < 0.6, labels={"rack": chance.choice("12")},
                modules=tuple(chance.sample(["dct", "fft"], chance.randint(0, 2))),
                drained=chance.choice(["", "", "", "mending"]),
            )
            for i in range(chance.randint(1, 5))
        ]  # fmt: skip
        options: list[dict[str, Any]] = [
            {}, {"board_kind": "any"}, {"board_kind": "model"}, {"board_labels": "rack=1"}, {"apart": "r"},
            {"resident_module": "dct"}, {"same_board_as": 1000}, {"apart": "r", "board_labels": "rack!=1"},
        ]  # fmt: skip
        jobs = [job(i, chance.choice(["ada", "grace"]), **chance.choice(options)) for i in range(1, 15)]
        partners = {1000: chance.choice(["", *(each.name for each in boards)])}
        start = decide(view(jobs[:7], boards, partners=partners), METHODS["sjf"])
        on = {give.job: give.board for give in start}
        given = tuple(each.place_on(on[each.id], 0.0, {}) for each in jobs[:7] if each.id in on)
        it = view(jobs[7:], boards, given, partners=partners)
        named, rules = {each.name: each for each in boards}, PlacementRules(partners)
        for number, name in {**on, **given_to(it, chance.choice(["prompt", "default", "sjf"]))}.items():
            placed[name] += 1
            assert not named[name].drained
            assert rules.allow(jobs[number - 1], named[name])
            rules.add(jobs[number - 1], name)
        for move in profitable_moves(it, 100.0, 1.0):
            assert it.rules().allow(move.job, named[move.board])
        for number in forecast(it, 100.0):
            assert number in on or any(PlacementRules(partners).allow(jobs[number - 1], each) for each in boards)
        jobs_to_move(it, running=True)
    assert placed.total() > 300


def test_what_is_decided_without_constraints_is_what_it_was() -> None:
    boards = [board(f"b{i}", width=2) for i in range(4)]
    waiting = [job(i) for i in range(1, 30)]
    plain = given_to(view(waiting, boards))
    every = {"board_kind": "computing", "board_labels": "rack!=9"}
    assert given_to(view([job(i, **every) for i in range(1, 30)], boards)) == plain


def test_boards_of_partners_are_known_while_somebody_asks() -> None:
    ended: dict[int, PoolJob] = {}
    jobs = OpenJobs(find=ended.get)
    first, beside = job(1, board="x", state="placed", token=1), job(5, same_board_as=1)
    jobs.add_record(job(1))
    jobs.add_record(beside)
    assert jobs.partners.boards == {1: ""}
    jobs.add_record(first)
    assert jobs.partners.boards == {1: "x"}
    jobs.add_record(first.recall("its lease ended", 1.0))
    assert jobs.partners.boards == {1: ""}, "where it goes next is not known"
    again = first.recall("its lease ended", 1.0).place_on("y", 0.0, {})
    jobs.add_record(again.failed(again.token, {"code": "job-failed"}, 2.0))
    assert jobs.partners.boards == {1: "y"}
    jobs.add_record(beside.cancelled(3.0))
    assert jobs.partners.boards == {}
    ended[2], ended[3] = job(2, state=FAILED), job(3, state=FAILED, board="y")
    for number, partner, boards in ((6, 2, {}), (7, 3, {3: "y"}), (8, 4, {3: "y"})):
        jobs.add_record(job(number, same_board_as=partner))
        assert jobs.partners.boards == boards, "one that never had a board, or is gone, is nowhere"
    jobs.add_record(job(4, state="placed", board="z"))
    assert jobs.partners.boards == {3: "y", 4: "z"}
    jobs.drop_record(3)
    assert jobs.partners.boards == {4: "z"}


def test_a_thousand_that_wait_for_a_module_keep_nobody_behind_them() -> None:
    jobs = OpenJobs([job(i, resident_module="dct") for i in range(1, 1001)])
    jobs.add_record(job(1001))
    it = view([], [board("x")])
    assert [each.id for each in next_planned(it, jobs.in_turn)] == [1001]


def test_what_keeps_a_job_is_named() -> None:
    boards = [
        board("away"), board("full", modules=("dct",)), board("m", **MODEL), board("off", drained="mending"),
        board("other", applications=("b",)),
    ]  # fmt: skip
    it = job(1, resident_module="dct")
    found = obstacles(it, boards, {"full", "m", "off", "other"}, {"full"}, PlacementRules())
    assert {each.option for each in found} == {"resident_module", "board_kind", ""}
    assert unmet_options(found) == "", "a board that is full will have room"
    found = obstacles(it, [each for each in boards if each.name != "full"], {"m", "off"}, set(), PlacementRules())
    assert "dct is in none of their slots (resident_module)" in unmet_options(found)
    assert "model times alone" in unmet_options(found)
    told = render_obstacles(found, everyone=False)
    assert all("boards" not in each for each in told)
    assert ["m"] in [each["boards"] for each in render_obstacles(found, everyone=True)]


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({}, "board_kind"), ({"board_kind": "computing"}, "board_kind"), ({"board_labels": "rack=9"}, None),
        ({"board_kind": "any", "board_labels": "rack=9"}, "board_labels"),
        ({"board_kind": "any", "resident_module": "nothing"}, "resident_module"),
    ],
)  # fmt: skip
def test_what_no_board_could_ever_meet_is_refused(asked: dict[str, Any], field: str | None) -> None:
    boards = [board("m1", **MODEL), board("m2", **MODEL)]
    with pytest.raises(InvalidRequest) as refused:
        check_boards(job(1, **asked), boards, CATALOGUE)
    assert refused.value.details["field"] == (field or "board_kind")
    check_boards(job(1, board_kind="any", resident_module="dct"), boards, CATALOGUE)
    check_boards(job(1), [*boards, board("x")], CATALOGUE)


@pytest.mark.parametrize("text", ["rack", "rack=1,,", "=1", "rack=1,x\x1b=2", ",".join(["a=1"] * 17)])
def test_rules_that_make_no_sense_are_refused_in_bodies_and_records(text: str) -> None:
    with pytest.raises(ValueError, match="must"):
        label_rules(text)
    with pytest.raises(UnreadableRecord):
        job_from_json(to_json(job(1, board_labels=text)), "1")
