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

  /// Lines that memory refused, of instructions and of data; a stack pointer that left its stack; a trap without a handler.
  input  fault_t      fetch_i,
  input  fault_t      data_i,
  input  fault_t      overflow_i,
  input  fault_t      trap_i,
  // A barrier is reached by the instruction at `bar_pc_i`; no warp can run; no warp will ever continue; warps at barriers
  input  logic        bar_i,
  input  logic [31:0] bar_pc_i,
  input  logic        still_i,
  input  logic        stuck_i,
  input  logic [15:0] stuck_warps_i,

  output state_e      state_o,
  /// Row to zero.
  output logic [15:0] clear_o,
  /// All of Clear but its last cycle: what runs kernels is held in reset.
  output logic        hold_o,
  /// The last cycle of Clear.
  output logic        begin_o,
  output logic        halt_o,
  output logic        running_o,
  /// Sticky until the next start.
  output fault_t      fault_o
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
      fault_o <= '0;
    end else begin
      automatic logic deadlock;
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
            fault_o <= '0;
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
      if (fetch_i.valid || data_i.valid || overflow_i.valid || trap_i.valid || deadlock) begin
        if ((state_o == Run || state_o == Drain) && !fault_o.valid) begin
          halt_o <= 1'b1;
          if (fetch_i.valid) fault_o <= fetch_i;
          else if (data_i.valid) fault_o <= data_i;
          else if (overflow_i.valid) fault_o <= overflow_i;
          else if (trap_i.valid) fault_o <= trap_i;
          else fault_o <= '{valid: 1'b1, cause: CauseBarrierDeadlock, pc: bar_pc_q, value: {16'd0, stuck_warps_i}};
        end
      end
    end
  end

endmodule
