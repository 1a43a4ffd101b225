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
  /// Word of the shadow.
  input  logic [5:0]         shadow_index_i,
  output logic [63:0]        shadow_o,
  /// A counter as it is now.
  input  logic [5:0]         live_index_i,
  output logic [63:0]        live_o
);

  localparam int unsigned IndexWidth = $clog2(Count);
  // A note is taken two turns after it was made at the latest, which must be before the next.
  localparam int unsigned LowWidth = $clog2(2 * Count + 3);

  typedef logic [IndexWidth-1:0] index_t;
  typedef logic [63-LowWidth:0] high_t;
  typedef logic [Count-1:0] notes_t;

  notes_t up, wrap;

  always_comb begin
    up = '0;
    up[CntCycles] = running_i;
    up[CntReplays:CntLoads] = event_i;
    if (executed_i) begin
      up[CntInstret] = 1'b1;
      up[CntActive] = 1'b1;
      for (int t = 1; t <= int'(Threads); t++) if (32'(lanes_i) == 32'(t)) up[int'(CntActive) + t] = 1'b1;
    end
  end

  // ---- Low bits, a bit of all counters together: simulation adds to all of them at once

  notes_t low_q [LowWidth];
  notes_t shadow_low_q [LowWidth];
  notes_t low_d [LowWidth];

  always_comb begin
    wrap = up;
    for (int b = 0; b < int'(LowWidth); b++) begin
      low_d[b] = low_q[b] ^ wrap;
      wrap &= low_q[b];
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) for (int b = 0; b < int'(LowWidth); b++) low_q[b] <= '0;
    else for (int b = 0; b < int'(LowWidth); b++) low_q[b] <= low_d[b];
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni || snapshot_i) begin
      for (int b = 0; b < int'(LowWidth); b++) shadow_low_q[b] <= !rst_ni ? '0 : low_q[b];
    end
  end

  // ---- High bits: `zero_q`, they count as zero; `carry_q`, one is to be added; of the snapshot, until it has them, too.

  high_t count_ram [2**IndexWidth];
  high_t shadow_ram [2**IndexWidth];
  notes_t zero_q, carry_q, copy_q, copy_zero_q, copy_carry_q;
  notes_t turn, zero_left, carry_left;
  index_t turn_q;
  logic copy, zero, carry;
  high_t high;

  assign copy = copy_q[turn_q];
  assign zero = copy ? copy_zero_q[turn_q] : zero_q[turn_q];
  assign carry = copy ? copy_carry_q[turn_q] : carry_q[turn_q];

  always_comb begin
    turn = notes_t'(1) << turn_q;
    zero_left = zero ? zero_q & ~turn : zero_q;
    carry_left = carry ? carry_q & ~turn : carry_q;
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
    end else begin
      copy_q <= copy_q & ~turn;
    end
  end

  // ---- Reads

  // Of a number that there is not everything is zero: before the sum, where it takes no gates of its own.
  always_comb begin
    automatic index_t index;
    automatic logic from_zero, one_more;
    automatic high_t from;
    index = index_t'(shadow_index_i);
    shadow_o = '0;
    from_zero = 1'b1;
    one_more = 1'b0;
    from = 'x;
    if (shadow_index_i < 6'(Count)) begin
      from_zero = copy_q[index] && copy_zero_q[index];
      one_more = copy_q[index] && copy_carry_q[index];
      from = copy_q[index] ? count_ram[index] : shadow_ram[index];
      for (int b = 0; b < int'(LowWidth); b++) shadow_o[b] = shadow_low_q[b][index];
    end
    shadow_o[63:LowWidth] = counted(from_zero, from, one_more);
  end

  always_comb begin
    automatic index_t index;
    automatic logic from_zero, one_more;
    automatic high_t from;
    index = index_t'(live_index_i);
    live_o = '0;
    from_zero = 1'b1;
    one_more = 1'b0;
    from = 'x;
    if (live_index_i < 6'(Count)) begin
      from_zero = zero_q[index];
      one_more = carry_q[index];
      from = count_ram[index];
      for (int b = 0; b < int'(LowWidth); b++) live_o[b] = low_q[b][index];
    end
    live_o[63:LowWidth] = counted(from_zero, from, one_more);
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
