// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The six different products of a pixel's three derivatives: one word in, three words out.
module flow_outer_product_core (
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

  typedef logic signed [15:0] derivative_t;

  logic [1:0] part_q;
  logic move, last;
  derivative_t x, y, z, low_a, low_b, high_a, high_b;

  assign {z, y, x} = in_data_i[47:0];
  assign last = part_q == 2'd2;
  assign move = !out_valid_o || out_ready_i;
  assign in_ready_o = move && last;

  always_comb begin
    unique case (part_q)
      2'd0:    {high_a, high_b, low_a, low_b} = {y, y, x, x};
      2'd1:    {high_a, high_b, low_a, low_b} = {x, y, z, z};
      default: {high_a, high_b, low_a, low_b} = {y, z, x, z};
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      part_q      <= '0;
      out_valid_o <= 1'b0;
    end else if (move) begin
      out_valid_o <= in_valid_i;
      if (in_valid_i) part_q <= last ? '0 : part_q + 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (move) out_data_o <= {32'(high_a) * 32'(high_b), 32'(low_a) * 32'(low_b)};
  end

  // The fourth value of a pixel is reserved.
  logic unused;
  assign unused = ^in_data_i[63:48];

endmodule
