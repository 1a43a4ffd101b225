// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The slot's memory path: passes only legal bursts within windows, and finishes each within a bound whatever the slot does.
///
/// - A burst that AXI forbids, or outside the windows of its context, is refused: its write data is discarded, the response
///   is SLVERR, and memory sees nothing. The slot continues.
/// - Write data or a response that the slot stalls for more than `timeout_i` cycles in a burst, or a `last` in the wrong
///   beat, isolates the slot: from then on it is cut off until `clear_i`.
/// - Cut off - isolated, closed, or its path in reset - the slot is ignored: outstanding write beats go to memory with strobes
///   low, responses are dropped, new requests wait. A cut lasts until no transaction is outstanding, so the next module sees
///   nothing of the previous one.
/// - Revocation: with `revoke_i` set, or every window closed, each new request is refused. Once `drained_o` is seen then, the
///   slot has no transaction toward memory, and gets none until a window is open again: the memory may be given to another
///   owner. Windows and `revoke_i` may change at any time; admitted bursts complete.
///
/// Requests and write data are registered once; responses pass through in the same cycle. Write data may reach memory
/// before its request is accepted, never before it is offered.
module firewall_mem
  import eddy_pkg::*;
  import firewall_pkg::*;
#(
  parameter int unsigned MaxOutstanding = 8,
  parameter int unsigned TimeoutWidth = 16
) (
  input  logic                         clk_i,
  /// Synchronous reset, active low.
  input  logic                         rst_ni,
  input  logic                         path_rst_ni,
  input  logic                         open_i,
  input  logic                         quiesce_i,
  input  logic                         clear_i,
  input  logic     [ TimeoutWidth-1:0] timeout_i,
  /// The windows' answers to the requests of each direction (`firewall_windows`).
  output lookup_req_t                  read_lookup_o,
  input  lookup_rsp_t                  read_lookup_i,
  output lookup_req_t                  write_lookup_o,
  input  lookup_rsp_t                  write_lookup_i,
  input  logic                         revoke_i,
  output logic                         idle_o,
  output logic                         drained_o,
  output logic                         isolated_o,
  /// The fault of the previous cycle; `cause` is `CauseNone` without one.
  output fault_t                       fault_o,
  input  axi_req_t                     slot_req_i,
  output axi_rsp_t                     slot_rsp_o,
  output axi_req_t                     mem_req_o,
  input  axi_rsp_t                     mem_rsp_i
);

  logic isolated_q, draining_q;
  logic away, cut, block;
  logic write_idle, read_idle, write_drained, read_drained, write_isolate, read_isolate;
  fault_t write_fault, read_fault;

  assign away = isolated_q || !open_i || !path_rst_ni;
  assign cut = away || draining_q;
  assign block = cut || quiesce_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      isolated_q <= 1'b0;
      draining_q <= 1'b0;
    end else begin
      isolated_q <= write_isolate || read_isolate || (isolated_q && !clear_i);
      draining_q <= cut && !idle_o;
    end
  end

  firewall_write #(
    .MaxOutstanding(MaxOutstanding),
    .TimeoutWidth(TimeoutWidth)
  ) u_write (
    .clk_i,
    .rst_ni,
    .block_i(block),
    .cut_i(cut),
    .timeout_i,
    .lookup_o(write_lookup_o),
    .lookup_i(write_lookup_i),
    .revoke_i,
    .idle_o(write_idle),
    .drained_o(write_drained),
    .fault_o(write_fault),
    .isolate_o(write_isolate),
    .aw_valid_i(slot_req_i.aw_valid),
    .aw_ready_o(slot_rsp_o.aw_ready),
    .aw_i(slot_req_i.aw),
    .w_valid_i(slot_req_i.w_valid),
    .w_ready_o(slot_rsp_o.w_ready),
    .w_i(slot_req_i.w),
    .b_valid_o(slot_rsp_o.b_valid),
    .b_ready_i(slot_req_i.b_ready),
    .b_o(slot_rsp_o.b),
    .aw_valid_o(mem_req_o.aw_valid),
    .aw_ready_i(mem_rsp_i.aw_ready),
    .aw_o(mem_req_o.aw),
    .w_valid_o(mem_req_o.w_valid),
    .w_ready_i(mem_rsp_i.w_ready),
    .w_o(mem_req_o.w),
    .b_valid_i(mem_rsp_i.b_valid),
    .b_ready_o(mem_req_o.b_ready),
    .b_i(mem_rsp_i.b)
  );

  firewall_read #(
    .MaxOutstanding(MaxOutstanding),
    .TimeoutWidth(TimeoutWidth)
  ) u_read (
    .clk_i,
    .rst_ni,
    .block_i(block),
    .cut_i(cut),
    .timeout_i,
    .lookup_o(read_lookup_o),
    .lookup_i(read_lookup_i),
    .revoke_i,
    .idle_o(read_idle),
    .drained_o(read_drained),
    .fault_o(read_fault),
    .isolate_o(read_isolate),
    .ar_valid_i(slot_req_i.ar_valid),
    .ar_ready_o(slot_rsp_o.ar_ready),
    .ar_i(slot_req_i.ar),
    .r_valid_o(slot_rsp_o.r_valid),
    .r_ready_i(slot_req_i.r_ready),
    .r_o(slot_rsp_o.r),
    .ar_valid_o(mem_req_o.ar_valid),
    .ar_ready_i(mem_rsp_i.ar_ready),
    .ar_o(mem_req_o.ar),
    .r_valid_i(mem_rsp_i.r_valid),
    .r_ready_o(mem_req_o.r_ready),
    .r_i(mem_rsp_i.r)
  );

  assign idle_o = write_idle && read_idle;
  assign drained_o = write_drained && read_drained;
  assign isolated_o = isolated_q;
  assign fault_o = write_fault.cause != CauseNone ? write_fault : read_fault;

endmodule
