// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Moves within the frame of a floating-point sum: the form for gates and that for simulation are the same, for every input.
module gpu_fpu_moves_proof
  import gpu_fpu_move_pkg::*;
(
  input logic       clk_i,
  input frame_t     value_i,
  input logic [5:0] distance_i,
  input moved_t     moved_i
);

  always_ff @(posedge clk_i) begin
    Right_A : assert (shift_right_by_digits(value_i, distance_i) == shift_right_at_once(value_i, distance_i));
    Left_A : assert (move_near_by_digits(moved_i) == move_near_at_once(moved_i));
  end

endmodule
