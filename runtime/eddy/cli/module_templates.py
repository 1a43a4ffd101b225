"""Text of a new module's files: the top with the slot's ports, the stream core, manifest, file list, bench, README."""

from __future__ import annotations

LITE_PORTS = """\
  input  logic [15:0] s_axil_awaddr,
  input  logic [2:0]  s_axil_awprot,
  input  logic        s_axil_awvalid,
  output logic        s_axil_awready,
  input  logic [31:0] s_axil_wdata,
  input  logic [3:0]  s_axil_wstrb,
  input  logic        s_axil_wvalid,
  output logic        s_axil_wready,
  output logic [1:0]  s_axil_bresp,
  output logic        s_axil_bvalid,
  input  logic        s_axil_bready,
  input  logic [15:0] s_axil_araddr,
  input  logic [2:0]  s_axil_arprot,
  input  logic        s_axil_arvalid,
  output logic        s_axil_arready,
  output logic [31:0] s_axil_rdata,
  output logic [1:0]  s_axil_rresp,
  output logic        s_axil_rvalid,
  input  logic        s_axil_rready,
"""

_ADDRESS_PORTS = """\
  output logic [3:0]  m_axi_{x}id,
  output logic [39:0] m_axi_{x}addr,
  output logic [7:0]  m_axi_{x}len,
  output logic [2:0]  m_axi_{x}size,
  output logic [1:0]  m_axi_{x}burst,
  output logic [3:0]  m_axi_{x}cache,
  output logic [2:0]  m_axi_{x}prot,
  output logic [3:0]  m_axi_{x}qos,
  output logic [3:0]  m_axi_{x}user,
  output logic        m_axi_{x}valid,
  input  logic        m_axi_{x}ready,
"""

MEMORY_PORTS = (
    _ADDRESS_PORTS.format(x="aw")
    + """\
  output logic [63:0] m_axi_wdata,
  output logic [7:0]  m_axi_wstrb,
  output logic        m_axi_wlast,
  output logic        m_axi_wvalid,
  input  logic        m_axi_wready,
  input  logic [3:0]  m_axi_bid,
  input  logic [1:0]  m_axi_bresp,
  input  logic        m_axi_bvalid,
  output logic        m_axi_bready,
"""
    + _ADDRESS_PORTS.format(x="ar")
    + """\
  input  logic [3:0]  m_axi_rid,
  input  logic [63:0] m_axi_rdata,
  input  logic [1:0]  m_axi_rresp,
  input  logic        m_axi_rlast,
  input  logic        m_axi_rvalid,
  output logic        m_axi_rready,
"""
)


def top_sv(
    name: str, doc: str, run: str, core: str, pointers: int = 2, scalars: int = 1, reads: int = 1, writes: int = 1
) -> str:
    """The top of a module: the slot's ports, the wrapper, and a stream core between its two streams.

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
  input  logic clk_i,
  /// Synchronous reset, active low.
  input  logic rst_ni,

{LITE_PORTS}
{MEMORY_PORTS}
  output logic irq_o
);

  localparam int unsigned NumPointers = {pointers};
  localparam int unsigned NumScalars = {scalars};
  localparam int unsigned NumReads = {reads};
  localparam int unsigned NumWrites = {writes};
  localparam int unsigned BeatsWidth = 24;

  logic start, legal;
  logic [NumPointers-1:0][63:0] pointers;
  logic [NumScalars-1:0][31:0] scalars;
  logic [NumReads-1:0][39:0] read_addr;
  logic [NumReads-1:0][BeatsWidth-1:0] read_beats;
  logic [NumWrites-1:0][39:0] write_addr;
  logic [NumWrites-1:0][BeatsWidth-1:0] write_beats;
  logic in_valid, in_ready, out_valid, out_ready;
  logic [63:0] in_data, out_data;

{run.rstrip()}

  hls_wrapper #(
    .NumPointers(NumPointers), .NumScalars(NumScalars), .NumReads(NumReads), .NumWrites(NumWrites),
    .BeatsWidth(BeatsWidth), .BuildHash(BuildHash)
  ) u_wrapper (
    .start_o(start), .pointers_o(pointers), .scalars_o(scalars), .legal_i(legal),
    .read_addr_i(read_addr), .read_beats_i(read_beats),
    .write_addr_i(write_addr), .write_beats_i(write_beats),
    .in_valid_o(in_valid), .in_ready_i(in_ready), .in_data_o(in_data),
    .out_valid_i(out_valid), .out_ready_o(out_ready), .out_data_i(out_data),
    // The slot's ports, by name.
    .*
  );

{core.rstrip()}

  // Pointers were checked to lie within the 40 address bits.
  logic unused;
  assign unused = ^pointers;

endmodule
"""
