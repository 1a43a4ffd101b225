// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Binarises 8x8 digits: eight words of eight 8-bit pixels become one word, bit i set where pixel i
/// reaches the threshold. A word of pixels a cycle.
module knn_init_core (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic clear_i,
  /// Least value of a set pixel.
  input  logic [7:0] threshold_i,

  input  logic        in_valid_i,
  output logic        in_ready_o,
  input  logic [63:0] in_data_i,
  output logic        out_valid_o,
  input  logic        out_ready_i,
  output logic [63:0] out_data_o
);

  logic [2:0] row_q;
  logic [55:0] bits_q;
  logic [7:0] row;

  for (genvar i = 0; i < 8; i++) begin : gen_pixel
    assign row[i] = in_data_i[8*i+:8] >= threshold_i;
  end

  assign out_valid_o = in_valid_i && row_q == 3'd7;
  assign out_data_o  = {row, bits_q};
  assign in_ready_o  = row_q != 3'd7 || out_ready_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      row_q  <= '0;
      bits_q <= '0;
    end else if (in_valid_i && in_ready_o) begin
      row_q  <= row_q + 1'b1;
      bits_q <= {row, bits_q[55:8]};
    end
  end

endmodule
