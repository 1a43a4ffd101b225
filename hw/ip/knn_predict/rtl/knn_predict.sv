// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Votes over nearest neighbours' labels: the last task of digit recognition.
///
/// Arguments: `labels` (8 bits a training digit), `neighbours` (as `knn_search` writes them) and `out`
/// (8 bits a digit), all 8-byte aligned; `training` (8 to 2048) and `count` (8 to 4096) digits, multiples
/// of 8; `k`, the neighbours that vote (1 to 4). Five cycles a digit.
module knn_predict #(
  /// Hash of sources and toolchain, read back from the identity block.
  parameter logic [63:0] BuildHash = '0
) (
  `include "slot_ports.svh"
);

  localparam int unsigned NumPointers = 3, NumScalars = 3, NumReads = 2, NumWrites = 1;
  `include "hls_run.svh"

  assign legal = scalars[0] != '0 && scalars[0] <= 32'd2048 && scalars[0][2:0] == '0 &&
                 scalars[1] != '0 && scalars[1] <= 32'd4096 && scalars[1][2:0] == '0 &&
                 scalars[2] != '0 && scalars[2] <= 32'd4;
  assign read_addr      = {pointers[1][39:0], pointers[0][39:0]};
  // Eight labels to a word; two words of neighbours a digit.
  assign read_beats     = {BeatsWidth'(scalars[1][12:0]) << 1, BeatsWidth'(scalars[0][11:3])};
  assign write_addr[0]  = pointers[2][39:0];
  assign write_beats[0] = BeatsWidth'(scalars[1][12:3]);

  knn_predict_core u_core (
    .clk_i, .rst_ni, .clear_i(start),
    .label_words_i(scalars[0][11:3]), .k_i(scalars[2][2:0]),
    .in_valid_i(in_valid), .in_ready_o(in_ready), .in_data_i(in_data),
    .out_valid_o(out_valid), .out_ready_i(out_ready), .out_data_o(out_data)
  );

endmodule
