// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Drops one coordinate of every triangle and keeps the mean of it as the depth.
///
/// Two words in, one word out, as `render_project` lays them out.
module render_project_core (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic clear_i,
  /// Coordinate dropped: 0 z, 1 y, 2 x; stable while a run lasts.
  input  logic [1:0] view_i,

  input  logic        in_valid_i,
  output logic        in_ready_o,
  input  logic [63:0] in_data_i,
  output logic        out_valid_o,
  input  logic        out_ready_i,
  output logic [63:0] out_data_o
);

  logic second_q, take;
  logic [63:0] first_q;
  logic [2:0][7:0] x, y, z, across, down, deep;
  logic [7:0] shade;
  logic [9:0] sum;
  logic [20:0] third;

  assign in_ready_o = !second_q || !out_valid_o || out_ready_i;
  assign take       = in_valid_i && in_ready_o;

  assign x = {first_q[55:48], first_q[31:24], first_q[7:0]};
  assign y = {first_q[63:56], first_q[39:32], first_q[15:8]};
  assign z = {in_data_i[7:0], first_q[47:40], first_q[23:16]};
  assign shade = in_data_i[15:8];

  always_comb begin
    across = x;
    down   = y;
    deep   = z;
    if (view_i == 2'd1) begin
      down = z;
      deep = y;
    end else if (view_i == 2'd2) begin
      across = z;
      deep   = x;
    end
  end

  assign sum = 10'(deep[0]) + 10'(deep[1]) + 10'(deep[2]);
  // 683 / 2048 exceeds a third by 1/6144: sums of up to 765 are still divided exactly.
  assign third = 21'(sum) * 21'd683;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      second_q    <= 1'b0;
      out_valid_o <= 1'b0;
    end else begin
      if (out_ready_i) out_valid_o <= 1'b0;
      if (take) begin
        second_q <= !second_q;
        if (second_q) out_valid_o <= 1'b1;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (take && !second_q) first_q <= in_data_i;
    if (take && second_q) begin
      out_data_o <= {shade, third[18:11], down[2], across[2], down[1], across[1], down[0], across[0]};
    end
  end

  // A mean of bytes is a byte; what follows the shade is reserved.
  logic unused;
  assign unused = ^{third[20:19], third[10:0], in_data_i[63:16]};

endmodule
