// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The pair of resets with the ports that do not serve the simulator.
module reset_pair_bench (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic clear_i,
  output logic rst_no,
  input  logic far_clk_i,
  output logic far_rst_no
);

  reset_pair u_pair (
    .clk_i,
    .rst_ni,
    .clear_i,
    .rst_no,
    .far_clk_i,
    .far_rst_no
  );

endmodule
