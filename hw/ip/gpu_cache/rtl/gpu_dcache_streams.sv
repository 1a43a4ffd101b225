// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
`include "clock_when.svh"

/// Which line comes next: looks at the lines that are loaded from for the first time, page by page.
///
/// A page of 4 KiB that is walked in equal steps gets the lines up to `Ahead` steps further, one after the other, if they are in the page too, or in the next
/// one and a line of that has been loaded from: what may be read is decided by the page. A step is believed when it came twice, until a line much further is loaded from. A new page begins with the belief of the page that was looked at last, which it mostly continues. What a page
/// is behind is made up for by two lines a touch.
module gpu_dcache_streams
  import gpu_pkg::*;
#(
  /// Pages that are remembered; a power of two.
  parameter int unsigned Pages = 8,
  /// Steps that lines are asked for ahead; a power of two.
  parameter int unsigned Ahead = 4
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
  /// A line to ask for: the first three cycles later, and perhaps another one when that was taken. Another touch ends it.
  output logic                     next_valid_o,
  input  logic                     next_take_i,
  output logic [LineAddrWidth-1:0] next_line_o
);

  localparam int unsigned PlaceWidth = 6;  // of a line in its page
  localparam int unsigned PageWidth = LineAddrWidth - PlaceWidth;
  localparam int unsigned IndexWidth = $clog2(Pages);

  typedef logic [IndexWidth-1:0] index_t;
  localparam int unsigned ReachWidth = PlaceWidth + 1;  // in its page or the next

  // Of a page: the furthest line that was loaded from, and that was asked for.
  typedef struct packed {
    logic                  believed;
    logic [PlaceWidth-1:0] step;
    logic [PlaceWidth-1:0] last;
    logic [ReachWidth-1:0] reach;
  } walk_t;

  logic [Pages-1:0] used_q;
  logic [PageWidth-1:0] page_q [Pages];
  walk_t walk_q [Pages];
  index_t oldest_q, last_q;

  // First its page is looked for, then what that says is looked at; then its lines are asked for.
  logic touch_q, known_q, found_q, asks_q, more_q, followed_q;
  logic [LineAddrWidth-1:0] line_q, known_line_q;
  index_t write_q;
  walk_t old_q, asks_walk_q;
  logic [PageWidth-1:0] asks_page_q;

  logic found, forward;
  index_t index;
  walk_t old, now, asked;
  logic [PlaceWidth-1:0] place, step;
  logic [ReachWidth:0] next;
  logic [ReachWidth+1:0] most;
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

  // What a touch makes of its page.
  always_comb begin
    old = 'x;
    now = 'x;
    step = 'x;
    forward = 'x;
    following = 'x;
    followed = 1'b0;
    if (known_q) begin
      old = old_q;
      now = old;
      forward = place > old.last;
      step = forward ? place - old.last : old.last - place;
      if (found_q && step != '0) begin
        // Warps are not in step: what lies between two lines of a walk makes its steps shorter, what is left out is only late.
        if (step < old.step) now.step = step;
        else if (forward && step == old.step) now.believed = 1'b1;
        else if (forward && !(old.believed && {2'd0, step} <= {old.step, 2'd0})) begin
          now.believed = 1'b0;
          now.step = step;
        end
      end
      if (forward || !found_q) now.last = place;
      // The page before may have asked for lines of this one already.
      if (!found_q) now.reach = old.reach[PlaceWidth] ? {1'b0, old.reach[PlaceWidth-1:0]} : {1'b0, place};
      if (now.reach < {1'b0, now.last} || !now.believed || now.step != old.step) now.reach = {1'b0, now.last};
      following = page + PageWidth'(1);
      for (int p = 0; p < int'(Pages); p++) begin
        if (used_q[p] && gpu_lines_pkg::same(30'(page_q[p]), 30'(following))) followed = 1'b1;
      end
    end
  end

  // As it is when that line has been asked for.
  always_comb begin
    asked = asks_walk_q;
    asked.reach = next[ReachWidth-1:0];
  end

  // The next line: no further than some steps from the furthest that was loaded from, nor than the next page.
  always_comb begin
    next = 'x;
    most = 'x;
    next_valid_o = 1'b0;
    if (asks_q) begin
      next = (ReachWidth + 1)'(asks_walk_q.reach) + (ReachWidth + 1)'(asks_walk_q.step);
      most = (ReachWidth + 2)'(asks_walk_q.last) + (ReachWidth + 2)'({asks_walk_q.step, {$clog2(Ahead) {1'b0}}});
      next_valid_o = (ReachWidth + 2)'(asks_walk_q.reach) < most && !next[ReachWidth] && (!next[PlaceWidth] || followed_q);
    end
  end

  assign next_line_o = {next[PlaceWidth] ? asks_page_q + PageWidth'(1) : asks_page_q, next[PlaceWidth-1:0]};

  always_ff @(`EDDY_RISES(clk_i, awake_i)) begin
    if (!rst_ni || clear_i) begin
      touch_q <= 1'b0;
      known_q <= 1'b0;
      asks_q <= 1'b0;
      used_q <= '0;
      oldest_q <= '0;
      last_q <= '0;
      for (int p = 0; p < int'(Pages); p++) walk_q[p] <= '0;
    end else
`ifndef SYNTHESIS
    // Else no line is touched or asked for, or was touched in the two cycles before: a simulation passes over it. In gates it would
    // only be a condition more.
    if (touch_i || touch_q || known_q || asks_q)
`endif
    begin
      touch_q <= touch_i;
      known_q <= touch_q;
      if (touch_i) line_q <= line_i;
      if (touch_q) begin
        known_line_q <= line_q;
        found_q <= found;
        // Nothing is asked for from a touch on, so this stays as it is until the next cycle.
        old_q <= walk_q[found ? index : last_q];
        write_q <= found ? index : oldest_q;
      end
      if (known_q || next_take_i) walk_q[write_q] <= known_q ? now : asked;
      if (known_q) begin
        used_q[write_q] <= 1'b1;
        page_q[write_q] <= page;
        last_q <= write_q;
        if (!found_q) oldest_q <= oldest_q + 1'b1;
        asks_page_q <= page;
        followed_q <= followed;
      end
      if (known_q) asks_walk_q <= now;
      else if (next_take_i) asks_walk_q <= asked;
      // Two lines a touch at most, so that another walk's lines do not wait for all of this one's.
      asks_q <= known_q ? now.believed : asks_q && !touch_i && next_valid_o && (more_q || !next_take_i);
      more_q <= known_q || (more_q && !next_take_i);
    end
  end

`ifndef SYNTHESIS
  logic seen;
  always_comb begin
    seen = 1'b0;
    for (int p = 0; p < int'(Pages); p++) seen |= used_q[p] && page_q[p] == next_line_o[LineAddrWidth-1:PlaceWidth];
  end
  InKnownPages_A : assert property (@(posedge clk_i) disable iff (!rst_ni) next_valid_o |-> seen);
  OnePageOnce_A : assert property (@(posedge clk_i) disable iff (!rst_ni) touch_i |=> !touch_i [*2]);
  OneAtATime_A : assert property (@(posedge clk_i) disable iff (!rst_ni) next_take_i |-> next_valid_o && !known_q);
`endif

endmodule
