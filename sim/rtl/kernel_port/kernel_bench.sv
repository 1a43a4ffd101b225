// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
`include "axi_ports.svh"

/// Two memory ports of a kernel, of any widths, on one slot's port; what the bench drives and watches, flat.
module kernel_bench
  import eddy_pkg::*;
#(
  parameter int unsigned DataA = 64,
  parameter int unsigned DataB = 32,
  parameter int unsigned AddrA = 64,
  parameter int unsigned AddrB = 40
) (
  input logic clk_i,
  input logic rst_ni,
  `AXI_PORTS(a, 4, AddrA, DataA, input logic, output logic),
  input logic a_awlock,
  input logic a_arlock,
  `AXI_PORTS(b, 2, AddrB, DataB, input logic, output logic),
  input logic b_awlock,
  input logic b_arlock,
  `AXI_PORTS(m_axi, 4, 40, DataWidth, output logic, input logic),
  `AXI_ATTRIBUTE_PORTS(m_axi, 4, output logic),
  output logic irq_o,
  output logic [1:0] quiet_o,
  output logic [1:0] refused_o,
  output logic [1:0] read_error_o,
  output logic [1:0] write_error_o
);

  axi_req_t port_req [2];
  axi_rsp_t port_rsp [2];
  axi_req_t mem_req;
  axi_rsp_t mem_rsp;

  kernel_mem #(.KernelDataWidth(DataA), .KernelAddrWidth(AddrA), .KernelIdWidth(4)) u_a (
    .clk_i, .rst_ni, `AXI_CONNECT(s_axi, a, ), .s_axi_awlock(a_awlock), .s_axi_arlock(a_arlock), .req_o(port_req[0]),
    .rsp_i(port_rsp[0]), .read_error_o(read_error_o[0]), .write_error_o(write_error_o[0]), .refused_o(refused_o[0]),
    .quiet_o(quiet_o[0])
  );

  kernel_mem #(.KernelDataWidth(DataB), .KernelAddrWidth(AddrB), .KernelIdWidth(2)) u_b (
    .clk_i, .rst_ni, `AXI_CONNECT(s_axi, b, ), .s_axi_awlock(b_awlock), .s_axi_arlock(b_arlock), .req_o(port_req[1]),
    .rsp_i(port_rsp[1]), .read_error_o(read_error_o[1]), .write_error_o(write_error_o[1]), .refused_o(refused_o[1]),
    .quiet_o(quiet_o[1])
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
