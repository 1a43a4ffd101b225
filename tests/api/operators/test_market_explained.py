# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""`/v1/market/explain`, `eddy market explain` and `plot`: why, in numbers that are solved, and never another's."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from api.operators.test_market import live_loop
from eddy.cli.tenant.market import history
from eddy.core.errors import InvalidRequest
from eddy.hypervisor.cores.market_explain import explain_market, marginal
from eddy.hypervisor.cores.market_history import Epoch
from eddy.hypervisor.cores.market_loop import PriceLoop
from eddy.hypervisor.cores.market_report import history_answer, speedup_worth
from eddy.market import equilibrium
from eddy.policy.price import POLICIES
from eddy.policy.price.view import ClusterView, Configuration, PriceView

pytestmark = pytest.mark.anyio


def loop_with(policy: str) -> PriceLoop:
    """Three tenants on two clusters, one epoch; tenant c cannot use the second."""
    loop, chosen = PriceLoop(POLICIES[policy](), {}), POLICIES[policy]()
    fraction = np.array([[0.95, 0.9], [0.6, 0.5], [0.9, 0.9]])
    throughput = np.array([[1.0, 2.0], [1.0, 0.4], [1.0, 0.0]])
    clusters = (ClusterView(0, "gpu_4c", 4), ClusterView(1, "gpu_8c", 8))
    here = Configuration("here", clusters, fraction, throughput)
    blank = np.zeros((3, 2))
    view = PriceView(0.5, 7, ("a", "b", "c"), np.array([1.0, 4, 1]), here, np.full(3, np.inf), blank)
    view = replace(view, memory=chosen.initial())
    loop.now = Epoch(7, 0.5, None, policy, view, chosen.decide(view), blank, blank, np.zeros(3))
    return loop


def test_a_doubled_weight_is_solved() -> None:
    found = explain_market(loop_with("market"), "a")
    here = loop_with("market").now
    assert here is not None
    numbers = here.view.present
    solved = equilibrium(
        numbers.parallel_fraction, numbers.throughput, [2.0, 4, 1], numbers.capacity, utility="deliverable"
    )
    assert found["doubled"]["weight"] == 2.0
    assert [share["pes"] for share in found["doubled"]["shares"]] == pytest.approx(solved.shares[0], abs=1e-8)
    assert found["doubled"]["promised_speedup"] == pytest.approx(solved.utilities[0])
    assert found["doubled"]["promised_speedup"] > speedup_worth(
        numbers.parallel_fraction[0], numbers.throughput[0], here.decision.shares[0]
    )


def test_what_a_pe_more_is_worth_is_the_slope_of_what_shares_are_worth() -> None:
    rng = np.random.default_rng(2)
    fraction, throughput = rng.uniform(0.3, 1, 5), rng.uniform(0.1, 2, 5)
    shares = np.array([0.0, 0.4, 1.7, 3.0, 6.2])
    less, more = marginal(fraction, throughput, shares)
    for c in range(5):
        step = np.zeros(5)
        step[c] = 1e-6
        rise = (speedup_worth(fraction, throughput, shares + step) - speedup_worth(fraction, throughput, shares)) / 1e-6
        assert more[c] == pytest.approx(rise, rel=1e-4)
        assert less[c] == pytest.approx(more[c])
    kink = np.ones(1)
    assert [float(x[0]) for x in marginal(np.array([0.5]), kink, kink)] == pytest.approx([1.0, 0.5])


def test_words_say_what_the_numbers_say() -> None:
    found = explain_market(loop_with("market"), "c")
    words = "\n".join(found["words"])
    assert "Your weight is 1. Your part of every cluster by weight" in words
    assert "%" not in words, "parts of all weights, or of anything of others, are not told"
    assert "Slot 1 (gpu_8c): none; none of your kernels can run there now." in words
    assert f"{found['clusters'][0]['pes']:.2f} of 4 PEs at {found['clusters'][0]['price']:.4f} each" in words
    assert f"With weight 2 you would have these PEs: {found['doubled']['shares'][0]['pes']:.2f} on slot 0" in words
    assert explain_market(loop_with("market"), "a")["clusters"][1]["worth_of_money"] == pytest.approx(1.0)


def test_policies_without_prices_and_those_with_a_past() -> None:
    even = explain_market(loop_with("entitlement"), "a")
    assert "by entitlement, which has no prices" in even["words"][1]
    assert [share["pes"] for share in even["doubled"]["shares"]] == pytest.approx([4 * 2 / 7, 8 * 2 / 7])
    rounds = explain_market(loop_with("themis"), "a")
    assert rounds["doubled"] is None
    assert "goes by what happened before" in rounds["words"][-1]


@pytest.mark.parametrize("policy", ["hsm_fair", "eddy_slowdown_qos"])
def test_what_a_policy_would_say_without_its_memory_is_not_told_as_an_answer(policy: str) -> None:
    """These move cores step by step; beginning from nothing they share evenly, which is nobody's doubled weight."""
    loop = loop_with(policy)
    assert loop.now is not None
    fresh = explain_market(loop, "a")["doubled"]
    assert [share["pes"] for share in fresh["shares"]] == pytest.approx([4 * 2 / 7, 8 * 2 / 6])
    moved = loop.now.decision.shares * [[1.5, 0.7], [1.0, 1.0], [0.5, 0.0]]
    loop.now = replace(loop.now, decision=replace(loop.now.decision, shares=moved))
    found = explain_market(loop, "a")
    assert found["doubled"] is None
    assert "goes by what happened before" in found["words"][-1]


async def test_the_answer_has_nothing_of_another_tenant(server: Any) -> None:
    server.hypervisor.price = live_loop()
    async with server.client() as client:
        answer = await client.get("/v1/market/explain")
    found = answer.json()
    assert answer.status_code == 200
    assert "bob" not in json.dumps(found)
    assert found["clusters"][0]["pes"] == pytest.approx(1.0)
    assert found["doubled"]["shares"][0]["pes"] == pytest.approx(4 * 2 / 5)


async def test_without_work_there_is_nothing_to_explain(server: Any) -> None:
    server.hypervisor.price = loop_with("market")
    async with server.client() as client:
        found = (await client.get("/v1/market/explain")).json()
    assert found["clusters"] == []
    assert found["doubled"] is None
    assert "nothing to share" in found["words"][0]


def test_the_history_is_drawn(tmp_path: Path) -> None:
    epochs = history_answer(live_loop(), "ada")["epochs"]
    history(tmp_path / "deep" / "market.png", epochs)
    assert (tmp_path / "deep" / "market.png").stat().st_size > 5000


def test_without_matplotlib_the_picture_is_refused_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    with pytest.raises(InvalidRequest, match="pip install"):
        history(tmp_path / "market.png", history_answer(live_loop(), "ada")["epochs"])
