// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The counters of one core, 64 bits each, with a shadow that holds all of them as they were in one cycle.
///
/// CYCLE_THREAD_X counts the cycles in which an instruction was executed by X lanes, TOTAL_ACTIVE_CYCLES those in which
/// one was executed by any; the latter is the sum of the former.
///
/// Only the low bits of a counter are flops. Its high bits lie in a memory with one write a cycle: a counter whose low bits
/// have wrapped, or that was cleared, says so until its turn, which comes every `Count` cycles. A snapshot keeps the low bits and
/// these notes of all counters, and copies the high bits at their next turns; reads show the right value meanwhile.
module gpu_counters
  import gpu_pkg::*;
#(
  parameter int unsigned Threads = 4,
  localparam int unsigned Count = CntFixed + Threads
) (
  input  logic               clk_i,
  /// Synchronous reset, active low.
  input  logic               rst_ni,
  input  logic               clear_i,
  /// A cycle of a running kernel.
  input  logic               running_i,
  /// One event a bit: counters CntLoads to CntReplays.
  input  logic [CntReplays:CntLoads] event_i,
  /// An instruction was executed by lanes.
  input  logic               executed_i,
  /// So many.
  input  logic [$clog2(Threads+1)-1:0] lanes_i,
  input  logic               snapshot_i,
  /// Word of the shadow. Where it is not looked at it means nothing.
  input  logic               shadow_i,
  input  logic [5:0]         shadow_index_i,
  output logic [63:0]        shadow_o,
  /// A counter as it is now, likewise.
  input  logic               live_i,
  input  logic [5:0]         live_index_i,
  output logic [63:0]        live_o
);

  localparam int unsigned IndexWidth = $clog2(Count);
  // A note is taken two turns after it was made at the latest, which must be before the next.
  localparam int unsigned LowWidth = $clog2(2 * Count + 3);

  typedef logic [IndexWidth-1:0] index_t;
  typedef logic [63-LowWidth:0] high_t;
  typedef logic [Count-1:0] notes_t;

  // The note of one counter, without a question whether there is such a one.
  function automatic logic at(notes_t notes, index_t index);
    return 1'((2**IndexWidth)'(notes) >> index);
  endfunction

  notes_t up;

  always_comb begin
    up = '0;
    up[CntCycles] = running_i;
    up[CntReplays:CntLoads] = event_i;
    if (executed_i) begin
      up[CntInstret] = 1'b1;
      up[CntActive] = 1'b1;
      up |= notes_t'(1) << (CntActive + 32'(lanes_i));
    end
  end

  // ---- Low bits, a bit of all counters together: simulation adds to all of them at once

  notes_t low_q [LowWidth];
  notes_t shadow_low_q [LowWidth];
  notes_t wrap;

  always_comb begin
    wrap = up;
    for (int b = 0; b < int'(LowWidth); b++) wrap &= low_q[b];
  end

  always_ff @(posedge clk_i) begin
    automatic logic none;
    automatic notes_t carries;
    none = !rst_ni || clear_i;
    carries = up;
    for (int b = 0; b < int'(LowWidth); b++) begin
      low_q[b] <= none ? '0 : low_q[b] ^ carries;
      carries &= low_q[b];
    end
    if (!rst_ni || snapshot_i) for (int b = 0; b < int'(LowWidth); b++) shadow_low_q[b] <= !rst_ni ? '0 : low_q[b];
  end

  // ---- High bits: `zero_q`, they count as zero; `carry_q`, one is to be added; of the snapshot, until it has them, too.

  high_t count_ram [2**IndexWidth];
  high_t shadow_ram [2**IndexWidth];
  notes_t zero_q, carry_q, copy_q, copy_zero_q, copy_carry_q;
  notes_t turn, zero_left, carry_left;
  index_t turn_q;
  logic copy, zero, carry;
  high_t high;

  // In most cycles it is the turn of one without a note.
  always_comb begin
    {copy, zero, carry} = '0;
    turn = 'x;
    zero_left = zero_q;
    carry_left = carry_q;
    if (at(copy_q | zero_q | carry_q, turn_q)) begin
      turn = notes_t'(1) << turn_q;
      copy = at(copy_q, turn_q);
      zero = at(copy ? copy_zero_q : zero_q, turn_q);
      carry = at(copy ? copy_carry_q : carry_q, turn_q);
      if (zero) zero_left = zero_q & ~turn;
      if (carry) carry_left = carry_q & ~turn;
    end
  end

  function automatic high_t counted(logic from_zero, high_t from, logic one_more);
    return (from_zero ? '0 : from) + high_t'(one_more);
  endfunction

  always_comb begin
    high = 'x;
    if (copy || zero || carry) high = counted(zero, count_ram[turn_q], carry);
  end

  always_ff @(posedge clk_i) begin
    if (zero || carry) count_ram[turn_q] <= high;
    if (copy) shadow_ram[turn_q] <= high;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) turn_q <= '0;
    else turn_q <= (turn_q == index_t'(Count - 1)) ? '0 : turn_q + 1'b1;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      zero_q <= '1;
      carry_q <= '0;
    end else begin
      zero_q <= zero_left;
      carry_q <= carry_left | wrap;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      copy_q <= '1;
      copy_zero_q <= '1;
      copy_carry_q <= '0;
    end else if (snapshot_i) begin
      copy_q <= '1;
      copy_zero_q <= zero_left;
      copy_carry_q <= carry_left;
    end else if (copy) begin
      copy_q <= copy_q & ~turn;
    end
  end

  // ---- Reads

  // Of a number that there is not everything is zero: before the sum, where it takes no gates of its own.
  always_comb begin
    shadow_o = 'x;
    if (shadow_i) begin
      automatic index_t index;
      automatic logic from_zero, one_more;
      automatic high_t from;
      index = index_t'(shadow_index_i);
      shadow_o = '0;
      from_zero = 1'b1;
      one_more = 1'b0;
      from = 'x;
      if (shadow_index_i < 6'(Count)) begin
        from_zero = at(copy_q, index) && at(copy_zero_q, index);
        one_more = at(copy_q, index) && at(copy_carry_q, index);
        from = at(copy_q, index) ? count_ram[index] : shadow_ram[index];
        for (int b = 0; b < int'(LowWidth); b++) shadow_o[b] = at(shadow_low_q[b], index);
      end
      shadow_o[63:LowWidth] = counted(from_zero, from, one_more);
    end
  end

  always_comb begin
    live_o = 'x;
    if (live_i) begin
      automatic index_t index;
      automatic logic from_zero, one_more;
      automatic high_t from;
      index = index_t'(live_index_i);
      live_o = '0;
      from_zero = 1'b1;
      one_more = 1'b0;
      from = 'x;
      if (live_index_i < 6'(Count)) begin
        from_zero = at(zero_q, index);
        one_more = at(carry_q, index);
        from = count_ram[index];
        for (int b = 0; b < int'(LowWidth); b++) live_o[b] = at(low_q[b], index);
      end
      live_o[63:LowWidth] = counted(from_zero, from, one_more);
    end
  end

`ifndef SYNTHESIS
  function automatic logic [63:0] counter(index_t i);
    logic [63:0] all;
    all = {counted(zero_q[i], count_ram[i], carry_q[i]), LowWidth'(0)};
    for (int b = 0; b < int'(LowWidth); b++) all[b] = low_q[b][i];
    return all;
  endfunction

  logic [63:0] sum;
  always_comb begin
    sum = '0;
    for (int i = int'(CntFixed); i < int'(Count); i++) sum += counter(index_t'(i));
  end
  SumRule_A : assert property (@(posedge clk_i) disable iff (!rst_ni) sum == counter(index_t'(CntActive)));
  OneCarryAtOnce_A : assert property (@(posedge clk_i) disable iff (!rst_ni) (wrap & carry_left) == '0);
`endif

endmodule
