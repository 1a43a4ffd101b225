// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
`include "clock_when.svh"

/// Atomic read-modify-write of a data cache: what happens to the lanes of an AMO, one after the other.
///
/// Lines of memory: wait until nothing of the line is on its way in or out, take the line's lock, forget the copy here, read
/// it again, change it word by word through the cache and the store buffer, wait until memory has answered, give the
/// lock back. So nobody who keeps to the lock sees the line in between, and the copy that stays is what memory holds.
/// Local memory needs neither lock nor line. Three cycles a lane; lanes with one address in ascending order.
///
/// `release` holds the access until every store before it has landed; `acquire` drops every line at its end, and waits
/// for those on their way first. A line that memory refuses is not written.
module gpu_dcache_amo #(
  parameter int unsigned Threads = 4
) (
  input  logic                     clk_i,
  /// Something here may change: a simulation looks at no clock without it.
  input  logic                     awake_i,
  /// Synchronous reset, active low.
  input  logic                     rst_ni,
  /// An AMO becomes the access under way.
  input  logic                     take_i,
  /// funct5.
  input  logic [4:0]               op_i,
  input  logic                     acquire_i,
  input  logic                     release_i,
  /// What `amocas` compares with.
  input  logic [31:0]              compare_i [Threads],
  /// The access under way is one.
  output logic                     active_o,

  // Where its line is
  input  logic                     local_i,
  input  logic                     hit_i,
  /// A store to it has not landed; it is on its way.
  input  logic                     conflict_i,
  input  logic                     coming_i,
  input  logic                     stores_empty_i,
  input  logic                     fills_any_i,
  input  logic                     fill_error_i,
  /// Forget the line's copy here: not in the last cycle of another line.
  input  logic                     drop_ready_i,
  output logic                     drop_o,
  output logic                     ask_o,
  output logic                     flush_o,
  output logic                     lock_o,
  input  logic                     lock_grant_i,

  // Its lanes: those in the row, and whether others are left elsewhere, in the same line
  input  logic [Threads-1:0]       group_i,
  input  logic                     rest_i,
  input  logic                     rest_here_i,
  input  logic [Threads-1:0][31:0] data_i,
  /// The lane's word in the row that is read.
  output logic                     read_o,
  output logic [Threads-1:0]       read_lane_o,
  input  logic [31:0]              word_i,
  input  logic                     rsp_free_i,
  /// The lane of this step; `update_o`: its new datum is `value_o`.
  output logic [Threads-1:0]       lane_o,
  output logic                     update_o,
  output logic [31:0]              value_o,
  /// The lane's datum is to be stored, and can be.
  output logic                     store_o,
  input  logic                     store_ready_i,
  /// The lane is done; it read `old_o`.
  output logic                     served_o,
  output logic [31:0]              old_o,
  /// Go on to the next row; all lanes are done.
  output logic                     next_row_o,
  output logic                     finish_o,
  output logic                     finish_drop_o
);

  localparam int unsigned LaneWidth = (Threads > 1) ? $clog2(Threads) : 1;

  typedef enum logic [2:0] { Rest, Enter, Fill, Read, Work, Write, Leave, Pause } state_e;

  state_e state_q, state_d;
  logic [4:0] op_q;
  logic acquire_q, release_q, bad_q, store_q;
  logic [Threads-1:0][31:0] compare_q;
  logic [Threads-1:0] lane_q;
  logic [31:0] old_q, operand_q, expected_q;
  logic [LaneWidth-1:0] lane;
  logic may_enter, equal, less, less_unsigned;
  // Of the cycle before, in which they were the same wherever they are asked for: the row is known late.
  logic last_of_row_q, rest_q, rest_here_q;

  always_comb begin
    lane = '0;
    for (int t = 0; t < int'(Threads); t++) if (read_lane_o[t]) lane = lane | LaneWidth'(t);
  end

  assign active_o = state_q != Rest;
  assign read_lane_o = group_i & (~group_i + Threads'(1));
  assign lane_o = lane_q;
  assign old_o = old_q;
  assign may_enter = !conflict_i && !coming_i && (!release_q || stores_empty_i) && (!acquire_q || !fills_any_i);

  // ---- What becomes of the word

  assign equal = old_q == expected_q;
  assign less_unsigned = old_q < operand_q;
  assign less = (old_q[31] == operand_q[31]) ? less_unsigned : old_q[31];

  always_comb begin
    value_o = 'x;
`ifndef SYNTHESIS
    // Asked for by this state alone; in gates it would only be a condition more.
    if (state_q == Work)
