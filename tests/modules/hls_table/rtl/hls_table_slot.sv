// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The kernel `hls_table` in a slot: its ports by the slot's names, and the identity block.
module hls_table_slot #(
  parameter logic [63:0] BuildHash = '0
) (
  `include "slot_ports.svh"
);

  logic [5:0] kernel_awaddr, kernel_araddr;
  logic [31:0] kernel_wdata, kernel_rdata;
  logic [3:0] kernel_wstrb;
  logic kernel_awvalid, kernel_awready, kernel_wvalid, kernel_wready, kernel_bvalid, kernel_bready;
  logic kernel_arvalid, kernel_arready, kernel_rvalid, kernel_rready;
  logic [63:0] awaddr, araddr;

  hls_axil #(.BuildHash) u_axil (
    .clk_i, .rst_ni,
    .s_axil_awaddr, .s_axil_awvalid, .s_axil_awready, .s_axil_wdata, .s_axil_wstrb, .s_axil_wvalid, .s_axil_wready,
    .s_axil_bresp, .s_axil_bvalid, .s_axil_bready, .s_axil_araddr, .s_axil_arvalid, .s_axil_arready, .s_axil_rdata,
    .s_axil_rresp, .s_axil_rvalid, .s_axil_rready,
    .kernel_awaddr, .kernel_awvalid, .kernel_awready, .kernel_wdata, .kernel_wstrb, .kernel_wvalid, .kernel_wready,
    .kernel_bvalid, .kernel_bready, .kernel_araddr, .kernel_arvalid, .kernel_arready, .kernel_rdata, .kernel_rvalid,
    .kernel_rready
  );

  hls_table u_kernel (
    .ap_clk(clk_i), .ap_rst_n(rst_ni),
    .s_axi_control_AWADDR(kernel_awaddr), .s_axi_control_AWVALID(kernel_awvalid),
    .s_axi_control_AWREADY(kernel_awready), .s_axi_control_WDATA(kernel_wdata), .s_axi_control_WSTRB(kernel_wstrb),
    .s_axi_control_WVALID(kernel_wvalid), .s_axi_control_WREADY(kernel_wready), .s_axi_control_BRESP(),
    .s_axi_control_BVALID(kernel_bvalid), .s_axi_control_BREADY(kernel_bready), .s_axi_control_ARADDR(kernel_araddr),
    .s_axi_control_ARVALID(kernel_arvalid), .s_axi_control_ARREADY(kernel_arready), .s_axi_control_RDATA(kernel_rdata),
    .s_axi_control_RRESP(), .s_axi_control_RVALID(kernel_rvalid), .s_axi_control_RREADY(kernel_rready),
    .m_axi_gmem_AWADDR(awaddr), .m_axi_gmem_AWLEN(m_axi_awlen), .m_axi_gmem_AWSIZE(m_axi_awsize),
    .m_axi_gmem_AWBURST(m_axi_awburst), .m_axi_gmem_AWVALID(m_axi_awvalid), .m_axi_gmem_AWREADY(m_axi_awready),
    .m_axi_gmem_WDATA(m_axi_wdata), .m_axi_gmem_WSTRB(m_axi_wstrb), .m_axi_gmem_WLAST(m_axi_wlast),
    .m_axi_gmem_WVALID(m_axi_wvalid), .m_axi_gmem_WREADY(m_axi_wready), .m_axi_gmem_BVALID(m_axi_bvalid),
    .m_axi_gmem_BREADY(m_axi_bready), .m_axi_gmem_ARADDR(araddr), .m_axi_gmem_ARLEN(m_axi_arlen),
    .m_axi_gmem_ARSIZE(m_axi_arsize), .m_axi_gmem_ARBURST(m_axi_arburst), .m_axi_gmem_ARVALID(m_axi_arvalid),
    .m_axi_gmem_ARREADY(m_axi_arready), .m_axi_gmem_RDATA(m_axi_rdata), .m_axi_gmem_RLAST(m_axi_rlast),
    .m_axi_gmem_RVALID(m_axi_rvalid), .m_axi_gmem_RREADY(m_axi_rready), .interrupt(irq_o)
  );

  assign m_axi_awaddr = awaddr[39:0];
  assign m_axi_araddr = araddr[39:0];
  assign {m_axi_awid, m_axi_arid, m_axi_awuser, m_axi_aruser, m_axi_awqos, m_axi_arqos} = '0;
  assign {m_axi_awprot, m_axi_arprot} = '0;
  assign {m_axi_awcache, m_axi_arcache} = {2{4'b0011}};

  logic unused;
  assign unused = ^{s_axil_awprot, s_axil_arprot, m_axi_bid, m_axi_bresp, m_axi_rid, m_axi_rresp, awaddr[63:40],
                    araddr[63:40]};

endmodule
