// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
`include "skid_channels.svh"

/// The five channels of the control path, each through a `skid`: cuts every path in both directions.
module axil_skid
  import eddy_pkg::*;
(
  input  logic      clk_i,
  /// Synchronous reset, active low; drops what is inside.
  input  logic      rst_ni,
  /// From the manager.
  input  lite_req_t req_i,
  output lite_rsp_t rsp_o,
  /// To the subordinate.
  output lite_req_t req_o,
  input  lite_rsp_t rsp_i
);

  `SKID_REQUESTS(skid, aw, lite_ax_t)
  `SKID_REQUESTS(skid, w, lite_w_t)
  `SKID_ANSWERS(skid, b, b_resp, logic [1:0])
  `SKID_REQUESTS(skid, ar, lite_ax_t)
  `SKID_ANSWERS(skid, r, r, lite_r_t)

endmodule
