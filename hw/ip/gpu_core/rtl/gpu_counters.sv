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

  localparam int unsigned IndexWidth = $clog2(Count);

  typedef logic [IndexWidth-1:0] index_t;

  index_t lanes;
  logic [Count-1:0] up;
  logic [63:0] count [Count];
  logic [63:0] shadow [Count];

  always_comb begin
    lanes = '0;
    if (executed_i) for (int t = 0; t < int'(Threads); t++) lanes += index_t'(mask_i[t]);
  end

  always_comb begin
    up = '0;
    up[CntCycles] = running_i;
    up[CntReplays:CntLoads] = event_i;
    if (executed_i) begin
      up[CntInstret] = 1'b1;
      up[CntActive] = 1'b1;
      up[index_t'(CntActive) + lanes] = 1'b1;
    end
  end

  for (genvar i = 0; i < int'(Count); i++) begin : gen_counter
    logic [63:0] count_q, shadow_q;

    always_ff @(posedge clk_i) begin
      if (!rst_ni || clear_i) count_q <= '0;
      else if (up[i]) count_q <= count_q + 64'd1;
    end

    always_ff @(posedge clk_i) begin
      if (!rst_ni) shadow_q <= '0;
      else if (snapshot_i) shadow_q <= count_q;
    end

    assign count[i] = count_q;
    assign shadow[i] = shadow_q;
  end

  always_comb begin
    shadow_o = '0;
    if (shadow_index_i < 6'(Count)) shadow_o = shadow[index_t'(shadow_index_i)];
  end

  always_comb begin
    live_o = '0;
    if (live_index_i < 6'(Count)) live_o = count[index_t'(live_index_i)];
  end

`ifndef SYNTHESIS
  logic [63:0] sum;
  always_comb begin
    sum = '0;
    for (int i = int'(CntFixed); i < int'(Count); i++) sum += count[i];
  end
  SumRule_A : assert property (@(posedge clk_i) disable iff (!rst_ni) sum == count[CntActive]);
`endif

endmodule
