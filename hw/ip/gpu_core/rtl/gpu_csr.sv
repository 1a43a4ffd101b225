/// Control and status registers: one set a warp, what a trap leaves in every lane, the constants, and the window on the
/// counters.
///
/// Reads are combinational for the instruction behind the execute stage; which register the one in that stage will access
/// (`ask_i`), which counter that shows (`ask_counter_o`), and how it rounds, is found a cycle before.
/// docs/reference/gpu-csrs.md lists them. Which accesses are legal is the decoder's; of others nothing is shown here.
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

  /// What was asked for in the cycle before takes place.
  input  logic                 access_i,
  input  logic [WarpWidth-1:0] warp_i,
  input  logic                 writes_i,
  /// 1 write, 2 set, 3 clear.
  input  logic [1:0]           op_i,
  /// Of the highest executing lane, for the registers of the warp; each lane's own, for those of the lanes.
  input  logic [31:0]          operand_i,
  input  logic [31:0]          lane_operand_i [Threads],
  /// What all lanes read, and each beside it; zero where it is the other, or nothing is read.
  output logic [31:0]          common_o,
  output logic [31:0]          lane_o [Threads],

  // Facts
  input  logic [7:0]           core_id_i,
  input  logic [7:0]           num_cores_i,
  input  logic [31:0]          cap_i,
  input  logic [Warps-1:0]     active_i,
  input  logic [Threads-1:0]   mask_i,
  // An access will take place, if nothing prevents it, and to which number; of a counter its place among the counters, and in
  // the cycle after what it counts
  input  logic                 ask_i,
  input  logic [11:0]          ask_addr_i,
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
  /// There is no such rounding mode.
  output logic                 frm_bad_o,
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

  typedef enum logic [4:0] {
    Nothing, Flags, Rounding, FlagsAndRounding, Status, Isa, Vector, Scratch, Epc, Cause, Value, Class, StackBase, StackBytes, Lane, Warp,
    Core, Active, Executing, Lanes, WarpCount, Cores, Local, Cap, Hart, CountLow, CountHigh
  } which_e;

  which_e which_q;
  logic [31:0] common;
  logic [5:0] window_index;
  logic [4:0] window;

  function automatic which_e which(logic [11:0] addr);
    unique case (addr)
      12'h001: return Flags;
      12'h002: return Rounding;
      12'h003: return FlagsAndRounding;
      12'h300: return Status;
      12'h301: return Isa;
      12'h304, 12'h344, 12'hf11, 12'hf12, 12'hf13, 12'hf15: return Nothing;
      12'h305: return Vector;
      12'h340: return Scratch;
      12'h341: return Epc;
      12'h342: return Cause;
      12'h343: return Value;
      12'h7c0: return Class;
      12'h7c1: return StackBase;
      12'h7c2: return StackBytes;
      12'hcc0: return Lane;
      12'hcc1: return Warp;
      12'hcc2: return Core;
      12'hcc3: return Active;
      12'hcc4: return Executing;
      12'hfc0: return Lanes;
      12'hfc1: return WarpCount;
      12'hfc2: return Cores;
      12'hfc3: return Local;
      12'hfd0: return Cap;
      12'hf14: return Hart;
      default: return addr[7] ? CountHigh : CountLow;
    endcase
  endfunction

  always_ff @(posedge clk_i) if (ask_i) which_q <= which(ask_addr_i);

  assign mtvec_o = mtvec_q[warp_i];
  assign frm_o = fcsr_q[ask_warp_i][7:5];

  // Of each warp, before the one is known.
  logic [Warps-1:0] frm_bad;
  always_comb for (int w = 0; w < int'(Warps); w++) frm_bad[w] = fcsr_q[w][7:5] > 3'd4;
  assign frm_bad_o = frm_bad[ask_warp_i];

  always_comb begin
    for (int t = 0; t < int'(Threads); t++) begin
      mepc_o[t] = mepc_q[warp_i][t];
      mdepth_o[t] = mdepth_q[warp_i][t];
    end
  end

  // Counter window: 0xB03 to 0xB1F show a class's counters from the first on.
  always_comb begin
    window = ask_addr_i[4:0];
    window_index = 6'h3f;
    if (window == 5'd0) window_index = 6'(CntCycles);
    else if (window == 5'd2) window_index = 6'(CntInstret);
    else if (class_q == 8'd1 && window - 5'd1 < 5'(CntActive)) window_index = {1'b0, window - 5'd1};
    else if (class_q == 8'd3) window_index = 6'(CntActive) + {1'b0, window} - 6'd3;
  end
  assign ask_counter_o = window_index;

  assign common_o = common;

  always_comb begin
    common = '0;
    if (access_i) begin
      unique case (which_q)
        Flags:            common = {27'd0, fcsr_q[warp_i][4:0]};
        Rounding:         common = {29'd0, fcsr_q[warp_i][7:5]};
        FlagsAndRounding: common = {24'd0, fcsr_q[warp_i]};
        Status:           common = Fpu ? 32'h8000_7800 : 32'h0000_1800;
        Isa:              common = 32'h4000_1100 | (Fpu ? 32'h20 : 32'h0);
        Vector:           common = mtvec_q[warp_i];
        Scratch:          common = mscratch_q[warp_i];
        Class:            common = {24'd0, class_q};
        Warp:             common = 32'(warp_i);
        Core:             common = {24'd0, core_id_i};
        Active:           common = 32'(active_i);
        Executing:        common = 32'(mask_i);
        Lanes:            common = Threads;
        WarpCount:        common = Warps;
        Cores:            common = {24'd0, num_cores_i};
        Local:            common = LocalBase;
        Cap:              common = cap_i;
        CountLow:         common = counter_i[31:0];
        CountHigh:        common = counter_i[63:32];
        default: ;
      endcase
    end
  end

  always_comb begin
    for (int t = 0; t < int'(Threads); t++) begin
      lane_o[t] = '0;
      if (access_i) begin
        unique case (which_q)
          Lane:    lane_o[t] = 32'(t);
          Hart:    lane_o[t] = 32'((32'(core_id_i) * Warps + 32'(warp_i)) * Threads + 32'(t));
          Epc:     lane_o[t] = mepc_q[warp_i][t];
          Cause:   lane_o[t] = {27'd0, mcause_q[warp_i][t]};
          Value:   lane_o[t] = mtval_q[warp_i][t];
          default: ;
        endcase
      end
    end
  end

  assign stack_base_o = access_i && writes_i && which_q == StackBase;
  assign stack_bytes_o = access_i && writes_i && which_q == StackBytes;

  // What an access makes of a word.
  function automatic logic [31:0] merged(logic [31:0] word);
    unique case (op_i)
      2'd1:    return operand_i;
      2'd2:    return word | operand_i;
      default: return word & ~operand_i;
    endcase
  endfunction

  // Of flags and class, which are short.
  logic [7:0] flags, written;

  assign flags = fcsr_q[warp_i];

  always_comb begin
    written = 'x;
    if (access_i) begin
      unique case (which_q)
        Class:    written = 8'(merged(32'(class_q)));
        Rounding: written = 8'(merged(32'(flags[7:5])));
        default:  written = 8'(merged(32'(flags)));
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (clear_i) begin
      class_q <= 8'd1;
      fcsr_q <= '0;
    end else begin
      if (spawn_i) for (int w = 0; w < int'(Warps); w++) if (spawn_mask_i[w]) fcsr_q[w] <= '0;
      if (fflags_i) fcsr_q[fflags_warp_i][4:0] <= fcsr_q[fflags_warp_i][4:0] | fflags_value_i;
      if (access_i && writes_i) begin
        unique case (which_q)
          Flags:            fcsr_q[warp_i][4:0] <= written[4:0];
          Rounding:         fcsr_q[warp_i][7:5] <= written[2:0];
          FlagsAndRounding: fcsr_q[warp_i] <= written;
          Class:            class_q <= written;
          default: ;
        endcase
      end
    end
  end

  // A warp that begins has these of the warp that spawns it. All warps take them from one place, which tells them apart from the
  // first warp's argument and from what is written.
  logic [Warps-1:0] vector_write, scratch_write;
  logic [31:0] vector_d, scratch_d;

  always_comb begin
    vector_write = '0;
    scratch_write = '0;
    vector_d = 'x;
    scratch_d = 'x;
    if (start_i) begin
      scratch_write = Warps'(1);
      scratch_d = start_arg_i;
    end else if (spawn_i) begin
      vector_write = spawn_mask_i;
      scratch_write = spawn_mask_i;
      vector_d = mtvec_q[warp_i];
      scratch_d = mscratch_q[warp_i];
    end else if (access_i && writes_i) begin
      if (which_q == Vector) vector_write = Warps'(1) << warp_i;
      if (which_q == Scratch) scratch_write = Warps'(1) << warp_i;
      vector_d = merged(mtvec_q[warp_i]) & ~32'd3;
      scratch_d = merged(mscratch_q[warp_i]);
    end
  end

  always_ff @(posedge clk_i) begin
    if (clear_i && !start_i) begin
      mtvec_q <= '0;
      mscratch_q <= '0;
    end else if (start_i || spawn_i || access_i) begin
      for (int w = 0; w < int'(Warps); w++) begin
        if (vector_write[w]) mtvec_q[w] <= vector_d;
        if (scratch_write[w]) mscratch_q[w] <= scratch_d;
      end
    end
  end

  // What a trap leaves, or a write to it. What becomes of each is told by a number, so that one gate makes a bit.
  typedef enum logic [2:0] { Stays, Clears, Traps, Puts, Sets, Unsets } change_e;

  change_e access;
  change_e epc_change [Threads];
  change_e cause_change [Threads];
  change_e value_change [Threads];
  change_e depth_change [Threads];
  logic trap_number, trap_write;
  logic [WarpWidth-1:0] trap_row;
  logic [Threads-1:0][31:0] mepc_d, mtval_d;
  logic [Threads-1:0][4:0] mcause_d;
  logic [Threads-1:0][5:0] mdepth_d;

  function automatic logic [31:0] changed(change_e change, logic [31:0] old, logic [31:0] trapped, logic [31:0] operand);
    unique case (change)
      Clears:  return '0;
      Traps:   return trapped;
      Puts:    return operand;
      Sets:    return old | operand;
      Unsets:  return old & ~operand;
      default: return old;
    endcase
  endfunction

  assign trap_number = access_i && writes_i && (which_q inside {Epc, Cause, Value});
  assign trap_write = clear_i || trap_i != '0 || trap_number;
  assign trap_row = clear_i ? clear_warp_i : warp_i;

  always_comb begin
    unique case (op_i)
      2'd1:    access = Puts;
      2'd2:    access = Sets;
      default: access = Unsets;
    endcase
    for (int t = 0; t < int'(Threads); t++) begin
      epc_change[t] = Stays;
      cause_change[t] = Stays;
      value_change[t] = Stays;
      depth_change[t] = Stays;
      if (trap_write) begin
        depth_change[t] = clear_i ? Clears : trap_i[t] ? Traps : Stays;
        epc_change[t] = (depth_change[t] == Stays && trap_number && mask_i[t] && which_q == Epc) ? access : depth_change[t];
        cause_change[t] = (depth_change[t] == Stays && trap_number && mask_i[t] && which_q == Cause) ? access : depth_change[t];
        value_change[t] = (depth_change[t] == Stays && trap_number && mask_i[t] && which_q == Value) ? access : depth_change[t];
      end
    end
  end

  always_comb begin
    mepc_d = 'x;
    mtval_d = 'x;
    mcause_d = 'x;
    mdepth_d = 'x;
    if (trap_write) begin
      for (int t = 0; t < int'(Threads); t++) begin
        mepc_d[t] = changed(epc_change[t], mepc_q[warp_i][t], trap_pc_i, {lane_operand_i[t][31:2], 2'b00});
        mcause_d[t] = 5'(changed(cause_change[t], 32'(mcause_q[warp_i][t]), 32'(trap_cause_i), lane_operand_i[t]));
        mtval_d[t] = changed(value_change[t], mtval_q[warp_i][t], trap_value_i[t], lane_operand_i[t]);
        mdepth_d[t] = 6'(changed(depth_change[t], 32'(mdepth_q[warp_i][t]), 32'(trap_depth_i), '0));
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
