// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Binarises a training set and a group of digits: the first task of digit recognition.
///
/// Arguments: `train` and `digits` (64 pixels of 8 bits a digit), `train_bits` and `digit_bits` (64 bits
/// a digit), all 8-byte aligned; `training` (4 to 2048) and `count` (1 to 4096) digits; `threshold`, the
/// least value of a set pixel (0 to 255). 8 cycles a digit.
module knn_init #(
  /// Hash of sources and toolchain, read back from the identity block.
  parameter logic [63:0] BuildHash = '0
) (
  `include "slot_ports.svh"
);

  localparam int unsigned NumPointers = 4, NumScalars = 3, NumReads = 2, NumWrites = 2;
  `include "hls_run.svh"

  logic [BeatsWidth-1:0] training, count;
  assign training = BeatsWidth'(scalars[0][11:0]);
  assign count    = BeatsWidth'(scalars[1][12:0]);

  assign legal = scalars[0] >= 32'd4 && scalars[0] <= 32'd2048 &&
                 scalars[1] != '0 && scalars[1] <= 32'd4096 && scalars[2] <= 32'd255;
  assign read_addr   = {pointers[1][39:0], pointers[0][39:0]};
  assign write_addr  = {pointers[3][39:0], pointers[2][39:0]};
  // Eight words of pixels, one word of bits a digit.
  assign read_beats  = {count << 3, training << 3};
  assign write_beats = {count, training};

  knn_init_core u_core (
    .clk_i, .rst_ni, .clear_i(start), .threshold_i(scalars[2][7:0]),
    .in_valid_i(in_valid), .in_ready_o(in_ready), .in_data_i(in_data),
    .out_valid_o(out_valid), .out_ready_i(out_ready), .out_data_o(out_data)
  );

endmodule
