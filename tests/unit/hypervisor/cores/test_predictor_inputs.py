# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What predictors of progress are told: kernels that run, and what the last epoch counted of those still there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from eddy.hypervisor.cores.market_history import Epoch
from eddy.hypervisor.cores.market_loop import PredictorInputs
from eddy.hypervisor.cores.progress_watch import ProgressWatch, RunningKernels
from eddy.policy.price.view import Configuration, PriceDecision, PriceView
from unit.hypervisor.cores.test_progress_watch import HERE, MACHINE, Totals, busy

ADA = RunningKernels(("fir", "sobel"), 2, 0.5)
GRACE = RunningKernels(("matmul",))


def view(tenants: tuple[str, ...], kernels: tuple[tuple[str, ...], ...] = ()) -> PriceView:
    blank = np.zeros((len(tenants), 1))
    present = Configuration("CFG", HERE, blank, blank)
    return PriceView(0.0, 0, tenants, np.ones(len(tenants)), present, blank[:, 0], blank, kernels=kernels)


def epoch(of: PriceView) -> Epoch:
    blank = of.delivered_s
    return Epoch(0, 0.0, 1e-3, "any", of, PriceDecision(blank, blank[0]), blank, blank, blank[:, 0])


def counting() -> tuple[PredictorInputs, ProgressWatch, Totals]:
    totals, watch = Totals(), ProgressWatch({"gpu": MACHINE})
    watch.read = totals.read
    return PredictorInputs(watch), watch, totals


def test_a_tenant_between_two_kernels_has_the_last_ones() -> None:
    inputs, _, _ = counting()
    inputs.read_running(lambda: {"ada": ADA, "grace": GRACE})
    began = view(("ada", "grace"), (ADA.kernels, GRACE.kernels))
    assert not inputs.has_changed(began)
    inputs.read_running(lambda: {"ada": RunningKernels()})
    assert not inputs.has_changed(began)
    inputs.read_running(lambda: {"ada": GRACE})
    assert inputs.has_changed(began)
    assert not inputs.has_changed(view(("grace",), (GRACE.kernels,))), "who is in no epoch ends none"


def test_what_was_counted_comes_with_its_tenant_and_who_is_gone_is_forgotten() -> None:
    inputs, watch, totals = counting()
    inputs.read_running(lambda: {"ada": ADA, "grace": GRACE})
    watch.begin([0])
    totals.add(1e-3, ada=busy(1.5, 100), grace=busy(2, 4000))
    ended = inputs.end_epoch(("ada", "grace"), HERE, {})
    assert ended is not None
    assert ended.progress[0, 0] == 0.75, "1.5 of the 2 cores that its groups can use"
    told = inputs.of_view(epoch(view(("ada", "grace"))), ["edsger", "ada"], HERE)
    assert told == {
        "sharing": ((None,), (ended.sharing[0][0],)),
        "machines": (MACHINE,),
        "kernels": ((), ADA.kernels),
        "least_progress": (0.0, 0.5),
    }
    assert replace(view(("edsger", "ada")), **told).kernels == ((), ADA.kernels)
    again = inputs.of_view(None, ["grace"], HERE)
    assert again["kernels"] == ((),), "it came back and runs nothing yet"
    assert again["sharing"] == ((None,),)


def test_where_progress_is_not_measured_nobody_is_asked() -> None:
    inputs = PredictorInputs(ProgressWatch({"gpu": MACHINE}))

    def asked() -> dict[str, RunningKernels]:
        raise AssertionError("asked")

    inputs.read_running(asked)
    assert not inputs.has_changed(view(("ada",)))
    assert inputs.end_epoch(("ada",), HERE, {}) is None
    assert inputs.of_view(None, ["ada"], HERE) == {}
