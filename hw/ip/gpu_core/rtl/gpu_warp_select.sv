// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Which warp issues: the next ready one after the last that did, so that each ready warp issues within `Warps` issues.
module gpu_warp_select #(
  parameter int unsigned Warps = 4,
  localparam int unsigned WarpWidth = (Warps > 1) ? $clog2(Warps) : 1
) (
  input  logic                 clk_i,
  /// Synchronous reset, active low: warp 1 is the next one, where it is ready.
  input  logic                 rst_ni,
  input  logic [Warps-1:0]     ready_i,
  /// Nothing issues.
  input  logic                 hold_i,
  output logic                 issue_o,
  /// Of the ready ones whenever there is one, held or not.
  output logic [WarpWidth-1:0] warp_o
);

  logic [WarpWidth-1:0] last_q;
  logic [Warps-1:0] later;

  always_comb begin
    later = ready_i & ~((Warps'(2) << last_q) - Warps'(1));
    if (later == '0) later = ready_i;
    warp_o = '0;
    for (int w = int'(Warps) - 1; w >= 0; w--) if (later[w]) warp_o = WarpWidth'(w);
  end

  assign issue_o = ready_i != '0 && !hold_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) last_q <= '0;
    else if (issue_o) last_q <= warp_o;
  end

`ifndef SYNTHESIS
  OnlyTheReady_A : assert property (@(posedge clk_i) disable iff (!rst_ni) issue_o |-> ready_i[warp_o] && !hold_i);
  if (Warps > 1) begin : gen_turns
    NotTwiceWhileOthersAreReady_A : assert property (@(posedge clk_i) disable iff (!rst_ni)
      issue_o && warp_o == last_q |-> (ready_i & ~(Warps'(1) << last_q)) == '0);
  end
`endif

endmodule
