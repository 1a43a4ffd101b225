// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
`include "clock_when.svh"

/// Which line comes next: looks at the lines that are loaded from for the first time, page by page.
///
/// A page of 4 KiB that is walked in equal steps gets the line two steps further, if that is in the page too, or in the next
/// one and a line of that has been loaded from: what may be read is decided by the page. A step is believed when it came twice; lines behind the furthest (warps are not in step)
/// do not change it. A new page begins with the belief of the page that was looked at last, which it mostly continues.
module gpu_dcache_streams
  import gpu_pkg::*;
#(
  /// Pages that are remembered; a power of two.
  parameter int unsigned Pages = 8
) (
  input  logic                     clk_i,
  /// Something here may change: a simulation looks at no clock without it.
  input  logic                     awake_i,
  /// Synchronous reset, active low.
  input  logic                     rst_ni,
  /// Forget everything.
  input  logic                     clear_i,
  /// A line loaded from for the first time; at most every third cycle.
  input  logic                     touch_i,
  input  logic [LineAddrWidth-1:0] line_i,
  /// Two cycles later, for one cycle.
  output logic                     next_valid_o,
  output logic [LineAddrWidth-1:0] next_line_o
);

  localparam int unsigned PlaceWidth = 6;  // of a line in its page
  localparam int unsigned PageWidth = LineAddrWidth - PlaceWidth;
  localparam int unsigned IndexWidth = $clog2(Pages);

  typedef logic [IndexWidth-1:0] index_t;
  typedef struct packed {
    logic                  believed;
    logic [PlaceWidth-1:0] step;
    logic [PlaceWidth-1:0] last;
  } walk_t;

  logic [Pages-1:0] used_q;
  logic [PageWidth-1:0] page_q [Pages];
  walk_t walk_q [Pages];
  index_t oldest_q, last_q;

  // First its page is looked for, then what that says is looked at.
  logic touch_q, known_q, found_q;
  logic [LineAddrWidth-1:0] line_q, known_line_q;
  index_t read_q, write_q;

  logic found, forward;
  index_t index;
  walk_t old, now;
  logic [PlaceWidth-1:0] place, step;
  logic [PlaceWidth:0] ahead;
  logic [PageWidth-1:0] page, following;
  logic followed;

  always_comb begin
    found = 'x;
    index = 'x;
    if (touch_q) begin
      found = 1'b0;
      index = '0;
      for (int p = 0; p < int'(Pages); p++) begin
        if (used_q[p] && gpu_lines_pkg::same(30'(page_q[p]), 30'(line_q[LineAddrWidth-1:PlaceWidth]))) begin
          found = 1'b1;
          index = index | index_t'(p);
        end
      end
    end
  end

  assign place = known_line_q[PlaceWidth-1:0];
  assign page = known_line_q[LineAddrWidth-1:PlaceWidth];

  // A step that is believed is the old one, whether it came again just now or no line further was touched.
  always_comb begin
    old = 'x;
    now = 'x;
    step = 'x;
    forward = 'x;
    ahead = 'x;
    following = 'x;
    followed = 1'b0;
    if (known_q) begin
      old = walk_q[read_q];
      now = old;
      step = place - old.last;
      forward = found_q && place > old.last;
      if (forward) begin
        now.believed = step == old.step;
        now.step = step;
      end
      if (forward || !found_q) now.last = place;
      ahead = {1'b0, place} + {old.step, 1'b0};
      following = page + PageWidth'(1);
      for (int p = 0; p < int'(Pages); p++) begin
        if (used_q[p] && gpu_lines_pkg::same(30'(page_q[p]), 30'(following))) followed = 1'b1;
      end
    end
  end

  assign next_valid_o = known_q && now.believed && (!ahead[PlaceWidth] || followed);
  assign next_line_o = {ahead[PlaceWidth] ? following : page, ahead[PlaceWidth-1:0]};

  always_ff @(`EDDY_RISES(clk_i, awake_i)) begin
    if (!rst_ni || clear_i) begin
      touch_q <= 1'b0;
      known_q <= 1'b0;
      used_q <= '0;
      oldest_q <= '0;
      last_q <= '0;
      for (int p = 0; p < int'(Pages); p++) walk_q[p] <= '0;
    end else
`ifndef SYNTHESIS
    // Else no line is touched, or was in the two cycles before: a simulation passes over it. In gates it would only be a condition more.
    if (touch_i || touch_q || known_q)
`endif
    begin
      touch_q <= touch_i;
      known_q <= touch_q;
      if (touch_i) line_q <= line_i;
      if (touch_q) begin
        known_line_q <= line_q;
        found_q <= found;
        read_q <= found ? index : last_q;
        write_q <= found ? index : oldest_q;
      end
      if (known_q) begin
        used_q[write_q] <= 1'b1;
        page_q[write_q] <= page;
        walk_q[write_q] <= now;
        last_q <= write_q;
        if (!found_q) oldest_q <= oldest_q + 1'b1;
      end
    end
  end

`ifndef SYNTHESIS
  logic seen;
  always_comb begin
    seen = 1'b0;
    for (int p = 0; p < int'(Pages); p++) seen |= used_q[p] && page_q[p] == next_line_o[LineAddrWidth-1:PlaceWidth];
  end
  InKnownPages_A : assert property (@(posedge clk_i) disable iff (!rst_ni)
    next_valid_o |-> seen || next_line_o[LineAddrWidth-1:PlaceWidth] == $past(line_i[LineAddrWidth-1:PlaceWidth], 2));
  OnePageOnce_A : assert property (@(posedge clk_i) disable iff (!rst_ni) touch_i |=> !touch_i [*2]);
`endif

endmodule
