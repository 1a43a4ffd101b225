// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Scans each triangle's bounding box with edge functions, eight pixels a cycle.
///
/// A pixel is covered where no edge function is negative, corners in positive order: edges belong to
/// both neighbours. A triangle without area covers nothing. One word in, a word for every four rows out.
module render_rasterise_core (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic clear_i,
  /// Frame, multiples of 8 from 8 to 128; stable while a run lasts.
  input  logic [7:0] width_i,
  input  logic [7:0] height_i,

  input  logic        in_valid_i,
  output logic        in_ready_o,
  input  logic [63:0] in_data_i,
  output logic        out_valid_o,
  input  logic        out_ready_i,
  output logic [63:0] out_data_o
);

  /// Sums of two products of differences of bytes, with room for a step beyond.
  localparam int unsigned EdgeWidth = 20;
  typedef logic signed [EdgeWidth-1:0] edge_t;

  typedef enum logic [1:0] {StTake, StSetup, StScan, StEmit} state_e;
  state_e state_q;

  function automatic logic [7:0] min(logic [7:0] a, logic [7:0] b);
    return a < b ? a : b;
  endfunction
  function automatic logic [7:0] max(logic [7:0] a, logic [7:0] b);
    return a > b ? a : b;
  endfunction
  function automatic logic signed [8:0] difference(logic [7:0] a, logic [7:0] b);
    return $signed({1'b0, a}) - $signed({1'b0, b});
  endfunction

  logic [2:0][7:0] x_q, y_q;
  logic [7:0] left_q, right_q, top_q, bottom_q;
  logic empty_q;
  logic [2:0] step_q;

  // One edge at one point: first the area (edge 0 at corner 2), then every edge where the scan begins.
  logic [1:0] from, to;
  logic [7:0] at_x, at_y;
  logic signed [8:0] run_q, rise_q, off_x_q, off_y_q;
  edge_t value;

  always_comb begin
    unique case (step_q)
      3'd4:    {from, to} = {2'd1, 2'd2};
      3'd5:    {from, to} = {2'd2, 2'd0};
      default: {from, to} = {2'd0, 2'd1};
    endcase
    at_x = step_q < 3'd3 ? x_q[2] : left_q;
    at_y = step_q < 3'd3 ? y_q[2] : top_q;
  end
  assign value = edge_t'(run_q) * edge_t'(off_y_q) - edge_t'(rise_q) * edge_t'(off_x_q);

  // Edge functions: at the row's first eight pixels, at these eight, and their steps.
  edge_t row_q [3];
  edge_t here_q [3];
  logic signed [8:0] down_q [3];
  logic signed [8:0] right_step_q [3];
  logic [7:0] y_at_q, x_at_q, first_q, last_q, first, last;
  logic [7:0] hit;
  logic found_q, scanned, row_done, last_row;
  logic [2:0] low, high;
  logic [3:0][15:0] spans_q;

  for (genvar k = 0; k < 8; k++) begin : gen_pixel
    logic [2:0] outside;
    for (genvar e = 0; e < 3; e++) begin : gen_edge
      edge_t there;
      assign there = here_q[e] + edge_t'(right_step_q[e]) * edge_t'(k);
      assign outside[e] = there[EdgeWidth-1];
      logic unused_there;
      assign unused_there = ^there[EdgeWidth-2:0];
    end
    assign hit[k] = outside == '0 && x_at_q + 8'(k) <= right_q;
  end

  always_comb begin
    low  = '0;
    high = '0;
    for (int unsigned k = 0; k < 8; k++) begin
      if (hit[k]) high = 3'(k);
      if (hit[7-k]) low = 3'(7 - k);
    end
  end

  assign scanned   = !empty_q && y_at_q >= top_q && y_at_q <= bottom_q;
  assign row_done = !scanned || x_at_q[7:3] == right_q[7:3];
  assign last_row = y_at_q == height_i - 8'd1;
  assign first = found_q || hit == '0 ? first_q : {x_at_q[7:3], low};
  assign last  = hit == '0 ? last_q : {x_at_q[7:3], high};

  assign in_ready_o  = state_q == StTake;
  assign out_valid_o = state_q == StEmit;
  assign out_data_o  = spans_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      state_q <= StTake;
      step_q  <= '0;
      y_at_q  <= '0;
    end else begin
      unique case (state_q)
        StTake: begin
          step_q <= '0;
          y_at_q <= '0;
          if (in_valid_i) state_q <= StSetup;
        end
        StSetup: begin
          step_q <= step_q + 1'b1;
          if (step_q == 3'd6) state_q <= StScan;
        end
        StScan: if (row_done && y_at_q[1:0] == 2'd3) state_q <= StEmit;
                else if (row_done) y_at_q <= y_at_q + 1'b1;
        default: if (out_ready_i) begin
          y_at_q  <= y_at_q + 1'b1;
          state_q <= last_row ? StTake : StScan;
        end
      endcase
    end
  end

  // Bounds, order and edges.
  always_ff @(posedge clk_i) begin
    run_q   <= difference(x_q[to], x_q[from]);
    rise_q  <= difference(y_q[to], y_q[from]);
    off_x_q <= difference(at_x, x_q[from]);
    off_y_q <= difference(at_y, y_q[from]);
    if (state_q == StTake) begin
      x_q <= {in_data_i[39:32], in_data_i[23:16], in_data_i[7:0]};
      y_q <= {in_data_i[47:40], in_data_i[31:24], in_data_i[15:8]};
    end
    if (state_q == StSetup) begin
      unique case (step_q)
        3'd0: begin
          left_q   <= min(min(x_q[0], x_q[1]), x_q[2]) & 8'hF8;
          right_q  <= min(max(max(x_q[0], x_q[1]), x_q[2]), width_i - 8'd1);
          top_q    <= min(min(y_q[0], y_q[1]), y_q[2]);
          bottom_q <= max(max(y_q[0], y_q[1]), y_q[2]);
        end
        3'd1: begin
          empty_q <= value == '0 || left_q >= width_i;
          if (value[EdgeWidth-1]) begin
            x_q <= {x_q[1], x_q[2], x_q[0]};
            y_q <= {y_q[1], y_q[2], y_q[0]};
          end
        end
        default: ;
      endcase
      for (int unsigned e = 0; e < 3; e++) begin
        // Operands are a cycle ahead of values.
        if (step_q == 3'(e + 4)) begin
          row_q[e]        <= value;
          here_q[e]       <= value;
          down_q[e]       <= run_q;
          right_step_q[e] <= -rise_q;
        end
      end
      x_at_q  <= left_q;
      found_q <= 1'b0;
      first_q <= 8'd255;
      last_q  <= '0;
    end
    if (state_q == StScan) begin
      if (scanned) begin
        x_at_q  <= x_at_q + 8'd8;
        found_q <= found_q || hit != '0;
        first_q <= first;
        last_q  <= last;
        for (int unsigned e = 0; e < 3; e++) here_q[e] <= here_q[e] + (edge_t'(right_step_q[e]) <<< 3);
      end
      if (row_done) begin
        spans_q[y_at_q[1:0]] <= scanned ? {last, first} : 16'h00FF;
        x_at_q  <= left_q;
        found_q <= 1'b0;
        first_q <= 8'd255;
        last_q  <= '0;
        if (scanned) begin
          for (int unsigned e = 0; e < 3; e++) begin
            row_q[e]  <= row_q[e] + edge_t'(down_q[e]);
            here_q[e] <= row_q[e] + edge_t'(down_q[e]);
          end
        end
      end
    end
  end

  // Depth and shade go past this task.
  logic unused;
  assign unused = ^in_data_i[63:48];

endmodule
