// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Decides how one register access of the CPU ends: by the slot's answer, or without it.
///
/// One access of each direction is outstanding at a time. After a timeout the CPU is answered without the slot and the access
/// stays `late`: its response is dropped when it arrives, and until then further accesses fail at once, so a hanging module
/// costs the CPU one timeout, not one per access.
module firewall_ctrl_access #(
  parameter int unsigned TimeoutWidth = 16
) (
  input  logic                    clk_i,
  /// Synchronous reset, active low.
  input  logic                    rst_ni,
  input  logic                    path_rst_ni,
  input  logic                    open_i,
  input  logic [TimeoutWidth-1:0] timeout_i,
  /// The CPU's request is complete; stays high until it has taken the answer.
  input  logic                    request_i,
  /// Give the request to the slot.
  output logic                    forward_o,
  /// The slot's side has taken all of the request.
  input  logic                    sent_i,
  /// The slot answers something.
  input  logic                    answer_valid_i,
  /// The answer above is the one to this request: keep it for the CPU.
  output logic                    answer_o,
  /// Answer the CPU without the slot: timeout.
  output logic                    timeout_o,
  /// Answer the CPU without the slot: the path is closed.
  output logic                    refuse_o,
  /// The CPU has an answer waiting, and takes it.
  output logic                    answered_o,
  input  logic                    taken_i,
  /// An access is with the slot, whether the CPU waits for it or not.
  output logic                    busy_o
);

  logic waiting_q, late_q, answered_q;
  logic [TimeoutWidth-1:0] left_q;
  logic reachable, fresh, arrived;

  assign reachable = open_i && path_rst_ni;
  assign fresh = request_i && !waiting_q && !answered_q;
  assign arrived = sent_i && answer_valid_i;

  assign forward_o = fresh && reachable && !late_q;
  assign answer_o = waiting_q && arrived && reachable;
  assign refuse_o = (fresh || waiting_q) && !reachable;
  assign timeout_o = reachable && ((fresh && late_q) || (waiting_q && !arrived && left_q <= TimeoutWidth'(1)));

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      waiting_q <= 1'b0;
      late_q <= 1'b0;
      answered_q <= 1'b0;
      left_q <= '0;
    end else begin
      if (forward_o) begin
        waiting_q <= 1'b1;
        left_q <= timeout_i;
      end else if (waiting_q) begin
        left_q <= left_q - TimeoutWidth'(1);
        if (answer_o || timeout_o || refuse_o) waiting_q <= 1'b0;
      end

      if (answer_o || timeout_o || refuse_o) answered_q <= 1'b1;
      else if (taken_i) answered_q <= 1'b0;

      if (!path_rst_ni) late_q <= 1'b0;
      else if (waiting_q && (timeout_o || refuse_o)) late_q <= !arrived;
      else if (arrived) late_q <= 1'b0;
    end
  end

  assign answered_o = answered_q;
  assign busy_o = waiting_q || late_q;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      OneAccessAtATime_A :
      assert (!(waiting_q && late_q))
      else $error("firewall_ctrl_access: forwarded behind a late access");
      NoAnswerWhileWaiting_A :
      assert (!(waiting_q && answered_q))
      else $error("firewall_ctrl_access: answered twice");
    end
  end
`endif

endmodule
