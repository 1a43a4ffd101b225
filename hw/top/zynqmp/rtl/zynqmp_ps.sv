// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
`include "axi_ports.svh"

/// The processing system and what joins it to the fabric: clock and reset, register accesses, memory, one interrupt, and
/// the fabric's configuration port.
///
/// M_AXI_HPM0_FPD is 32 bits wide and S_AXI_HP0_FPD 64; both lie in the lower bits of the primitive's 128, the width being
/// a setting of the processing system (UG1085, "PS-PL AXI Interfaces"), which software makes from the `.hwh`.
module zynqmp_ps (
  /// PL clock 0.
  output logic clk_o,
  /// Its synchronous reset, active low: the processing system's for the fabric (EMIO GPIO 95), or no clock yet.
  output logic rst_no,

  // Register accesses.
  `AXIL_PORTS(m_axil, 24, output logic, input logic),

  // The shell's memory port.
  `AXI_PORTS(s_axi, 8, 40, 64, input logic, output logic),

  input  logic irq_i,
  /// Configuration port (ICAPE3): its clock, and pins and lines of that.
  input  logic        port_clk_i,
  input  logic        icap_csib_i,
  input  logic        icap_rdwrb_i,
  input  logic [31:0] icap_i_i,
  output logic [31:0] icap_o_o,
  output logic cfg_avail_o,
  output logic cfg_prdone_o,
  output logic cfg_prerror_o
);

  logic [3:0] pl_clk;
  logic [95:0] emio_gpio;
  logic rst_n, rst_n_q;

  BUFG_PS u_bufg_ps (
    .I(pl_clk[0]),
    .O(clk_o)
  );

  sync_bit u_sync_reset (
    .clk_i(clk_o),
    .d_i(emio_gpio[95]),
    .q_o(rst_n)
  );

  // A flop of its own, which placement may copy.
  always_ff @(posedge clk_o) rst_n_q <= rst_n;
  assign rst_no = rst_n_q;

  `AXI_NETS(gp, 16, 40, 32, logic)
  `AXI_NETS(hp, 6, 49, 64, logic)
  `AXI_ATTRIBUTE_NETS(hp, 1, logic)
  logic hp_awlock, hp_arlock;
  // The upper bits of the primitive's 128.
  logic [95:0] gp_wdata_rest;
  logic [11:0] gp_wstrb_rest;
  logic [63:0] hp_rdata_rest;

  PS8 u_ps8 (
    .PLCLK(pl_clk),
    .EMIOGPIOO(emio_gpio),
    .PLPSIRQ0({7'd0, irq_i}),
    .MAXIGP0ACLK(clk_o),
    .SAXIGP2RCLK(clk_o),
    .SAXIGP2WCLK(clk_o),
    .MAXIGP0AWID(gp_awid),
    .MAXIGP0AWADDR(gp_awaddr),
    .MAXIGP0AWLEN(gp_awlen),
    .MAXIGP0AWSIZE(gp_awsize),
    .MAXIGP0AWBURST(gp_awburst),
    .MAXIGP0AWVALID(gp_awvalid),
    .MAXIGP0WDATA({gp_wdata_rest, gp_wdata}),
    .MAXIGP0WSTRB({gp_wstrb_rest, gp_wstrb}),
    .MAXIGP0WLAST(gp_wlast),
    .MAXIGP0WVALID(gp_wvalid),
    .MAXIGP0BREADY(gp_bready),
    .MAXIGP0ARID(gp_arid),
    .MAXIGP0ARADDR(gp_araddr),
    .MAXIGP0ARLEN(gp_arlen),
    .MAXIGP0ARSIZE(gp_arsize),
    .MAXIGP0ARBURST(gp_arburst),
    .MAXIGP0ARVALID(gp_arvalid),
    .MAXIGP0RREADY(gp_rready),
    .MAXIGP0AWREADY(gp_awready),
    .MAXIGP0WREADY(gp_wready),
    .MAXIGP0BID(gp_bid),
    .MAXIGP0BRESP(gp_bresp),
    .MAXIGP0BVALID(gp_bvalid),
    .MAXIGP0ARREADY(gp_arready),
    .MAXIGP0RID(gp_rid),
    .MAXIGP0RDATA({96'd0, gp_rdata}),
    .MAXIGP0RRESP(gp_rresp),
    .MAXIGP0RLAST(gp_rlast),
    .MAXIGP0RVALID(gp_rvalid),
    .SAXIGP2AWID(hp_awid),
    .SAXIGP2AWADDR(hp_awaddr),
    .SAXIGP2AWLEN(hp_awlen),
    .SAXIGP2AWSIZE(hp_awsize),
    .SAXIGP2AWBURST(hp_awburst),
    .SAXIGP2AWLOCK(hp_awlock),
    .SAXIGP2AWCACHE(hp_awcache),
    .SAXIGP2AWPROT(hp_awprot),
    .SAXIGP2AWQOS(hp_awqos),
    .SAXIGP2AWUSER(hp_awuser),
    .SAXIGP2AWVALID(hp_awvalid),
    .SAXIGP2WDATA({64'd0, hp_wdata}),
    .SAXIGP2WSTRB({8'd0, hp_wstrb}),
    .SAXIGP2WLAST(hp_wlast),
    .SAXIGP2WVALID(hp_wvalid),
    .SAXIGP2BREADY(hp_bready),
    .SAXIGP2ARID(hp_arid),
    .SAXIGP2ARADDR(hp_araddr),
    .SAXIGP2ARLEN(hp_arlen),
    .SAXIGP2ARSIZE(hp_arsize),
    .SAXIGP2ARBURST(hp_arburst),
    .SAXIGP2ARLOCK(hp_arlock),
    .SAXIGP2ARCACHE(hp_arcache),
    .SAXIGP2ARPROT(hp_arprot),
    .SAXIGP2ARQOS(hp_arqos),
    .SAXIGP2ARUSER(hp_aruser),
    .SAXIGP2ARVALID(hp_arvalid),
    .SAXIGP2RREADY(hp_rready),
    .SAXIGP2AWREADY(hp_awready),
    .SAXIGP2WREADY(hp_wready),
    .SAXIGP2BID(hp_bid),
    .SAXIGP2BRESP(hp_bresp),
    .SAXIGP2BVALID(hp_bvalid),
    .SAXIGP2ARREADY(hp_arready),
    .SAXIGP2RID(hp_rid),
    .SAXIGP2RDATA({hp_rdata_rest, hp_rdata}),
    .SAXIGP2RRESP(hp_rresp),
    .SAXIGP2RLAST(hp_rlast),
    .SAXIGP2RVALID(hp_rvalid)
  );

  ps_hpm u_ps_hpm (
    .clk_i(clk_o),
    .rst_ni(rst_no),
    `AXI_CONNECT(s_axi, gp,),
    `AXIL_CONNECT(m_axil, m_axil,)
  );

  ps_hp u_ps_hp (
    .clk_i(clk_o),
    .rst_ni(rst_no),
    `AXI_CONNECT(s_axi, s_axi,),
    `AXI_CONNECT(m_axi, hp,),
    `AXI_CONNECT_ATTRIBUTES(m_axi, hp,),
    .m_axi_awlock(hp_awlock),
    .m_axi_arlock(hp_arlock)
  );

  // Which of this port and the processor's (PCAP) has the device is a setting of the processing system (CSU, PCAP_CTRL);
  // the status lines tell how a load went through either.
  ICAPE3 u_icap (
    .CLK(port_clk_i),
    .CSIB(icap_csib_i),
    .RDWRB(icap_rdwrb_i),
    .I(icap_i_i),
    .O(icap_o_o),
    .AVAIL(cfg_avail_o),
    .PRDONE(cfg_prdone_o),
    .PRERROR(cfg_prerror_o)
  );

  logic unused;
  assign unused = ^{pl_clk[3:1], emio_gpio[94:0], gp_wdata_rest, gp_wstrb_rest, hp_rdata_rest};

endmodule
