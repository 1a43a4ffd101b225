// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
`include "axi_ports.svh"

/// A module's port of 64 bits at a slot's of 128, flat: what the bench drives, and memory.
module widen_bench (
  input logic clk_i,
  input logic rst_ni,
  `AXI_PORTS(s_axi, 4, 40, 64, input logic, output logic),
  `AXI_PORTS(m_axi, 4, 40, 128, output logic, input logic)
);

  slot_widen u_widen (
    .clk_i, .rst_ni,
    .awaddr_i(s_axi_awaddr[3:0]), .awlen_i(s_axi_awlen), .awsize_i(s_axi_awsize), .awburst_i(s_axi_awburst),
    .awvalid_i(s_axi_awvalid), .awready_o(s_axi_awready),
    .araddr_i(s_axi_araddr[3:0]), .arlen_i(s_axi_arlen), .arsize_i(s_axi_arsize), .arburst_i(s_axi_arburst),
    .arvalid_i(s_axi_arvalid), .arready_o(s_axi_arready),
    .wdata_i(s_axi_wdata), .wstrb_i(s_axi_wstrb), .wlast_i(s_axi_wlast), .wvalid_i(s_axi_wvalid), .wready_o(s_axi_wready),
    .rdata_o(s_axi_rdata), .rready_i(s_axi_rready),
    .awvalid_o(m_axi_awvalid), .awready_i(m_axi_awready), .arvalid_o(m_axi_arvalid), .arready_i(m_axi_arready),
    .wdata_o(m_axi_wdata), .wstrb_o(m_axi_wstrb), .wvalid_o(m_axi_wvalid), .wready_i(m_axi_wready),
    .rdata_i(m_axi_rdata), .rlast_i(m_axi_rlast), .rvalid_i(m_axi_rvalid)
  );

  assign {m_axi_awid, m_axi_awaddr, m_axi_awlen, m_axi_awsize, m_axi_awburst} =
      {s_axi_awid, s_axi_awaddr, s_axi_awlen, s_axi_awsize, s_axi_awburst};
  assign {m_axi_arid, m_axi_araddr, m_axi_arlen, m_axi_arsize, m_axi_arburst} =
      {s_axi_arid, s_axi_araddr, s_axi_arlen, s_axi_arsize, s_axi_arburst};
  assign {m_axi_wlast, m_axi_bready, m_axi_rready} = {s_axi_wlast, s_axi_bready, s_axi_rready};
  assign {s_axi_bid, s_axi_bresp, s_axi_bvalid} = {m_axi_bid, m_axi_bresp, m_axi_bvalid};
  assign {s_axi_rid, s_axi_rresp, s_axi_rlast, s_axi_rvalid} = {m_axi_rid, m_axi_rresp, m_axi_rlast, m_axi_rvalid};

endmodule
