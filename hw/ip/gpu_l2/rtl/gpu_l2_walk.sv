// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// What the second-level cache has to drop, and how far it has come: everything after reset, a context's lines when a core
/// begins a kernel, lines of a range on request. One pass over the sets serves all that was asked for before it began.
module gpu_l2_walk
  import eddy_pkg::*;
#(
  parameter int unsigned LineWidth = 34,
  parameter int unsigned SetWidth = 1
) (
  input  logic                       clk_i,
  /// Synchronous reset, active low.
  input  logic                       rst_ni,
  /// Contexts of which nothing may be kept.
  input  logic [2**ContextWidth-1:0] forget_i,
  /// Drop a range of lines; while busy ignored.
  input  logic                       flush_i,
  input  logic [LineWidth-1:0]       flush_first_i,
  input  logic [LineWidth-1:0]       flush_last_i,
  output logic                       flush_busy_o,
  /// Writes older than the flush are not answered yet.
  input  logic                       writes_wait_i,
  /// A pass over the sets is wanted, or under way; `begin_i` starts it, `step_i` ends with one set.
  output logic                       wanted_o,
  output logic                       active_o,
  input  logic                       begin_i,
  input  logic                       step_i,
  output logic [SetWidth-1:0]        set_o,
  /// Contexts whose reads have to wait.
  output logic [2**ContextWidth-1:0] blocked_o,
  /// Whether a line of this context goes; combinational, one question a way.
  input  logic [LineWidth-1:0]       line_i [2],
  input  logic [ContextWidth-1:0]    context_i [2],
  output logic [1:0]                 drop_o
);

  logic [2**ContextWidth-1:0] asked_q, now_q;
  logic all_q, range_asked_q, range_now_q, active_q;
  logic [LineWidth-1:0] first_q, last_q;
  logic [SetWidth-1:0] set_q;

  assign wanted_o = !active_q && (asked_q != '0 || all_q || range_asked_q);
  assign active_o = active_q;
  assign set_o = set_q;
  assign blocked_o = asked_q | now_q | {2**ContextWidth{all_q}};
  assign flush_busy_o = range_asked_q || range_now_q || writes_wait_i;

  always_comb begin
    for (int w = 0; w < 2; w++) begin
      drop_o[w] = all_q || now_q[context_i[w]] || (range_now_q && line_i[w] >= first_q && line_i[w] <= last_q);
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      asked_q <= '0;
      now_q <= '0;
      all_q <= 1'b1;
      range_asked_q <= 1'b0;
      range_now_q <= 1'b0;
      active_q <= 1'b0;
      set_q <= '0;
      first_q <= '0;
      last_q <= '0;
    end else begin
      asked_q <= asked_q | forget_i;
      if (flush_i && !flush_busy_o) begin
        range_asked_q <= 1'b1;
        first_q <= flush_first_i;
        last_q <= flush_last_i;
      end
      if (begin_i) begin
        active_q <= 1'b1;
        set_q <= '0;
        now_q <= asked_q;
        asked_q <= forget_i;
        range_now_q <= range_asked_q;
        range_asked_q <= flush_i && !flush_busy_o;
      end
      if (step_i) begin
        set_q <= set_q + 1'b1;
        if (&set_q) begin
          active_q <= 1'b0;
          all_q <= 1'b0;
          now_q <= '0;
          range_now_q <= 1'b0;
        end
      end
    end
  end

endmodule
