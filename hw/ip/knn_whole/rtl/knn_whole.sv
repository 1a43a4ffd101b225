// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Digit recognition in one module: binarises, searches and votes, streaming from one to the next.
///
/// Arguments: `labels` (8 bits a training digit), `train` and `digits` (64 pixels of 8 bits a digit) and `out` (8 bits a
/// digit), all 8-byte aligned; `training` (8 to 2048) and `count` (8 to 4096) digits, multiples of 8; `threshold` (0 to
/// 255), the least value of a set pixel; `k` (1 to 4), the neighbours that vote. 8 cycles a digit, and
/// training * count / 8 cycles for the sweeps: eight digits sweep the training set together.
module knn_whole #(
  /// Hash of sources and toolchain, read back from the identity block.
  parameter logic [63:0] BuildHash = '0
) (
  `include "slot_ports.svh"
);

  localparam int unsigned NumPointers = 4, NumScalars = 4, NumReads = 3, NumWrites = 1;
  `include "hls_run.svh"

  logic [BeatsWidth-1:0] training, count;
  assign training = BeatsWidth'(scalars[0][11:0]);
  assign count    = BeatsWidth'(scalars[1][12:0]);

  assign legal = scalars[0] != '0 && scalars[0] <= 32'd2048 && scalars[0][2:0] == '0 &&
                 scalars[1] != '0 && scalars[1] <= 32'd4096 && scalars[1][2:0] == '0 &&
                 scalars[2] <= 32'd255 && scalars[3] != '0 && scalars[3] <= 32'd4;
  // The labels come first: the vote keeps them before a neighbour comes.
  assign read_addr      = {pointers[2][39:0], pointers[1][39:0], pointers[0][39:0]};
  assign read_beats     = {count << 3, training << 3, training >> 3};
  assign write_addr[0]  = pointers[3][39:0];
  assign write_beats[0] = count >> 3;

  // Words of labels that are still to come.
  logic [8:0] labels_q;
  logic labels;
  assign labels = labels_q != '0;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) labels_q <= '0;
    else if (start) labels_q <= scalars[0][11:3];
    else if (labels && in_valid && in_ready) labels_q <= labels_q - 9'd1;
  end

  logic pixels_ready, bits_valid, bits_ready, near_valid, near_ready, vote_ready;
  logic [63:0] bits, near;

  assign in_ready   = labels ? vote_ready : pixels_ready;
  assign near_ready = vote_ready && !labels;

  knn_init_core u_init (
    .clk_i, .rst_ni, .clear_i(start), .threshold_i(scalars[2][7:0]),
    .in_valid_i(in_valid && !labels), .in_ready_o(pixels_ready), .in_data_i(in_data),
    .out_valid_o(bits_valid), .out_ready_i(bits_ready), .out_data_o(bits)
  );

  knn_search_core #(.Lanes(8)) u_search (
    .clk_i, .rst_ni, .clear_i(start), .training_i(scalars[0][11:0]), .count_i(scalars[1][15:0]),
    .in_valid_i(bits_valid), .in_ready_o(bits_ready), .in_data_i(bits),
    .out_valid_o(near_valid), .out_ready_i(near_ready), .out_data_o(near)
  );

  knn_predict_core u_predict (
    .clk_i, .rst_ni, .clear_i(start), .label_words_i(scalars[0][11:3]), .k_i(scalars[3][2:0]),
    .in_valid_i(labels ? in_valid : near_valid), .in_ready_o(vote_ready), .in_data_i(labels ? in_data : near),
    .out_valid_o(out_valid), .out_ready_i(out_ready), .out_data_o(out_data)
  );

endmodule
