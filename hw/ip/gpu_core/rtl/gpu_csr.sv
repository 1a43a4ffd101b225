/// Control and status registers: one set a warp, what a trap leaves in every lane, the constants, and the window on the
/// counters.
///
/// Reads are combinational for the instruction behind the execute stage; which counter the one in that stage will read
/// (`ask_counter_o`), and how it rounds, is said a cycle before. docs/reference/gpu-csrs.md lists them. Which accesses are
/// legal is the decoder's; of others nothing is shown here.
module gpu_csr
  import gpu_pkg::*;
#(
  parameter int unsigned Warps = 4,
  parameter int unsigned Threads = 4,
  parameter bit Fpu = 1'b1,
  parameter logic [31:0] LocalBase = 32'hffff_0000,
  localparam int unsigned WarpWidth = (Warps > 1) ? $clog2(Warps) : 1
) (
  input  logic                 clk_i,
  /// Everything back to zero: hold while `clear_warp_i` counts through the warps.
  input  logic                 clear_i,
  input  logic [WarpWidth-1:0] clear_warp_i,
  /// Warp 0 begins with this in mscratch.
  input  logic                 start_i,
  input  logic [31:0]          start_arg_i,

  /// It takes place.
  input  logic                 access_i,
  input  logic [11:0]          addr_i,
  input  logic [WarpWidth-1:0] warp_i,
  input  logic                 writes_i,
  /// 1 write, 2 set, 3 clear.
  input  logic [1:0]           op_i,
  /// Of the highest executing lane, for the registers of the warp; each lane's own, for those of the lanes.
  input  logic [31:0]          operand_i,
  input  logic [31:0]          lane_operand_i [Threads],
  output logic [31:0]          value_o [Threads],

  // Facts
  input  logic [7:0]           core_id_i,
  input  logic [7:0]           num_cores_i,
  input  logic [31:0]          cap_i,
  input  logic [Warps-1:0]     active_i,
  input  logic [Threads-1:0]   mask_i,
  // The low bits of a counter's number, its place among the counters, and in the cycle after what it counts
  input  logic [4:0]           ask_addr_i,
  output logic [5:0]           ask_counter_o,
  input  logic [63:0]          counter_i,

  // Traps, of lanes of `warp_i`
  input  logic [Threads-1:0]   trap_i,
  input  logic [31:0]          trap_pc_i,
  input  logic [4:0]           trap_cause_i,
  input  logic [31:0]          trap_value_i [Threads],
  input  logic [5:0]           trap_depth_i,
  output logic [31:0]          mtvec_o,
  output logic [31:0]          mepc_o [Threads],
  output logic [5:0]           mdepth_o [Threads],
  input  logic                 spawn_i,
  input  logic [Warps-1:0]     spawn_mask_i,

  // Bounds of stacks: they read zero, so what is set is the operand
  output logic                 stack_base_o,
  output logic                 stack_bytes_o,

  // Floating point
  input  logic [WarpWidth-1:0] ask_warp_i,
  output logic [2:0]           frm_o,
  input  logic                 fflags_i,
  input  logic [WarpWidth-1:0] fflags_warp_i,
  input  logic [4:0]           fflags_value_i
);

  // Of the warps.
  logic [Warps-1:0][31:0] mscratch_q, mtvec_q;
  logic [Warps-1:0][7:0] fcsr_q;
  // Of the lanes: one row a warp, written whole.
  logic [Threads-1:0][31:0] mepc_q [Warps];
  logic [Threads-1:0][31:0] mtval_q [Warps];
  logic [Threads-1:0][4:0] mcause_q [Warps];
  logic [Threads-1:0][5:0] mdepth_q [Warps];
  logic [7:0] class_q;

  logic [31:0] common, old, written;
  logic by_lane, hart, trap_state, trap_number;
  logic [5:0] window_index;

  assign mtvec_o = mtvec_q[warp_i];
  assign frm_o = fcsr_q[ask_warp_i][7:5];

  always_comb begin
    for (int t = 0; t < int'(Threads); t++) begin
      mepc_o[t] = mepc_q[warp_i][t];
      mdepth_o[t] = mdepth_q[warp_i][t];
    end
  end

  // Counter window: 0xB03 to 0xB1F show a class's counters from the first on.
  always_comb begin
    window_index = 6'h3f;
    if (ask_addr_i == 5'd0) window_index = 6'(CntCycles);
    else if (ask_addr_i == 5'd2) window_index = 6'(CntInstret);
    else if (class_q == 8'd1 && ask_addr_i - 5'd1 < 5'(CntActive)) window_index = {1'b0, ask_addr_i - 5'd1};
    else if (class_q == 8'd3) window_index = 6'(CntActive) + {1'b0, ask_addr_i} - 6'd3;
  end
  assign ask_counter_o = window_index;

  always_comb begin
    by_lane = 1'b0;
    hart = 1'b0;
    trap_state = 1'b0;
    common = '0;
    if (access_i) begin
      unique case (addr_i)
        12'h001: common = {27'd0, fcsr_q[warp_i][4:0]};
        12'h002: common = {29'd0, fcsr_q[warp_i][7:5]};
        12'h003: common = {24'd0, fcsr_q[warp_i]};
        12'h300: common = Fpu ? 32'h8000_7800 : 32'h0000_1800;
        12'h301: common = 32'h4000_1100 | (Fpu ? 32'h20 : 32'h0);
        12'h304, 12'h344, 12'hf11, 12'hf12, 12'hf13, 12'hf15: common = '0;
        12'h305: common = mtvec_q[warp_i];
        12'h340: common = mscratch_q[warp_i];
        12'h341, 12'h342, 12'h343: trap_state = 1'b1;
        12'h7c0: common = {24'd0, class_q};
        12'h7c1, 12'h7c2: common = '0;
        12'hcc0: by_lane = 1'b1;
        12'hcc1: common = 32'(warp_i);
        12'hcc2: common = {24'd0, core_id_i};
        12'hcc3: common = 32'(active_i);
        12'hcc4: common = 32'(mask_i);
        12'hfc0: common = Threads;
        12'hfc1: common = Warps;
        12'hfc2: common = {24'd0, num_cores_i};
        12'hfc3: common = LocalBase;
        12'hfd0: common = cap_i;
        12'hf14: hart = 1'b1;
        12'hc00, 12'hc02: common = counter_i[31:0];
        12'hc80, 12'hc82: common = counter_i[63:32];
        default: common = addr_i[7] ? counter_i[63:32] : counter_i[31:0];
      endcase
    end
  end

  always_comb begin
    for (int t = 0; t < int'(Threads); t++) begin
      value_o[t] = common;
      if (by_lane) value_o[t] = 32'(t);
      if (hart) value_o[t] = (32'(core_id_i) * Warps + 32'(warp_i)) * Threads + 32'(t);
      if (trap_state) value_o[t] = left_by_trap(addr_i[1:0], t);
    end
  end

  function automatic logic [31:0] left_by_trap(logic [1:0] number, int lane);
    unique case (number)
      2'd1:    return mepc_q[warp_i][lane];
      2'd2:    return {27'd0, mcause_q[warp_i][lane]};
      default: return mtval_q[warp_i][lane];
    endcase
  endfunction

  assign stack_base_o = access_i && writes_i && addr_i == 12'h7c1;
  assign stack_bytes_o = access_i && writes_i && addr_i == 12'h7c2;

  function automatic logic [31:0] merged(logic [1:0] op, logic [31:0] value, logic [31:0] operand);
    unique case (op)
      2'd1:    return operand;
      2'd2:    return value | operand;
      default: return value & ~operand;
    endcase
  endfunction

  // What is there to be changed, of the registers that can be.
  always_comb begin
    old = '0;
    if (access_i) begin
      unique case (addr_i)
        12'h001: old = {27'd0, fcsr_q[warp_i][4:0]};
        12'h002: old = {29'd0, fcsr_q[warp_i][7:5]};
        12'h003: old = {24'd0, fcsr_q[warp_i]};
        12'h305: old = mtvec_q[warp_i];
        12'h340: old = mscratch_q[warp_i];
        default: old = {24'd0, class_q};
      endcase
    end
  end

  assign written = access_i ? merged(op_i, old, operand_i) : '0;

  always_ff @(posedge clk_i) begin
    if (clear_i) begin
      class_q <= 8'd1;
      mscratch_q <= '0;
      mtvec_q <= '0;
      fcsr_q <= '0;
    end else begin
      if (spawn_i) begin
        for (int w = 0; w < int'(Warps); w++) begin
          if (spawn_mask_i[w]) begin
            mscratch_q[w] <= mscratch_q[warp_i];
            mtvec_q[w] <= mtvec_q[warp_i];
            fcsr_q[w] <= '0;
          end
        end
      end
      if (fflags_i) fcsr_q[fflags_warp_i][4:0] <= fcsr_q[fflags_warp_i][4:0] | fflags_value_i;
      if (access_i && writes_i) begin
        unique case (addr_i)
          12'h001: fcsr_q[warp_i][4:0] <= written[4:0];
          12'h002: fcsr_q[warp_i][7:5] <= written[2:0];
          12'h003: fcsr_q[warp_i] <= written[7:0];
          12'h305: mtvec_q[warp_i] <= {written[31:2], 2'b00};
          12'h340: mscratch_q[warp_i] <= written;
          12'h7c0: class_q <= written[7:0];
          default: ;
        endcase
      end
    end
    if (start_i) mscratch_q[0] <= start_arg_i;
  end

  // What a trap leaves, or a write to it.
  logic trap_write;
  logic [WarpWidth-1:0] trap_row;
  logic [Threads-1:0][31:0] mepc_d, mtval_d;
  logic [Threads-1:0][4:0] mcause_d;
  logic [Threads-1:0][5:0] mdepth_d;

  assign trap_number = addr_i inside {12'h341, 12'h342, 12'h343};
  assign trap_write = clear_i || trap_i != '0 || (access_i && writes_i && trap_number);
  assign trap_row = clear_i ? clear_warp_i : warp_i;

  always_comb begin
    mepc_d = '0;
    mtval_d = '0;
    mcause_d = '0;
    mdepth_d = '0;
    if (trap_write && !clear_i) begin
      mepc_d = mepc_q[warp_i];
      mtval_d = mtval_q[warp_i];
      mcause_d = mcause_q[warp_i];
      mdepth_d = mdepth_q[warp_i];
      for (int t = 0; t < int'(Threads); t++) begin
        automatic logic [31:0] value;
        value = merged(op_i, left_by_trap(addr_i[1:0], t), lane_operand_i[t]);
        if (trap_i[t]) begin
          mepc_d[t] = trap_pc_i;
          mcause_d[t] = trap_cause_i;
          mtval_d[t] = trap_value_i[t];
          mdepth_d[t] = trap_depth_i;
        end else if (access_i && trap_number && mask_i[t]) begin
          unique case (addr_i[1:0])
            2'd1:    mepc_d[t] = {value[31:2], 2'b00};
            2'd2:    mcause_d[t] = value[4:0];
            default: mtval_d[t] = value;
          endcase
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (trap_write) begin
      mepc_q[trap_row] <= mepc_d;
      mtval_q[trap_row] <= mtval_d;
      mcause_q[trap_row] <= mcause_d;
      mdepth_q[trap_row] <= mdepth_d;
    end
  end

endmodule
