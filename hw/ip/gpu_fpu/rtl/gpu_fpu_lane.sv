// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// One lane of the pipeline: product and addend, sum, magnitude, normalised magnitude, rounding. Each stage does nothing
/// unless told.
///
/// The sum is formed in a frame of 52 bits. Bit 50 is the top of whichever of product and addend has the larger
/// exponent; the other moves right, what falls off staying visible as bit 0. Why no more bits are needed is in
/// docs/reference/blocks/gpu_fpu.md.
module gpu_fpu_lane
  import gpu_fpu_pkg::*;
  import gpu_fpu_move_pkg::*;
  import gpu_fpu_prepare_pkg::*;
  import gpu_fpu_round_pkg::*;
#(
  /// Lanes of the warp, and which of them this is.
  parameter int unsigned Lanes = 4,
  parameter int unsigned Lane = 0
) (
  input  logic        clk_i,

  /// Stage 1 takes a request.
  input  logic        load_i,
  input  op_e         op_i,
  input  logic [31:0] a_i [Lanes],
  input  logic [31:0] b_i [Lanes],
  input  logic [31:0] c_i [Lanes],
  /// Stage 1 takes a quotient, and what remains.
  input  logic        inject_i,
  input  quotient_t   quotient_i,
  input  logic [27:0] rem_i,
  input  special_t    special_i,

  /// Stage 2 takes the sum of stage 1.
  input  logic        add_i,
  /// Stage 3 takes the magnitude of the sum of stage 2, and what rounds it.
  input  logic        measure_i,
  input  rm_e         rm_i,
  /// Stage 4 takes the magnitude of stage 3, normalised.
  input  logic        move_i,
  /// Stage 5 takes the rounded magnitude of stage 4.
  input  logic        round_i,
  input  round_e      rounding_i,

  output logic [31:0] result_o,
  output flags_t      flags_o
);

  // Stage 1.
  logic [47:0] product_q;
  addend_t meet_q;
  special_t special1_q;

  // That a request is taken is known last: then it only enables.
  always_ff @(posedge clk_i) begin
    if (inject_i) begin
      special1_q <= special_i;
      meet_q <= addend_of_quotient(quotient_i, rem_i != '0);
    end else if (load_i) begin
      special1_q <= special_of(op_i, a_i[Lane], b_i[Lane], c_i[Lane]);
      meet_q <= addend_of(op_i, a_i[Lane], b_i[Lane], c_i[Lane]);
    end
  end

  // Apart from the rest, so that the flops are those of the multiplier block.
  always_ff @(posedge clk_i) begin
    if (load_i) product_q <= {24'b0, significand(a_i[Lane])} * {24'b0, significand(factor(op_i, b_i[Lane]))};
  end

  // Stage 2.
  sum_t sum_q;
  special_t special2_q;

  always_ff @(posedge clk_i) begin
    if (add_i) begin
      special2_q <= special1_q;
      sum_q <= sum_of(meet_q, product_q);
    end
  end

  // Stage 3.
  moved_t moved_q;
  manner_t manner3_q;
  special_t special3_q;

  always_ff @(posedge clk_i) begin
    if (measure_i) begin
      special3_q <= special2_q;
      moved_q <= move_far(magnitude_of(sum_q), sum_q.exponent);
      manner3_q <= manner_of(sum_q, rm_i);
    end
  end

  // Stage 4.
  normal_t normal_q;
  manner_t manner4_q;
  special_t special4_q;

  always_ff @(posedge clk_i) begin
    if (move_i) begin
      special4_q <= special3_q;
      manner4_q <= manner3_q;
      normal_q <= normal_of(move_near(moved_q));
    end
  end

  // Stage 5.
  always_ff @(posedge clk_i) begin
    if (round_i) begin
      automatic rounded_t rounded;
      if (special4_q.valid) rounded = '{flags: special4_q.flags, result: special4_q.result};
      else rounded = rounded_of(rounding_i, normal_q, manner4_q);
      result_o <= rounded.result;
      flags_o <= rounded.flags;
    end
  end

`ifndef SYNTHESIS
  OneComes_A: assert property (@(posedge clk_i) !(load_i && inject_i));
`endif

endmodule
