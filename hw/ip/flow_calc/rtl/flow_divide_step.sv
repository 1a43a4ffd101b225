// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// One bit of a quotient of magnitudes, by adding or subtracting the divisor (non-restoring division).
///
/// The remainder is doubled, then moved towards zero by the divisor, which stands `Shift` bits to the
/// left. The quotient's next bit is set where the new remainder is not negative.
module flow_divide_step #(
  parameter int unsigned Width = 64,
  parameter int unsigned Shift = 7,
  parameter int unsigned QuotientWidth = 18
) (
  input  logic [Width-1:0]         divisor_i,
  input  logic [Width+Shift:0]     remainder_i,
  input  logic [QuotientWidth-1:0] quotient_i,
  output logic [Width+Shift:0]     remainder_o,
  output logic [QuotientWidth-1:0] quotient_o
);

  logic negative;
  logic [Width:0] high, term;

  assign negative = remainder_i[Width+Shift];
  // Doubled: what leaves at the top is the sign once more.
  assign high = remainder_i[Width+Shift-1:Shift-1];
  assign term = negative ? {1'b0, divisor_i} : ~{1'b0, divisor_i};
  assign remainder_o = {high + term + (Width + 1)'(!negative), remainder_i[Shift-2:0], 1'b0};
  assign quotient_o  = {quotient_i[QuotientWidth-2:0], !remainder_o[Width+Shift]};

  logic unused;
  assign unused = quotient_i[QuotientWidth-1];

endmodule
