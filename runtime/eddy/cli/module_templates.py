"""Text of a new module's files: the top with the slot's ports, the stream core, manifest, file list, bench, README."""

from __future__ import annotations


def top_sv(
    name: str, doc: str, run: str, core: str, pointers: int = 2, scalars: int = 1, reads: int = 1, writes: int = 1
) -> str:
    """The top of a module: the slot's ports, a run by the wrapper, and a stream core between its two streams.

    Args:
        name: Name of the module and its top.
        doc: `///` lines above it.
        run: Assignments to legal, read_addr, read_beats, write_addr, write_beats from pointers and scalars.
        core: Instance of the core; it sees start, in_valid/in_ready/in_data and out_valid/out_ready/out_data.
        pointers: Number of pointer arguments; `scalars`, `reads`, `writes` likewise.
    """
    return f"""\
{doc.rstrip()}
module {name} #(
  /// Hash of sources and toolchain, read back from the identity block.
  parameter logic [63:0] BuildHash = '0
) (
  `include "slot_ports.svh"
);

  localparam int unsigned NumPointers = {pointers}, NumScalars = {scalars}, NumReads = {reads}, NumWrites = {writes};
  `include "hls_run.svh"

{run.rstrip()}

{core.rstrip()}

endmodule
"""


_RUN = """\
  // Words of 64 bits.
  localparam logic [31:0] MaxWords = 32'd65536;

  assign legal = scalars[0] != '0 && scalars[0] <= MaxWords;
  assign read_addr[0]   = pointers[0][39:0];
  assign write_addr[0]  = pointers[1][39:0];
  assign read_beats[0]  = scalars[0][BeatsWidth-1:0];
  assign write_beats[0] = scalars[0][BeatsWidth-1:0];
"""

_CORE_INSTANCE = """\
  {name}_core u_core (
    .clk_i, .rst_ni, .clear_i(start), .addend_i(scalars[1]),
    .in_valid_i(in_valid), .in_ready_o(in_ready), .in_data_i(in_data),
    .out_valid_o(out_valid), .out_ready_i(out_ready), .out_data_o(out_data)
  );
"""

CORE = """\
/// Adds a number to every word of a stream. Replace this by your arithmetic: take words from `in_*`, give words to
/// `out_*`, clear your state on `clear_i`. One word a cycle, latency one cycle.
module {name}_core (
  input  logic clk_i,
  input  logic rst_ni,
  /// A run begins.
  input  logic        clear_i,
  input  logic [31:0] addend_i,

  input  logic        in_valid_i,
  output logic        in_ready_o,
  input  logic [63:0] in_data_i,
  output logic        out_valid_o,
  input  logic        out_ready_i,
  output logic [63:0] out_data_o
);

  assign in_ready_o = !out_valid_o || out_ready_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) out_valid_o <= 1'b0;
    else if (in_ready_o) out_valid_o <= in_valid_i;
  end

  always_ff @(posedge clk_i) begin
    if (in_ready_o) out_data_o <= in_data_i + 64'(addend_i);
  end

endmodule
"""

MANIFEST = """\
module: {name}
summary: "Adds a number to every 64-bit word of a buffer"
kind: hls
top: {name}
files: ../../hw/ip/{name}/{name}.f
register_map: "1.0"
clk_hz: 100000000
registers:
  in: {{offset: 0x10, width: 64, kind: pointer, access: r}}
  out: {{offset: 0x1c, width: 64, kind: pointer, access: w}}
  words: {{offset: 0x28, width: 32, kind: scalar}}
  addend: {{offset: 0x30, width: 32, kind: scalar}}
  status: {{offset: 0x38, width: 32, kind: status}}
scrub: reset
# A short legal run for `eddy module check`: bytes of each buffer, value of each scalar.
example: {{in: 1600, out: 1600, words: 200, addend: 7}}
"""

COCOTB = '''\
"""The module {name} against numpy."""

from typing import Any

import cocotb
import numpy as np
from eddy_sim.modcheck import trials


def make(rng: np.random.Generator) -> trials.Trial:
    """Some words, and what to add to them."""
    words, addend = int(rng.integers(1, 100)), int(rng.integers(0, 1 << 32))
    data = rng.integers(0, 1 << 64, words, dtype="u8")
    scalars = {{"words": words, "addend": addend}}
    return trials.Trial(scalars, {{"in": data}}, {{"out": data + np.uint64(addend)}})


@cocotb.test()
async def matches_reference(dut: Any) -> None:
    await trials.matches_reference(dut, "{name}", make)


@cocotb.test()
async def survives_memory_errors(dut: Any) -> None:
    await trials.survives_memory_errors(dut, "{name}", make)


@cocotb.test()
async def refuses_illegal(dut: Any) -> None:
    await trials.refuses_illegal(dut, "{name}", make, [{{"words": 0}}, {{"words": 65537}}])
'''

TEST = '''\
"""Builds and runs the bench of `hw/ip/{name}`."""

from pathlib import Path

import pytest
from eddy_sim.bench import ROOT, Bench


@pytest.mark.rtl
def test_{name}() -> None:
    Bench("{name}", ROOT / "hw/ip/{name}/{name}.f").run("cocotb_{name}", folder=Path(__file__).parent)
'''

README = """\
# {name}

A reconfigurable module. `rtl/{name}_core.sv` holds the arithmetic, `rtl/{name}.sv` the slot's ports and the sizes of a
run; registers, identity, DMA and run control are `hls_wrapper`'s.

- Register map: `bitstreams/{name}/manifest.yaml`. Keep it, and the counts in `rtl/{name}.sv`, in step.
- Against the slot contract: `eddy module check {name}`
- Against numpy: `pytest sim/rtl/{name}`
"""


def skeleton(name: str, wrapper: str) -> dict[str, str]:
    """The files of a new module, by path in the source tree.

    Args:
        name: The module's name.
        wrapper: Path of the wrapper's file list, relative to the module's own.
    """
    doc = (
        "/// Adds a number to every 64-bit word of a buffer.\n///\n"
        "/// Arguments: `in` and `out` (8-byte aligned), `words` (1 to 65536), `addend`."
    )
    top = top_sv(name, doc, _RUN, _CORE_INSTANCE.format(name=name), scalars=2)
    return {
        f"hw/ip/{name}/rtl/{name}.sv": top,
        f"hw/ip/{name}/rtl/{name}_core.sv": CORE.format(name=name),
        f"hw/ip/{name}/{name}.f": f"-f {wrapper}\nrtl/{name}_core.sv\nrtl/{name}.sv\n",
        f"hw/ip/{name}/README.md": README.format(name=name),
        f"bitstreams/{name}/manifest.yaml": MANIFEST.format(name=name),
        f"sim/rtl/{name}/cocotb_{name}.py": COCOTB.format(name=name),
        f"sim/rtl/{name}/test_{name}.py": TEST.format(name=name),
    }
