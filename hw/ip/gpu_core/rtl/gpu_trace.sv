// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
`ifdef EDDY_GPU_TRACE
/// Tells the simulation what every instruction does, for comparison with the model of the instruction set
/// (sim/eddy_sim/gpu). Not for synthesis.
module gpu_trace #(
  parameter int unsigned Threads = 4,
  parameter int unsigned RowWidth = 8,
  parameter int unsigned RegWidth = 6
) (
  input  logic                clk_i,
  input  logic [7:0]          core_i,
  input  int                  warp_i,
  input  logic [31:0]         pc_i,
  input  logic [31:0]         instr_i,
  /// The register it writes, all ones where it writes none.
  input  logic [7:0]          rd_i,
  /// Lanes that execute the instruction; none where it does not end now.
  input  logic [Threads-1:0]  retire_i,
  /// Lanes that trap, at another instruction.
  input  logic [Threads-1:0]  trap_i,
  input  int                  trap_warp_i,
  input  logic [31:0]         trap_pc_i,
  input  logic [31:0]         trap_instr_i,
  input  logic [4:0]          trap_cause_i,
  input  logic [31:0]         trap_value_i [Threads],
  /// Lanes whose register of `row_i` is written, by the last instruction of the warp that writes it.
  input  logic [Threads-1:0]  write_i,
  input  logic [RowWidth-1:0] row_i,
  input  logic [31:0]         data_i [Threads]
);

  import "DPI-C" function void gpu_trace_op(int core, int warp, int pc, int instr, int mask, int traps, int rd);
  import "DPI-C" function void gpu_trace_trap(int core, int warp, int lane, int value);
  import "DPI-C" function void gpu_trace_value(int core, int warp, int lane, int rd, int value);

  always_ff @(posedge clk_i) begin
    if (retire_i != '0) gpu_trace_op(32'(core_i), warp_i, pc_i, instr_i, 32'(retire_i), 0, 32'(rd_i));
    if (trap_i != '0) gpu_trace_op(32'(core_i), trap_warp_i, trap_pc_i, trap_instr_i, 32'(trap_i), 1, 32'(trap_cause_i));
    for (int t = 0; t < int'(Threads); t++) begin
      if (trap_i[t]) gpu_trace_trap(32'(core_i), trap_warp_i, t, trap_value_i[t]);
      if (write_i[t]) begin
        gpu_trace_value(32'(core_i), 32'(row_i >> RegWidth), t, 32'(row_i[RegWidth-1:0]), data_i[t]);
      end
    end
  end

endmodule
`endif
