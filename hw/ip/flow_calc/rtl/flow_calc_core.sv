// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Solves two equations for each pixel: three words in, half a word out.
///
/// All stages move together, a pixel every three steps; after the last pixel the rest is drained.
module flow_calc_core (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic clear_i,
  /// An even number; stable while a run lasts.
  input  logic [flow_pkg::AreaWidth-1:0] pixels_i,

  input  logic        in_valid_i,
  output logic        in_ready_o,
  input  logic [63:0] in_data_i,
  output logic        out_valid_o,
  input  logic        out_ready_i,
  output logic [63:0] out_data_o
);

  /// Turns of three steps from the last word of a pixel to its motion: minors, then quotients.
  localparam int unsigned Turns = 9;
  typedef logic [flow_pkg::AreaWidth-1:0] area_t;
  typedef logic signed [31:0] value_t;

  logic [1:0] phase_q;
  area_t taken_q;
  logic fed, move, step, last, given, odd_q;
  /// Turns that hold a pixel.
  logic [Turns-1:0] held_q;

  assign fed   = taken_q == pixels_i;
  assign move  = !out_valid_o || out_ready_i;
  assign step  = move && (fed ? held_q != '0 : in_valid_i);
  assign last  = phase_q == 2'd2;
  assign in_ready_o = move && !fed;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      phase_q <= '0;
      taken_q <= '0;
      held_q  <= '0;
    end else if (step) begin
      phase_q <= last ? '0 : phase_q + 1'b1;
      if (last) begin
        held_q <= {held_q[Turns-2:0], !fed};
        if (!fed) taken_q <= taken_q + 1'b1;
      end
    end
  end

  // The tensor as it comes, and the whole of the one before. Its zz takes no part.
  value_t xx_q, yy_q, xy_q, next_xx_q, next_yy_q, next_xy_q, xz_q, yz_q;

  always_ff @(posedge clk_i) begin
    if (step) begin
      unique case (phase_q)
        2'd0:    {next_yy_q, next_xx_q} <= in_data_i;
        2'd1:    next_xy_q <= in_data_i[63:32];
        default: {xx_q, yy_q, xy_q, yz_q, xz_q} <= {next_xx_q, next_yy_q, next_xy_q, in_data_i};
      endcase
    end
  end

  logic negative, divisor_negative_q, first_negative_q;
  logic [63:0] magnitude, divisor_q, first_q;

  flow_minors u_minors (
    .clk_i, .step_i(step), .phase_i(phase_q),
    .xx_i(xx_q), .yy_i(yy_q), .xy_i(xy_q), .xz_i(xz_q), .yz_i(yz_q),
    .negative_o(negative), .magnitude_o(magnitude)
  );

  // The determinant comes in phase 1, the first minor in phase 2, the other in phase 0.
  always_ff @(posedge clk_i) begin
    if (step && phase_q == 2'd1) {divisor_negative_q, divisor_q} <= {negative, magnitude};
    if (step && phase_q == 2'd2) {first_negative_q, first_q} <= {negative, magnitude};
  end

  logic [1:0][15:0] motion, before_q;

  flow_divide u_divide (
    .clk_i, .step_i(step), .last_i(phase_q == 2'd0),
    .divisor_i(divisor_q), .dividend_i({magnitude, first_q}),
    .negative_i({negative, first_negative_q} ^ {2{divisor_negative_q}}),
    .quotient_o(motion)
  );

  // Two pixels to a word.
  assign given = step && phase_q == 2'd0 && held_q[Turns-1];

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      odd_q       <= 1'b0;
      out_valid_o <= 1'b0;
    end else begin
      if (out_ready_i) out_valid_o <= 1'b0;
      if (given) begin
        odd_q <= !odd_q;
        if (odd_q) out_valid_o <= 1'b1;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (given) begin
      before_q <= motion;
      if (odd_q) out_data_o <= {motion, before_q};
    end
  end

endmodule
