# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Weights over the pool: as fair as boards and wants allow, settled within three rounds; places by weight."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from eddy.market.board_weights import fill_cores, split_bids
from eddy.model.highs import HighsVarType, make_solver
from eddy.model.placement.instance import Instance, Placement
from eddy.policy.place import METHODS
from eddy.pool.mirror.estimates import Estimates
from eddy.pool.mirror.planning_order import order_by_weight
from eddy.pool.placement.placement import PoolView, decide
from eddy.pool.placement.shares import BoardUse, TenantUse, pool_market, weights_by_board
from eddy.pool.records.records import PoolBoard, PoolJob

INF = math.inf
Wants = Mapping[tuple[str, str], float]


def split(cores: float, bids: Mapping[str, float], wants: Mapping[str, float], own: float) -> dict[str, float]:
    """What a board does: cores by weight, and what is left over to those who want more. One at a time."""
    has: dict[str, float] = {}
    left = dict(bids)
    while left:
        level = cores / (sum(left.values()) + own)
        full = [name for name, bid in left.items() if bid * level >= wants[name]]
        if not full:
            return {**has, **{name: bid * level for name, bid in left.items()}}
        has[full[0]] = wants[full[0]]
        cores -= wants[full[0]]
        del left[full[0]]
    return has


class World:
    """Boards in virtual time that know of each other only what `weights_by_board` is told: one round a second."""

    def __init__(self, cores: Mapping[str, float], weights: dict[str, float], own: Mapping[str, float] | None = None):
        self.cores, self.weights, self.own = cores, weights, own or {}
        self.wants: dict[str, dict[str, float]] = {name: {} for name in cores}
        self.bids: dict[str, dict[str, float]] = {name: {} for name in cores}

    def round(self) -> dict[str, float]:
        """Boards work for a second, report, and take weights over; cores each tenant had over all boards."""
        uses, had = {}, Counter[str]()
        for name, cores in self.cores.items():
            wants, own = self.wants[name], self.own.get(name, 0.0)
            bids = {each: self.bids[name].get(each, self.weights[each]) for each in wants}
            total = sum(bids.values()) + own
            here = split(cores, bids, wants, own)
            had.update(here)
            told = {each: TenantUse(here[each], cores * bids[each] / total) for each in wants}
            uses[name] = BoardUse(cores, own, told)
        for name, weights in weights_by_board(uses, self.weights).items():
            self.bids[name].update(weights)
        return dict(had)


def fair(world: World) -> dict[str, float]:
    """Cores by weight as equal as can be, by linear programs: the least is raised, then what is above it."""
    tenants = sorted({name for wants in world.wants.values() for name in wants})
    fixed: dict[str, float] = {}
    while len(fixed) < len(tenants):
        level = _level(world, tenants, fixed, dict.fromkeys(tenants, 0.0))
        for name in tenants:
            if name not in fixed and _level(world, tenants, fixed, {name: 1e-3}, level * (1 - 1e-6)) < 0:
                fixed[name] = level
        assert fixed, "the level is bounded by somebody"
    return {name: level * world.weights[name] for name, level in fixed.items()}


def _level(
    world: World, tenants: list[str], fixed: Mapping[str, float], more: Mapping[str, float], least: float = 0.0
) -> float:
    """The highest level of those not fixed, where one of them has `more` beyond a level of `least`; -1 for none."""
    lp = make_solver()
    level = lp.addVariable(lb=least, ub=1e9, type=HighsVarType.kContinuous)
    has = {
        (name, board): lp.addVariable(lb=0, ub=min(want, 1e9), type=HighsVarType.kContinuous)
        for board, wants in world.wants.items()
        for name, want in wants.items()
    }
    for board, cores in world.cores.items():
        mine = [has[name, board] for name in world.wants[board]]
        if mine:
            lp.addConstr(sum(mine[1:], mine[0]) <= cores)
    for name in tenants:
        all_ = [cores for (each, _), cores in has.items() if each == name]
        total, weight = sum(all_[1:], all_[0]), world.weights[name]
        if name in fixed:
            lp.addConstr(total >= fixed[name] * weight * (1 - 1e-7))
        else:
            lp.addConstr(total - weight * level >= more.get(name, 0.0) * weight)
    lp.maximize(level)
    optimal = lp.modelStatusToString(lp.getModelStatus()) == "Optimal"
    return float(lp.getInfo().objective_function_value) if optimal else -1.0


