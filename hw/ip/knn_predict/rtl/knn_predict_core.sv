// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Votes: of the `k_i` nearest neighbours' labels the most frequent wins, of equally frequent ones the
/// one whose nearest neighbour is nearer.
///
/// A neighbour beyond the labels of this run has label 0: what an earlier run left is nobody's to see.
///
/// The stream brings the labels of the training set (eight to a word), which are kept, then two words
/// of neighbours a digit. Six cycles a digit; eight predictions leave as one word.
module knn_predict_core #(
  /// Training labels held; a power of two.
  parameter int unsigned MaxTraining = 2048,
  localparam int unsigned WordWidth = $clog2(MaxTraining / 8)
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic clear_i,
  /// Words of labels; stable while a run lasts.
  input  logic [WordWidth:0] label_words_i,
  /// Neighbours that vote, 1 to 4.
  input  logic [2:0] k_i,

  input  logic        in_valid_i,
  output logic        in_ready_o,
  input  logic [63:0] in_data_i,
  output logic        out_valid_o,
  input  logic        out_ready_i,
  output logic [63:0] out_data_o
);

  logic [63:0] mem_q [MaxTraining / 8];
  logic [63:0] word;
  logic [WordWidth:0] at_q;
  logic loaded_q, vote_q, full_q, lookup, known;
  /// Neighbour looked up, 0 to 3; two to a word.
  logic [1:0] slot_q;
  logic [2:0] digit_q;
  logic [3:0][7:0] label_q;
  logic [7:0][7:0] out_q;
  logic [15:0] index;
  logic [7:0] winner;
  logic [3:0][2:0] votes;

  assign lookup      = loaded_q && in_valid_i && !vote_q && !full_q;
  assign in_ready_o  = !loaded_q || (lookup && slot_q[0]);
  assign index       = slot_q[0] ? in_data_i[47:32] : in_data_i[15:0];
  assign word        = mem_q[index[WordWidth+2:3]];
  assign known       = index[15:3] < 13'(label_words_i);
  assign out_valid_o = full_q;
  assign out_data_o  = out_q;

  always_comb begin
    for (int unsigned i = 0; i < 4; i++) begin
      votes[i] = '0;
      for (int unsigned j = 0; j < 4; j++) begin
        if (3'(i) < k_i && 3'(j) < k_i && label_q[i] == label_q[j]) votes[i] += 3'd1;
      end
    end
    winner = label_q[0];
    // Downwards, so that on a tie the nearest one has the last word.
    for (int unsigned best = 1; best <= 4; best++) begin
      for (int i = 3; i >= 0; i--) if (votes[i] == 3'(best)) winner = label_q[i];
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      at_q     <= '0;
      loaded_q <= 1'b0;
      vote_q   <= 1'b0;
      full_q   <= 1'b0;
      slot_q   <= '0;
      digit_q  <= '0;
    end else begin
      if (!loaded_q && in_valid_i) begin
        at_q     <= at_q + 1'b1;
        loaded_q <= at_q + 1'b1 == label_words_i;
      end
      if (lookup) begin
        slot_q <= slot_q + 1'b1;
        vote_q <= slot_q == 2'd3;
      end
      if (vote_q) begin
        vote_q  <= 1'b0;
        digit_q <= digit_q + 1'b1;
        full_q  <= digit_q == 3'd7;
      end
      if (full_q && out_ready_i) full_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!loaded_q && in_valid_i) mem_q[at_q[WordWidth-1:0]] <= in_data_i;
    if (lookup) label_q[slot_q] <= known ? word[8*index[2:0]+:8] : '0;
    if (vote_q) out_q[digit_q] <= winner;
  end

  // Distances have done their work.
  logic unused;
  assign unused = ^{in_data_i[63:48], in_data_i[31:16]};

endmodule
