// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
`include "skid_channels.svh"

/// The five channels of the memory path, each through a `skid`: cuts every path in both directions.
module axi_skid
  import eddy_pkg::*;
(
  input  logic     clk_i,
  /// Synchronous reset, active low; drops what is inside.
  input  logic     rst_ni,
  /// From the manager.
  input  axi_req_t req_i,
  output axi_rsp_t rsp_o,
  /// To the subordinate.
  output axi_req_t req_o,
  input  axi_rsp_t rsp_i
);

  `SKID_REQUESTS(skid, aw, ax_t)
  `SKID_REQUESTS(skid, w, w_t)
  `SKID_ANSWERS(skid, b, b, b_t)
  `SKID_REQUESTS(skid, ar, ax_t)
  `SKID_ANSWERS(skid, r, r, r_t)

endmodule
