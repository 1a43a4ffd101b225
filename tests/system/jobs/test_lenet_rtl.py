# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""LeNet end to end: held-out digits through the hypervisor's engine on the simulated board, by the shipped weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from eddy.board.port.port import BoardPort
from eddy.cli.demo.demo_plan import Order
from eddy.core.jobs import JobState
from eddy.policy.dispatch import POLICIES
from eddy_sim.reference import lenet
from system.jobs.live_rig import Arrival, Live, measure

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("simulated board")]


def test_digits_are_recognised_bit_for_bit(board: BoardPort, tmp_path: Path) -> None:
    images, truth = lenet.held_out()
    images, truth = images[:6], truth[:6]
    results = np.stack([lenet.run_item({"image": image})["result"] for image in images])
    order = Order("ada", "lenet", 3, {"image": images}, {"result": results}, lambda _: "")
    live = Live(board, POLICIES["nimblock"](), tmp_path)
    (record,) = live.play([Arrival(0.0, order)])
    assert record.state is JobState.SUCCEEDED
    assert live.right(record, order)
    assert [lenet.recognised(result) for result in results] == truth.tolist()
    taken = measure(live, [record])
    print({module: round(takes_s * 1e6, 1) for module, takes_s in taken.latency_s.items()})
    assert set(taken.latency_s) == {"conv_pool", "dense"}
