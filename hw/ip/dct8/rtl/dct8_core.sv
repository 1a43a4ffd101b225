// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Two-dimensional 8x8 DCT or inverse DCT over a stream of blocks: rows, transpose, columns, transpose.
///
/// Blocks are 16 beats of four 16-bit samples, row by row, in and out. A block leaves while the next
/// are loaded: 16 cycles a block, latency about 45 cycles. Intermediate results keep `MidFraction`
/// fraction bits; both passes round half up and saturate to 16 bits.
module dct8_core #(
  parameter bit Inverse = 1'b0
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic clear_i,

  input  logic        in_valid_i,
  output logic        in_ready_o,
  input  logic [63:0] in_data_i,
  output logic        out_valid_o,
  input  logic        out_ready_i,
  output logic [63:0] out_data_o
);
  import dct8_pkg::*;

  logic [2:0] valid, ready;
  beat_t rows, turned, columns;

  dct8_pass #(.Inverse(Inverse), .Shift(CoefFraction - MidFraction)) u_rows (
    .clk_i, .rst_ni, .clear_i,
    .in_valid_i, .in_ready_o, .in_data_i(in_data_i),
    .out_valid_o(valid[0]), .out_ready_i(ready[0]), .out_data_o(rows)
  );

  dct8_transpose #(.EvenOdd(!Inverse)) u_turn (
    .clk_i, .rst_ni, .clear_i,
    .in_valid_i(valid[0]), .in_ready_o(ready[0]), .in_data_i(rows),
    .out_valid_o(valid[1]), .out_ready_i(ready[1]), .out_data_o(turned)
  );

  dct8_pass #(.Inverse(Inverse), .Shift(CoefFraction + MidFraction)) u_columns (
    .clk_i, .rst_ni, .clear_i,
    .in_valid_i(valid[1]), .in_ready_o(ready[1]), .in_data_i(turned),
    .out_valid_o(valid[2]), .out_ready_i(ready[2]), .out_data_o(columns)
  );

  dct8_transpose #(.EvenOdd(!Inverse)) u_turn_back (
    .clk_i, .rst_ni, .clear_i,
    .in_valid_i(valid[2]), .in_ready_o(ready[2]), .in_data_i(columns),
    .out_valid_o, .out_ready_i, .out_data_o(out_data_o)
  );

endmodule
