// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Weighs each value of a frame with its neighbours along x or along y; zero where one lies outside.
///
/// A pixel is `PixelWords` words, so the taps of a window lie as many words apart along x and a whole
/// row's words apart along y; a ring of that length keeps the values between them. Each lane of a word
/// is on its own: the sum of products is rounded by `Fraction` bits, half up, and saturated to the lane.
/// One word a cycle, and half a window's words of latency.
module flow_window #(
  /// Odd number of taps; the weights are symmetric.
  parameter int unsigned Taps = 7,
  /// Weights from the outermost tap to the middle one, each of `WeightWidth` bits, unsigned.
  parameter int unsigned WeightWidth = 10,
  parameter logic [Taps/2:0][WeightWidth-1:0] Weights = {10'd297, 10'd191, 10'd136, 10'd77},
  parameter int unsigned Fraction = 10,
  parameter int unsigned LaneWidth = 16,
  /// Lanes of a word that are weighed; the others become zero.
  parameter int unsigned Lanes = 3,
  parameter int unsigned PixelWords = 1
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic clear_i,
  /// Direction and frame; stable while a run lasts.
  input  logic along_x_i,
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

  localparam int unsigned Half = Taps / 2;
  localparam int unsigned MaxDistance = PixelWords * MaxSide;
  localparam int unsigned DistanceWidth = $clog2(MaxDistance + 1);
  localparam int unsigned PlaceWidth = $clog2(MaxDistance);
  /// Words of a frame and of half a window.
  localparam int unsigned CountWidth = AreaWidth + $clog2(PixelWords) + 1;
  localparam int unsigned SumWidth = LaneWidth + WeightWidth + $clog2(Taps);
  typedef logic [CountWidth-1:0] count_t;
  typedef logic signed [SumWidth-1:0] sum_t;

  if (Taps % 2 == 0 || Lanes * LaneWidth > 64) begin : gen_check_window
    $fatal(1, "flow_window: Taps must be odd and the lanes fit into a word of 64 bits");
  end

  // Words of the frame, then enough of nothing to bring out the last ones. Products of what is stable by then: they are there
  // in the second cycle of a run, before its first word.
  count_t step_q, words_q, lead_q, end_q;
  logic [DistanceWidth-1:0] distance;
  logic [PlaceWidth-1:0] place_q, place;
  logic fed, over, move, step, given, adjacent_q;

  assign distance = along_x_i ? DistanceWidth'(PixelWords) : DistanceWidth'(PixelWords) * DistanceWidth'(width_i);
  assign fed   = step_q >= words_q;
  assign over  = step_q == end_q;
  assign move  = !out_valid_o || out_ready_i;
  assign step  = move && (in_valid_i || fed) && !over;
  assign given = step && step_q >= lead_q;
  assign in_ready_o = move && !fed;
  assign place = place_q == PlaceWidth'(distance - 1'b1) ? '0 : place_q + 1'b1;

  always_ff @(posedge clk_i) begin
    words_q    <= count_t'(PixelWords) * AreaWidth'(area(width_i, height_i));
    lead_q     <= count_t'(Half) * count_t'(distance);
    end_q      <= words_q + lead_q;
    adjacent_q <= distance == DistanceWidth'(1);
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      step_q  <= '0;
      place_q <= '0;
    end else if (step) begin
      step_q  <= step_q + 1'b1;
      place_q <= place;
    end
  end

  // The ring: at each place the words that lie one, two, ... distances back, the nearest lowest.
  (* ram_style = "block" *) logic [Taps-2:0][63:0] ring_q [MaxDistance];
  logic [Taps-2:0][63:0] read_q, written_q, back, ring;
  logic [Taps-1:0][63:0] taps;

  // A ring of one place gives what was written just now, which the memory's read port does not see yet.
  assign back = adjacent_q ? written_q : read_q;
  assign taps = {back, in_data_i};
  assign ring = taps[Taps-2:0];

  always_ff @(posedge clk_i) begin
    if (step) begin
      ring_q[place_q] <= ring;
      read_q    <= ring_q[place];
      written_q <= ring;
    end
  end

  // Where the middle of the window is.
  logic [$clog2(PixelWords+1)-1:0] part_q;
  logic [SideWidth-1:0] x_q, y_q;
  logic last_part, last_x, outside;

  assign last_part = 32'(part_q) == PixelWords - 1;
  assign last_x    = x_q == width_i - 1'b1;
  assign outside   = along_x_i ? near_end(x_q, width_i, SideWidth'(Half)) : near_end(y_q, height_i, SideWidth'(Half));

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      part_q <= '0;
      x_q    <= '0;
      y_q    <= '0;
    end else if (given) begin
      part_q <= last_part ? '0 : part_q + 1'b1;
      if (last_part) x_q <= last_x ? '0 : x_q + 1'b1;
      if (last_part && last_x) y_q <= y_q + 1'b1;
    end
  end

  // Products, then sums.
  logic given_q, outside_q;
  logic [63:0] weighed;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      given_q     <= 1'b0;
      out_valid_o <= 1'b0;
    end else if (move) begin
      given_q     <= given;
      out_valid_o <= given_q;
    end
  end

  always_ff @(posedge clk_i) begin
    if (move) begin
      outside_q  <= outside;
      out_data_o <= outside_q ? '0 : weighed;
    end
  end

  function automatic logic [LaneWidth-1:0] saturate(sum_t value);
    if (&value[SumWidth-1:LaneWidth-1] || !(|value[SumWidth-1:LaneWidth-1])) return value[LaneWidth-1:0];
    return value[SumWidth-1] ? {1'b1, {LaneWidth - 1{1'b0}}} : {1'b0, {LaneWidth - 1{1'b1}}};
  endfunction

  for (genvar lane = 0; lane < Lanes; lane++) begin : gen_lane
    sum_t products_q [Half + 1];
    sum_t sum;

    for (genvar k = 0; k <= Half; k++) begin : gen_pair
      logic signed [LaneWidth:0] pair;
      if (k == Half) begin : gen_middle
        assign pair = (LaneWidth + 1)'($signed(taps[k][LaneWidth*lane+:LaneWidth]));
      end else begin : gen_outer
        assign pair = (LaneWidth + 1)'($signed(taps[k][LaneWidth*lane+:LaneWidth])) +
                      (LaneWidth + 1)'($signed(taps[Taps-1-k][LaneWidth*lane+:LaneWidth]));
      end
      always_ff @(posedge clk_i) begin
        if (move) products_q[k] <= sum_t'(pair) * sum_t'($signed({1'b0, Weights[k]}));
      end
    end

    always_comb begin
      sum = sum_t'(1 << (Fraction - 1));
      for (int unsigned k = 0; k <= Half; k++) sum += products_q[k];
    end
    assign weighed[LaneWidth*lane+:LaneWidth] = saturate(sum >>> Fraction);
  end

  if (Lanes * LaneWidth < 64) begin : gen_rest
    assign weighed[63:Lanes*LaneWidth] = '0;
    logic unused;
    always_comb begin
      unused = 1'b0;
      for (int unsigned k = 0; k < Taps; k++) unused ^= ^taps[k][63:Lanes*LaneWidth];
    end
  end

endmodule
