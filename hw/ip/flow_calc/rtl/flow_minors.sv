// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The three minors that a pixel's motion is a ratio of, each a difference of two products, one a step.
///
/// With a tensor of xx, yy, xy, xz and yz: xx yy - xy xy, then yz xy - xz yy, then xz xy - yz xx.
/// Magnitudes and signs come out four steps after their operands went in.
module flow_minors (
  input  logic clk_i,
  input  logic step_i,
  /// 0, 1, 2 and again; the tensor stays for all three.
  input  logic [1:0] phase_i,
  input  logic signed [31:0] xx_i,
  input  logic signed [31:0] yy_i,
  input  logic signed [31:0] xy_i,
  input  logic signed [31:0] xz_i,
  input  logic signed [31:0] yz_i,
  output logic        negative_o,
  output logic [63:0] magnitude_o
);

  logic signed [31:0] a, b, c, d, a_q, b_q, c_q, d_q;
  logic signed [63:0] ab_q, cd_q;
  logic signed [64:0] difference_q, magnitude;

  always_comb begin
    unique case (phase_i)
      2'd0:    {a, b, c, d} = {xx_i, yy_i, xy_i, xy_i};
      2'd1:    {a, b, c, d} = {yz_i, xy_i, xz_i, yy_i};
      default: {a, b, c, d} = {xz_i, xy_i, yz_i, xx_i};
    endcase
  end

  // The products are at most 2^62, so their difference's magnitude is at most 2^63.
  assign magnitude = difference_q[64] ? -difference_q : difference_q;

  always_ff @(posedge clk_i) begin
    if (step_i) begin
      {a_q, b_q, c_q, d_q} <= {a, b, c, d};
      ab_q         <= 64'(a_q) * 64'(b_q);
      cd_q         <= 64'(c_q) * 64'(d_q);
      difference_q <= 65'(ab_q) - 65'(cd_q);
      negative_o   <= difference_q[64];
      magnitude_o  <= magnitude[63:0];
    end
  end

  logic unused;
  assign unused = magnitude[64];

endmodule
