// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Brings one level from another clock over: two flops, so two to three cycles of `clk_i` late.
///
/// Not reset: it follows its input from the third cycle of its clock on, reset or not.
module sync_bit (
  input  logic clk_i,
  /// Must come from a flop, or it may glitch while sampled.
  input  logic d_i,
  output logic q_o
);

  (* ASYNC_REG = "TRUE" *) logic [1:0] sync_q;

  always_ff @(posedge clk_i) sync_q <= {sync_q[0], d_i};

  assign q_o = sync_q[1];

endmodule
