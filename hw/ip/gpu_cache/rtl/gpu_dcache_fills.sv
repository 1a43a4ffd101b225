// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
`include "clock_when.svh"

/// The lines that a data cache has asked memory for: a ring, answered in the order in which they were asked for.
///
/// A line is here from `begin_i` until its last beat has come and nobody waits for it any more (`held_i`); until then the
/// way it goes to is not given to another, so whoever waited finds it.
module gpu_dcache_fills
  import gpu_pkg::*;
#(
  /// Lines that may be here; a power of two, at least two.
  parameter int unsigned Fills = 4,
  /// Lines that may be on their way at once.
  parameter int unsigned Reads = 4,
  parameter int unsigned SetWidth = 6,
  localparam int unsigned FillWidth = $clog2(Fills)
) (
  input  logic                     clk_i,
  /// Something here may change: a simulation looks at no clock without it.
  input  logic                     awake_i,
  /// Synchronous reset, active low.
  input  logic                     rst_ni,
  /// A line to look for among those on their way.
  input  logic                     look_i,
  input  logic [LineAddrWidth-1:0] look_line_i,
  input  logic [SetWidth-1:0]      look_set_i,
  output logic                     match_o,
  output logic [FillWidth-1:0]     match_fill_o,
  /// Ways of its set that wait for a line, or keep one for those who wait.
  output logic [1:0]               taken_o,
  /// There is room for one more, which will be `next_o`; for two more.
  output logic                     room_o,
  output logic                     spare_o,
  output logic [FillWidth-1:0]     next_o,
  /// Ask for the line that is looked for; `begin_wanted_i`: an access waits for it.
  input  logic                     begin_i,
  input  logic                     begin_way_i,
  input  logic                     begin_wanted_i,
  /// An access waits for the line that was found.
  input  logic                     want_i,
  input  logic [Fills-1:0]         held_i,
  /// Lines on their way that will be so in the next cycle, but for one that is asked for now.
  output logic [Fills-1:0]         busy_next_o,
  output logic                     any_o,

  /// Memory is not asked yet for the line that began last.
  input  logic                     hold_ask_i,
  // The memory port
  output logic                     rd_valid_o,
  input  logic                     rd_ready_i,
  output logic [LineAddrWidth-1:0] rd_line_o,
  input  logic                     rd_beat_i,
  input  logic                     rd_last_i,
  input  logic                     rd_error_i,

  /// Where the beat goes.
  output logic [LineAddrWidth-1:0] line_o,
  output logic                     way_o,
  output logic [2:0]               beat_o,
  /// With the last beat: the line counts from the next cycle on. A refused one (not good) does if an access waits for it,
  /// which then ends with whatever came.
  output logic                     whole_o,
  output logic                     kept_o,
  output logic                     good_o,
  output logic                     error_o
);

  typedef logic [FillWidth-1:0] fill_t;

  logic [Fills-1:0] busy_q, wanted_q, way_q, found;
  logic [LineAddrWidth-1:0] line_q [Fills];
  logic [SetWidth-1:0] set_q [Fills];
  fill_t head_q, tail_q;
  logic [2:0] beat_q;
  logic bad_q, ask_q, bad, asked;

  always_comb begin
    found = '0;
    taken_o = '0;
    match_fill_o = '0;
    if (look_i) begin
      for (int f = 0; f < int'(Fills); f++) begin
        found[f] = busy_q[f] && gpu_lines_pkg::same(30'(line_q[f]), 30'(look_line_i));
        if (found[f]) match_fill_o = fill_t'(f);
        if ((busy_q[f] || held_i[f]) && set_q[f] == look_set_i) taken_o[way_q[f]] = 1'b1;
      end
    end
  end

  assign match_o = found != '0;
  assign room_o = !busy_q[tail_q] && !held_i[tail_q] && (!ask_q || asked) &&
                  (Reads >= Fills || $countones(busy_q) < int'(Reads));
  assign spare_o = !busy_q[tail_q + 1'b1] && !held_i[tail_q + 1'b1];
  assign next_o = tail_q;
  assign any_o = busy_q != '0;

  always_comb begin
    busy_next_o = busy_q;
    if (whole_o) busy_next_o[head_q] = 1'b0;
  end

  assign rd_valid_o = ask_q && !hold_ask_i;
  assign asked = rd_valid_o && rd_ready_i;
  assign rd_line_o = line_q[tail_q - 1'b1];
  assign line_o = line_q[head_q];
  assign way_o = way_q[head_q];
  assign beat_o = beat_q;
  assign bad = bad_q || rd_error_i;
  assign whole_o = rd_beat_i && rd_last_i;
  assign good_o = !bad;
  assign kept_o = !bad || wanted_q[head_q];
  assign error_o = whole_o && bad && wanted_q[head_q];

  always_ff @(`EDDY_RISES(clk_i, awake_i)) begin
    if (!rst_ni) begin
      busy_q <= '0;
      wanted_q <= '0;
      head_q <= '0;
      tail_q <= '0;
      beat_q <= '0;
      bad_q <= 1'b0;
      ask_q <= 1'b0;
    end else
`ifndef SYNTHESIS
    // Else no line is on its way or asked for: a simulation passes over it. In gates it would only be a condition more.
    if (busy_q != '0 || begin_i)
`endif
    begin
      if (asked) ask_q <= 1'b0;
      if (rd_beat_i) begin
        beat_q <= beat_q + 3'd1;
        bad_q <= bad && !rd_last_i;
        if (rd_last_i) begin
          busy_q[head_q] <= 1'b0;
          head_q <= head_q + 1'b1;
        end
      end
      if (want_i) wanted_q[match_fill_o] <= 1'b1;
      if (begin_i) begin
        ask_q <= 1'b1;
        busy_q[tail_q] <= 1'b1;
        wanted_q[tail_q] <= begin_wanted_i;
        way_q[tail_q] <= begin_way_i;
        line_q[tail_q] <= look_line_i;
        set_q[tail_q] <= look_set_i;
        tail_q <= tail_q + 1'b1;
      end
    end
  end

`ifndef SYNTHESIS
  NothingMissedAtRest_A : assert property (@(posedge clk_i) disable iff (!rst_ni)
    busy_q == '0 |-> !ask_q && !rd_beat_i && !want_i);
  BeatsHaveAskers_A : assert property (@(posedge clk_i) disable iff (!rst_ni) rd_beat_i |-> busy_q[head_q]);
  WholeLines_A : assert property (@(posedge clk_i) disable iff (!rst_ni) rd_beat_i |-> rd_last_i == (beat_q == 3'd7));
  NeverTwice_A : assert property (@(posedge clk_i) disable iff (!rst_ni) begin_i |-> room_o && !match_o);
  NeverMore_A : assert property (@(posedge clk_i) disable iff (!rst_ni) $countones(busy_q) <= int'(Reads));
`endif

endmodule
