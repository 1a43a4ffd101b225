"""What the simulated board relies on where it leaves out edges of a slot's path, proved."""

from __future__ import annotations

import pytest
from eddy_sim.prove import ROOT, Mutation
from eddy_sim.stillness import Stillness

PATH = Stillness(
    "slot_path",
    ROOT / "hw/ip/slot_path/slot_path.f",
    held=("slot_ctrl_rsp_i", "slot_mem_req_i", "slot_irq_i"),
    wake="wake_o",
)
MUTATIONS = [
    (Mutation("access ignored", "slot_path.sv", "bank_sel_i || module_sel_i", "bank_sel_i"), "u_bridge"),
    (Mutation("request ignored", "slot_path.sv", "|| mem_req_o.ar_valid", ""), "u_buffer"),
    (
        Mutation("a flop on its own", "slot_path.sv", "slot_rst_q <= far_rst_n", "slot_rst_q <= cycles_i[0]"),
        "slot_rst_q",
    ),
]


@pytest.mark.formal
def test_a_path_at_rest_stays_so_until_it_is_woken() -> None:
    PATH.prove()


@pytest.mark.formal
@pytest.mark.parametrize(("mutation", "moving"), MUTATIONS, ids=lambda value: getattr(value, "name", ""))
def test_a_mistake_is_found(mutation: Mutation, moving: str) -> None:
    assert any(moving in name for name in PATH.refute(mutation))
