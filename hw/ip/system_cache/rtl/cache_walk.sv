// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Walks through the beats of a read burst, one a step: where each lies, and when the burst moves on to another line.
///
/// Ref: IHI 0022, A3.4.1.
module cache_walk
  import eddy_pkg::*;
  import system_cache_pkg::*;
(
  input  logic  clk_i,
  /// Synchronous reset, active low.
  input  logic  rst_ni,
  /// The burst; stays until its last step.
  input  ax_t   ax_i,
  input  logic  valid_i,
  /// Go on to the next beat.
  input  logic  step_i,
  /// The burst can be walked through. Otherwise it is one that AXI forbids, or one that must reach memory as it is.
  output logic  plain_o,
  output line_t line_o,
  output word_t word_o,
  /// The first beat of the burst, or the first in this line.
  output logic  enters_o,
  output logic  leaves_o,
  output logic  last_o
);

  typedef logic [AddrWidth-1:0] addr_t;

  addr_t addr_q, addr, bytes, next, wrap;
  logic [7:0] beat_q;
  logic inside_q;

  // Modifiable (AxCACHE[1]): only then may more be read than was asked for.
  always_comb begin
    plain_o = ax_i.cache[1] && ax_i.size <= 3'd3 && ax_i.burst != 2'b11;
    if (ax_i.burst == BurstWrap && !(ax_i.len inside {8'd1, 8'd3, 8'd7, 8'd15})) plain_o = 1'b0;
  end

  always_comb begin
    addr = '0;
    bytes = '0;
    wrap = '0;
    next = '0;
    if (valid_i) begin
      addr = beat_q == '0 ? ax_i.addr : addr_q;
      bytes = addr_t'(1) << ax_i.size[1:0];
      wrap = ((addr_t'(ax_i.len) + addr_t'(1)) << ax_i.size[1:0]) - addr_t'(1);
      next = (addr & ~(bytes - addr_t'(1))) + bytes;
      if (ax_i.burst == BurstWrap) next = (addr & ~wrap) | (next & wrap);
      if (ax_i.burst == BurstFixed) next = addr;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      beat_q <= '0;
      inside_q <= 1'b0;
    end else if (step_i) begin
      beat_q <= last_o ? '0 : beat_q + 8'd1;
      inside_q <= !leaves_o;
    end
  end

  always_ff @(posedge clk_i) begin
    if (step_i) addr_q <= next;
  end

  assign line_o = addr[AddrWidth-1:LineShift];
  assign word_o = addr[LineShift-1:3];
  assign last_o = beat_q == ax_i.len;
  assign enters_o = !inside_q;
  assign leaves_o = last_o || next[AddrWidth-1:LineShift] != addr[AddrWidth-1:LineShift];

endmodule
