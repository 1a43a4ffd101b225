// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// For simulation alone: the ports of the primitive (hw/top/models, held against it by a test).
/// The buffer of a clock of the processing system (UG974).
module BUFG_PS (
  output wire O,
  input  wire I
);
  assign O = I;
endmodule
