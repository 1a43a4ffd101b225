# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The top that puts a module whose port to memory has 64 bits into a slot whose port has 128 (`hw/ip/slot_widen`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eddy_sim.tools.products import ROOT

FILES = ROOT / "hw" / "ip" / "slot_widen" / "slot_widen.f"
"""What such a top stands on, beside the module's own files."""
_HERE = {"wdata", "wstrb", "rdata", *(f"{way}{name}" for way in ("aw", "ar", "w") for name in ("valid", "ready"))}
"""Signals of the memory port that go through `slot_widen`; of all others the slot's port and the module's are one."""
_SEEN = ("addr", "len", "size", "burst")
_LITE = (
    *(f"{way}{name}" for way in ("aw", "ar") for name in ("addr", "prot", "valid", "ready")),
    *("wdata", "wstrb", "wvalid", "wready", "bresp", "bvalid", "bready", "rdata", "rresp", "rvalid", "rready"),
)
_FULL = (
    *(
        f"{way}{name}"
        for way in ("aw", "ar")
        for name in ("id", "addr", "len", "size", "burst", "cache", "prot", "qos", "user", "valid", "ready")
    ),
    *("wdata", "wstrb", "wlast", "wvalid", "wready", "bid", "bresp", "bvalid", "bready"),
    *("rid", "rdata", "rresp", "rlast", "rvalid", "rready"),
)


def wide_top_name(top: str) -> str:
    """Name of the top around a module."""
    return f"{top}_wide"


def wide_top(top: str, parameters: Sequence[str]) -> str:
    """The text of the top around a module.

    Args:
        top: The module's own top.
        parameters: `NAME=VALUE` overrides of its parameters.
    """
    given = [*(f".{name}({value})" for name, _, value in (each.partition("=") for each in parameters))]
    return "\n".join(
        [
            '`include "axi_ports.svh"',
            f"module {wide_top_name(top)} #(",
            "  parameter logic [63:0] BuildHash = '0",
            ") (",
            "  input logic clk_i,",
            "  input logic rst_ni,",
            "  `AXIL_PORTS(s_axil, 16, input logic, output logic),",
            "  `AXI_PORTS(m_axi, 4, 40, 128, output logic, input logic),",
            "  `AXI_ATTRIBUTE_PORTS(m_axi, 4, output logic),",
            "  output logic irq_o",
            ");",
            "  logic awvalid, awready, arvalid, arready, wvalid, wready;",
            "  logic [63:0] wdata, rdata;",
            "  logic [7:0] wstrb;",
            f"  {top} #({', '.join(['.BuildHash(BuildHash)', *given])}) u_module (",
            ",\n".join(f"    {each}" for each in _module_ports()),
            "  );",
            "  slot_widen u_widen (",
            ",\n".join(f"    {each}" for each in _widen_ports()),
            "  );",
            "endmodule\n",
        ]
    )


def _module_ports() -> Iterator[str]:
    yield from (".clk_i(clk_i)", ".rst_ni(rst_ni)")
    yield from (f".s_axil_{name}(s_axil_{name})" for name in _LITE)
    yield from (f".m_axi_{name}({name if name in _HERE else f'm_axi_{name}'})" for name in _FULL)
    yield ".irq_o(irq_o)"


def _widen_ports() -> Iterator[str]:
    yield from (".clk_i(clk_i)", ".rst_ni(rst_ni)")
    for way in ("aw", "ar"):
        for name in _SEEN:
            bits = "[3:0]" if name == "addr" else ""
            yield f".{way}{name}_i(m_axi_{way}{name}{bits})"
        yield from (f".{way}valid_i({way}valid)", f".{way}ready_o({way}ready)")
        yield from (f".{way}valid_o(m_axi_{way}valid)", f".{way}ready_i(m_axi_{way}ready)")
    yield from (".wdata_i(wdata)", ".wstrb_i(wstrb)", ".wlast_i(m_axi_wlast)", ".wvalid_i(wvalid)", ".wready_o(wready)")
    yield from (".rdata_o(rdata)", ".rready_i(m_axi_rready)", ".wdata_o(m_axi_wdata)", ".wstrb_o(m_axi_wstrb)")
    yield from (".wvalid_o(m_axi_wvalid)", ".wready_i(m_axi_wready)", ".rdata_i(m_axi_rdata)")
    yield from (".rlast_i(m_axi_rlast)", ".rvalid_i(m_axi_rvalid)")
