// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Makes the cache forget a range of pages, and waits for the writes memory had not answered when it was told to.
///
/// Takes one cycle a set, two where a write has the turn in between, and what memory takes to answer.
module cache_flush
  import system_cache_pkg::*;
#(
  parameter int unsigned Sets = 2,
  localparam int unsigned SetWidth = $clog2(Sets)
) (
  input  logic                clk_i,
  /// Synchronous reset, active low.
  input  logic                rst_ni,

  /// Pulse: flush these pages, first and last included. Not heard while busy.
  input  logic                start_i,
  input  page_t               first_i,
  input  page_t               last_i,
  output logic                busy_o,
  output page_t               first_o,
  output page_t               last_o,
  /// Writes to wait for; `mark_o` starts counting which.
  output logic                mark_o,
  input  logic                marked_i,

  /// A write wants to drop a line; whether it may.
  input  logic                drop_i,
  output logic                drop_turn_o,
  output logic                sweep_o,
  output logic [SetWidth-1:0] set_o,

  /// Whether a line's page is being flushed.
  input  logic                lookup_i,
  input  page_t               page_i,
  output logic                covers_o
);

  logic busy_q, sweeping_q, write_next_q;
  logic [SetWidth-1:0] set_q;
  page_t first_q, last_q;

  assign mark_o = start_i && !busy_q;
  assign sweep_o = sweeping_q && !(drop_i && write_next_q);
  assign drop_turn_o = drop_i && !sweep_o;
  assign set_o = set_q;
  assign busy_o = busy_q;
  assign first_o = first_q;
  assign last_o = last_q;

  always_comb begin
    covers_o = 1'b0;
    if (lookup_i && busy_q) covers_o = page_i inside {[first_q:last_q]};
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      busy_q <= 1'b0;
      sweeping_q <= 1'b0;
      write_next_q <= 1'b0;
      set_q <= '0;
    end else begin
      if (mark_o) begin
        busy_q <= 1'b1;
        sweeping_q <= 1'b1;
        set_q <= '0;
      end else if (busy_q && !sweeping_q && !marked_i) busy_q <= 1'b0;
      if (sweep_o) begin
        set_q <= set_q + SetWidth'(1);
        if (set_q == '1) sweeping_q <= 1'b0;
      end
      if (drop_i || write_next_q) write_next_q <= drop_i && sweep_o;
    end
  end

  always_ff @(posedge clk_i) begin
    if (mark_o) begin
      first_q <= first_i;
      last_q <= last_i;
    end
  end

endmodule
