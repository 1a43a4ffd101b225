// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Two quotients of one divisor for every three steps: 18 bits each, rounded to a signed 16-bit value.
///
/// Six stages hold a pixel for three steps each, and each step gives every stage's pixel one more bit.
/// A quotient has `Fraction` bits after the point, halves rounded away from zero, and is saturated to
/// +-32767 units; zero where the divisor is zero.
module flow_divide #(
  parameter int unsigned Fraction = 10
) (
  input  logic clk_i,
  input  logic step_i,
  /// The third step of a pixel's turn: each stage hands on, the first takes and the last gives.
  input  logic last_i,
  input  logic [63:0]      divisor_i,
  input  logic [1:0][63:0] dividend_i,
  /// Signs of the quotients.
  input  logic [1:0]       negative_i,
  output logic [1:0][15:0] quotient_o
);

  localparam int unsigned Stages = 6;
  localparam int unsigned Bits = 3 * Stages;
  /// Bits before the point; one of those after it only rounds.
  localparam int unsigned Shift = Bits - Fraction - 1;
  localparam int unsigned RemainderWidth = 64 + Shift + 1;

  logic [Stages-1:0][63:0] divisor_q;

  for (genvar way = 0; way < 2; way++) begin : gen_way
    logic [Stages-1:0][RemainderWidth-1:0] remainder_q, remainder;
    logic [Stages-1:0][Bits-1:0] quotient_q, quotient;
    logic [Stages-1:0] negative_q;
    logic [Bits-1:0] rounded;

    for (genvar s = 0; s < Stages; s++) begin : gen_stage
      flow_divide_step #(.Width(64), .Shift(Shift), .QuotientWidth(Bits)) u_step (
        .divisor_i(divisor_q[s]), .remainder_i(remainder_q[s]), .quotient_i(quotient_q[s]),
        .remainder_o(remainder[s]), .quotient_o(quotient[s])
      );
    end

    always_ff @(posedge clk_i) begin
      if (step_i) begin
        remainder_q <= remainder;
        quotient_q  <= quotient;
        if (last_i) begin
          remainder_q <= {remainder[Stages-2:0], {1'b0, {Shift{1'b0}}, dividend_i[way]}};
          quotient_q  <= {quotient[Stages-2:0], {Bits{1'b0}}};
          negative_q  <= {negative_q[Stages-2:0], negative_i[way]};
        end
      end
    end

    assign rounded = (quotient[Stages-1] >> 1) + Bits'(quotient[Stages-1][0]);

    // A dividend beyond the bits there are sets the first of them, and is saturated whatever the others are.
    always_comb begin
      quotient_o[way] = rounded[15:0];
      if (rounded > Bits'(32767)) quotient_o[way] = 16'd32767;
      if (negative_q[Stages-1]) quotient_o[way] = -quotient_o[way];
      if (divisor_q[Stages-1] == '0) quotient_o[way] = '0;
    end

    logic unused;
    assign unused = ^remainder[Stages-1];
  end

  always_ff @(posedge clk_i) begin
    if (step_i && last_i) divisor_q <= {divisor_q[Stages-2:0], divisor_i};
  end

endmodule
