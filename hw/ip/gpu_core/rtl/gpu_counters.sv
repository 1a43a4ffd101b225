/// The counters of one core, 64 bits each, with a shadow that holds all of them as they were in one cycle.
///
/// CYCLE_THREAD_X counts the cycles in which an instruction was executed by X lanes, TOTAL_ACTIVE_CYCLES those in which
/// one was executed by any; the latter is the sum of the former.
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
  /// An instruction was executed by these lanes.
  input  logic               executed_i,
  input  logic [Threads-1:0] mask_i,
  input  logic               snapshot_i,
  /// Word of the shadow.
  input  logic [5:0]         shadow_index_i,
  output logic [63:0]        shadow_o,
  /// A counter as it is now.
  input  logic [5:0]         live_index_i,
  output logic [63:0]        live_o
);

  logic [63:0] count_q [Count];
  logic [63:0] shadow_q [Count];
  localparam int unsigned IndexWidth = $clog2(Count);

  typedef logic [IndexWidth-1:0] index_t;

  index_t lanes;

  always_comb begin
    lanes = '0;
    if (executed_i) for (int t = 0; t < int'(Threads); t++) lanes += index_t'(mask_i[t]);
  end

  assign shadow_o = (shadow_index_i < 6'(Count)) ? shadow_q[index_t'(shadow_index_i)] : '0;
  assign live_o = (live_index_i < 6'(Count)) ? count_q[index_t'(live_index_i)] : '0;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      for (int i = 0; i < int'(Count); i++) count_q[i] <= '0;
    end else begin
      if (running_i) count_q[CntCycles] <= count_q[CntCycles] + 64'd1;
      if (event_i != '0) begin
        for (int i = int'(CntLoads); i <= int'(CntReplays); i++) begin
          if (event_i[i]) count_q[i] <= count_q[i] + 64'd1;
        end
      end
      if (executed_i) begin
        count_q[CntInstret] <= count_q[CntInstret] + 64'd1;
        count_q[CntActive] <= count_q[CntActive] + 64'd1;
        count_q[index_t'(CntActive) + lanes] <= count_q[index_t'(CntActive) + lanes] + 64'd1;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      for (int i = 0; i < int'(Count); i++) shadow_q[i] <= '0;
    end else if (snapshot_i) begin
      for (int i = 0; i < int'(Count); i++) shadow_q[i] <= count_q[i];
    end
  end

`ifndef SYNTHESIS
  logic [63:0] sum;
  always_comb begin
    sum = '0;
    for (int i = int'(CntFixed); i < int'(Count); i++) sum += count_q[i];
  end
  SumRule_A : assert property (@(posedge clk_i) disable iff (!rst_ni) sum == count_q[CntActive]);
`endif

endmodule
