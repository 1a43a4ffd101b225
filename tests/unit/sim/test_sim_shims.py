# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Generated text: every signal of the boundary reaches the structures, the adapters and the wrapper."""

from __future__ import annotations

import re

import pytest
from eddy_sim.design import shims
from eddy_sim.design.boundary import SLOT_DOWN, SLOT_UP, Signal
from eddy_sim.tools.products import ROOT

PORTS = ROOT / "hw/ip/slot_ports/rtl/slot_ports.svh"
WIDTHS = {"eddy_pkg::DataWidth-1": 64, "eddy_pkg::StrbWidth-1": 8}
"""What the ports have that may have twice as much."""
RUN = ROOT / "hw/ip/hls_wrapper/rtl/hls_run.svh"


def put(port: str, structure: str, signal: Signal) -> str:
    """How a structure's field reaches a port: both halves of it where it may be wide."""
    suffix = "[k]" if port == "m.slot_" else ""
    port, name = f"{port}{signal.name}{suffix}", f"{structure}.{signal.name}"
    return f"put({port}, {name}, {name}_hi);" if signal.wide else f"{port} = {name};"


def get(port: str, structure: str, signal: Signal) -> list[str]:
    """How a port reaches a structure's field, or both halves of it."""
    suffix = "[k]" if port == "m.slot_" else ""
    port, name = f"{port}{signal.name}{suffix}", f"{structure}.{signal.name}"
    if not signal.wide:
        return [f"{name} = {port};"]
    return [
        f"{name}{half} = static_cast<{signal.c_type}>({which}({port}));"
        for half, which in (("", "low"), ("_hi", "high"))
    ]


def test_every_slot_signal_is_copied_both_by_shell_and_module() -> None:
    module, shell, wrapper = shims.module_copies(), shims.shell_copies(), shims.wrapper_source(True)
    for signal in SLOT_DOWN:
        assert put("m.", "down", signal) in module
        assert all(line in shell for line in get("m.slot_", "down", signal))
    for signal in SLOT_UP:
        assert all(line in module for line in get("m.", "up", signal))
        assert put("m.slot_", "up", signal) in shell
    for signal in (*SLOT_DOWN, *SLOT_UP):
        assert f".slot_{signal.name}(slot_{signal.name}_p)" in wrapper


def test_the_boundary_has_the_signals_of_two_axi_interfaces() -> None:
    names = {signal.name for signal in (*SLOT_DOWN, *SLOT_UP)}
    assert len(names) == 19 + 37
    assert {"s_axil_araddr", "m_axi_awuser", "m_axi_rlast", "m_axi_wstrb"} <= names


def test_the_slots_port_list_is_that_of_the_table() -> None:
    found = re.findall(r"^\s*(input|output)\s+logic\s+(?:\[([\w:-]+):0\])?\s*(\w+)", PORTS.read_text(), re.M)
    ports = {name: (way, WIDTHS.get(high) or int(high or 0) + 1) for way, high, name in found}
    table = {s.name: ("input", s.width) for s in SLOT_DOWN} | {s.name: ("output", s.width) for s in SLOT_UP}
    assert ports == table | {"clk_i": ("input", 1), "rst_ni": ("input", 1), "irq_o": ("output", 1)}
    # A run connects each of them to the wrapper.
    assert set(ports) <= set(re.findall(r"\.(\w+)[,\s]", RUN.read_text()))


def test_structures_have_no_padding_between_fields() -> None:
    header = shims.boundary_header()
    for body in re.findall(r"typedef struct \{(.*?)\}", header, re.S):
        widths = [int(bits) for bits in re.findall(r"uint(\d+)_t", body)]
        assert widths == sorted(widths, reverse=True)


@pytest.mark.parametrize(("width", "c_type"), [(1, "uint8_t"), (9, "uint16_t"), (24, "uint32_t"), (40, "uint64_t")])
def test_c_types_are_those_of_verilator(width: int, c_type: str) -> None:
    assert Signal("x", width).c_type == c_type


ROOT_HEADER = """
    VL_IN8(clk_i,0,0);
    CData/*0:0*/ __Vtrigprevexpr___TOP__clk_i__0;
    QData/*63:0*/ top__DOT__u_shell__DOT__cycles_q;
    QData/*63:0*/ top__DOT__u_shell__DOT__other_q;
    VlUnpacked<QData/*63:0*/, 1> __VnbaTriggered;
"""


def test_the_normaliser_finds_edges_scratch_and_declared_counters() -> None:
    text = shims.normaliser(ROOT_HEADER, r"__DOT__cycles_q$")
    edges, scratch = text.split("clear_scratch")
    assert "__Vtrigprevexpr___TOP__clk_i__0" in edges
    assert "__VnbaTriggered" in scratch
    assert "#define EDDY_COUNTERS 1" in text
    assert "cycles_q" in text
    assert "other_q" not in text


def test_a_verilator_that_names_edges_otherwise_is_noticed() -> None:
    with pytest.raises(ValueError, match="naming has changed"):
        shims.normaliser(ROOT_HEADER.replace("trigprevexpr", "previous"), "")


EVENTS = """
        VL_DBG_MSGS("         '" + tag + "' region trigger index 0 is active: Internal 'ico' trigger\\n");
        VL_DBG_MSGS("         '" + tag + "' region trigger index 0 is active: @(posedge clk_i)\\n");
        VL_DBG_MSGS("         '" + tag + "' region trigger index 1 is active: @(posedge slot_clk_i[3])\\n");
"""
PORTS_HEADER = ROOT_HEADER + "    VL_IN16(slot_clk_i,9,0);\n    VL_OUT8(late_o,0,0);\n"


def test_a_model_with_edges_of_its_inputs_alone_is_taken() -> None:
    events = shims.check_edges(PORTS_HEADER, ["int unrelated;", EVENTS])
    assert events == ["@(posedge clk_i)", "@(posedge slot_clk_i[3])"]


@pytest.mark.parametrize(
    "event", ["@(negedge clk_i)", "@(posedge top.u_gate.clk)", "@(posedge late_o)", "@([changed] clk_i)"]
)
def test_a_model_with_any_other_event_is_refused(event: str) -> None:
    with pytest.raises(ValueError, match=re.escape(event)):
        shims.check_edges(PORTS_HEADER, [EVENTS.replace("@(posedge clk_i)", event)])


def test_a_model_evaluated_before_its_flops_is_refused() -> None:
    with pytest.raises(ValueError, match="one evaluation is not enough"):
        shims.check_edges(PORTS_HEADER, [EVENTS, "void Vmodel___024root___eval_act(Root*);"])


def test_a_verilator_that_names_events_otherwise_is_noticed() -> None:
    with pytest.raises(ValueError, match="naming has changed"):
        shims.check_edges(PORTS_HEADER, [EVENTS.replace("region trigger", "event")])
