// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Narrows samples to pixels: two words of four 16-bit samples become one word of eight 8-bit pixels,
/// value plus 128, clipped to 0..255.
module image_blocks_clip (
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

  function automatic logic [7:0] pixel(logic signed [15:0] sample);
    if (sample < -16'sd128) return 8'd0;
    if (sample > 16'sd127) return 8'd255;
    return {!sample[7], sample[6:0]};
  endfunction

  logic high_q;
  logic [31:0] low_q, pixels;

  for (genvar i = 0; i < 4; i++) begin : gen_lane
    assign pixels[8*i+:8] = pixel($signed(in_data_i[16*i+:16]));
  end

  assign out_data_o  = {pixels, low_q};
  assign out_valid_o = in_valid_i && high_q;
  assign in_ready_o  = !high_q || out_ready_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) high_q <= 1'b0;
    else if (in_valid_i && in_ready_o) high_q <= !high_q;
  end

  always_ff @(posedge clk_i) begin
    if (in_valid_i && !high_q) low_q <= pixels;
  end

endmodule
