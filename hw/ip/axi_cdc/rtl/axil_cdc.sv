// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
`include "cdc_channels.svh"

/// The five channels of the control path between two clocks, each over an `async_fifo`.
///
/// Reset both sides together (see `async_fifo`; `reset_pair` does it); what is in flight is then lost, which is for the
/// firewall to make good on the shell's side and for the module's own reset on the other.
module axil_cdc
  import eddy_pkg::*;
#(
  /// Words each channel holds; a power of two.
  parameter int unsigned Depth = 8
) (
  /// The manager's clock and its reset, active low.
  input  logic      src_clk_i,
  input  logic      src_rst_ni,
  input  lite_req_t src_req_i,
  output lite_rsp_t src_rsp_o,
  /// The subordinate's clock and its reset, active low.
  input  logic      dst_clk_i,
  input  logic      dst_rst_ni,
  output lite_req_t dst_req_o,
  input  lite_rsp_t dst_rsp_i
);

  `CDC_REQUESTS(aw, lite_ax_t)
  `CDC_REQUESTS(w, lite_w_t)
  `CDC_ANSWERS(b, b_resp, logic [1:0])
  `CDC_REQUESTS(ar, lite_ax_t)
  `CDC_ANSWERS(r, r, lite_r_t)

endmodule
