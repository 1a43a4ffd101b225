// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Derivatives of the middle frame along x and y, two pixels a word; zero within two pixels of an edge.
///
/// Five words in for eight pixels, of which the third is used; four words out. Four rows are kept; a
/// step takes in eight pixels, and what lies two rows and eight pixels back has all its neighbours.
module flow_gradient_xy_core (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic clear_i,
  /// Frame; stable while a run lasts.
  input  logic [flow_pkg::SideWidth-1:0] width_i,
  input  logic [flow_pkg::SideWidth-1:0] height_i,

  input  logic        in_valid_i,
  output logic        in_ready_o,
  input  logic [63:0] in_data_i,
  output logic        out_valid_o,
  input  logic        out_ready_i,
  output logic [63:0] out_data_o
);
  import flow_pkg::*;

  localparam int unsigned MaxGroups = MaxSide / 8;
  localparam int unsigned GroupWidth = $clog2(MaxGroups);
  localparam int unsigned CountWidth = AreaWidth - 2;
  typedef logic [CountWidth-1:0] count_t;
  typedef logic [7:0][7:0] word_t;

  /// Eight times 8 (near - opposite) - (far - opposite): twelve times the derivative, with 3 fraction bits.
  function automatic logic signed [15:0] derivative(logic [7:0] far_back, logic [7:0] back, logic [7:0] ahead,
                                                     logic [7:0] far_ahead);
    logic signed [15:0] near, far;
    near = $signed({8'd0, ahead}) - $signed({8'd0, back});
    far  = $signed({8'd0, far_ahead}) - $signed({8'd0, far_back});
    return (near <<< 6) - (far <<< 3);
  endfunction

  // Groups of eight pixels of the frame, then enough of nothing to bring out the last ones.
  logic [GroupWidth:0] groups;
  count_t step_q, total, lead;
  logic [2:0] frame_q;
  logic fed, middle, step, emit_q, last_pair;
  logic [1:0] pair_q;

  assign groups = width_i[SideWidth-1:3];
  assign total  = count_t'(groups) * count_t'(height_i);
  assign lead   = (count_t'(groups) << 1) + 1'b1;
  assign fed    = step_q >= total;
  assign middle = frame_q == 3'd2;
  assign step   = !emit_q && step_q != total + lead && (fed || (in_valid_i && middle));
  assign in_ready_o  = !middle || (!emit_q && !fed);
  assign out_valid_o = emit_q;
  assign last_pair   = pair_q == 2'd3;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      step_q  <= '0;
      frame_q <= '0;
      emit_q  <= 1'b0;
      pair_q  <= '0;
    end else begin
      if (in_valid_i && in_ready_o) frame_q <= frame_q == 3'd4 ? '0 : frame_q + 1'b1;
      if (step) begin
        step_q <= step_q + 1'b1;
        emit_q <= step_q >= lead;
      end
      if (emit_q && out_ready_i) begin
        pair_q <= pair_q + 1'b1;
        if (last_pair) emit_q <= 1'b0;
      end
    end
  end

  // Four rows back, the nearest lowest, and the columns around the eight pixels in hand.
  logic [GroupWidth-1:0] place_q;
  word_t [3:0] rows_q [MaxGroups];
  word_t [4:0] column, ahead_q, here_q;
  logic [1:0][7:0] behind_q;

  assign column = {rows_q[place_q], word_t'(in_data_i)};

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      place_q <= '0;
    end else if (step) begin
      place_q <= (GroupWidth + 1)'(place_q) == groups - 1'b1 ? '0 : place_q + 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (step) begin
      rows_q[place_q] <= column[3:0];
      ahead_q  <= column;
      here_q   <= ahead_q;
      behind_q <= here_q[2][7:6];
    end
  end

  // Where the pair of pixels is.
  logic [GroupWidth-1:0] group_q;
  logic [SideWidth-1:0] y_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      group_q <= '0;
      y_q     <= '0;
    end else if (emit_q && out_ready_i && last_pair) begin
      group_q <= group_q + 1'b1;
      if ((GroupWidth + 1)'(group_q) == groups - 1'b1) begin
        group_q <= '0;
        y_q     <= y_q + 1'b1;
      end
    end
  end

  logic [11:0][7:0] row;
  assign row = {ahead_q[2][1:0], here_q[2], behind_q};

  for (genvar k = 0; k < 2; k++) begin : gen_pixel
    logic [2:0] lane;
    logic [3:0] at;
    logic [SideWidth-1:0] x;
    logic signed [15:0] along_x, along_y;
    logic outside;
    assign lane = {pair_q, 1'(k)};
    assign at   = 4'(lane);
    assign x    = SideWidth'({group_q, lane});
    assign along_x = derivative(row[at], row[at+4'd1], row[at+4'd3], row[at+4'd4]);
    assign along_y = derivative(here_q[4][lane], here_q[3][lane], here_q[1][lane], here_q[0][lane]);
    assign outside = near_end(x, width_i, 8'd2) || near_end(y_q, height_i, 8'd2);
    assign out_data_o[32*k+:32] = outside ? '0 : {along_y, along_x};
  end

endmodule
