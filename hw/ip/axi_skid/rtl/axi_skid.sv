// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
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

  skid #(
    .Width($bits(ax_t))
  ) u_aw (
    .clk_i,
    .rst_ni,
    .valid_i(req_i.aw_valid),
    .ready_o(rsp_o.aw_ready),
    .data_i(req_i.aw),
    .valid_o(req_o.aw_valid),
    .ready_i(rsp_i.aw_ready),
    .data_o(req_o.aw)
  );

  skid #(
    .Width($bits(w_t))
  ) u_w (
    .clk_i,
    .rst_ni,
    .valid_i(req_i.w_valid),
    .ready_o(rsp_o.w_ready),
    .data_i(req_i.w),
    .valid_o(req_o.w_valid),
    .ready_i(rsp_i.w_ready),
    .data_o(req_o.w)
  );

  skid #(
    .Width($bits(b_t))
  ) u_b (
    .clk_i,
    .rst_ni,
    .valid_i(rsp_i.b_valid),
    .ready_o(req_o.b_ready),
    .data_i(rsp_i.b),
    .valid_o(rsp_o.b_valid),
    .ready_i(req_i.b_ready),
    .data_o(rsp_o.b)
  );

  skid #(
    .Width($bits(ax_t))
  ) u_ar (
    .clk_i,
    .rst_ni,
    .valid_i(req_i.ar_valid),
    .ready_o(rsp_o.ar_ready),
    .data_i(req_i.ar),
    .valid_o(req_o.ar_valid),
    .ready_i(rsp_i.ar_ready),
    .data_o(req_o.ar)
  );

  skid #(
    .Width($bits(r_t))
  ) u_r (
    .clk_i,
    .rst_ni,
    .valid_i(rsp_i.r_valid),
    .ready_o(req_o.r_ready),
    .data_i(rsp_i.r),
    .valid_o(rsp_o.r_valid),
    .ready_i(req_i.r_ready),
    .data_o(rsp_o.r)
  );

endmodule
