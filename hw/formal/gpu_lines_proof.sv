// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// What gates tell of two lines is what a simulation tells: that they are the same, for any two.
module gpu_lines_proof (
  input logic        clk_i,
  input logic [29:0] a_i,
  input logic [29:0] b_i
);

  logic same;
  assign same = gpu_lines_pkg::carried(a_i, b_i);

  always_ff @(posedge clk_i) begin
    if (same) OneIsTheOther_A : assert (a_i == b_i);
    else OneIsNotTheOther_A : assert (a_i != b_i);
  end

endmodule
