/// What a core counts in a cycle, beside instructions and lanes. Purely combinational; `gpu_counters` adds it up.
module gpu_events
  import gpu_pkg::*;
(
  /// A kernel runs; a drain counts lines only.
  input  logic   run_i,
  input  logic   issue_i,
  /// Something is in the decode or the execute stage.
  input  logic   pipe_i,
  input  waits_t waits_i,
  /// No instruction is between issue and completion.
  input  logic   quiet_i,
  /// An instruction of this unit ends; one comes again.
  input  logic   retire_i,
  input  unit_e  unit_i,
  input  logic   replay_i,
  /// A line is asked for, or sent.
  input  logic   fetch_line_i,
  input  logic   data_line_i,
  input  logic   write_line_i,
  input  logic   data_hit_i,
  input  logic   data_miss_i,
  output logic [CntReplays:CntLoads] event_o
);

  always_comb begin
    event_o = '0;
    if (run_i) begin
      event_o[CntLoads] = retire_i && (unit_i inside {UnitLoad, UnitAmo});
      event_o[CntStores] = retire_i && (unit_i inside {UnitStore, UnitAmo});
      event_o[CntFetchMiss] = fetch_line_i;
      event_o[CntDataHit] = data_hit_i;
      event_o[CntDataMiss] = data_miss_i;
      event_o[CntReplays] = replay_i;
      // A cycle without issue has one cause.
      if (!issue_i) begin
        if (waits_i.memory) event_o[CntStallMemory] = 1'b1;
        else if (waits_i.fetch) event_o[CntStallFetch] = 1'b1;
        else if (waits_i.barrier && quiet_i) event_o[CntStallBar] = 1'b1;
        else if (pipe_i) event_o[CntStallPipe] = 1'b1;
        else if (waits_i.unit) event_o[CntStallUnit] = 1'b1;
        else event_o[CntStallPipe] = 1'b1;
      end
    end
    event_o[CntLineReads] = fetch_line_i || data_line_i;
    event_o[CntLineWrites] = write_line_i;
  end

endmodule
