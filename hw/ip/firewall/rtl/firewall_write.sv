// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The write half of the memory path: a burst given to memory gets exactly its beats and its answer is taken.
///
/// Write data goes on only for the oldest admitted burst; `last` is the firewall's own count. The slot's `last` must
/// agree, or it is a fault. The slot may hold up a burst's data for `timeout_i` cycles in all, and an answer for as many.
/// While `cut_i` is set the slot is ignored: outstanding beats are sent with strobes low, responses are dropped.
module firewall_write
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
  input  logic                         aw_valid_i,
  output logic                         aw_ready_o,
  input  ax_t                          aw_i,
  input  logic                         w_valid_i,
  output logic                         w_ready_o,
  input  w_t                           w_i,
  output logic                         b_valid_o,
  input  logic                         b_ready_i,
  output b_t                           b_o,
  /// To memory.
  output logic                         aw_valid_o,
  input  logic                         aw_ready_i,
  output ax_t                          aw_o,
  output logic                         w_valid_o,
  input  logic                         w_ready_i,
  output w_t                           w_o,
  input  logic                         b_valid_i,
  output logic                         b_ready_o,
  input  b_t                           b_i
);

  localparam int unsigned IndexWidth = $clog2(MaxOutstanding);
  typedef logic [IndexWidth-1:0] index_t;
  typedef logic [IndexWidth:0] count_t;

  typedef struct packed {
    logic                    legal;
    logic [7:0]              len;
    logic [AddrWidth-1:0]    addr;
    logic [ContextWidth-1:0] context_id;
  } owed_t;

  // Bursts whose data is incomplete, oldest first.
  owed_t owed_q [MaxOutstanding];
  owed_t head;
  index_t first_q, next_q;
  count_t owed_count_q;
  logic owing;

  logic [7:0] beat_q;
  logic [TimeoutWidth-1:0] w_stall_q, b_stall_q;
  logic w_valid_q;
  w_t w_q;

  logic admit, legal, answer_refused, finish;
  logic [IdWidth-1:0] refused_id;
  logic [7:0] unused_len;
  cause_e refusal, cause_d;
  blamed_t blamed;

  logic w_free, w_step, w_last, w_wrong_last, w_late, b_late, b_local;

  firewall_admit #(
    .MaxOutstanding(MaxOutstanding),
    .Write(1'b1)
  ) u_admit (
    .clk_i,
    .rst_ni,
    .block_i,
    .lookup_o,
    .lookup_i,
    .revoke_i,
    .valid_i(aw_valid_i),
    .ready_o(aw_ready_o),
    .ax_i(aw_i),
    .valid_o(aw_valid_o),
    .ready_i(aw_ready_i),
    .ax_o(aw_o),
    .admit_o(admit),
    .legal_o(legal),
    .cause_o(refusal),
    .answer_refused_o(answer_refused),
    .refused_id_o(refused_id),
    .refused_len_o(unused_len),
    .finish_i(finish),
    .idle_o,
    .drained_o
  );

  // Data.
  assign head = owed_q[first_q];
  assign owing = owed_count_q != '0;
  assign w_free = !w_valid_q || w_ready_i;
  assign w_ready_o = owing && !cut_i && (w_free || !head.legal);
  assign w_step = owing && (cut_i || w_valid_i) && (w_free || !head.legal);
  assign w_last = beat_q == head.len;
  assign w_wrong_last = w_valid_i && w_ready_o && w_i.last != w_last;
  assign w_late = owing && !cut_i && !w_valid_i && w_stall_q >= timeout_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      first_q <= '0;
      next_q <= '0;
      owed_count_q <= '0;
      beat_q <= '0;
      w_stall_q <= '0;
    end else begin
      if (admit) next_q <= next_q + index_t'(1);
      if (w_step && w_last) first_q <= first_q + index_t'(1);
      if (admit != (w_step && w_last)) begin
        owed_count_q <= admit ? owed_count_q + count_t'(1) : owed_count_q - count_t'(1);
      end
      if (w_step) beat_q <= w_last ? '0 : beat_q + 8'd1;
      if (w_step && w_last) w_stall_q <= '0;
      else if (owing && !cut_i && !w_valid_i && !w_late) w_stall_q <= w_stall_q + TimeoutWidth'(1);
    end
  end

  always_ff @(posedge clk_i) begin
    if (admit) owed_q[next_q] <= '{legal: legal, len: aw_i.len, addr: aw_i.addr, context_id: aw_i.user};
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) w_valid_q <= 1'b0;
    else if (w_step && head.legal) w_valid_q <= 1'b1;
    else if (w_ready_i) w_valid_q <= 1'b0;
  end

  always_ff @(posedge clk_i) begin
    if (w_step && head.legal) begin
      w_q <= cut_i ? '{data: '0, strb: '0, last: w_last} : '{data: w_i.data, strb: w_i.strb, last: w_last};
    end
  end

  assign w_valid_o = w_valid_q;
  assign w_o = w_q;

  // Answers. A refused burst is answered once its data is sunk and all before it are answered.
  assign b_local = answer_refused && !owing;
  assign b_valid_o = !cut_i && (b_local || b_valid_i);
  assign b_o = b_local ? '{id: refused_id, resp: RespSlvErr} : b_i;
  assign b_ready_o = !b_local && (cut_i || b_ready_i);
  assign finish = b_local ? cut_i || b_ready_i : b_valid_i && b_ready_o;
  assign b_late = b_valid_o && !b_ready_i && b_stall_q >= timeout_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) b_stall_q <= '0;
    else if (finish) b_stall_q <= '0;
    else if (b_valid_o && !b_late) b_stall_q <= b_stall_q + TimeoutWidth'(1);
  end

  assign isolate_o = w_wrong_last || w_late || b_late;

  // Reported one cycle later. Without a data or response fault the address is that of the offered request, which is known
  // before the decision to refuse it.
  always_comb begin
    cause_d = refusal;
    blamed = '{addr: aw_i.addr, context_id: aw_i.user};
    if (w_wrong_last || w_late) begin
      cause_d = w_wrong_last ? CauseIllegalBurst : CauseWriteStalled;
      blamed = '{addr: head.addr, context_id: head.context_id};
    end else if (b_late) begin
      cause_d = CauseResponseStalled;
      blamed = '{addr: aw_o.addr, context_id: aw_o.user};
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) fault_o <= '0;
    else begin
      fault_o.cause <= cause_d;
      if (aw_valid_i || isolate_o) {fault_o.addr, fault_o.context_id} <= blamed;
    end
  end

endmodule
