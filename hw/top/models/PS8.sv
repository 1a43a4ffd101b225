// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Ports of a primitive, for checks without the vendor's tools, which have their own; outputs are 0.
/// The processing system of a Zynq UltraScale+: the ports that are used (UG1085).
module PS8 (
`include "ps8_ports.svh"
);
  assign EMIOGPIOO = '0;
  assign MAXIGP0ARADDR = '0;
  assign MAXIGP0ARBURST = '0;
  assign MAXIGP0ARID = '0;
  assign MAXIGP0ARLEN = '0;
  assign MAXIGP0ARSIZE = '0;
  assign MAXIGP0ARVALID = '0;
  assign MAXIGP0AWADDR = '0;
  assign MAXIGP0AWBURST = '0;
  assign MAXIGP0AWID = '0;
  assign MAXIGP0AWLEN = '0;
  assign MAXIGP0AWSIZE = '0;
  assign MAXIGP0AWVALID = '0;
  assign MAXIGP0BREADY = '0;
  assign MAXIGP0RREADY = '0;
  assign MAXIGP0WDATA = '0;
  assign MAXIGP0WLAST = '0;
  assign MAXIGP0WSTRB = '0;
  assign MAXIGP0WVALID = '0;
  assign PLCLK = '0;
  assign SAXIGP2ARREADY = '0;
  assign SAXIGP2AWREADY = '0;
  assign SAXIGP2BID = '0;
  assign SAXIGP2BRESP = '0;
  assign SAXIGP2BVALID = '0;
  assign SAXIGP2RDATA = '0;
  assign SAXIGP2RID = '0;
  assign SAXIGP2RLAST = '0;
  assign SAXIGP2RRESP = '0;
  assign SAXIGP2RVALID = '0;
  assign SAXIGP2WREADY = '0;
endmodule
