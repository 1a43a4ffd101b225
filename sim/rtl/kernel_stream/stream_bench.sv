// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
`include "axi_ports.svh"

/// A stream to a kernel and one from it, of any widths, on one slot's port; what the bench drives and watches, flat.
module stream_bench
  import eddy_pkg::*;
#(
  parameter int unsigned BytesIn = 8,
  parameter int unsigned BytesOut = 8
) (
  input logic clk_i,
  input logic rst_ni,
  input logic stop_i,
  input logic in_start_i,
  input logic [39:0] in_addr_i,
  input logic [31:0] in_bytes_i,
  output logic in_busy_o,
  output logic [31:0] in_moved_o,
  output logic in_error_o,
  output logic [8*BytesIn-1:0] in_tdata,
  output logic [BytesIn-1:0] in_tkeep,
  output logic in_tlast,
  output logic in_first,
  output logic in_tvalid,
  input logic in_tready,
  input logic out_start_i,
  input logic [39:0] out_addr_i,
  input logic [31:0] out_bytes_i,
  input logic out_by_length_i,
  output logic out_busy_o,
  output logic [31:0] out_moved_o,
  output logic out_error_o,
  output logic out_overlong_o,
  output logic out_ragged_o,
  input logic [8*BytesOut-1:0] out_tdata,
  input logic [BytesOut-1:0] out_tkeep,
  input logic out_tlast,
  input logic out_tvalid,
  output logic out_tready,
  `AXI_PORTS(m_axi, 4, 40, 64, output logic, input logic),
  `AXI_ATTRIBUTE_PORTS(m_axi, 4, output logic),
  output logic irq_o
);

  axi_req_t port_req [2];
  axi_rsp_t port_rsp [2];
  axi_req_t mem_req;
  axi_rsp_t mem_rsp;

  kernel_stream_in #(.Bytes(BytesIn)) u_in (
    .clk_i, .rst_ni, .start_i(in_start_i), .addr_i(in_addr_i), .bytes_i(in_bytes_i), .stop_i, .busy_o(in_busy_o),
    .moved_o(in_moved_o), .error_o(in_error_o), .tdata_o(in_tdata), .tkeep_o(in_tkeep), .tlast_o(in_tlast),
    .first_o(in_first), .tvalid_o(in_tvalid), .tready_i(in_tready), .req_o(port_req[0]), .rsp_i(port_rsp[0])
  );

  kernel_stream_out #(.Bytes(BytesOut)) u_out (
    .clk_i, .rst_ni, .start_i(out_start_i), .addr_i(out_addr_i), .bytes_i(out_bytes_i), .by_length_i(out_by_length_i),
    .stop_i, .busy_o(out_busy_o), .moved_o(out_moved_o), .error_o(out_error_o), .overlong_o(out_overlong_o),
    .ragged_o(out_ragged_o), .tdata_i(out_tdata), .tkeep_i(out_tkeep), .tlast_i(out_tlast), .tvalid_i(out_tvalid),
    .tready_o(out_tready), .req_o(port_req[1]), .rsp_i(port_rsp[1])
  );

  kernel_join #(.NumPorts(2)) u_join (
    .clk_i, .rst_ni, .req_i(port_req), .rsp_o(port_rsp), .req_o(mem_req), .rsp_i(mem_rsp)
  );

  assign {m_axi_awid, m_axi_awaddr, m_axi_awlen, m_axi_awsize, m_axi_awburst, m_axi_awcache, m_axi_awprot, m_axi_awqos,
          m_axi_awuser} = mem_req.aw;
  assign m_axi_awvalid = mem_req.aw_valid;
  assign {m_axi_wdata, m_axi_wstrb, m_axi_wlast} = mem_req.w;
  assign m_axi_wvalid = mem_req.w_valid;
  assign m_axi_bready = mem_req.b_ready;
  assign {m_axi_arid, m_axi_araddr, m_axi_arlen, m_axi_arsize, m_axi_arburst, m_axi_arcache, m_axi_arprot, m_axi_arqos,
          m_axi_aruser} = mem_req.ar;
  assign m_axi_arvalid = mem_req.ar_valid;
  assign m_axi_rready = mem_req.r_ready;
  assign mem_rsp = '{
    aw_ready: m_axi_awready, w_ready: m_axi_wready, b: '{id: m_axi_bid, resp: m_axi_bresp}, b_valid: m_axi_bvalid,
    ar_ready: m_axi_arready, r: '{id: m_axi_rid, data: m_axi_rdata, resp: m_axi_rresp, last: m_axi_rlast},
    r_valid: m_axi_rvalid
  };
  assign irq_o = 1'b0;

endmodule
