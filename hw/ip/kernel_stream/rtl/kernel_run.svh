// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// The run of a kernel that has streams or a control of its own. The top declares NumStreams, ToKernel, SaysDone, SaysReady,
// ResetAtStart and StallCycles, includes `kernel_slot.svh` and this, and connects `stream_*` and `kernel_*`. Bundle 0 is the run.

  localparam int unsigned Streams = NumStreams == 0 ? 1 : NumStreams;

  logic [Streams-1:0][39:0] stream_addr;
  logic [Streams-1:0][31:0] stream_bytes, stream_moved;
  logic [Streams-1:0] stream_busy, stream_overlong, stream_ragged, stream_moves;
  logic streams_start, streams_stop, kernel_start, kernel_rst_n, running, kernel_ready, kernel_done, kernel_quiet, moves;

  // What waits for memory alone is no stall of the kernel's.
  assign moves = |stream_moves || m_axi_arvalid || m_axi_rvalid || m_axi_awvalid || m_axi_wvalid || m_axi_bvalid;

  kernel_run #(
    .NumStreams(NumStreams), .ToKernel(ToKernel), .SaysDone(SaysDone), .SaysReady(SaysReady), .ResetAtStart(ResetAtStart),
    .StallCycles(StallCycles)
  ) u_run (
    .clk_i, .rst_ni, .awaddr_i(bundle_awaddr), .awvalid_i(bundle_awvalid[0]), .awready_o(bundle_awready[0]),
    .wdata_i(bundle_wdata), .wstrb_i(bundle_wstrb), .wvalid_i(bundle_wvalid[0]), .wready_o(bundle_wready[0]),
    .bvalid_o(bundle_bvalid[0]), .bready_i(bundle_bready[0]), .araddr_i(bundle_araddr), .arvalid_i(bundle_arvalid[0]),
    .arready_o(bundle_arready[0]), .rdata_o(bundle_rdata[0]), .rvalid_o(bundle_rvalid[0]), .rready_i(bundle_rready[0]),
    .irq_o(irq), .start_o(streams_start), .stop_o(streams_stop), .addr_o(stream_addr), .bytes_o(stream_bytes),
    .moved_i(stream_moved), .busy_i(stream_busy), .overlong_i(stream_overlong), .ragged_i(stream_ragged),
    .kernel_start_o(kernel_start), .kernel_rst_no(kernel_rst_n), .running_o(running),
    .kernel_ready_i(kernel_ready), .kernel_done_i(kernel_done),
    .kernel_quiet_i(kernel_quiet), .moves_i(moves), .trouble_o(trouble)
  );
