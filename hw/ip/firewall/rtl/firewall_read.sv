// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The read half of the memory path: a burst given to memory has its data taken.
///
/// The slot may stall a burst's data for `timeout_i` cycles in total. While `cut_i` is set the slot is ignored: read data is
/// accepted and dropped, and a pending refusal is discarded. A refused burst reads zeroes with SLVERR.
module firewall_read
  import eddy_pkg::*;
  import firewall_pkg::*;
#(
  parameter int unsigned MaxOutstanding = 8,
  parameter int unsigned TimeoutWidth = 16
) (
  input  logic                         clk_i,
  /// Synchronous reset, active low.
  input  logic                         rst_ni,
  input  logic                         block_i,
  input  logic                         cut_i,
  input  logic    [  TimeoutWidth-1:0] timeout_i,
  output lookup_req_t                  lookup_o,
  input  lookup_rsp_t                  lookup_i,
  input  logic                         revoke_i,
  output logic                         idle_o,
  output logic                         drained_o,
  /// The fault of the previous cycle; whether a fault of this cycle leaves the slot's streams out of step.
  output fault_t                       fault_o,
  output logic                         isolate_o,
  /// From the slot.
  input  logic                         ar_valid_i,
  output logic                         ar_ready_o,
  input  ax_t                          ar_i,
  output logic                         r_valid_o,
  input  logic                         r_ready_i,
  output r_t                           r_o,
  /// To memory.
  output logic                         ar_valid_o,
  input  logic                         ar_ready_i,
  output ax_t                          ar_o,
  input  logic                         r_valid_i,
  output logic                         r_ready_o,
  input  r_t                           r_i
);

  logic answer_refused, finish, r_late, unused_admit, unused_legal;
  logic [IdWidth-1:0] refused_id;
  logic [7:0] refused_len, refused_beat_q;
  logic [TimeoutWidth-1:0] r_stall_q;
  r_t refused_r;
  cause_e refusal;

  firewall_admit #(
    .MaxOutstanding(MaxOutstanding),
    .Write(1'b0)
  ) u_admit (
    .clk_i,
    .rst_ni,
    .block_i,
    .lookup_o,
    .lookup_i,
    .revoke_i,
    .valid_i(ar_valid_i),
    .ready_o(ar_ready_o),
    .ax_i(ar_i),
    .valid_o(ar_valid_o),
    .ready_i(ar_ready_i),
    .ax_o(ar_o),
    .admit_o(unused_admit),
    .legal_o(unused_legal),
    .cause_o(refusal),
    .answer_refused_o(answer_refused),
    .refused_id_o(refused_id),
    .refused_len_o(refused_len),
    .finish_i(finish),
    .idle_o,
    .drained_o
  );

  assign refused_r = '{id: refused_id, data: '0, resp: RespSlvErr, last: refused_beat_q == refused_len};
  assign r_valid_o = !cut_i && (answer_refused || r_valid_i);
  assign r_o = answer_refused ? refused_r : r_i;
  assign r_ready_o = !answer_refused && (cut_i || r_ready_i);
  assign finish = answer_refused ? cut_i || (r_ready_i && refused_r.last) : r_valid_i && r_ready_o && r_i.last;
  assign r_late = r_valid_o && !r_ready_i && r_stall_q >= timeout_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      refused_beat_q <= '0;
      r_stall_q <= '0;
    end else begin
      if (finish) refused_beat_q <= '0;
      else if (answer_refused && r_ready_i) refused_beat_q <= refused_beat_q + 8'd1;
      if (finish) r_stall_q <= '0;
      else if (r_valid_o && !r_ready_i && !r_late) r_stall_q <= r_stall_q + TimeoutWidth'(1);
    end
  end

  assign isolate_o = r_late;

  // Reported one cycle later, as in `firewall_write`.
  always_ff @(posedge clk_i) begin
    if (!rst_ni) fault_o <= '0;
    else begin
      fault_o.cause <= r_late ? CauseResponseStalled : refusal;
      if (r_late) {fault_o.addr, fault_o.context_id} <= {ar_o.addr, ar_o.user};
      else if (ar_valid_i) {fault_o.addr, fault_o.context_id} <= {ar_i.addr, ar_i.user};
    end
  end

endmodule
