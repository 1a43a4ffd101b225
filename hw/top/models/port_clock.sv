// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Ports of the clocking wizard that `hw/vivado/tcl/synthesis.tcl` makes (PG065, one output, no registers); outputs are 0.
/// The clock of the configuration port. It stands still until it is locked.
module port_clock (
  output wire clk_out1,
  input  wire clk_in1
);
  assign clk_out1 = '0;
endmodule
