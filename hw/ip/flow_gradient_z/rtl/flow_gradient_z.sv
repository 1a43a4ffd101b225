/// Derivative along time, joined to those along x and y: the third task of optical flow.
///
/// Arguments: `frames` (from `flow_read_input`), `gradient_xy` (from `flow_gradient_xy`) and `gradient` (four
/// 16-bit values a pixel: x, y, z, 0, with 3 fraction bits), 8-byte aligned; `width` and `height` of the
/// frame, multiples of 8 from 8 to 128. Thirteen cycles for eight pixels.
module flow_gradient_z #(
  /// Hash of sources and toolchain, read back from the identity block.
  parameter logic [63:0] BuildHash = '0
) (
  input  logic clk_i,
  /// Synchronous reset, active low.
  input  logic rst_ni,

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

  output logic [3:0]  m_axi_awid,
  output logic [39:0] m_axi_awaddr,
  output logic [7:0]  m_axi_awlen,
  output logic [2:0]  m_axi_awsize,
  output logic [1:0]  m_axi_awburst,
  output logic [3:0]  m_axi_awcache,
  output logic [2:0]  m_axi_awprot,
  output logic [3:0]  m_axi_awqos,
  output logic [3:0]  m_axi_awuser,
  output logic        m_axi_awvalid,
  input  logic        m_axi_awready,
  output logic [63:0] m_axi_wdata,
  output logic [7:0]  m_axi_wstrb,
  output logic        m_axi_wlast,
  output logic        m_axi_wvalid,
  input  logic        m_axi_wready,
  input  logic [3:0]  m_axi_bid,
  input  logic [1:0]  m_axi_bresp,
  input  logic        m_axi_bvalid,
  output logic        m_axi_bready,
  output logic [3:0]  m_axi_arid,
  output logic [39:0] m_axi_araddr,
  output logic [7:0]  m_axi_arlen,
  output logic [2:0]  m_axi_arsize,
  output logic [1:0]  m_axi_arburst,
  output logic [3:0]  m_axi_arcache,
  output logic [2:0]  m_axi_arprot,
  output logic [3:0]  m_axi_arqos,
  output logic [3:0]  m_axi_aruser,
  output logic        m_axi_arvalid,
  input  logic        m_axi_arready,
  input  logic [3:0]  m_axi_rid,
  input  logic [63:0] m_axi_rdata,
  input  logic [1:0]  m_axi_rresp,
  input  logic        m_axi_rlast,
  input  logic        m_axi_rvalid,
  output logic        m_axi_rready,

  output logic irq_o
);

  import flow_pkg::*;

  localparam int unsigned NumPointers = 3;
  localparam int unsigned NumScalars = 2;
  localparam int unsigned NumReads = 2;
  localparam int unsigned NumWrites = 1;
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

  logic [SideWidth-1:0] width, height;
  logic [BeatsWidth-1:0] groups;
  assign width  = scalars[0][SideWidth-1:0];
  assign height = scalars[1][SideWidth-1:0];
  // Eight pixels of a row.
  assign groups = BeatsWidth'(area(width, height) >> 3);

  assign legal = side_legal(scalars[0]) && side_legal(scalars[1]);
  assign read_addr      = {pointers[1][39:0], pointers[0][39:0]};
  assign read_beats     = {groups << 2, groups * BeatsWidth'(5)};
  assign write_addr[0]  = pointers[2][39:0];
  assign write_beats[0] = groups << 3;

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

  flow_gradient_z_core u_core (
    .clk_i, .rst_ni, .clear_i(start), .groups_i(groups[AreaWidth-4:0]),
    .in_valid_i(in_valid), .in_ready_o(in_ready), .in_data_i(in_data),
    .out_valid_o(out_valid), .out_ready_i(out_ready), .out_data_o(out_data)
  );

  // Pointers were checked to lie within the 40 address bits, sizes to be small.
  logic unused;
  assign unused = ^{pointers, scalars};

endmodule
