// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The watch with the ports that do not serve the simulator.
module clock_watch_bench (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        far_clk_i,
  input  logic        start_i,
  input  logic        busy_i,
  input  logic [15:0] timeout_i,
  output logic        checking_o,
  output logic        alive_o,
  output logic        lost_o
);

  clock_watch u_watch (
    .clk_i,
    .rst_ni,
    .far_clk_i,
    .start_i,
    .busy_i,
    .timeout_i,
    .checking_o,
    .alive_o,
    .lost_o
  );

endmodule
