// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Finds the four nearest training digits of every digit: the second task of digit recognition.
///
/// Arguments: `train_bits`, `digit_bits` and `neighbours` (four records of 16-bit index and 16-bit
/// distance a digit, nearest first, of equal distances the lower index first), all 8-byte aligned;
/// `training` (4 to 2048) and `count` (1 to 4096) digits. Four digits sweep the training set together:
/// training * (1 + count / 4) cycles.
module knn_search #(
  /// Hash of sources and toolchain, read back from the identity block.
  parameter logic [63:0] BuildHash = '0
) (
  `include "slot_ports.svh"
);

  localparam int unsigned NumPointers = 3, NumScalars = 2, NumReads = 2, NumWrites = 1;
  `include "hls_run.svh"

  assign legal = scalars[0] >= 32'd4 && scalars[0] <= 32'd2048 &&
                 scalars[1] != '0 && scalars[1] <= 32'd4096;
  assign read_addr      = {pointers[1][39:0], pointers[0][39:0]};
  assign read_beats     = {BeatsWidth'(scalars[1][12:0]), BeatsWidth'(scalars[0][11:0])};
  assign write_addr[0]  = pointers[2][39:0];
  assign write_beats[0] = BeatsWidth'(scalars[1][12:0]) << 1;

  knn_search_core u_core (
    .clk_i, .rst_ni, .clear_i(start),
    .training_i(scalars[0][11:0]), .count_i(scalars[1][15:0]),
    .in_valid_i(in_valid), .in_ready_o(in_ready), .in_data_i(in_data),
    .out_valid_o(out_valid), .out_ready_i(out_ready), .out_data_o(out_data)
  );

endmodule
