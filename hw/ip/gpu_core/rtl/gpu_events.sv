// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// What a core counts in a cycle, said a cycle later, for `gpu_counters` to add up; what is asked of the counters is said later too.
module gpu_events
  import gpu_pkg::*;
#(
  parameter int unsigned Threads = 4
) (
  input  logic   clk_i,
  /// Synchronous reset, active low.
  input  logic   rst_ni,
  input  logic   snapshot_i,
  input  logic   clear_i,
  /// A kernel runs; a drain counts lines and cycles only.
  input  logic   run_i,
  input  logic   drain_i,
  input  logic   issue_i,
  /// Something is in the decode or the execute stage.
  input  logic   pipe_i,
  input  waits_t waits_i,
  /// No instruction is between issue and completion.
  input  logic   quiet_i,
  /// An instruction of this unit ends, of these lanes; one comes again.
  input  logic   retire_i,
  input  unit_e  unit_i,
  input  logic [Threads-1:0] mask_i,
  input  logic   replay_i,
  /// A line is asked for, or sent.
  input  logic   fetch_line_i,
  input  logic   data_line_i,
  input  logic   write_line_i,
  input  logic   data_hit_i,
  input  logic   data_miss_i,
  // A cycle later
  output logic   snapshot_o,
  output logic   clear_o,
  output logic   running_o,
  output logic   executed_o,
  /// By so many lanes.
  output logic [$clog2(Threads+1)-1:0] lanes_o,
  output logic [CntReplays:CntLoads] event_o
);

  logic issue_q, pipe_q, quiet_q, run_q, retire_q, replay_q, fetch_line_q, data_line_q, write_line_q, hit_q, miss_q;
  unit_e unit_q;
  waits_t waits_q;
  logic [$clog2(Threads+1)-1:0] lanes;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      {snapshot_o, clear_o, running_o, executed_o, run_q, fetch_line_q, data_line_q, write_line_q} <= '0;
    end else begin
      snapshot_o <= snapshot_i;
      clear_o <= clear_i;
      running_o <= run_i || drain_i;
      executed_o <= retire_i;
      run_q <= run_i;
      fetch_line_q <= fetch_line_i;
      data_line_q <= data_line_i;
      write_line_q <= write_line_i;
    end
  end

  always_ff @(posedge clk_i) begin
    issue_q <= issue_i;
    pipe_q <= pipe_i;
    retire_q <= retire_i;
    unit_q <= unit_i;
    lanes_o <= lanes;
    replay_q <= replay_i;
    hit_q <= data_hit_i;
    miss_q <= data_miss_i;
    // Looked at where nothing issued.
    waits_q <= 'x;
    quiet_q <= 'x;
    if (!issue_i) begin
      waits_q <= waits_i;
      quiet_q <= quiet_i;
    end
  end

  always_comb begin
    lanes = '0;
    if (pipe_i) for (int t = 0; t < int'(Threads); t++) lanes += ($clog2(Threads+1))'(mask_i[t]);
  end

  always_comb begin
    event_o = '0;
    if (run_q) begin
      event_o[CntLoads] = retire_q && (unit_q inside {UnitLoad, UnitAmo});
      event_o[CntStores] = retire_q && (unit_q inside {UnitStore, UnitAmo});
      event_o[CntFetchMiss] = fetch_line_q;
      event_o[CntDataHit] = hit_q;
      event_o[CntDataMiss] = miss_q;
      event_o[CntReplays] = replay_q;
      // A cycle without issue has one cause.
      if (!issue_q) begin
        if (waits_q.memory) event_o[CntStallMemory] = 1'b1;
        else if (waits_q.fetch) event_o[CntStallFetch] = 1'b1;
        else if (waits_q.barrier && quiet_q) event_o[CntStallBar] = 1'b1;
        else if (pipe_q) event_o[CntStallPipe] = 1'b1;
        else if (waits_q.unit) event_o[CntStallUnit] = 1'b1;
        else event_o[CntStallPipe] = 1'b1;
      end
    end
    event_o[CntLineReads] = fetch_line_q || data_line_q;
    event_o[CntLineWrites] = write_line_q;
  end

endmodule