def test_two_boards_are_not_twice_the_share() -> None:
    """Each alone on a board with ada: by board ada would have as much as the two others together."""
    world = World({"b1": 4, "b2": 4}, {"ada": 1.0, "grace": 1.0, "lin": 1.0})
    world.wants = {"b1": {"ada": INF, "grace": INF}, "b2": {"ada": INF, "lin": INF}}
    assert world.round() == pytest.approx({"ada": 4, "grace": 2, "lin": 2})
    world.round()
    assert world.round() == pytest.approx({"ada": 8 / 3, "grace": 8 / 3, "lin": 8 / 3}, rel=0.01)
    assert sum(world.bids[name]["ada"] for name in world.bids) == pytest.approx(1.0)


@pytest.mark.parametrize(("much", "within"), [(1.0, 0.03), (0.8, 0.3)])
def test_shares_settle_within_three_rounds_of_any_change(much: float, within: float) -> None:
    """Tenants come, go and change weight: three rounds later cores are within 3 % of what is fair. Where some want
    little, they are counted with up to 30 % more than they use, and so are others' cores."""
    errors = [error for seed in range(6) for error in settled(seed, much)]
    assert max(errors) < within, errors
    assert np.median(errors) < within / 5, errors


def settled(seed: int, much: float) -> list[float]:
    """Largest relative differences of tenants' cores from what is fair, after each of four changes and three rounds."""
    rng = np.random.default_rng(seed)
    cores = {f"b{i}": float(rng.integers(1, 9)) for i in range(5)}
    names = [f"t{i}" for i in range(6)]
    world = World(cores, {name: float(rng.choice([0.5, 1.0, 2.0, 4.0])) for name in names})
    errors = []
    for _ in range(4):
        world.weights[str(rng.choice(names))] = float(rng.choice([0.5, 1.0, 2.0, 4.0]))
        for name in names:
            for board in cores:
                world.wants[board].pop(name, None)
                if rng.random() < 0.5:
                    world.wants[board][name] = INF if rng.random() < much else float(rng.uniform(0.1, 2.0))
        for _ in range(3):
            world.round()
        had, should = world.round(), fair(world)
        assert had.keys() == should.keys()
        errors.append(max(abs(had[name] / should[name] - 1) for name in had))
    return errors


def test_a_boards_own_tenants_keep_their_weight_and_an_idle_part_goes_to_others() -> None:
    world = World({"b1": 4, "b2": 4}, {"ada": 1.0}, {"b1": 1.0})
    world.wants = {"b1": {"ada": INF}, "b2": {"ada": INF}}
    for _ in range(3):
        had = world.round()
    assert 4 < had["ada"] < 4.2, "the board's own tenant has its board, ada the other"


def test_bids_add_up_and_cores_are_those_of_a_board_that_shares_by_them() -> None:
    rng = np.random.default_rng(7)
    weights, capacity, others = rng.uniform(0.1, 9, 8), rng.uniform(1, 16, 6), rng.uniform(0, 2, 6)
    wants = np.where(rng.random((8, 6)) < 0.5, np.where(rng.random((8, 6)) < 0.5, INF, 0.7), 0.0)
    bids = split_bids(weights, wants, capacity, others)
    present = (wants > 0).any(axis=1)
    assert bids.sum(axis=1)[present] == pytest.approx(weights[present])
    assert (bids[wants == 0] == 0).all()
    assert (bids[wants > 0] > 0).all()
    has = fill_cores(bids, wants, capacity, others)
    for board in range(6):
        here = {str(i): float(wants[i, board]) for i in range(8) if wants[i, board] > 0}
        bid = {name: float(bids[int(name), board]) for name in here}
        one = split(float(capacity[board]), bid, here, float(others[board]))
        assert has[:, board] == pytest.approx([one.get(str(i), 0.0) for i in range(8)])


def job(number: int, tenant: str, priority: int = 1, **more: object) -> PoolJob:
    return PoolJob(number, tenant, {"application": "a", "batch": 1, "priority": priority}, 0.0, **more)  # type: ignore[arg-type]


def test_places_go_by_weight_whatever_waits() -> None:
    """A tenant with many jobs in front of all others' has its part of the places and no more."""
    boards = [PoolBoard(f"b{i}", "k", 2, 4, ("a",), False, "s") for i in range(4)]
    waiting = [job(i, "ada") for i in range(1, 400)] + [job(i, "grace") for i in range(1000, 1100)]
    given: list[PoolJob] = []
    for _ in range(40):
        view = PoolView(waiting, given, boards, Estimates(), {}, {}, weights={"ada": 1.0, "grace": 3.0})
        on = {give.job: give.board for give in decide(view, METHODS["prompt"])}
        given += [replace(each, board=on[each.id]) for each in waiting if each.id in on]
        waiting = [each for each in waiting if each.id not in on]
        assert Counter(each.tenant for each in given) == {"ada": 3, "grace": 9}
        assert Counter(each.board for each in given) == dict.fromkeys(("b0", "b1", "b2", "b3"), 3)
        given = given[2:]  # the first two of them end


