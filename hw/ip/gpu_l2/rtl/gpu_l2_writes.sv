// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The writes that memory has not answered, oldest first.
///
/// Answers to one id come in order, so an answer belongs to the oldest write of its id.
module gpu_l2_writes
  import eddy_pkg::*;
#(
  parameter int unsigned LineWidth = 34,
  /// Writes that may be on their way.
  parameter int unsigned Slots = 8
) (
  input  logic                 clk_i,
  /// Synchronous reset, active low.
  input  logic                 rst_ni,
  input  logic                 push_i,
  input  logic [IdWidth-1:0]   push_id_i,
  input  logic [LineWidth-1:0] push_line_i,
  output logic                 full_o,
  input  logic                 pop_i,
  input  logic [IdWidth-1:0]   pop_id_i,
  /// Those here now are to be waited for: `marked_o` until the last of them was answered.
  input  logic                 mark_i,
  output logic                 marked_o,
  /// Whether a line is being written.
  input  logic                 probe_i,
  input  logic [LineWidth-1:0] probe_line_i,
  output logic                 conflict_o
);

  localparam int unsigned CountWidth = $clog2(Slots + 1);

  logic [CountWidth-1:0] count_q, tail;
  logic [Slots-1:0] valid, gone, marked_q, next_marked;
  logic [IdWidth-1:0] id_q [Slots];
  logic [LineWidth-1:0] line_q [Slots];

  assign full_o = count_q == CountWidth'(Slots);
  assign tail = count_q - CountWidth'(pop_i);
  assign marked_o = marked_q != '0;
  assign next_marked = marked_q | (mark_i ? valid : '0);

  always_comb begin
    for (int s = 0; s < int'(Slots); s++) valid[s] = CountWidth'(s) < count_q;
  end

  // The answered one and all places behind it, which take what stands behind them.
  always_comb begin
    automatic logic found;
    gone = '0;
    found = 1'b0;
    if (pop_i) begin
      for (int s = 0; s < int'(Slots); s++) begin
        found |= valid[s] && id_q[s] == pop_id_i;
        gone[s] = found;
      end
    end
  end

  always_comb begin
    conflict_o = 1'b0;
    if (probe_i) begin
      for (int s = 0; s < int'(Slots); s++) if (valid[s] && line_q[s] == probe_line_i) conflict_o = 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      count_q <= '0;
      marked_q <= '0;
    end else if (push_i || pop_i || mark_i) begin
      count_q <= tail + CountWidth'(push_i);
      for (int s = 0; s < int'(Slots); s++) begin
        automatic int next;
        next = (s + 1 < int'(Slots)) ? s + 1 : s;
        marked_q[s] <= gone[s] ? next != s && next_marked[next] : next_marked[s];
        if (gone[s]) begin
          id_q[s] <= id_q[next];
          line_q[s] <= line_q[next];
        end
        if (push_i && CountWidth'(s) == tail) begin
          marked_q[s] <= 1'b0;
          id_q[s] <= push_id_i;
          line_q[s] <= push_line_i;
        end
      end
    end
  end

`ifndef SYNTHESIS
  AnswersHaveAskers_A : assert property (@(posedge clk_i) disable iff (!rst_ni) pop_i |-> gone != '0);
  NeverTooMany_A : assert property (@(posedge clk_i) disable iff (!rst_ni) push_i |-> !full_o);
`endif

endmodule
