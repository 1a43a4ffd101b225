// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Turns eight pixels of five frames into five words of eight pixels.
///
/// Eight words in, five words out; a word a cycle comes in unless the last five are still waiting.
module flow_read_input_core (
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

  localparam int unsigned Frames = 5;

  logic [2:0] pixel_q, left_q;
  logic last, take;
  /// Pixels that have come, the latest highest, by frame; and the words that go.
  logic [Frames-1:0][55:0] held_q;
  logic [Frames-1:0][63:0] words_q, words;

  assign last = pixel_q == 3'd7;
  assign in_ready_o  = !last || left_q == '0;
  assign take        = in_valid_i && in_ready_o;
  assign out_valid_o = left_q != '0;
  assign out_data_o  = words_q[0];

  always_comb begin
    for (int unsigned f = 0; f < Frames; f++) words[f] = {in_data_i[8*f+:8], held_q[f]};
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      pixel_q <= '0;
      left_q  <= '0;
    end else begin
      if (out_valid_o && out_ready_i) left_q <= left_q - 1'b1;
      if (take) begin
        pixel_q <= pixel_q + 1'b1;
        if (last) left_q <= 3'(Frames);
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (take) begin
      for (int unsigned f = 0; f < Frames; f++) held_q[f] <= words[f][63:8];
    end
    if (take && last) words_q <= words;
    else if (out_ready_i) words_q <= words_q >> 64;
  end

  // Three bytes of a pixel are reserved.
  logic unused;
  assign unused = ^in_data_i[63:8*Frames];

endmodule
