// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
`include "cdc_channels.svh"

/// The five channels of the memory path between two clocks, each over an `async_fifo`.
///
/// Reset both sides together (see `async_fifo`; `reset_pair` does it); what is in flight is then lost, which is for the
/// firewall to make good on the shell's side and for the module's own reset on the other.
module axi_cdc
  import eddy_pkg::*;
#(
  /// Words each channel holds; a power of two.
  parameter int unsigned Depth = 8
) (
  /// The manager's clock and its reset, active low.
  input  logic     src_clk_i,
  input  logic     src_rst_ni,
  input  axi_req_t src_req_i,
  output axi_rsp_t src_rsp_o,
  /// The subordinate's clock and its reset, active low.
  input  logic     dst_clk_i,
  input  logic     dst_rst_ni,
  output axi_req_t dst_req_o,
  input  axi_rsp_t dst_rsp_i
);

  `CDC_REQUESTS(aw, ax_t)
  `CDC_REQUESTS(w, w_t)
  `CDC_ANSWERS(b, b, b_t)
  `CDC_REQUESTS(ar, ax_t)
  `CDC_ANSWERS(r, r, r_t)

endmodule
