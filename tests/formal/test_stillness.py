# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""What the simulated board relies on where it leaves out edges of parts of the shell, proved."""

from __future__ import annotations

import pytest
from eddy_sim.tools.prove import ROOT, Mutation, ProofFailed
from eddy_sim.tools.quiescence_proof import Stillness

pytestmark = pytest.mark.formal

IP = ROOT / "hw" / "ip"
PATH = Stillness(
    "slot_path",
    IP / "slot_path/slot_path.f",
    held=("slot_ctrl_rsp_i", "slot_mem_req_i", "slot_irq_i"),
    fixed={"wake_o": 0},
)
REQUESTS = (
    "awaddr",
    "awprot",
    "awvalid",
    "wdata",
    "wstrb",
    "wvalid",
    "bready",
    "araddr",
    "arprot",
    "arvalid",
    "rready",
)
BUS = Stillness(
    "ctrl_xbar",
    IP / "ctrl_xbar/ctrl_xbar.f",
    held=tuple(f"s_axil_{name}" for name in REQUESTS),
    fixed={"rst_ni": 1, "ack_i": 0},
)
DEAF_BUS = Stillness(BUS.top, BUS.filelist, BUS.held, {"rst_ni": 1})
MUTATIONS = [
    (Mutation("access ignored", "slot_path.sv", "bank_held || module_sel_i", "bank_held"), "u_bridge"),
    (Mutation("request ignored", "slot_path.sv", "|| mem_req_o.ar_valid", ""), "u_split"),
    (
        Mutation("a flop on its own", "slot_path.sv", "slot_rst_q <= far_rst_n", "slot_rst_q <= cycles_i[0]"),
        "slot_rst_q",
    ),
]


def test_a_path_at_rest_stays_so_until_it_is_woken() -> None:
    PATH.prove()


def test_the_bus_at_rest_stays_so_until_it_is_woken() -> None:
    BUS.prove()


def test_the_bus_listens_to_more_than_its_reset() -> None:
    with pytest.raises(ProofFailed, match="state_q"):
        DEAF_BUS.prove()


def test_claims_shown_at_once_do_not_share_a_folder() -> None:
    folders = {claim.folder("any") for claim in (BUS, DEAF_BUS, PATH)}
    assert len(folders) == 3
    assert BUS.folder(BUS.top) == Stillness(BUS.top, BUS.filelist, BUS.held, BUS.fixed).folder(BUS.top)


@pytest.mark.mutant
@pytest.mark.parametrize(("mutation", "moving"), MUTATIONS, ids=lambda value: getattr(value, "name", ""))
def test_a_mistake_is_found(mutation: Mutation, moving: str) -> None:
    assert any(moving in name for name in PATH.refute(mutation))
