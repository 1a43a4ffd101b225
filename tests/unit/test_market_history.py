"""Epochs are rows of the store: the same after a restart, bounded, and written once each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from eddy.hypervisor.market_history import AT_ONCE, Epoch, EpochHistory, Rows
from eddy.policy.price.view import ClusterView, Configuration, PriceDecision, PriceView
from eddy.store import Store


def epoch(number: int, n: int = 2, m: int = 3) -> Epoch:
    random = np.random.default_rng(number)
    clusters = tuple(ClusterView(slot, f"module {slot}", slot + 1) for slot in range(m))
    here = Configuration("CFG", clusters, random.random((n, m)), random.random((n, m)))
    tenants = tuple(f"tenant {row}" for row in range(n))
    view = PriceView(0.1 * number, number, tenants, random.random(n), here, np.zeros(n), np.zeros((n, m)))
    decision = PriceDecision(random.random((n, m)), random.random(m), "another")
    measured = (random.random((n, m)) > 0.5).astype(float)
    return Epoch(number, 0.1 * number, 0.1 * number + 0.05, "market", view, decision, measured, *_came(random, n, m))


def _came(random: np.random.Generator, n: int, m: int) -> Any:
    return random.random((n, m)), random.random(n)


def same(one: Epoch, other: Epoch) -> bool:
    plain = [(e.number, e.at_s, e.ended_s, e.policy, e.view.tenants, e.view.present.name) for e in (one, other)]
    arrays = [
        (
            *(e.view.weights, e.view.present.parallel_fraction, e.view.present.throughput, e.decision.shares),
            *(e.decision.prices, e.measured, e.delivered_s, e.work_s),
        )
        for e in (one, other)
    ]
    clusters = one.view.present.clusters == other.view.present.clusters
    return plain[0] == plain[1] and clusters and all(map(np.array_equal, *arrays))


def test_what_was_written_is_what_a_later_life_begins_with(tmp_path: Path) -> None:
    before, store = EpochHistory(), Store(tmp_path / "eddy.sqlite3")
    for number in range(5):
        before.add(epoch(number, n=number % 3 + 1))
        before.write(lambda rows: store.add_epochs(rows, 4))
    store.close()
    after, store = EpochHistory(), Store(tmp_path / "eddy.sqlite3")
    assert after.restore(store.epochs()) == 5
    assert [each.number for each in after.ended()] == [1, 2, 3, 4], "the latest four"
    assert all(map(same, after.ended(), before.ended()[1:]))
    wrote: list[Rows] = []
    after.write(wrote.append)
    assert wrote == [], "what was read is not written again"
    store.close()


def test_rows_come_again_where_the_disk_refused_them_and_the_latest_are_kept_of_many() -> None:
    history = EpochHistory()
    history.add(epoch(0))

    def full(_: Rows) -> None:
        raise OSError("no space")

    with pytest.raises(OSError, match="no space"):
        history.write(full)
    for number in range(1, AT_ONCE + 10):
        history.add(epoch(number, 1, 1))
    wrote: list[Rows] = []
    history.write(wrote.append)
    history.write(wrote.append)
    assert [number for rows in wrote for number, _ in rows] == list(range(10, AT_ONCE + 10))


@pytest.mark.parametrize("body", ["", "{", "[]", "1", "{}", '{"number": 7}'])
def test_a_row_that_cannot_be_read_is_left_out(body: str) -> None:
    rows: list[Rows] = []
    history = EpochHistory()
    history.add(epoch(3))
    history.write(rows.append)
    (good,) = (text for _, text in rows[0])
    assert EpochHistory().restore([body]) == 0
    later = EpochHistory()
    assert later.restore([body, good, good[:-2], good.replace('"shares"', '"shape"')]) == 4
    assert [each.number for each in later.ended()] == [3]
