// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The CPU's path to a slot's registers: every request is answered within a bound, whatever the slot does.
///
/// An answer that fails - too late, path closed, or an error the module answered itself - reads 0xDEAD and the offset,
/// with OKAY, or with SLVERR where `slverr_i` is set, and raises a fault for one cycle, the next. A request is forwarded two
/// cycles after it is complete, and answered at most `timeout_i` + 4 cycles after. Reads and writes do not wait for each
/// other. Unrequested responses of the slot are dropped.
module firewall_ctrl
  import eddy_pkg::*;
  import firewall_pkg::*;
#(
  parameter int unsigned TimeoutWidth = 16
) (
  input  logic                         clk_i,
  /// Synchronous reset, active low.
  input  logic                         rst_ni,
  input  logic                         path_rst_ni,
  input  logic                         open_i,
  input  logic                         slverr_i,
  input  logic      [TimeoutWidth-1:0] timeout_i,
  output logic                         idle_o,
  output fault_t                       fault_o,
  input  lite_req_t                    cpu_req_i,
  output lite_rsp_t                    cpu_rsp_o,
  output lite_req_t                    slot_req_o,
  input  lite_rsp_t                    slot_rsp_i
);

  // The CPU's request, held until it is answered.
  logic aw_held_q, w_held_q, ar_held_q;
  lite_ax_t aw_q, ar_q;
  lite_w_t w_q;

  // The part of a request that the slot has not accepted. Separate from the above, as the slot may never accept an old request.
  logic slot_aw_valid_q, slot_w_valid_q, slot_ar_valid_q;
  lite_ax_t slot_aw_q, slot_ar_q;
  lite_w_t slot_w_q;

  logic write_forward, write_answer, write_timeout, write_refuse, write_answered, write_busy;
  logic read_forward, read_answer, read_timeout, read_refuse, read_answered, read_busy;
  logic [1:0] failed_resp, b_resp_q;
  lite_r_t r_q;

  firewall_ctrl_access #(
    .TimeoutWidth(TimeoutWidth)
  ) u_write (
    .clk_i,
    .rst_ni,
    .path_rst_ni,
    .open_i,
    .timeout_i,
    .request_i(aw_held_q && w_held_q),
    .forward_o(write_forward),
    .sent_i(!slot_aw_valid_q && !slot_w_valid_q),
    .answer_valid_i(slot_rsp_i.b_valid),
    .answer_o(write_answer),
    .timeout_o(write_timeout),
    .refuse_o(write_refuse),
    .answered_o(write_answered),
    .taken_i(cpu_req_i.b_ready),
    .busy_o(write_busy)
  );

  firewall_ctrl_access #(
    .TimeoutWidth(TimeoutWidth)
  ) u_read (
    .clk_i,
    .rst_ni,
    .path_rst_ni,
    .open_i,
    .timeout_i,
    .request_i(ar_held_q),
    .forward_o(read_forward),
    .sent_i(!slot_ar_valid_q),
    .answer_valid_i(slot_rsp_i.r_valid),
    .answer_o(read_answer),
    .timeout_o(read_timeout),
    .refuse_o(read_refuse),
    .answered_o(read_answered),
    .taken_i(cpu_req_i.r_ready),
    .busy_o(read_busy)
  );

  // The CPU's side.
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      aw_held_q <= 1'b0;
      w_held_q <= 1'b0;
      ar_held_q <= 1'b0;
    end else begin
      if (write_answered && cpu_req_i.b_ready) begin
        aw_held_q <= 1'b0;
        w_held_q <= 1'b0;
      end else begin
        if (cpu_req_i.aw_valid) aw_held_q <= 1'b1;
        if (cpu_req_i.w_valid) w_held_q <= 1'b1;
      end
      if (read_answered && cpu_req_i.r_ready) ar_held_q <= 1'b0;
      else if (cpu_req_i.ar_valid) ar_held_q <= 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (cpu_req_i.aw_valid && !aw_held_q) aw_q <= cpu_req_i.aw;
    if (cpu_req_i.w_valid && !w_held_q) w_q <= cpu_req_i.w;
    if (cpu_req_i.ar_valid && !ar_held_q) ar_q <= cpu_req_i.ar;
  end

  assign failed_resp = slverr_i ? RespSlvErr : RespOkay;

  always_ff @(posedge clk_i) begin
    if (write_answer && !slot_rsp_i.b_resp[1]) b_resp_q <= RespOkay;
    else if (write_answer || write_timeout || write_refuse) b_resp_q <= failed_resp;
    if (read_answer && !slot_rsp_i.r.resp[1]) r_q <= '{data: slot_rsp_i.r.data, resp: RespOkay};
    else if (read_answer || read_timeout || read_refuse) r_q <= '{data: poison(ar_q.addr), resp: failed_resp};
  end

  always_comb begin
    cpu_rsp_o = '0;
    cpu_rsp_o.aw_ready = !aw_held_q;
    cpu_rsp_o.w_ready = !w_held_q;
    cpu_rsp_o.ar_ready = !ar_held_q;
    cpu_rsp_o.b_valid = write_answered;
    cpu_rsp_o.b_resp = b_resp_q;
    cpu_rsp_o.r_valid = read_answered;
    cpu_rsp_o.r = r_q;
  end

  // The slot's side.
  always_ff @(posedge clk_i) begin
    if (!rst_ni || !path_rst_ni) begin
      slot_aw_valid_q <= 1'b0;
      slot_w_valid_q <= 1'b0;
      slot_ar_valid_q <= 1'b0;
    end else begin
      if (write_forward) begin
        slot_aw_valid_q <= 1'b1;
        slot_w_valid_q <= 1'b1;
      end else begin
        if (slot_rsp_i.aw_ready) slot_aw_valid_q <= 1'b0;
        if (slot_rsp_i.w_ready) slot_w_valid_q <= 1'b0;
      end
      if (read_forward) slot_ar_valid_q <= 1'b1;
      else if (slot_rsp_i.ar_ready) slot_ar_valid_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (write_forward) begin
      slot_aw_q <= aw_q;
      slot_w_q <= w_q;
    end
    if (read_forward) slot_ar_q <= ar_q;
  end

  // Responses are always accepted: the expected one is kept, any other is dropped.
  always_comb begin
    slot_req_o = '0;
    slot_req_o.aw = slot_aw_q;
    slot_req_o.aw_valid = slot_aw_valid_q;
    slot_req_o.w = slot_w_q;
    slot_req_o.w_valid = slot_w_valid_q;
    slot_req_o.b_ready = 1'b1;
    slot_req_o.ar = slot_ar_q;
    slot_req_o.ar_valid = slot_ar_valid_q;
    slot_req_o.r_ready = 1'b1;
  end

  // Reported one cycle later, as for the memory path.
  always_ff @(posedge clk_i) begin
    fault_o <= '{cause: CauseNone, addr: '0, context_id: '0};
    if (!rst_ni) begin
      // Nothing happened.
    end else if (write_timeout || write_refuse || (write_answer && slot_rsp_i.b_resp[1])) begin
      fault_o.cause <= write_timeout ? CauseControlTimeout : CauseControlRefused;
      fault_o.addr <= AddrWidth'(aw_q.addr);
    end else if (read_timeout || read_refuse || (read_answer && slot_rsp_i.r.resp[1])) begin
      fault_o.cause <= read_timeout ? CauseControlTimeout : CauseControlRefused;
      fault_o.addr <= AddrWidth'(ar_q.addr);
    end
  end

  assign idle_o = !aw_held_q && !w_held_q && !ar_held_q && !write_busy && !read_busy;

endmodule
