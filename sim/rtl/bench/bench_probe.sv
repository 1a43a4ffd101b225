// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// A counter, and a claim that does not hold: what the benches' runner is tested on.
module bench_probe #(
  parameter bit Broken = 1'b0
) (
  input  logic       clk_i,
  input  logic       rst_ni,
  output logic [7:0] count_o
);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) count_o <= '0;
    else count_o <= count_o + 8'd1;
  end

  initial begin
    assert (!Broken) else $error("broken from the start");
  end

  CountsToThree : assert property (@(posedge clk_i) disable iff (!rst_ni) count_o < 8'd4)
  else $error("counted too far");

endmodule
