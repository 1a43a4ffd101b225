// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Eight multiply-accumulate lanes of 8-bit inference, one per output channel, and their requantisation.
///
/// A step multiplies one signed activation by eight signed weights and adds to eight 32-bit sums, which begin at the
/// biases and half a unit of the result, `1 << (shift - 1)` (0 for shift 0). A result is `clamp(sum >>> shift)`, so
/// halves are rounded up. The clamp is to -128..127, with `relu_i` to 0..127. Sums wrap; 4096 products and a bias
/// within +-2^30 do not reach the limits.
///
/// `result_o` is of all steps up to three cycles before.
module nn_lanes (
  input  logic clk_i,
  input  logic rst_ni,

  /// Two biases, of lanes `2 * bias_index_i` and the next, for results with this `shift_i`; they stay until overwritten.
  input  logic        bias_valid_i,
  input  logic [1:0]  bias_index_i,
  input  logic [63:0] bias_i,

  /// Sums begin at the biases; not within two cycles after a step.
  input  logic            begin_i,
  input  logic            step_i,
  input  logic [7:0]      value_i,
  input  logic [7:0][7:0] weights_i,

  /// Stable from the biases to the results.
  input  logic [4:0]      shift_i,
  input  logic            relu_i,
  output logic [7:0][7:0] result_o
);

  logic signed [31:0] bias_q [8];
  logic signed [31:0] sum_q [8];
  logic signed [15:0] product_q [8];
  logic product_valid_q;
  logic [31:0] half;
  logic [1:0][31:0] begin_at;

  assign half = (32'd1 << shift_i) >> 1;
  assign begin_at = {bias_i[63:32] + half, bias_i[31:0] + half};

  function automatic logic [7:0] clamp(logic signed [31:0] value, logic relu);
    if (value > 32'sd127) return 8'd127;
    if (relu && value < 32'sd0) return 8'd0;
    if (value < -32'sd128) return 8'h80;
    return value[7:0];
  endfunction

  always_ff @(posedge clk_i) begin
    if (!rst_ni) product_valid_q <= 1'b0;
    else product_valid_q <= step_i;
  end

  for (genvar i = 0; i < 8; i++) begin : gen_lane
    always_ff @(posedge clk_i) begin
      if (bias_valid_i && bias_index_i == 2'(i / 2)) bias_q[i] <= begin_at[i%2];
      product_q[i] <= 16'($signed(value_i)) * 16'($signed(weights_i[i]));
      if (begin_i) sum_q[i] <= bias_q[i];
      else if (product_valid_q) sum_q[i] <= sum_q[i] + 32'(product_q[i]);
      result_o[i] <= clamp(sum_q[i] >>> shift_i, relu_i);
    end
  end

endmodule
