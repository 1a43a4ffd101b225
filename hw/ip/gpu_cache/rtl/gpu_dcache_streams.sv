/// Which line comes next: looks at the lines that are loaded from for the first time, page by page.
///
/// A page of 4 KiB that is walked in equal steps gets the line two steps further, if that is in the page too: what may be read
/// is decided by the page. A step is believed when it came twice; lines behind the furthest (warps are not in step)
/// do not change it. A new page begins with the belief of the page that was looked at last, which it mostly continues.
module gpu_dcache_streams
  import gpu_pkg::*;
#(
  /// Pages that are remembered; a power of two.
  parameter int unsigned Pages = 4
) (
  input  logic                     clk_i,
  /// Synchronous reset, active low.
  input  logic                     rst_ni,
  /// Forget everything.
  input  logic                     clear_i,
  /// A line loaded from for the first time; at most every second cycle.
  input  logic                     touch_i,
  input  logic [LineAddrWidth-1:0] line_i,
  /// One cycle later, for one cycle.
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

  logic touch_q;
  logic [LineAddrWidth-1:0] line_q;

  logic found, forward;
  index_t index;
  walk_t old, now;
  logic [PlaceWidth-1:0] place, step;
  logic [PlaceWidth:0] ahead;

  assign place = line_q[PlaceWidth-1:0];

  always_comb begin
    found = 1'b0;
    index = oldest_q;
    old = '0;
    now = '0;
    step = '0;
    forward = 1'b0;
    ahead = '0;
    if (touch_q) begin
      for (int p = 0; p < int'(Pages); p++) begin
        if (used_q[p] && page_q[p] == line_q[LineAddrWidth-1:PlaceWidth]) begin
          found = 1'b1;
          index = index_t'(p);
        end
      end
      old = walk_q[found ? index : last_q];
      now = old;
      step = place - old.last;
      forward = found && place > old.last;
      if (forward) begin
        now.believed = step == old.step;
        now.step = step;
      end
      if (forward || !found) now.last = place;
      ahead = {1'b0, place} + {now.step, 1'b0};
    end
  end

  assign next_valid_o = touch_q && now.believed && !ahead[PlaceWidth];
  assign next_line_o = {line_q[LineAddrWidth-1:PlaceWidth], ahead[PlaceWidth-1:0]};

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      touch_q <= 1'b0;
      used_q <= '0;
      oldest_q <= '0;
      last_q <= '0;
      for (int p = 0; p < int'(Pages); p++) walk_q[p] <= '0;
    end else begin
      touch_q <= touch_i;
      if (touch_i) line_q <= line_i;
      if (touch_q) begin
        used_q[index] <= 1'b1;
        page_q[index] <= line_q[LineAddrWidth-1:PlaceWidth];
        walk_q[index] <= now;
        last_q <= index;
        if (!found) oldest_q <= oldest_q + 1'b1;
      end
    end
  end

`ifndef SYNTHESIS
  InItsPage_A : assert property (@(posedge clk_i) disable iff (!rst_ni)
    next_valid_o |-> next_line_o[LineAddrWidth-1:PlaceWidth] == $past(line_i[LineAddrWidth-1:PlaceWidth]));
  OnePageOnce_A : assert property (@(posedge clk_i) disable iff (!rst_ni) touch_i |=> !touch_i);
`endif

endmodule
