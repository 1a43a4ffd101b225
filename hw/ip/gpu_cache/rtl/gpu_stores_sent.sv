// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
`include "clock_when.svh"

/// Lines that were sent to memory and have not been answered, in the order in which they were sent.
///
/// They are not compared one by one. A line has a bucket, and each bucket keeps the number of the line that was sent from it
/// last, some bits that tell that line from others, and whether another one was unanswered then. Numbers go round; those from
/// the oldest unanswered to the newest are unanswered. So a line that is unanswered is always told of, and another one seldom.
/// What a bucket holds from long ago, reset included, at worst tells of a line while others are unanswered.
module gpu_stores_sent
  import gpu_pkg::*;
#(
  /// Lines at most; a power of two.
  parameter int unsigned Lines = 64,
  /// Buckets, as a power of two, and bits that tell a bucket's lines apart: no divisor of each other.
  parameter int unsigned BucketWidth = 6,
  parameter int unsigned MarkWidth = 5
) (
  input  logic                     clk_i,
  /// Something here may change: a simulation looks at no clock without it.
  input  logic                     awake_i,
  /// Synchronous reset, active low.
  input  logic                     rst_ni,
  /// Forget what was answered, a bucket a cycle. Only with nothing unanswered.
  input  logic                     clear_i,
  /// A line is sent now; the oldest is answered now.
  input  logic                     send_i,
  input  logic [LineAddrWidth-1:0] line_i,
  input  logic                     done_i,
  /// There will be room in the next cycle, whether or not a line is sent now.
  output logic                     room_o,
  output logic                     empty_o,
  output logic [LineAddrWidth-1:0] oldest_o,
  /// Whether a line may be unanswered.
  input  logic                     probe_i,
  input  logic [LineAddrWidth-1:0] probe_line_i,
  output logic                     told_o,
  /// The line that is probed is to wait: from the next cycle on until it is surely answered.
  input  logic                     hold_i,
  output logic                     held_o
);

  localparam int unsigned IndexWidth = $clog2(Lines);
  // Twice as many and more, so that a number says whether it lies before the oldest or behind it.
  localparam int unsigned NumberWidth = IndexWidth + 2;

  typedef logic [LineAddrWidth-1:0] line_t;
  typedef logic [NumberWidth-1:0] number_t;
  typedef logic [BucketWidth-1:0] bucket_t;
  typedef logic [MarkWidth-1:0] mark_t;
  typedef struct packed {
    logic    many;
    mark_t   mark;
    number_t number;
  } entry_t;

  entry_t bucket_ram [1 << BucketWidth];
  line_t line_ram [Lines];
  number_t oldest_q, next_q, limit_q;
  logic held_q;
  logic [IndexWidth:0] count_q;
  entry_t last, found;

  // Lines next to each other, or with equal steps between them, mostly have buckets of their own.
  function automatic bucket_t bucket_of(line_t number);
    bucket_t bucket;
    bucket = '0;
    for (int b = 0; b < int'(LineAddrWidth); b++) bucket[b%int'(BucketWidth)] ^= number[b];
    return bucket;
  endfunction

  // Bits of another distance, or the lines of a bucket would be alike.
  function automatic mark_t mark_of(line_t number);
    mark_t mark;
    mark = '0;
    for (int b = 0; b < int'(LineAddrWidth); b++) mark[b%int'(MarkWidth)] ^= number[b];
    return mark;
  endfunction

  bucket_t write_bucket;

  function automatic logic unanswered(number_t number);
    number_t behind_oldest, before_next;
    behind_oldest = number - oldest_q;
    before_next = number - next_q;
    return !behind_oldest[NumberWidth-1] && before_next[NumberWidth-1];
  endfunction

  assign room_o = !count_q[IndexWidth] && count_q[IndexWidth-1:0] != '1;
  assign held_o = held_q;
  assign empty_o = count_q == '0;
  assign oldest_o = line_ram[oldest_q[IndexWidth-1:0]];

  always_comb begin
    found = 'x;
    told_o = 1'b0;
    if (probe_i) begin
      found = bucket_ram[bucket_of(probe_line_i)];
      told_o = unanswered(found.number) && (found.many || found.mark == mark_of(probe_line_i));
    end
  end

  assign last = bucket_ram[bucket_of(line_i)];
  // Numbers go on as if each bucket's line had been answered.
  assign write_bucket = clear_i ? bucket_t'(next_q) : bucket_of(line_i);

  always_ff @(`EDDY_RISES(clk_i, awake_i)) begin
    if (send_i) line_ram[next_q[IndexWidth-1:0]] <= line_i;
    if (send_i || clear_i) begin
      bucket_ram[write_bucket] <= '{
        many: !clear_i && unanswered(last.number) && (last.many || last.mark != mark_of(line_i)),
        mark: clear_i ? '0 : mark_of(line_i),
        number: next_q
      };
    end
  end

  always_ff @(`EDDY_RISES(clk_i, awake_i)) begin
    if (hold_i) limit_q <= next_q;
    if (!rst_ni) held_q <= 1'b0;
    else if (hold_i) held_q <= told_o;
    else if (oldest_q == limit_q) held_q <= 1'b0;
  end

  always_ff @(`EDDY_RISES(clk_i, awake_i)) begin
    if (!rst_ni) begin
      oldest_q <= '0;
      next_q <= '0;
      count_q <= '0;
    end else if (send_i || done_i || clear_i) begin
      next_q <= next_q + number_t'(send_i || clear_i);
      oldest_q <= oldest_q + number_t'(done_i || clear_i);
      count_q <= count_q + (IndexWidth + 1)'(send_i) - (IndexWidth + 1)'(done_i);
    end
  end

`ifndef SYNTHESIS
  OnlyWhatFits_A : assert property (@(posedge clk_i) disable iff (!rst_ni) send_i |-> !count_q[IndexWidth]);
  AnswersHaveAskers_A : assert property (@(posedge clk_i) disable iff (!rst_ni) done_i |-> !empty_o);
  ClearedAtRest_A : assert property (@(posedge clk_i) disable iff (!rst_ni) clear_i |-> empty_o && !send_i);
`endif

endmodule
