// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// What gates tell of two lines is what a simulation tells: that they are the same, for any two. And every word of a line has a
/// place of its own in a data cache's banks, however many there are; with four, words 2 or 4 apart are in different ones.
module gpu_lines_proof (
  input logic        clk_i,
  input logic [29:0] a_i,
  input logic [29:0] b_i,
  input logic [3:0]  word_i,
  input logic [3:0]  other_i
);

  logic same;
  assign same = gpu_lines_pkg::carried(a_i, b_i);

  always_ff @(posedge clk_i) begin
    if (same) OneIsTheOther_A : assert (a_i == b_i);
    else OneIsNotTheOther_A : assert (a_i != b_i);
  end

  for (genvar n = 1; n <= 4; n++) begin : gen_banks
    localparam int unsigned Banks = 1 << n;

    always_ff @(posedge clk_i) begin
      if (word_i != other_i) begin
        APlaceOfItsOwn_A : assert (gpu_lines_pkg::bank_of(word_i, Banks) != gpu_lines_pkg::bank_of(other_i, Banks) ||
                                   gpu_lines_pkg::part_of(word_i, Banks) != gpu_lines_pkg::part_of(other_i, Banks));
      end
      WithinTheBanks_A : assert (gpu_lines_pkg::bank_of(word_i, Banks) < 5'(Banks));
    end
  end

  // Four lanes with a component of a float4 each, in one line; two lanes with a double each.
  always_ff @(posedge clk_i) begin
    if (word_i[1:0] == other_i[1:0] && word_i != other_i) begin
      FourApart_A : assert (gpu_lines_pkg::bank_of(word_i, 4) != gpu_lines_pkg::bank_of(other_i, 4));
    end
    if (word_i[3] == other_i[3] && word_i[0] == other_i[0] && word_i != other_i) begin
      TwoApart_A : assert (gpu_lines_pkg::bank_of(word_i, 4) != gpu_lines_pkg::bank_of(other_i, 4));
    end
  end

endmodule
