// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
`include "clock_when.svh"

/// Loads that missed and wait beside the cache: for a line on its way, or for room to ask for one.
///
/// What is ready comes back in turns, so that none waits for ever. What comes back is chosen in the cycle before: that a fill
/// ends is seen as it ends.
module gpu_dcache_parked #(
  /// Loads that may wait; a power of two, at least two.
  parameter int unsigned Places = 4,
  parameter int unsigned Width = 32,
  parameter int unsigned Fills = 4,
  localparam int unsigned FillWidth = $clog2(Fills)
) (
  input  logic                 clk_i,
  /// Something here may change: a simulation looks at no clock without it.
  input  logic                 awake_i,
  /// Synchronous reset, active low.
  input  logic                 rst_ni,
  /// Park a load; with `wait_i` until `fill_i` has ended, else until there is room.
  input  logic                 park_i,
  input  logic                 wait_i,
  input  logic [FillWidth-1:0] fill_i,
  input  logic [Width-1:0]     load_i,
  /// Fills that will be busy in the next cycle, but for those that begin.
  input  logic [Fills-1:0]     busy_next_i,
  input  logic                 room_i,
  /// One may come back; it does with `take_i`.
  output logic                 ready_o,
  input  logic                 take_i,
  output logic [Width-1:0]     load_o,
  output logic                 full_o,
  output logic                 any_o,
  /// Fills that somebody here waits for, or has waited for; for a cycle longer.
  output logic [Fills-1:0]     held_o
);

  localparam int unsigned PlaceWidth = $clog2(Places);
  typedef logic [PlaceWidth-1:0] place_t;

  logic [Places-1:0] used_q, wait_q, able, later;
  logic [Fills-1:0] held_q;
  logic [FillWidth-1:0] fill_q [Places];
  logic [Width-1:0] ram [Places];
  // The one that comes back; without `ready_q` that which came back last.
  place_t free, chosen_q, next;
  logic ready_q;

  // Behind the last one's place, or else from the first on.
  always_comb begin
    able = '0;
    later = '0;
    free = '0;
    next = '0;
    if (used_q != '0) begin
      automatic place_t first, first_later;
      first = '0;
      first_later = '0;
      for (int p = int'(Places) - 1; p >= 0; p--) begin
        able[p] = used_q[p] && (wait_q[p] ? !busy_next_i[fill_q[p]] : room_i) && !(ready_q && place_t'(p) == chosen_q);
        later[p] = able[p] && place_t'(p) > chosen_q;
        if (!used_q[p]) free = place_t'(p);
        if (able[p]) first = place_t'(p);
        if (later[p]) first_later = place_t'(p);
      end
      next = (later != '0) ? first_later : first;
    end
  end

  assign ready_o = ready_q;
  assign held_o = held_q;
  always_comb begin
    load_o = 'x;
`ifndef SYNTHESIS
    if (ready_o)
`endif
    load_o = ram[chosen_q];
  end
  assign full_o = &used_q;
  assign any_o = used_q != '0;

  always_ff @(`EDDY_RISES(clk_i, awake_i)) begin
    if (park_i) ram[free] <= load_i;
  end

  always_ff @(`EDDY_RISES(clk_i, awake_i)) begin
    if (!rst_ni) begin
      used_q <= '0;
      wait_q <= '0;
      ready_q <= 1'b0;
      chosen_q <= '0;
      held_q <= '0;
    end else
`ifndef SYNTHESIS
    // Else nobody is here or comes: a simulation passes over it. In gates it would only be a condition more.
    if (park_i || used_q != '0 || held_q != '0)
`endif
    begin
      held_q <= '0;
      for (int p = 0; p < int'(Places); p++) begin
        if (used_q[p] && wait_q[p]) held_q[fill_q[p]] <= 1'b1;
      end
      if (park_i && wait_i) held_q[fill_i] <= 1'b1;
      if (take_i) used_q[chosen_q] <= 1'b0;
      if (take_i || !ready_q) begin
        ready_q <= able != '0;
        if (able != '0) chosen_q <= next;
      end
      if (park_i) begin
        used_q[free] <= 1'b1;
        wait_q[free] <= wait_i;
        fill_q[free] <= fill_i;
      end
    end
  end

`ifndef SYNTHESIS
  NothingMissedAtRest_A : assert property (@(posedge clk_i) disable iff (!rst_ni) used_q == '0 |-> !ready_q && !take_i);
  RoomToPark_A : assert property (@(posedge clk_i) disable iff (!rst_ni) park_i |-> !full_o);
  ReadyToTake_A : assert property (@(posedge clk_i) disable iff (!rst_ni) take_i |-> ready_o);
`endif

endmodule
