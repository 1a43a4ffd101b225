# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The promises of the slot boundary, proved, and shown to be worth something by breaking the blocks on purpose."""

from __future__ import annotations

import pytest
from eddy_sim.tools.prove import ROOT, Mutation, Proof

pytestmark = pytest.mark.formal

IP = ROOT / "hw" / "ip"
PROOFS = {
    "decoupler": Proof("decoupler_proof", IP / "decoupler" / "decoupler.f", depth=6),
    "control": Proof("firewall_ctrl_proof", IP / "firewall" / "firewall.f", depth=12),
    "hits": Proof(
        "firewall_windows_proof", IP / "firewall" / "firewall.f", depth=2, parameters={"Stays": 0, "NumWindows": 2}
    ),
    "answers": Proof("firewall_windows_proof", IP / "firewall" / "firewall.f", depth=2, parameters={"Stays": 1}),
    "answers-of-two": Proof(
        "firewall_windows_proof", IP / "firewall" / "firewall.f", depth=2, parameters={"Stays": 1, "NumWindows": 2}
    ),
    "windows": Proof("firewall_mem_proof", IP / "firewall" / "firewall.f", depth=2, parameters={"Claims": 0}),
    "bursts": Proof("firewall_mem_proof", IP / "firewall" / "firewall.f", depth=2, parameters={"Claims": 2}),
    "handover": Proof("firewall_mem_proof", IP / "firewall" / "firewall.f", depth=2, parameters={"Claims": 3}),
    "wide-windows": Proof(
        "firewall_mem_proof", IP / "firewall" / "firewall.f", depth=2, parameters={"Claims": 0}, memory_bits=128
    ),
    "wide-handover": Proof(
        "firewall_mem_proof", IP / "firewall" / "firewall.f", depth=2, parameters={"Claims": 3}, memory_bits=128
    ),
    "owed-regulator": Proof("owed_proof", IP / "regulator" / "regulator.f", depth=2, parameters={"Block": 0}),
    "owed-buffer": Proof(
        "owed_proof", IP / "burst_buffer" / "burst_buffer.f", depth=2, parameters={"Block": 1}, own_assertions=False
    ),
}
MUTATIONS = [
    ("decoupler", Mutation("gate ignored", "decoupler.sv", ".rst_ni(mem_open && rst_ni)", ".rst_ni(rst_ni)")),
    ("decoupler", Mutation("another's command", "decoupler.sv", ".d_i(ctrl_open_i)", ".d_i(mem_open_i)")),
    (
        "decoupler",
        Mutation("an interrupt kept", "decoupler.sv", "irq_q <= slot_irq_i && irq_open", "irq_q <= irq_open"),
    ),
    (
        "control",
        Mutation("no timeout", "firewall_ctrl_access.sv", "!arrived && left_q <= TimeoutWidth'(1)", "!arrived && 1'b0"),
    ),
    (
        "answers-of-two",
        Mutation("last page ignored", "firewall_lookup.sv", "page_i <= last_q;", "page_i <= 28'hFFFFFFF;"),
    ),
    (
        "answers-of-two",
        Mutation("context ignored", "firewall_lookup.sv", "contexts_q[context_i]", "contexts_q != '0"),
    ),
    (
        "answers-of-two",
        Mutation("a closed window kept", "firewall_lookup.sv", "if (changed_i) usable_q <= 1'b0;\n      else", ""),
    ),
    (
        "answers-of-two",
        Mutation(
            "refused before all were tried",
            "firewall_lookup.sv",
            "!hit_o && tried_q == (",
            "!hit_o && tried_q >= -1 + (",
        ),
    ),
    (
        "windows",
        Mutation("a miss goes through", "firewall_admit.sv", "allowed && lookup_i.hit", "allowed && known"),
    ),
    (
        "bursts",
        Mutation("last of the slot", "firewall_write.sv", "strb: w_i.strb, last: w_last}", "strb: '0, last: w_i.last}"),
    ),
    (
        "handover",
        Mutation("revocation ignored", "firewall_admit.sv", "lookup_i.hit && !revoke_i", "(lookup_i.hit || revoke_i)"),
    ),
    (
        "handover",
        Mutation("drained too early", "firewall_admit.sv", "count_q == count_t'(refusing_q)", "count_q <= count_t'(1)"),
    ),
    (
        "wide-handover",
        Mutation(
            "beats of 16 bytes anywhere", "firewall_pkg.sv", "in_page = len <= ~addr[PageBits-1:4];", "in_page = 1'b1;"
        ),
    ),
    ("owed-regulator", Mutation("request kept", "regulator.sv", "if (rsp_i.ar_ready) ar_valid_q <= 1'b0;", "")),
    (
        "owed-buffer",
        Mutation("answered early", "burst_buffer.sv", ".valid_i(rsp_i.b_valid)", ".valid_i(rsp_i.b_valid || aw_go)"),
    ),
    (
        "handover",
        Mutation("another's context", "firewall_admit.sv", "context_id: ax_i.user\n  };", "context_id: '0\n  };"),
    ),
]


@pytest.mark.parametrize("name", PROOFS)
def test_every_claim_holds(name: str) -> None:
    PROOFS[name].prove()


@pytest.mark.mutant
@pytest.mark.parametrize(("name", "mutation"), MUTATIONS, ids=lambda value: getattr(value, "name", value))
def test_a_mistake_is_found(name: str, mutation: Mutation) -> None:
    assert PROOFS[name].refute(mutation)
