// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Ports of the clocking wizard that `hw/vivado/tcl/synthesis.tcl` makes (PG065, AXI4-Lite, one output); outputs are 0.
/// The clock of a slot.
module slot_clock (
`include "slot_clock_ports.svh"
);
  assign s_axi_awready = '0;
  assign s_axi_wready = '0;
  assign s_axi_bresp = '0;
  assign s_axi_bvalid = '0;
  assign s_axi_arready = '0;
  assign s_axi_rdata = '0;
  assign s_axi_rresp = '0;
  assign s_axi_rvalid = '0;
  assign clk_out1 = '0;
  assign locked = '0;
endmodule
