# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Progress that is promised and asked for, over HTTP: bounds, sentences, and the job's own account of it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from eddy.api.dependencies.progress import check_promise, check_promised_progress
from eddy.core.errors import Conflict, InvalidRequest
from eddy.core.tenants import TenantRecord
from eddy.hypervisor.cores.market_history import Epoch, EpochHistory
from eddy.hypervisor.cores.progress_report import progress_in, progress_of_job
from eddy.policy.price.view import ClusterView, Configuration, PriceDecision, PriceView
from eddy.store import Store


@pytest.fixture
def store() -> Store:
    found = Store(":memory:")
    for name, promised in (("ada", 0.6), ("grace", 0.3), ("hog", 0.0)):
        found.tenants.put(TenantRecord(name, key_hash=name, attributes={"min_progress": promised}))
    return found


def loop(measured: bool = True) -> Any:
    return SimpleNamespace(watch=SimpleNamespace(machines={"gpu": object()} if measured else {}))


def test_promises_together_stay_within_what_cores_can_keep(store: Store) -> None:
    check_promise(store, "hog", 0.1)
    check_promise(store, "ada", 0.7)
    with pytest.raises(Conflict, match=r"promised 0.9 together.*up to 0.1") as refused:
        check_promise(store, "hog", 0.2)
    assert refused.value.details["field"] == "min_progress"


def test_a_job_asks_for_no_more_than_its_tenant_was_promised(store: Store) -> None:
    check_promised_progress(store, loop(), "ada", 0.6)
    with pytest.raises(InvalidRequest, match=r"promised a progress of 0\.3; ask the operator"):
        check_promised_progress(store, loop(), "grace", 0.4)
    with pytest.raises(Conflict, match="eddy calibrate"):
        check_promised_progress(store, loop(measured=False), "ada", 0.4)
    with pytest.raises(Conflict, match="whole clusters"):
        check_promised_progress(store, None, "ada", 0.4)


def epoch(number: int, progress: tuple[float, float, float], traffic: tuple[float, float, float]) -> Epoch:
    names = ("ada", "grace", "hog")
    here = Configuration("here", (ClusterView(0, "gpu", 6),), np.full((3, 1), 0.9), np.ones((3, 1)))
    view = PriceView(
        float(number), number, names, np.ones(3), here, np.zeros(3), np.zeros((3, 1)), least_progress=(0.4,) * 3
    )
    ran = ~np.isnan(progress)
    return Epoch(
        *(number, float(number), number + 1.0, "hsm_fair", view, PriceDecision(np.full((3, 1), 2.0), np.zeros(1))),
        *(np.ones((3, 1)), 2.0 * ran[:, None], np.ones(3)),
        progress=np.array(progress)[:, None],
        traffic_bytes=np.array(traffic)[:, None],
    )


def test_a_job_is_told_its_progress_and_who_took_the_memory_without_a_name() -> None:
    epochs = [epoch(0, (0.5, 0.3, 0.2), (100, 100, 600)), epoch(1, (0.3, 0.3, 0.2), (100, 0, 900))]
    found = progress_of_job(epochs, "ada", 0.5, None, 0.4)
    assert found is not None
    assert found["mean"] == pytest.approx((0.5 * 0.5 + 0.3) / 1.5)
    assert found["met"] is False
    assert [each["epoch"] for each in found["epochs"]] == [0, 1]
    assert [each["memory_share"] for each in found["epochs"]] == [0.125, 0.1]
    words = " ".join(found["words"])
    assert "Another tenant took 85 %" in words
    assert "40 % was asked for, which was not met" in words
    assert not any(name in words for name in ("ada", "grace", "hog"))


def test_what_ran_in_no_epoch_that_was_counted_is_told_nothing() -> None:
    nan = float("nan")
    assert progress_of_job([epoch(0, (nan, 0.3, 0.2), (0, 1, 1))], "ada", 0.0, None, 0.0) is None
    assert progress_of_job([epoch(0, (0.5, 0.3, 0.2), (0, 1, 1))], "ada", 1.5, None, 0.0) is None
    alone = progress_of_job([epoch(0, (0.9, nan, nan), (10, 0, 0))], "ada", 0.0, 1.0, 0.4)
    assert alone is not None
    assert alone["met"] is True
    assert "Nobody else used the memory meanwhile." in alone["words"]


def test_epochs_are_read_again_with_progress_and_promises() -> None:
    history, rows, again = EpochHistory(), list[tuple[int, str]](), EpochHistory()
    history.add(epoch(3, (0.5, float("nan"), 0.2), (100, 0, 600)))
    history.write(lambda found, _: rows.extend(found))
    assert again.restore(text for _, text in rows) == 4
    (found,) = again.list_epochs()
    assert found.view.least_progress == (0.4,) * 3
    assert progress_in(found, "ada") == progress_in(history.list_epochs()[0], "ada")
    assert progress_in(found, "grace") is None
