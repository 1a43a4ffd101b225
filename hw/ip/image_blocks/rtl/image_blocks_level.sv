// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Widens pixels to level-shifted samples: a word of eight 8-bit pixels becomes two words of four
/// 16-bit samples, value less 128. One output word a cycle; the input word is held for both.
module image_blocks_level (
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

  logic high_q;
  logic [31:0] pixels;
  assign pixels = high_q ? in_data_i[63:32] : in_data_i[31:0];
  assign out_valid_o = in_valid_i;
  assign in_ready_o  = out_ready_i && high_q;

  for (genvar i = 0; i < 4; i++) begin : gen_lane
    // Less 128: the top bit turns over and becomes the sign.
    assign out_data_o[16*i+:16] = {{9{!pixels[8*i+7]}}, pixels[8*i+:7]};
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) high_q <= 1'b0;
    else if (out_valid_o && out_ready_i) high_q <= !high_q;
  end

endmodule
