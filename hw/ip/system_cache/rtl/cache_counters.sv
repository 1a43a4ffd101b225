// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Lines that reads found in the cache, and lines that were asked of memory, by slot.
///
/// Cleared in the 16 cycles after reset, during which nothing is counted.
module cache_counters (
  input  logic        clk_i,
  /// Synchronous reset, active low.
  input  logic        rst_ni,
  /// Pulse: a line was wanted, by whom; whether it was there.
  input  logic        count_i,
  input  logic        hit_i,
  input  logic [ 3:0] slot_i,
  /// Whose counters to show.
  input  logic        show_i,
  input  logic [ 3:0] show_slot_i,
  output logic [63:0] hits_o,
  output logic [63:0] misses_o
);

  logic [63:0] hits_ram [16];
  logic [63:0] misses_ram [16];
  logic [4:0] clear_q;
  logic clearing;
  logic [3:0] slot;
  logic [63:0] hits, misses;

  assign clearing = !clear_q[4];
  assign slot = clearing ? clear_q[3:0] : slot_i;
  assign hits = clearing ? '0 : hits_ram[slot_i] + 64'd1;
  assign misses = clearing ? '0 : misses_ram[slot_i] + 64'd1;
  assign hits_o = show_i ? hits_ram[show_slot_i] : '0;
  assign misses_o = show_i ? misses_ram[show_slot_i] : '0;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) clear_q <= '0;
    else if (clearing) clear_q <= clear_q + 5'd1;
  end

  always_ff @(posedge clk_i) begin
    if (clearing || (count_i && hit_i)) hits_ram[slot] <= hits;
    if (clearing || (count_i && !hit_i)) misses_ram[slot] <= misses;
  end

endmodule
