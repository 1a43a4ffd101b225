# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""AlexNet end to end: 38 tasks, several writing slices of one layer, through the engine on the simulated board."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest
from eddy.board.port.port import BoardPort
from eddy.cli.demo.demo_plan import Order
from eddy.core.jobs import JobState
from eddy.core.records import JobEventKind
from eddy.policy.dispatch import POLICIES
from eddy_sim.reference import alexnet
from system.jobs.live_rig import Arrival, Live

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("simulated board")]


def test_a_patch_goes_through_bit_for_bit(board: BoardPort, tmp_path: Path) -> None:
    constants = alexnet.constants()
    image = alexnet.images()[30]
    result = alexnet.run_item({"image": image, **constants})["result"]
    inputs = {"image": image[None], **constants}
    order = Order("ada", "alexnet", 3, inputs, {"result": result[None]}, lambda _: "")
    live = Live(board, POLICIES["nimblock"](), tmp_path)
    (record,) = live.play([Arrival(0.0, order)])
    assert record.state is JobState.SUCCEEDED
    assert live.right(record, order)
    done = [event for event in live.log(record) if event.what is JobEventKind.ITEM_DONE]
    assert len(done) == 38
    assert any(
        a.slot != b.slot and (a.started_s or 0.0) < b.at_s and (b.started_s or 0.0) < a.at_s
        for a, b in combinations(done[:4], 2)
    ), "two tasks of the first layer write slices of its result at once"