`endif
    unique case (op_q)
      5'h00:   value_o = old_q + operand_q;
      5'h04:   value_o = old_q ^ operand_q;
      5'h08:   value_o = old_q | operand_q;
      5'h0c:   value_o = old_q & operand_q;
      5'h10:   value_o = less ? old_q : operand_q;
      5'h14:   value_o = less ? operand_q : old_q;
      5'h18:   value_o = less_unsigned ? old_q : operand_q;
      5'h1c:   value_o = less_unsigned ? operand_q : old_q;
      default: value_o = operand_q;  // amoswap, amocas
    endcase
  end

  // ---- Step by step

  always_comb begin
    state_d = state_q;
    drop_o = 1'b0;
    ask_o = 1'b0;
    flush_o = 1'b0;
    lock_o = 1'b0;
    read_o = 1'b0;
    update_o = 1'b0;
    store_o = 1'b0;
    served_o = 1'b0;
    next_row_o = 1'b0;
    finish_o = 1'b0;
    unique case (state_q)
      Enter: begin
        flush_o = conflict_i || release_q;
        lock_o = !local_i && may_enter;
        if (local_i && may_enter) state_d = Read;
        if (lock_o && lock_grant_i && drop_ready_i) begin
          drop_o = 1'b1;
          state_d = Fill;
        end
      end
      Fill: begin
        lock_o = 1'b1;
        ask_o = 1'b1;
        if (hit_i) state_d = Read;
      end
      Read: begin
        lock_o = !local_i;
        if (rsp_free_i) begin
          read_o = 1'b1;
          state_d = Work;
        end
      end
      Work: begin
        lock_o = !local_i;
        update_o = 1'b1;
        state_d = Write;
      end
      Write: begin
        lock_o = !local_i;
        store_o = store_q;
        if (!store_q || store_ready_i) begin
          served_o = 1'b1;
          state_d = Read;
          if (last_of_row_q) begin
            next_row_o = rest_q && (local_i || rest_here_q);
            if (local_i) state_d = rest_q ? Enter : Rest;
            else if (!rest_here_q) state_d = Leave;
            finish_o = local_i && !rest_q;
          end
        end
      end
      Leave: begin
        lock_o = 1'b1;
        flush_o = 1'b1;
        if (!conflict_i) begin
          state_d = rest_q ? Pause : Rest;
          finish_o = !rest_q;
          next_row_o = rest_q;
        end
      end
      // The lock is seen to be given back.
      Pause: state_d = Enter;
      default: if (take_i) state_d = Enter;
    endcase
  end

  assign finish_drop_o = finish_o && acquire_q;

  always_ff @(`EDDY_RISES(clk_i, awake_i)) begin
    if (!rst_ni) state_q <= Rest;
    else state_q <= state_d;
  end

  always_ff @(`EDDY_RISES(clk_i, awake_i)) begin
`ifndef SYNTHESIS
    // Looked at behind the cycles of an access alone.
    if (state_q != Rest)
`endif
    begin
      last_of_row_q <= (group_i & ~lane_q) == '0;
      rest_q <= rest_i;
      rest_here_q <= rest_here_i;
    end
  end

  always_ff @(`EDDY_RISES(clk_i, awake_i)) begin
    if (take_i) begin
      op_q <= op_i;
      acquire_q <= acquire_i;
      release_q <= release_i;
      for (int t = 0; t < int'(Threads); t++) compare_q[t] <= compare_i[t];
    end
    if (state_q == Enter) bad_q <= 1'b0;
    else if (fill_error_i) bad_q <= 1'b1;
    if (read_o) begin
      lane_q <= read_lane_o;
      old_q <= word_i;
      operand_q <= data_i[lane];
      expected_q <= compare_q[lane];
    end
    if (state_q == Work) store_q <= !bad_q && (op_q != 5'h05 || equal);
  end

`ifndef SYNTHESIS
  OneLane_A : assert property (@(posedge clk_i) disable iff (!rst_ni) read_o |-> $onehot(read_lane_o));
  LockedWhileChanged_A : assert property (@(posedge clk_i) disable iff (!rst_ni)
    store_o && !local_i |-> lock_o && lock_grant_i && hit_i);
  AsInTheCycleBefore_A : assert property (@(posedge clk_i) disable iff (!rst_ni)
    state_q == Write || state_q == Leave |-> rest_q == rest_i && (state_q == Leave || (rest_here_q == rest_here_i &&
    last_of_row_q == ((group_i & ~lane_q) == '0))));
  NothingLeftBehind_A : assert property (@(posedge clk_i) disable iff (!rst_ni) finish_o |-> !conflict_i || local_i);
`endif

endmodule
