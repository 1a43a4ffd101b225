// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Every request of the CPU is answered within the bound, once, and only asked ones, whatever the slot drives and
/// whenever the path closes or resets.
module firewall_ctrl_proof
  import eddy_pkg::*;
  import firewall_pkg::*;
#(
  parameter int unsigned TimeoutWidth = 3
) (
  input logic                    clk_i,
  input logic                    rst_ni,
  input logic                    path_rst_ni,
  input logic                    open_i,
  input logic                    slverr_i,
  input logic [TimeoutWidth-1:0] timeout_i,
  input lite_req_t               cpu_req_i,
  input lite_rsp_t               slot_rsp_i
);

  localparam int unsigned MaxTimeout = (1 << TimeoutWidth) - 1;
  /// Cycles from the one in which the request is complete to the one that shows the answer, besides the timeout.
  localparam int unsigned Overhead = 2;

  logic idle;
  fault_t fault;
  lite_rsp_t cpu_rsp;
  lite_req_t slot_req;

  firewall_ctrl #(.TimeoutWidth(TimeoutWidth)) dut (
    .clk_i, .rst_ni, .path_rst_ni, .open_i, .slverr_i, .timeout_i, .idle_o(idle), .fault_o(fault),
    .cpu_req_i, .cpu_rsp_o(cpu_rsp), .slot_req_o(slot_req), .slot_rsp_i
  );

  logic started_q = 1'b0;
  always_ff @(posedge clk_i) started_q <= 1'b1;
  always_comb if (!started_q) InReset_M : assume (!rst_ni);

  // The CPU keeps a request until it is taken; it may be as slow as it likes to take an answer.
  always_ff @(posedge clk_i) begin
    if (started_q && rst_ni && $past(rst_ni)) begin
      if ($past(cpu_req_i.aw_valid && !cpu_rsp.aw_ready))
        AddressHeld_M : assume (cpu_req_i.aw_valid && $stable(cpu_req_i.aw));
      if ($past(cpu_req_i.w_valid && !cpu_rsp.w_ready))
        DataHeld_M : assume (cpu_req_i.w_valid && $stable(cpu_req_i.w));
      if ($past(cpu_req_i.ar_valid && !cpu_rsp.ar_ready))
        ReadHeld_M : assume (cpu_req_i.ar_valid && $stable(cpu_req_i.ar));
    end
  end

  // What the CPU has asked, seen from outside.
  logic aw_asked_q, w_asked_q, ar_asked_q;
  logic [TimeoutWidth:0] write_age_q, read_age_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      aw_asked_q <= 1'b0;
      w_asked_q <= 1'b0;
      ar_asked_q <= 1'b0;
      write_age_q <= '0;
      read_age_q <= '0;
    end else begin
      if (cpu_rsp.b_valid && cpu_req_i.b_ready) begin
        aw_asked_q <= 1'b0;
        w_asked_q <= 1'b0;
      end else begin
        if (cpu_req_i.aw_valid && cpu_rsp.aw_ready) aw_asked_q <= 1'b1;
        if (cpu_req_i.w_valid && cpu_rsp.w_ready) w_asked_q <= 1'b1;
      end
      if (cpu_rsp.r_valid && cpu_req_i.r_ready) ar_asked_q <= 1'b0;
      else if (cpu_req_i.ar_valid && cpu_rsp.ar_ready) ar_asked_q <= 1'b1;
      write_age_q <= aw_asked_q && w_asked_q && !cpu_rsp.b_valid ? write_age_q + 1'b1 : '0;
      read_age_q <= ar_asked_q && !cpu_rsp.r_valid ? read_age_q + 1'b1 : '0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (started_q && rst_ni) begin
      WriteAnsweredInTime_A : assert (32'(write_age_q) < MaxTimeout + Overhead);
      ReadAnsweredInTime_A : assert (32'(read_age_q) < MaxTimeout + Overhead);
      OnlyAskedWritesAreAnswered_A : assert (!cpu_rsp.b_valid || (aw_asked_q && w_asked_q));
      OnlyAskedReadsAreAnswered_A : assert (!cpu_rsp.r_valid || ar_asked_q);
      if ($past(rst_ni)) begin
        if ($past(cpu_rsp.b_valid && !cpu_req_i.b_ready))
          WriteAnswerHeld_A : assert (cpu_rsp.b_valid && $stable(cpu_rsp.b_resp));
        if ($past(cpu_rsp.r_valid && !cpu_req_i.r_ready))
          ReadAnswerHeld_A : assert (cpu_rsp.r_valid && $stable(cpu_rsp.r));
        if ($past(!slverr_i) && cpu_rsp.r_valid && !$past(cpu_rsp.r_valid))
          NoBusErrorUnlessSet_A : assert (cpu_rsp.r.resp == RespOkay);
        // A closed path reads poison, and says so in one cycle.
        if ($past(ar_asked_q && !cpu_rsp.r_valid && !(open_i && path_rst_ni)))
          ClosedReadsPoison_A : assert (cpu_rsp.r_valid && cpu_rsp.r.data == poison(dut.ar_q.addr));
        if ($past(aw_asked_q && w_asked_q && !cpu_rsp.b_valid && !(open_i && path_rst_ni)))
          ClosedWriteIsAnswered_A : assert (cpu_rsp.b_valid);
      end
      // For induction: what is seen from outside is what is held inside, and time passes in step.
      AskedIsHeld_A :
      assert (aw_asked_q == dut.aw_held_q && w_asked_q == dut.w_held_q && ar_asked_q == dut.ar_held_q);
      WaitingIsAsked_A :
      assert ((!dut.u_write.waiting_q || (aw_asked_q && w_asked_q)) && (!dut.u_read.waiting_q || ar_asked_q));
      AnsweredIsAsked_A :
      assert ((!dut.u_write.answered_q || (aw_asked_q && w_asked_q)) && (!dut.u_read.answered_q || ar_asked_q));
      WriteTimeAddsUp_A :
      assert (!dut.u_write.waiting_q || 32'(write_age_q) + 32'(dut.u_write.left_q) <= MaxTimeout + 1);
      ReadTimeAddsUp_A :
      assert (!dut.u_read.waiting_q || 32'(read_age_q) + 32'(dut.u_read.left_q) <= MaxTimeout + 1);
      FreshIsYoung_A :
      assert ((dut.u_write.waiting_q || cpu_rsp.b_valid || write_age_q == '0)
              && (dut.u_read.waiting_q || cpu_rsp.r_valid || read_age_q == '0));
    end
  end

endmodule
