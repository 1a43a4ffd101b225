// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Ports of a primitive, for checks without the vendor's tools, which have their own; outputs are 0.
/// The fabric's configuration port (UG974).
module ICAPE3 (
  output wire AVAIL,
  output wire [31:0] O,
  output wire PRDONE,
  output wire PRERROR,
  input  wire CLK,
  input  wire CSIB,
  input  wire RDWRB,
  input  wire [31:0] I
);
  assign AVAIL = '0;
  assign O = '0;
  assign PRDONE = '0;
  assign PRERROR = '0;
endmodule
