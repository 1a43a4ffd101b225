// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// One lane of the divider: quotient or square root, two binary digits a cycle, restoring.
///
/// Both recurrences are one: take T from the remainder if it fits, then double the remainder. T is the divisor, or
/// 2 Q + w with Q the root so far and w the weight of the digit. 26 digits and "the remainder is not zero" round
/// correctly in every mode; the rounding itself is done by the lane's pipeline.
///
/// Ref: M. Ercegovac, T. Lang, Digital Arithmetic, 2004, chapters 5 and 6.
module gpu_fpu_div_lane
  import gpu_fpu_pkg::*;
  import gpu_fpu_prepare_pkg::*;
#(
  /// Lanes of the warp, and which of them this is.
  parameter int unsigned Lanes = 4,
  parameter int unsigned Lane = 0
) (
  input  logic        clk_i,

  /// There is something to do: what comes below, or else take the operands.
  input  logic        work_i,
  input  op_e         op_i,
  input  logic [31:0] a_i [Lanes],
  input  logic [31:0] b_i [Lanes],

  /// Move subnormal significands one bit; with `go_i`, which needs `normal_o`, set up the first digit instead.
  input  logic        prepare_i,
  input  logic        go_i,
  /// Find two digits, that of weight `digit_i` and the next.
  input  logic        divide_i,
  input  logic        sqrt_i,
  input  digit_t      digit_i,

  /// No leading zeros are left, if there is anything to prepare.
  output logic        normal_o,
  /// Quotient or root, and what remains.
  output quotient_t   quotient_o,
  output logic [27:0] rem_o,
  output special_t    special_o
);

  // Remainder and root: 1.0 is bit 25. The remainder stays below 8: below twice the divisor, or 4 Q + 4 w.
  logic [27:0] rem_q;
  logic [23:0] divisor_q;
  logic [9:0] exponent_q;
  logic sign_q;
  digit_t digits_q;
  special_t special_q;

  typedef struct packed {
    logic        taken;
    logic [27:0] rem;
  } step_t;

  /// One digit of weight `w`.
  function automatic step_t step(logic root, logic [27:0] rem, digit_t q, logic [23:0] divisor, digit_t w);
    logic [27:0] t;
    logic [28:0] left;
    t = root ? {1'b0, q, 1'b0} | {2'b0, w} : {2'b0, divisor, 2'b0};
    left = {1'b0, rem} - {1'b0, t};
    return left[28] ? '{taken: 1'b0, rem: rem << 1} : '{taken: 1'b1, rem: left[27:0] << 1};
  endfunction

  // That operands are taken is known last: then it only enables.
  always_ff @(posedge clk_i) begin
    if (work_i) begin
      if (prepare_i) begin
        if (go_i) begin
          // An even exponent of the radicand (odd when biased) halves; else a factor of two goes to the significand.
          if (sqrt_i && !exponent_q[0]) rem_q <= rem_q << 1;
          if (sqrt_i) exponent_q <= 10'($signed(exponent_q + 10'd127) >>> 1);
        end else begin
          exponent_q <= exponent_q - {9'b0, !rem_q[25]} + {9'b0, !divisor_q[23]};
          if (!rem_q[25]) rem_q <= rem_q << 1;
          if (!divisor_q[23]) divisor_q <= divisor_q << 1;
        end
      end else if (divide_i) begin
        automatic step_t first, second;
        automatic digit_t digits;
        first = step(sqrt_i, rem_q, digits_q, divisor_q, digit_i);
        digits = digits_q | (first.taken ? digit_i : '0);
        second = step(sqrt_i, first.rem, digits, divisor_q, digit_i >> 1);
        rem_q <= second.rem;
        digits_q <= digits | (second.taken ? digit_i >> 1 : '0);
      end else begin
        if (op_i == OpFsqrt) begin
          special_q <= root_special(a_i[Lane]);
          sign_q <= 1'b0;
          exponent_q <= {2'b0, exponent(a_i[Lane])};
          divisor_q <= {1'b1, 23'b0};
        end else begin
          special_q <= division_special(a_i[Lane], b_i[Lane]);
          sign_q <= a_i[Lane][31] ^ b_i[Lane][31];
          exponent_q <= {2'b0, exponent(a_i[Lane])} - {2'b0, exponent(b_i[Lane])} + 10'd127;
          divisor_q <= significand(b_i[Lane]);
        end
        rem_q <= {2'b0, significand(a_i[Lane]), 2'b0};
        digits_q <= '0;
      end
    end
  end

  always_comb begin
    normal_o = 1'b1;
    if (prepare_i) normal_o = special_q.valid || (rem_q[25] && divisor_q[23]);
  end

  assign quotient_o = '{sign: sign_q, exponent: exponent_q, digits: digits_q};
  assign rem_o = rem_q;
  assign special_o = special_q;

`ifndef SYNTHESIS
  OneAtATime_A: assert property (@(posedge clk_i) $onehot0({prepare_i, divide_i}));
`endif

endmodule
