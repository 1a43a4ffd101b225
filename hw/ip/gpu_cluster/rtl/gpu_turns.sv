// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Whose turn it is among those that want something: the next behind the last one, in a ring.
///
/// Of more than two the choice is a register: made when somebody wants something and nobody is chosen, or with `done_i`
/// for the next. Who wants something wants it until it has had its turn.
module gpu_turns #(
  parameter int unsigned Number = 4,
  localparam int unsigned Width = (Number > 1) ? $clog2(Number) : 1
) (
  input  logic              clk_i,
  /// Synchronous reset, active low.
  input  logic              rst_ni,
  input  logic [Number-1:0] want_i,
  /// Who was chosen has had its turn.
  input  logic              done_i,
  output logic              valid_o,
  output logic [Width-1:0]  index_o
);

  typedef logic [Width-1:0] index_t;

  // Those behind the last one.
  logic [Number-1:0] behind_q, candidates, later, first;
  index_t index;

  always_comb begin
    later = '0;
    first = '0;
    index = '0;
    if (candidates != '0) begin
      later = candidates & behind_q;
      if (later == '0) later = candidates;
      first = later & (~later + Number'(1));
      for (int n = 0; n < int'(Number); n++) if (first[n]) index = index | index_t'(n);
    end
  end

  if (Number > 2) begin : gen_kept
    logic valid_q;
    logic [Number-1:0] chosen_q;
    index_t index_q;

    // Nobody is chosen again before it has had its turn; while nobody is, all are candidates.
    assign candidates = want_i & ~chosen_q;
    assign valid_o = valid_q;
    assign index_o = index_q;

    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        valid_q <= 1'b0;
        chosen_q <= '0;
        index_q <= '0;
        behind_q <= '0;
      end else if (done_i || (!valid_q && want_i != '0)) begin
        valid_q <= candidates != '0;
        chosen_q <= first;
        index_q <= index;
        if (candidates != '0) behind_q <= ~(first | (first - Number'(1)));
      end
    end

`ifndef SYNTHESIS
    StillWanted_A : assert property (@(posedge clk_i) disable iff (!rst_ni) valid_q |-> want_i[index_q]);
`endif
  end else begin : gen_now
    assign candidates = want_i;
    assign valid_o = want_i != '0;
    assign index_o = index;

    always_ff @(posedge clk_i) begin
      if (!rst_ni) behind_q <= '0;
      else if (done_i) behind_q <= ~(first | (first - Number'(1)));
    end
  end

`ifndef SYNTHESIS
  OnlyWhoIsChosen_A : assert property (@(posedge clk_i) disable iff (!rst_ni) done_i |-> valid_o);
`endif

endmodule
