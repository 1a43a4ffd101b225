// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Ports of a primitive, for checks without the vendor's tools, which have their own; outputs are 0.
/// The buffer of a clock of the processing system (UG974).
module BUFG_PS (
  output wire O,
  input  wire I
);
  assign O = '0;
endmodule
