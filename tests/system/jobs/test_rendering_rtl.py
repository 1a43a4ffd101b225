# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""3D rendering end to end: a torus in two positions through the hypervisor's engine on the simulated board."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from eddy.board.port.port import BoardPort
from eddy.cli.demo.demo_plan import Order
from eddy.core.jobs import JobState
from eddy.policy.dispatch import POLICIES
from eddy_sim.reference import rendering
from system.jobs.live_rig import Arrival, Live, measure

pytestmark = [pytest.mark.rtl, pytest.mark.xdist_group("simulated board")]


def test_the_torus_is_drawn_bit_for_bit(board: BoardPort, tmp_path: Path) -> None:
    meshes = rendering.views()[1:3]
    frames = np.stack([rendering.run_item({"triangles": mesh})["result"] for mesh in meshes])
    order = Order("ada", "rendering", 3, {"triangles": np.stack(meshes)}, {"result": frames}, lambda _: "")
    live = Live(board, POLICIES["nimblock"](), tmp_path)
    (record,) = live.play([Arrival(0.0, order)])
    assert record.state is JobState.SUCCEEDED
    assert live.right(record, order)
    taken = measure(live, [record])
    print({module: round(takes_s * 1e6, 1) for module, takes_s in taken.latency_s.items()})
    assert set(taken.latency_s) == {"render_project", "render_rasterise", "render_cull"}
