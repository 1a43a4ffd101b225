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

  async_fifo #(
    .Width($bits(ax_t)),
    .Depth(Depth)
  ) u_aw (
    .src_clk_i(src_clk_i),
    .src_rst_ni(src_rst_ni),
    .dst_clk_i(dst_clk_i),
    .dst_rst_ni(dst_rst_ni),
    .valid_i(src_req_i.aw_valid),
    .ready_o(src_rsp_o.aw_ready),
    .data_i(src_req_i.aw),
    .valid_o(dst_req_o.aw_valid),
    .ready_i(dst_rsp_i.aw_ready),
    .data_o(dst_req_o.aw)
  );

  async_fifo #(
    .Width($bits(w_t)),
    .Depth(Depth)
  ) u_w (
    .src_clk_i(src_clk_i),
    .src_rst_ni(src_rst_ni),
    .dst_clk_i(dst_clk_i),
    .dst_rst_ni(dst_rst_ni),
    .valid_i(src_req_i.w_valid),
    .ready_o(src_rsp_o.w_ready),
    .data_i(src_req_i.w),
    .valid_o(dst_req_o.w_valid),
    .ready_i(dst_rsp_i.w_ready),
    .data_o(dst_req_o.w)
  );

  async_fifo #(
    .Width($bits(b_t)),
    .Depth(Depth)
  ) u_b (
    .src_clk_i(dst_clk_i),
    .src_rst_ni(dst_rst_ni),
    .dst_clk_i(src_clk_i),
    .dst_rst_ni(src_rst_ni),
    .valid_i(dst_rsp_i.b_valid),
    .ready_o(dst_req_o.b_ready),
    .data_i(dst_rsp_i.b),
    .valid_o(src_rsp_o.b_valid),
    .ready_i(src_req_i.b_ready),
    .data_o(src_rsp_o.b)
  );

  async_fifo #(
    .Width($bits(ax_t)),
    .Depth(Depth)
  ) u_ar (
    .src_clk_i(src_clk_i),
    .src_rst_ni(src_rst_ni),
    .dst_clk_i(dst_clk_i),
    .dst_rst_ni(dst_rst_ni),
    .valid_i(src_req_i.ar_valid),
    .ready_o(src_rsp_o.ar_ready),
    .data_i(src_req_i.ar),
    .valid_o(dst_req_o.ar_valid),
    .ready_i(dst_rsp_i.ar_ready),
    .data_o(dst_req_o.ar)
  );

  async_fifo #(
    .Width($bits(r_t)),
    .Depth(Depth)
  ) u_r (
    .src_clk_i(dst_clk_i),
    .src_rst_ni(dst_rst_ni),
    .dst_clk_i(src_clk_i),
    .dst_rst_ni(src_rst_ni),
    .valid_i(dst_rsp_i.r_valid),
    .ready_o(dst_req_o.r_ready),
    .data_i(dst_rsp_i.r),
    .valid_o(src_rsp_o.r_valid),
    .ready_i(src_req_i.r_ready),
    .data_o(src_rsp_o.r)
  );

endmodule