def test_of_a_tenant_the_first_goes_first_and_a_higher_priority_before_all() -> None:
    jobs = [job(1, "ada"), job(2, "ada"), job(3, "grace"), job(4, "grace", 9)]
    assert [each.id for each in order_by_weight(jobs, [], {})] == [4, 1, 2, 3]
    assert [each.id for each in order_by_weight(jobs, [job(9, "ada", board="x")] * 3, {"ada": 10.0})] == [4, 1, 2, 3]
    assert [each.id for each in order_by_weight(jobs[:3], [job(9, "ada", board="x")] * 3, {})] == [3, 1, 2]


def test_the_front_of_the_order_is_the_whole_orders_front() -> None:
    """And a job that fits nowhere takes no turn of its tenant."""
    jobs = [job(i, ("ada", "grace", "lin")[i % 3], (1, 3, 9)[i % 7 % 3]) for i in range(1, 200)]
    weights = {"ada": 1.0, "grace": 3.0}
    whole = order_by_weight(jobs, [], weights)
    assert sorted(each.id for each in whole) == list(range(1, 200))
    for most in (0, 1, 5, 199, 500):
        assert order_by_weight(jobs, [], weights, most) == whole[:most]
    odd = [each for each in jobs if each.id % 2]
    assert (
        order_by_weight(jobs, [], weights, 20, lambda each: each.id % 2 == 1) == order_by_weight(odd, [], weights)[:20]
    )


def test_what_is_planned_grows_with_boards_that_have_room() -> None:
    boards = [PoolBoard(f"b{i}", "k", 1, 4, ("a",), False, "s") for i in range(300)]
    waiting, planned = [job(i, "ada") for i in range(1000, 3000)], list[int]()

    def plan(instance: Instance) -> Placement:
        planned.append(instance.jobs)
        return METHODS["prompt"](instance)

    for free, most in ((300, 1200), (100, 400), (1, 200)):
        given = [job(2 * i + n, "ada", board=f"b{i}") for i in range(300 - free) for n in (0, 1)]
        assert len(decide(PoolView(waiting, given, boards, Estimates(), {}, {}), plan)) == 2 * free
        assert planned.pop() == most


def test_the_market_over_boards_is_the_sum_of_theirs() -> None:
    def me(**more: object) -> dict[str, object]:
        known = dict.fromkeys(("delivered_over_promised", "predicted_progress", "promised_progress", "memory_share"))
        speeds = {"entitlement": 1.0, "promised_speedup": 2.0, "modelled_speedup": None, "measured_speedup": 1.5}
        shares = [{"slot": 2, "pes": more.pop("pes", 1.0)}]
        fraction = {"parallel_fraction": 0.5, "parallel_fraction_from": "counters"}
        return {"weight": 0.5, **known, **speeds, **fraction, "shares": shares, **more}

    def told(**tenants: object) -> dict[str, object]:
        clusters = [{"slot": 2, "module": "m", "cores": 4, "price": 0.25}]
        return {"clusters": clusters, "price_policy": "market", "tenants": {k: {"me": v} for k, v in tenants.items()}}

    boards = {
        "b1": told(ada=me()),
        "b2": told(ada=me(pes=3.0, parallel_fraction=0.9, measured_speedup=None), grace=me()),
        "b3": told(),
        "b4": {},
    }
    found = pool_market(boards, "ada", 1.0, 7, 3.5)
    assert [(each["board"], each["cores"]) for each in found["clusters"]] == [("b1", 4), ("b2", 4), ("b3", 4)]
    mine = found["me"]
    assert [(each["board"], each["pes"]) for each in mine["shares"]] == [("b1", 1.0), ("b2", 3.0)]
    assert (mine["promised_speedup"], mine["measured_speedup"], mine["modelled_speedup"]) == (4.0, 1.5, None)
    assert mine["parallel_fraction"] == pytest.approx((0.5 + 3 * 0.9) / 4)
    assert sum(each["weight"] for each in mine["boards"]) == 1.0
    nothing = pool_market(boards, "lin", 2.0, 7, 3.5)["me"]
    assert (nothing["weight"], nothing["shares"], nothing["parallel_fraction_from"]) == (2.0, [], "nothing ran")
