// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
`include "skid_channels.svh"

/// The five channels of the control path, each through a `stage`: cuts every path in both directions.
///
/// A register access is one word a channel, so that half the rate of a `skid` costs nothing.
module axil_stage
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

  `SKID_REQUESTS(stage, aw, lite_ax_t)
  `SKID_REQUESTS(stage, w, lite_w_t)
  `SKID_ANSWERS(stage, b, b_resp, logic [1:0])
  `SKID_REQUESTS(stage, ar, lite_ax_t)
  `SKID_ANSWERS(stage, r, r, lite_r_t)

endmodule
