// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// A level from another clock is seen through two flops, neither more nor fewer: the first may be caught as it changes, and
/// has a cycle to settle before anything else is told of it.
module sync_bit_proof (
  input logic clk_i,
  input logic d_i
);

  logic q;

  sync_bit dut (
    .clk_i, .d_i, .q_o(q)
  );

  logic [1:0] age_q = '0;
  always_ff @(posedge clk_i) if (age_q != 2'd2) age_q <= age_q + 2'd1;

  always_ff @(posedge clk_i) begin
    if (age_q == 2'd2) TwoFlops_A : assert (q == $past(d_i, 2));
  end

endmodule
