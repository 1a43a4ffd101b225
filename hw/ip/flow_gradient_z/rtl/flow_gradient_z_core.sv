// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Derivatives of five frames along time, kept until the derivatives along x and y come, then joined to them.
///
/// First five words for every eight pixels, then one word for every two; one word out for each pixel.
module flow_gradient_z_core (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic clear_i,
  /// Eighths of the frame's pixels; stable while a run lasts.
  input  logic [flow_pkg::AreaWidth-4:0] groups_i,

  input  logic        in_valid_i,
  output logic        in_ready_o,
  input  logic [63:0] in_data_i,
  output logic        out_valid_o,
  input  logic        out_ready_i,
  output logic [63:0] out_data_o
);
  import flow_pkg::*;

  localparam int unsigned MaxGroups = MaxSide * MaxSide / 8;
  localparam int unsigned GroupWidth = $clog2(MaxGroups);
  /// Of f(-2) - 8 f(-1) + 8 f(1) - f(2), of bytes.
  localparam int unsigned SumWidth = 13;
  typedef logic [GroupWidth-1:0] group_t;

  logic joining_q, last_group, last_frame;
  logic [2:0] frame_q, pixel_q, pixel;
  group_t group_q, group;

  // Sums of eight pixels, and all of them.
  logic [7:0][SumWidth-1:0] sums_q, sums, along_z_q;
  (* ram_style = "block" *) logic [7:0][SumWidth-1:0] frame_sums_q [MaxGroups];

  assign last_group = (GroupWidth + 1)'(group_q) == groups_i - 1'b1;
  assign last_frame = frame_q == 3'd4;
  assign {group, pixel} = {group_q, pixel_q} + (GroupWidth + 3)'(out_valid_o && out_ready_i);

  always_comb begin
    sums = sums_q;
    for (int unsigned k = 0; k < 8; k++) begin
      unique case (frame_q)
        3'd0:    sums[k] = SumWidth'(in_data_i[8*k+:8]);
        3'd1:    sums[k] = sums_q[k] - {2'd0, in_data_i[8*k+:8], 3'd0};
        3'd3:    sums[k] = sums_q[k] + {2'd0, in_data_i[8*k+:8], 3'd0};
        3'd4:    sums[k] = sums_q[k] - SumWidth'(in_data_i[8*k+:8]);
        default: ;
      endcase
    end
  end

  // A word of two pixels stays until the second has gone.
  assign out_valid_o = joining_q && in_valid_i;
  assign in_ready_o  = !joining_q || (out_ready_i && pixel_q[0]);
  assign out_data_o  = {16'd0, {along_z_q[pixel_q], 3'd0}, pixel_q[0] ? in_data_i[63:32] : in_data_i[31:0]};

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      joining_q <= 1'b0;
      frame_q   <= '0;
      group_q   <= '0;
      pixel_q   <= '0;
    end else if (joining_q) begin
      group_q <= group;
      pixel_q <= pixel;
    end else if (in_valid_i) begin
      frame_q <= last_frame ? '0 : frame_q + 1'b1;
      if (last_frame) begin
        group_q   <= last_group ? '0 : group_q + 1'b1;
        joining_q <= last_group;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (in_valid_i) sums_q <= sums;
    if (!joining_q && in_valid_i && last_frame) frame_sums_q[group_q] <= sums;
    along_z_q <= frame_sums_q[joining_q ? group : '0];
  end

endmodule
