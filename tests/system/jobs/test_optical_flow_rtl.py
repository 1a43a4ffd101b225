# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Optical flow end to end: a photograph that moves, through the hypervisor's engine on the simulated board."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from eddy.board.port.port import BoardPort
from eddy.cli.demo.demo_plan import Order
from eddy.core.jobs import JobState
from eddy.core.records import JobEventKind
from eddy.policy.dispatch import POLICIES
from eddy_sim.reference import optical_flow
from system.jobs.live_rig import CATALOGUE, Arrival, Live

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("simulated board")]


def test_the_motion_is_found_bit_for_bit(board: BoardPort, tmp_path: Path) -> None:
    sequences = np.stack(optical_flow.sequences()[2:4])
    motions = np.stack([optical_flow.run_item({"pixels": pixels})["flow"] for pixels in sequences])
    order = Order("ada", "optical_flow", 3, {"pixels": sequences}, {"flow": motions}, lambda _: "")
    live = Live(board, POLICIES["nimblock"](), tmp_path)
    (record,) = live.play([Arrival(0.0, order)])
    assert record.state is JobState.SUCCEEDED
    assert live.right(record, order)
    done = [event for event in live.log(record) if event.what is JobEventKind.ITEM_DONE and event.started_s is not None]
    tasks = CATALOGUE.application("optical_flow").tasks
    for task in tasks:
        taken = [event.at_s - event.started_s for event in done if event.task == task.id]  # type: ignore[operator]
        print(f"{task.name}: {1e6 * sum(taken) / len(taken):.1f} us")
        assert len(taken) == len(sequences)
    assert len(tasks) == 9
