// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// For simulation alone: the ports of the wizard that the build makes (hw/top/models). The clock comes of the bench.
/// The clock of the configuration port.
module port_clock (
  output wire clk_out1,
  input  wire clk_in1
);

  logic clk;
  assign clk_out1 = clk;

endmodule
