# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Epochs are rows of the store: the same after a restart, bounded, and written once each."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from eddy.hypervisor.cores.market_history import AT_ONCE, Epoch, EpochHistory, Rows, select_retained
from eddy.policy.price.view import ClusterView, Configuration, PriceDecision, PriceView
from eddy.store import Store


def epoch(number: int, n: int = 2, m: int = 3, who: Sequence[str] = ()) -> Epoch:
    random, n = np.random.default_rng(number), len(who) or n
    clusters = tuple(ClusterView(slot, f"module {slot}", slot + 1) for slot in range(m))
    here = Configuration("CFG", clusters, random.random((n, m)), random.random((n, m)))
    tenants = tuple(who) or tuple(f"tenant {row}" for row in range(n))
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
    before, store = EpochHistory(4), Store(tmp_path / "eddy.sqlite3")
    for number in range(5):
        before.add(epoch(number, n=number % 3 + 1))
        before.write(store.epochs.add)
    store.close()
    after, store = EpochHistory(), Store(tmp_path / "eddy.sqlite3")
    assert after.restore(store.epochs.all()) == 5
    assert [each.number for each in after.list_epochs()] == [1, 2, 3, 4], "the latest four"
    assert all(map(same, after.list_epochs(), before.list_epochs()))
    wrote: list[Rows] = []
    after.write(lambda rows, _: wrote.append(rows))
    assert wrote == [], "what was read is not written again"
    store.close()


def test_rows_come_again_where_the_disk_refused_them_and_the_latest_are_kept_of_many() -> None:
    history = EpochHistory()
    history.add(epoch(0, 1, 1))

    def full(_: Rows, kept: Collection[int]) -> None:
        raise OSError("no space")

    with pytest.raises(OSError, match="no space"):
        history.write(full)
    for number in range(1, AT_ONCE + 10):
        history.add(epoch(number, 1, 1))
    wrote: list[Rows] = []
    history.write(lambda rows, _: wrote.append(rows))
    history.write(lambda rows, _: wrote.append(rows))
    assert [number for rows in wrote for number, _ in rows] == list(range(10, AT_ONCE + 10))


@pytest.mark.parametrize("body", ["", "{", "[]", "1", "{}", '{"number": 7}'])
def test_a_row_that_cannot_be_read_is_left_out(body: str) -> None:
    rows: list[Rows] = []
    history = EpochHistory()
    history.add(epoch(3))
    history.write(lambda found, _: rows.append(found))
    (good,) = (text for _, text in rows[0])
    assert EpochHistory().restore([body]) == 0
    later = EpochHistory()
    assert later.restore([body, good, good[:-2], good.replace('"shares"', '"shape"')]) == 4
    assert [each.number for each in later.list_epochs()] == [3]


def numbers(of: EpochHistory, tenant: str) -> list[int]:
    return [each.number for each in of.list_epochs() if tenant in each.view.tenants]


def test_a_busy_tenant_pushes_out_its_own_epochs_and_nobody_elses(tmp_path: Path) -> None:
    history, store = EpochHistory(32), Store(tmp_path / "eddy.sqlite3")
    for number in range(5):
        history.add(epoch(number, m=1, who=("quiet",)))
    for number in range(5, 400):
        history.add(epoch(number, m=1, who=("busy", "quiet") if number == 100 else ("busy",)))
        if not number % 7:
            history.write(store.epochs.add)
        assert len(history.list_epochs()) <= 32
    assert numbers(history, "quiet") == [0, 1, 2, 3, 4, 100]
    first, *latest = numbers(history, "busy")
    assert first == 100, "which was not its alone"
    assert latest == list(range(400 - len(latest), 400)), "and of its own the latest"
    assert len(latest) >= 24
    again = EpochHistory(32)
    again.restore(store.epochs.all())
    assert numbers(again, "quiet") == [0, 1, 2, 3, 4, 100]
    assert len(store.epochs.all()) <= 32
    store.close()


def test_of_many_epochs_that_end_at_once_everybodys_latest_are_written() -> None:
    history, wrote = EpochHistory(), list[int]()
    for number in range(AT_ONCE * 2):
        history.add(epoch(number, m=1, who=("quiet",) if number < 3 else ("busy",)))
    history.write(lambda rows, _: wrote.extend(number for number, _ in rows))
    assert len(wrote) == AT_ONCE
    assert wrote[:3] == [0, 1, 2]
    assert wrote[-1] == AT_ONCE * 2 - 1


def test_what_is_retained_of_random_histories_is_bounded_and_everybodys_part() -> None:
    random = np.random.default_rng(5)
    for _ in range(200):
        n, most = int(random.integers(1, 6)), int(random.integers(1, 30))
        active = random.random(n) ** 3
        present = [[f"t{t}" for t in range(n) if random.random() < active[t]] for _ in range(60)]
        kept = select_retained(present, most)
        assert kept == sorted(set(kept))
        assert len(kept) == most
        part = most // max(len(set().union(*present)), 1)
        for tenant in {name for each in present for name in each}:
            own = [index for index, each in enumerate(present) if tenant in each]
            assert set(own[len(own) - min(part, len(own)) :]) <= set(kept)


def test_fewer_epochs_than_are_kept_all_stay_and_with_more_tenants_than_room_the_latest() -> None:
    assert select_retained([["a"], ["b"]], 2) == [0, 1]
    assert select_retained([], 0) == []
    assert select_retained([[str(n)] for n in range(9)], 4) == [5, 6, 7, 8]


def test_what_tenants_had_in_the_latest_epoch_goes_by_name_and_slot() -> None:
    history = EpochHistory()
    clusters = [ClusterView(slot, "any", 4) for slot in (2, 7, 0)]
    assert history.last_delivered(["tenant 1", "new"], clusters).tolist() == [[0.0] * 3] * 2
    history.add(epoch(0))
    history.add(last := epoch(1))
    had = last.delivered_s[1]
    assert history.last_delivered(["new", "tenant 1"], clusters).tolist() == [[0.0] * 3, [had[2], 0.0, had[0]]]
