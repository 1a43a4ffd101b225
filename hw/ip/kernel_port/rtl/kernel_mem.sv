// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
`include "axi_ports.svh"

/// The memory port of a kernel, of 8 to 1024 bits, as one manager of the slot port's width that never holds memory up: a write goes when its
/// data is here, a read when there is room for its answer (`burst_buffer`).
///
/// The contracts of what it serves and refuses stand above `kernel_parts`, `kernel_read` and `kernel_write`. Toward memory,
/// parts of 16 beats at most, with id 0, whose answers come in order.
module kernel_mem
  import eddy_pkg::*;
#(
  parameter int unsigned KernelDataWidth = 64,
  parameter int unsigned KernelAddrWidth = 64,
  parameter int unsigned KernelIdWidth = 1
) (
  input  logic clk_i,
  /// Synchronous reset, active low.
  input  logic rst_ni,

  `AXI_PORTS(s_axi, KernelIdWidth, KernelAddrWidth, KernelDataWidth, input logic, output logic),
  input logic s_axi_awlock,
  input logic s_axi_arlock,

  output axi_req_t req_o,
  input  axi_rsp_t rsp_i,

  /// Pulses: memory answered a read, a write with an error; a burst was refused.
  output logic read_error_o,
  output logic write_error_o,
  output logic refused_o,
  /// Nothing is under way.
  output logic quiet_o
);

  if (KernelDataWidth < 8 || KernelDataWidth > 1024 || (KernelDataWidth & (KernelDataWidth - 1)) != 0) begin : gen_check_data
    $fatal(1, "kernel_mem: KernelDataWidth must be a power of two from 8 to 1024");
  end
  if (KernelAddrWidth < 12 || KernelAddrWidth > 64) begin : gen_check_addr
    $fatal(1, "kernel_mem: KernelAddrWidth must be 12 to 64");
  end

  /// Write parts whose data is in the buffer or beyond, which it must have room to count.
  localparam int unsigned MaxParts = 16;

  axi_req_t parts;
  axi_rsp_t answers;
  logic read_refused, write_refused, read_quiet, write_quiet;

  kernel_read #(
    .KernelDataWidth(KernelDataWidth),
    .KernelAddrWidth(KernelAddrWidth),
    .KernelIdWidth(KernelIdWidth)
  ) u_read (
    .clk_i,
    .rst_ni,
    .arid_i(s_axi_arid),
    .araddr_i(s_axi_araddr),
    .arlen_i(s_axi_arlen),
    .arsize_i(s_axi_arsize),
    .arburst_i(s_axi_arburst),
    .arlock_i(s_axi_arlock),
    .arvalid_i(s_axi_arvalid),
    .arready_o(s_axi_arready),
    .rid_o(s_axi_rid),
    .rdata_o(s_axi_rdata),
    .rresp_o(s_axi_rresp),
    .rlast_o(s_axi_rlast),
    .rvalid_o(s_axi_rvalid),
    .rready_i(s_axi_rready),
    .ar_o(parts.ar),
    .ar_valid_o(parts.ar_valid),
    .ar_ready_i(answers.ar_ready),
    .r_i(answers.r),
    .r_valid_i(answers.r_valid),
    .r_ready_o(parts.r_ready),
    .error_o(read_error_o),
    .refused_o(read_refused),
    .quiet_o(read_quiet)
  );

  kernel_write #(
    .KernelDataWidth(KernelDataWidth),
    .KernelAddrWidth(KernelAddrWidth),
    .KernelIdWidth(KernelIdWidth),
    .MaxParts(MaxParts)
  ) u_write (
    .clk_i,
    .rst_ni,
    .awid_i(s_axi_awid),
    .awaddr_i(s_axi_awaddr),
    .awlen_i(s_axi_awlen),
    .awsize_i(s_axi_awsize),
    .awburst_i(s_axi_awburst),
    .awlock_i(s_axi_awlock),
    .awvalid_i(s_axi_awvalid),
    .awready_o(s_axi_awready),
    .wdata_i(s_axi_wdata),
    .wstrb_i(s_axi_wstrb),
    .wvalid_i(s_axi_wvalid),
    .wready_o(s_axi_wready),
    .bid_o(s_axi_bid),
    .bresp_o(s_axi_bresp),
    .bvalid_o(s_axi_bvalid),
    .bready_i(s_axi_bready),
    .aw_o(parts.aw),
    .aw_valid_o(parts.aw_valid),
    .aw_ready_i(answers.aw_ready),
    .w_o(parts.w),
    .w_valid_o(parts.w_valid),
    .w_ready_i(answers.w_ready),
    .b_i(answers.b),
    .b_valid_i(answers.b_valid),
    .b_ready_o(parts.b_ready),
    .error_o(write_error_o),
    .refused_o(write_refused),
    .quiet_o(write_quiet)
  );

  burst_buffer #(
    .MaxOutstanding(MaxParts)
  ) u_buffer (
    .clk_i,
    .rst_ni,
    .req_i(parts),
    .rsp_o(answers),
    .req_o,
    .rsp_i
  );

  assign refused_o = read_refused || write_refused;
  assign quiet_o = read_quiet && write_quiet;

  // A burst ends by its length.
  logic unused;
  assign unused = s_axi_wlast;

endmodule
