// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
`include "axi_ports.svh"

/// From the shell's memory port to one of the processing system's (S_AXI_HP, non-coherent, 64 bits wide).
///
/// Ids become as narrow as the port takes (`ps_ids`). AxPROT, AxCACHE, AxQOS and AxLOCK are constants here, whatever the
/// shell says: non-secure, normal non-cacheable, no priority, not exclusive. So no module in a slot can reach secure memory
/// or be coherent with the processor's caches. Every request output is a flop.
module ps_hp (
  input  logic clk_i,
  /// Synchronous reset, active low; nothing may be under way. Nothing is taken in the first 64 cycles after it.
  input  logic rst_ni,

  // The shell's memory port. What it says of attributes is not looked at.
  `AXI_PORTS(s_axi, 8, 40, 64, input logic, output logic),

  // The processing system's port (UG1085, table "AXI interfaces": ids of 6 bits, addresses of 49).
  `AXI_PORTS(m_axi, 6, 49, 64, output logic, input logic),
  `AXI_ATTRIBUTE_PORTS(m_axi, 1, output logic),
  output logic m_axi_awlock,
  output logic m_axi_arlock
);

  // AXI4, A4.4 and A4.7: normal memory, non-cacheable, bufferable; data, non-secure, unprivileged.
  localparam logic [3:0] Cache = 4'b0011;
  localparam logic [2:0] Prot = 3'b010;

  assign {m_axi_awlock, m_axi_awcache, m_axi_awprot, m_axi_awqos, m_axi_awuser} = {1'b0, Cache, Prot, 4'd0, 1'b0};
  assign {m_axi_arlock, m_axi_arcache, m_axi_arprot, m_axi_arqos, m_axi_aruser} = {1'b0, Cache, Prot, 4'd0, 1'b0};
  assign m_axi_awaddr[48:40] = '0;
  assign m_axi_araddr[48:40] = '0;

  logic [5:0] aw_id, ar_id;
  logic [7:0] b_id, r_id;
  logic aw_free, ar_free, aw_ready, ar_ready, b_ready, r_ready;

  ps_ids u_write_ids (
    .clk_i,
    .rst_ni,
    .id_i(s_axi_awid),
    .id_o(aw_id),
    .free_o(aw_free),
    .go_i(s_axi_awvalid && s_axi_awready),
    .answer_id_i(m_axi_bid),
    .answer_id_o(b_id),
    .ended_i(m_axi_bvalid && b_ready)
  );

  ps_ids u_read_ids (
    .clk_i,
    .rst_ni,
    .id_i(s_axi_arid),
    .id_o(ar_id),
    .free_o(ar_free),
    .go_i(s_axi_arvalid && s_axi_arready),
    .answer_id_i(m_axi_rid),
    .answer_id_o(r_id),
    .ended_i(m_axi_rvalid && r_ready && m_axi_rlast)
  );

  assign s_axi_awready = aw_ready && aw_free;
  assign s_axi_arready = ar_ready && ar_free;
  assign m_axi_bready = b_ready;
  assign m_axi_rready = r_ready;

  skid #(
    .Width(59)
  ) u_aw (
    .clk_i,
    .rst_ni,
    .valid_i(s_axi_awvalid && aw_free),
    .ready_o(aw_ready),
    .data_i({aw_id, s_axi_awaddr, s_axi_awlen, s_axi_awsize, s_axi_awburst}),
    .valid_o(m_axi_awvalid),
    .ready_i(m_axi_awready),
    .data_o({m_axi_awid, m_axi_awaddr[39:0], m_axi_awlen, m_axi_awsize, m_axi_awburst})
  );

  skid #(
    .Width(73)
  ) u_w (
    .clk_i,
    .rst_ni,
    .valid_i(s_axi_wvalid),
    .ready_o(s_axi_wready),
    .data_i({s_axi_wdata, s_axi_wstrb, s_axi_wlast}),
    .valid_o(m_axi_wvalid),
    .ready_i(m_axi_wready),
    .data_o({m_axi_wdata, m_axi_wstrb, m_axi_wlast})
  );

  skid #(
    .Width(10)
  ) u_b (
    .clk_i,
    .rst_ni,
    .valid_i(m_axi_bvalid),
    .ready_o(b_ready),
    .data_i({b_id, m_axi_bresp}),
    .valid_o(s_axi_bvalid),
    .ready_i(s_axi_bready),
    .data_o({s_axi_bid, s_axi_bresp})
  );

  skid #(
    .Width(59)
  ) u_ar (
    .clk_i,
    .rst_ni,
    .valid_i(s_axi_arvalid && ar_free),
    .ready_o(ar_ready),
    .data_i({ar_id, s_axi_araddr, s_axi_arlen, s_axi_arsize, s_axi_arburst}),
    .valid_o(m_axi_arvalid),
    .ready_i(m_axi_arready),
    .data_o({m_axi_arid, m_axi_araddr[39:0], m_axi_arlen, m_axi_arsize, m_axi_arburst})
  );

  skid #(
    .Width(75)
  ) u_r (
    .clk_i,
    .rst_ni,
    .valid_i(m_axi_rvalid),
    .ready_o(r_ready),
    .data_i({r_id, m_axi_rdata, m_axi_rresp, m_axi_rlast}),
    .valid_o(s_axi_rvalid),
    .ready_i(s_axi_rready),
    .data_o({s_axi_rid, s_axi_rdata, s_axi_rresp, s_axi_rlast})
  );

endmodule
