// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The life of a kernel on a core, and why it ended early.
///
/// `start_i` -> Clear, for `ClearCycles` -> Run, until no work is left and nothing is under way -> Drain, until every store
/// has landed -> Idle. A fault or `stop_i` halts: nothing more is issued, and what is under way ends. A halt lasts until the
/// next kernel runs, because only Clear makes the warps forget what they were doing.
module gpu_life
  import gpu_pkg::*;
#(
  /// What the slowest memory takes to be zeroed, a row a cycle; at least 2.
  parameter int unsigned ClearCycles = 256
) (
  input  logic        clk_i,
  /// Synchronous reset, active low.
  input  logic        rst_ni,
  input  logic        start_i,
  input  logic        stop_i,
  /// A warp lives, or an instruction is between issue and completion.
  input  logic        work_left_i,
  /// No stage of the pipeline and no unit holds anything.
  input  logic        empty_i,
  /// Every store has landed.
  input  logic        drained_i,

  // A trap without a handler
  input  logic        trap_i,
  input  logic [4:0]  trap_cause_i,
  input  logic [31:0] trap_pc_i,
  input  logic [31:0] trap_value_i,
  // A barrier is come to, by the instruction at `bar_pc_i`; no warp can run, none will ever go on, and which wait at barriers
  input  logic        bar_i,
  input  logic [31:0] bar_pc_i,
  input  logic        still_i,
  input  logic        stuck_i,
  input  logic [15:0] stuck_warps_i,
  // A stack pointer that left its stack, written by the instruction at `overflow_pc_i`
  input  logic        overflow_i,
  input  logic [31:0] overflow_pc_i,
  input  logic [31:0] overflow_value_i,
  // Lines that memory refused
  input  logic        fetch_error_i,
  input  logic [31:0] fetch_addr_i,
  input  logic        data_error_i,
  input  logic        data_store_i,
  input  logic [31:0] data_addr_i,

  output state_e      state_o,
  /// Row to zero.
  output logic [15:0] clear_o,
  /// All of Clear but its last cycle: what runs kernels is held in reset.
  output logic        hold_o,
  /// The last cycle of Clear.
  output logic        begin_o,
  output logic        halt_o,
  output logic        running_o,
  /// Sticky until the next start, as what goes with it.
  output logic        fault_o,
  output logic [4:0]  fault_cause_o,
  output logic [31:0] fault_pc_o,
  output logic [31:0] fault_value_o
);

  logic stopped_q;
  // The last cycle of Clear: everything begins with it, so it comes from a register.
  logic last_q;
  logic [31:0] bar_pc_q;
  // Cycles in which nothing changed. A few of them are time for barriers that open just now.
  logic [3:0] still_q;

  assign begin_o = last_q;
  assign running_o = state_o != Idle;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_o <= Idle;
      clear_o <= '0;
      halt_o <= 1'b0;
      stopped_q <= 1'b0;
      last_q <= 1'b0;
      hold_o <= 1'b0;
      still_q <= '0;
      bar_pc_q <= '0;
      fault_o <= 1'b0;
      fault_cause_o <= '0;
      fault_pc_o <= '0;
      fault_value_o <= '0;
    end else begin
      automatic logic refused, deadlock;
      refused = fetch_error_i || data_error_i;
      deadlock = still_q == '1;
      still_q <= '0;
      if (bar_i) bar_pc_q <= bar_pc_i;
      unique case (state_o)
        Idle: begin
          clear_o <= '0;
          stopped_q <= 1'b0;
          bar_pc_q <= '0;
          if (start_i) begin
            state_o <= Clear;
            hold_o <= 1'b1;
            fault_o <= 1'b0;
            fault_cause_o <= '0;
            fault_pc_o <= '0;
            fault_value_o <= '0;
          end
        end
        Clear: begin
          clear_o <= clear_o + 16'd1;
          last_q <= clear_o == 16'(ClearCycles - 2);
          hold_o <= !begin_o && clear_o != 16'(ClearCycles - 2);
          if (stop_i) stopped_q <= 1'b1;
          if (begin_o) begin
            state_o <= Run;
            halt_o <= stopped_q || stop_i;
          end
        end
        Run: begin
          if (stop_i) halt_o <= 1'b1;
          if (halt_o || !work_left_i) if (empty_i) state_o <= Drain;
          if (still_i && !halt_o) if (stuck_i) still_q <= still_q + 4'd1;
        end
        default: if (drained_i) state_o <= Idle;
      endcase
      if (trap_i || refused || deadlock || overflow_i) begin
        if ((state_o == Run || state_o == Drain) && !fault_o) begin
          halt_o <= 1'b1;
          fault_o <= 1'b1;
          if (refused) begin
            fault_cause_o <= fetch_error_i ? CauseFetchFault : data_store_i ? CauseStoreFault : CauseLoadFault;
            fault_pc_o <= '0;
            fault_value_o <= fetch_error_i ? fetch_addr_i : data_addr_i;
          end else if (overflow_i) begin
            fault_cause_o <= CauseStackOverflow;
            fault_pc_o <= overflow_pc_i;
            fault_value_o <= overflow_value_i;
          end else if (!trap_i) begin
            fault_cause_o <= CauseBarrierDeadlock;
            fault_pc_o <= bar_pc_q;
            fault_value_o <= {16'd0, stuck_warps_i};
          end else begin
            fault_cause_o <= trap_cause_i;
            fault_pc_o <= trap_pc_i;
            fault_value_o <= trap_value_i;
          end
        end
      end
    end
  end

endmodule
