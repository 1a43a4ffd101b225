// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// The signals of a run, and the wrapper that makes runs of them. A module's top declares the numbers of pointers, scalars
// and ranges, includes this, and drives `legal`, the ranges, and the stream of its core: `in_ready` and `out_*`.

  // Width of a range's length in 64-bit words.
  localparam int unsigned BeatsWidth = 24;

  // A run begins. Whether its arguments allow it, and the ranges it moves, are functions of the arguments.
  logic start, legal;
  logic [NumPointers-1:0][63:0] pointers;
  logic [NumScalars-1:0][31:0] scalars;
  logic [NumReads-1:0][39:0] read_addr;
  logic [NumReads-1:0][BeatsWidth-1:0] read_beats;
  logic [NumWrites-1:0][39:0] write_addr;
  logic [NumWrites-1:0][BeatsWidth-1:0] write_beats;

  // Words to the core, and words from it.
  logic in_valid, in_ready, out_valid, out_ready;
  logic [63:0] in_data, out_data;

  hls_wrapper #(
    .NumPointers(NumPointers), .NumScalars(NumScalars), .NumReads(NumReads), .NumWrites(NumWrites),
    .BeatsWidth(BeatsWidth), .BuildHash(BuildHash)
  ) u_wrapper (
    .clk_i, .rst_ni, .s_axil_awaddr, .s_axil_awprot, .s_axil_awvalid, .s_axil_awready, .s_axil_wdata,
    .s_axil_wstrb, .s_axil_wvalid, .s_axil_wready, .s_axil_bresp, .s_axil_bvalid, .s_axil_bready,
    .s_axil_araddr, .s_axil_arprot, .s_axil_arvalid, .s_axil_arready, .s_axil_rdata, .s_axil_rresp,
    .s_axil_rvalid, .s_axil_rready, .m_axi_awid, .m_axi_awaddr, .m_axi_awlen, .m_axi_awsize, .m_axi_awburst,
    .m_axi_awcache, .m_axi_awprot, .m_axi_awqos, .m_axi_awuser, .m_axi_awvalid, .m_axi_awready, .m_axi_wdata,
    .m_axi_wstrb, .m_axi_wlast, .m_axi_wvalid, .m_axi_wready, .m_axi_bid, .m_axi_bresp, .m_axi_bvalid,
    .m_axi_bready, .m_axi_arid, .m_axi_araddr, .m_axi_arlen, .m_axi_arsize, .m_axi_arburst, .m_axi_arcache,
    .m_axi_arprot, .m_axi_arqos, .m_axi_aruser, .m_axi_arvalid, .m_axi_arready, .m_axi_rid, .m_axi_rdata,
    .m_axi_rresp, .m_axi_rlast, .m_axi_rvalid, .m_axi_rready, .irq_o,
    .start_o(start), .pointers_o(pointers), .scalars_o(scalars), .legal_i(legal),
    .read_addr_i(read_addr), .read_beats_i(read_beats), .write_addr_i(write_addr), .write_beats_i(write_beats),
    .in_valid_o(in_valid), .in_ready_i(in_ready), .in_data_o(in_data),
    .out_valid_i(out_valid), .out_ready_o(out_ready), .out_data_i(out_data)
  );

  // Pointers were checked to lie within the 40 address bits; of scalars a module takes what its check of them leaves.
  logic unused;
  assign unused = ^{pointers, scalars};
