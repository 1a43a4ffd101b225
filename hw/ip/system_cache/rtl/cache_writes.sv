// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Write requests on their way to memory, and what reads must know of them.
///
/// A request goes on only when every line it touches was dropped, and is remembered until memory has answered it. So
/// while memory may be changing a line the cache does not hold it, whatever memory's order. Write data and answers do
/// not pass through here.
module cache_writes
  import eddy_pkg::*;
  import system_cache_pkg::*;
#(
  /// Write bursts that memory has not answered; a power of two.
  parameter int unsigned MaxWrites = 16
) (
  input  logic       clk_i,
  /// Synchronous reset, active low.
  input  logic       rst_ni,

  input  ax_t        aw_i,
  input  logic [3:0] aw_slot_i,
  input  logic       aw_valid_i,
  output logic       aw_ready_o,
  output ax_t        aw_o,
  output logic [3:0] aw_slot_o,
  output logic       aw_valid_o,
  input  logic       aw_ready_i,
  /// Memory answers a write.
  input  logic       b_valid_i,
  input  logic [7:0] b_id_i,

  /// Drop a line; done where the turn is given.
  output logic       drop_o,
  output line_t      drop_line_o,
  input  logic       drop_turn_i,
  /// Lines that are about to be written.
  output extent_t    entering_o,
  /// Whether a line is being written, or about to be.
  input  logic       lookup_i,
  input  line_t      line_i,
  output logic       busy_o,
  /// Pulse: note the writes that memory has not answered; whether one of those is left.
  input  logic       mark_i,
  output logic       marked_o
);

  if (MaxWrites < 2 || (MaxWrites & (MaxWrites - 1)) != 0) begin : gen_check_writes
    $fatal(1, "cache_writes: MaxWrites must be a power of two, 2 or more");
  end

  localparam int unsigned IndexWidth = $clog2(MaxWrites);
  typedef logic [IndexWidth-1:0] index_t;

  logic [MaxWrites-1:0] used_q, marked_q;
  extent_t extent_q [MaxWrites];
  logic [7:0] id_q [MaxWrites];
  index_t next_q, done_index;
  logic done, put, aw_valid_q, out_free, at_last;
  ax_t aw_q;
  logic [3:0] aw_slot_q;

  // The lines of a burst, one after the other.
  extent_t extent;
  place_t at, at_q;
  logic begun_q;

  /// Ref: IHI 0022, A3.4.1. A burst that leaves its page, which AXI forbids, counts to the page's end.
  function automatic extent_t extent_of(ax_t ax);
    logic [PageShift:0] low, high, total;
    extent_t result;
    total = (PageShift + 1)'({1'b0, ax.len} + 9'd1) << ax.size[1:0];
    low = {1'b0, ax.addr[PageShift-1:0]};
    low = low & ~((ax.burst == BurstWrap ? total : (PageShift + 1)'(1) << ax.size[1:0]) - (PageShift + 1)'(1));
    high = ax.burst == BurstFixed ? low : low + total - (PageShift + 1)'(1);
    result.page = ax.addr[AddrWidth-1:PageShift];
    result.first = low[PageShift-1:LineShift];
    result.last = high[PageShift] ? '1 : high[PageShift-1:LineShift];
    return result;
  endfunction

  always_comb begin
    extent = '0;
    at = '0;
    if (aw_valid_i) begin
      extent = extent_of(aw_i);
      at = begun_q ? at_q : extent.first;
    end
  end

  assign out_free = !aw_valid_q || aw_ready_i;
  assign at_last = at == extent.last;
  assign drop_o = aw_valid_i;
  assign drop_line_o = {extent.page, at};
  assign put = aw_valid_i && drop_turn_i && at_last && out_free && !used_q[next_q];
  assign aw_ready_o = put;

  // The oldest of that id; `next_q` is where the oldest of all may be.
  always_comb begin
    done = 1'b0;
    done_index = '0;
    if (b_valid_i) begin
      for (int i = int'(MaxWrites) - 1; i >= 0; i--) begin
        if (used_q[next_q+index_t'(i)] && id_q[next_q+index_t'(i)] == b_id_i) begin
          done = 1'b1;
          done_index = next_q + index_t'(i);
        end
      end
    end
  end

  always_comb begin
    busy_o = 1'b0;
    if (lookup_i) begin
      busy_o = aw_valid_i && covers(extent, line_i);
      for (int i = 0; i < int'(MaxWrites); i++) if (used_q[i] && covers(extent_q[i], line_i)) busy_o = 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      used_q <= '0;
      marked_q <= '0;
      next_q <= '0;
      aw_valid_q <= 1'b0;
      begun_q <= 1'b0;
    end else begin
      if (mark_i) marked_q <= used_q;
      if (done) begin
        used_q[done_index] <= 1'b0;
        marked_q[done_index] <= 1'b0;
      end
      if (put) begin
        used_q[next_q] <= 1'b1;
        marked_q[next_q] <= 1'b0;
        next_q <= next_q + index_t'(1);
        aw_valid_q <= 1'b1;
        begun_q <= 1'b0;
      end else begin
        if (aw_ready_i) aw_valid_q <= 1'b0;
        if (aw_valid_i && drop_turn_i && !at_last) begin
          begun_q <= 1'b1;
          at_q <= at + place_t'(1);
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (put) begin
      extent_q[next_q] <= extent;
      id_q[next_q] <= {aw_slot_i, aw_i.id};
      aw_q <= aw_i;
      aw_slot_q <= aw_slot_i;
    end
  end

  assign aw_o = aw_q;
  assign aw_slot_o = aw_slot_q;
  assign aw_valid_o = aw_valid_q;
  assign entering_o = extent;
  assign marked_o = marked_q != '0;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      AnswersAreOwed_A :
      assert (!b_valid_i || done)
      else $error("cache_writes: memory answered a write that it does not owe an answer");
    end
  end
`endif

endmodule
