// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
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

  /// There is an instruction, of `warp_i`. Without one nothing is read or written, and what is shown means nothing.
  input  logic                 valid_i,
  /// What was asked for in the cycle before takes place.
  input  logic                 access_i,
  input  logic [WarpWidth-1:0] warp_i,
  input  logic                 writes_i,
  /// 1 write, 2 set, 3 clear.
  input  logic [1:0]           op_i,
  /// Of the highest executing lane, for the registers of the warp; each lane's own, for those of the lanes.
  input  logic [31:0]          operand_i,
  input  logic [Threads-1:0][31:0] lane_operand_i,
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
  logic [Warps-1:0][4:0] flags_q;
  logic [Warps-1:0][2:0] frm_q;
  // Those whose rounding mode is none.
  logic [Warps-1:0] frm_bad_q;
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

  assign frm_o = frm_q[ask_warp_i];
  assign frm_bad_o = frm_bad_q[ask_warp_i];

  // Of what a trap left.
  always_comb begin
    mtvec_o = 'x;
    for (int t = 0; t < int'(Threads); t++) begin
      mepc_o[t] = 'x;
      mdepth_o[t] = 'x;
    end
    if (valid_i) begin
      mtvec_o = mtvec_q[warp_i];
      for (int t = 0; t < int'(Threads); t++) begin
        mepc_o[t] = mepc_q[warp_i][t];
        mdepth_o[t] = mdepth_q[warp_i][t];
      end
    end
  end

  // Counter window: 0xB03 to 0xB1F show a class's counters from the first on.
  always_comb begin
    ask_counter_o = 'x;
    if (ask_i) begin
      automatic logic [4:0] window;
      window = ask_addr_i[4:0];
      ask_counter_o = 6'h3f;
      if (window == 5'd0) ask_counter_o = 6'(CntCycles);
      else if (window == 5'd2) ask_counter_o = 6'(CntInstret);
      else if (class_q == 8'd1 && window - 5'd1 < 5'(CntActive)) ask_counter_o = {1'b0, window - 5'd1};
      else if (class_q == 8'd3) ask_counter_o = 6'(CntActive) + {1'b0, window} - 6'd3;
    end
  end

  always_comb begin
    common_o = '0;
    if (access_i) begin
      unique case (which_q)
        Flags:            common_o = {27'd0, flags_q[warp_i]};
        Rounding:         common_o = {29'd0, frm_q[warp_i]};
        FlagsAndRounding: common_o = {24'd0, frm_q[warp_i], flags_q[warp_i]};
        Status:           common_o = Fpu ? 32'h8000_7800 : 32'h0000_1800;
        Isa:              common_o = 32'h4000_1100 | (Fpu ? 32'h20 : 32'h0);
        Vector:           common_o = mtvec_q[warp_i];
        Scratch:          common_o = mscratch_q[warp_i];
        Class:            common_o = {24'd0, class_q};
        Warp:             common_o = 32'(warp_i);
        Core:             common_o = {24'd0, core_id_i};
        Active:           common_o = 32'(active_i);
        Executing:        common_o = 32'(mask_i);
        Lanes:            common_o = Threads;
        WarpCount:        common_o = Warps;
        Cores:            common_o = {24'd0, num_cores_i};
        Local:            common_o = LocalBase;
        Cap:              common_o = cap_i;
        CountLow:         common_o = counter_i[31:0];
        CountHigh:        common_o = counter_i[63:32];
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

  always_comb begin
    stack_base_o = 1'b0;
    stack_bytes_o = 1'b0;
    if (valid_i) begin
      if (access_i && writes_i) begin
        stack_base_o = which_q == StackBase;
        stack_bytes_o = which_q == StackBytes;
      end
    end
  end

  // What an access makes of a word.
  function automatic logic [31:0] merged(logic [31:0] word);
    unique case (op_i)
      2'd1:    return operand_i;
      2'd2:    return word | operand_i;
      default: return word & ~operand_i;
    endcase
  endfunction

  // Of flags and class, which are short.
  function automatic logic [7:0] short_written();
    unique case (which_q)
      Class:    return 8'(merged(32'(class_q)));
      Rounding: return 8'(merged(32'(frm_q[warp_i])));
      default:  return 8'(merged(32'({frm_q[warp_i], flags_q[warp_i]})));
    endcase
  endfunction

  function automatic logic is_bad(logic [2:0] mode);
    return mode > 3'd4;
  endfunction

  always_ff @(posedge clk_i) begin
    if (clear_i) begin
      class_q <= 8'd1;
      flags_q <= '0;
      frm_q <= '0;
      frm_bad_q <= '0;
    end else begin
      automatic logic [Warps-1:0][4:0] flags;
      flags = flags_q;
      if (spawn_i) for (int w = 0; w < int'(Warps); w++) if (spawn_mask_i[w]) flags[w] = '0;
      if (fflags_i) begin
        for (int w = 0; w < int'(Warps); w++) if (fflags_warp_i == WarpWidth'(w)) flags[w] = flags_q[w] | fflags_value_i;
      end
      if (access_i && writes_i) begin
        automatic logic [7:0] short_word;
        short_word = short_written();
        for (int w = 0; w < int'(Warps); w++) begin
          if (warp_i == WarpWidth'(w)) begin
            if (which_q == Flags || which_q == FlagsAndRounding) flags[w] = short_word[4:0];
            if (which_q == Rounding || which_q == FlagsAndRounding) begin
              frm_q[w] <= (which_q == Rounding) ? short_word[2:0] : short_word[7:5];
              frm_bad_q[w] <= is_bad((which_q == Rounding) ? short_word[2:0] : short_word[7:5]);
            end
          end
        end
        if (which_q == Class) class_q <= short_word;
      end else if (spawn_i) begin
        for (int w = 0; w < int'(Warps); w++) begin
          if (spawn_mask_i[w]) begin
            frm_q[w] <= '0;
            frm_bad_q[w] <= 1'b0;
          end
        end
      end
      flags_q <= flags;
    end
  end

  // A warp that begins has these of the warp that spawns it. All warps take them from one place, which tells them apart from the
  // first warp's argument and from what is written.
  always_ff @(posedge clk_i) begin
    if (clear_i && !start_i) begin
      mtvec_q <= '0;
      mscratch_q <= '0;
    end else if (start_i || valid_i) begin
      automatic logic [Warps-1:0] vector_write, scratch_write;
      automatic logic [31:0] vector, scratch;
      vector_write = '0;
      scratch_write = '0;
      vector = 'x;
      scratch = 'x;
      if (start_i) begin
        scratch_write = Warps'(1);
        scratch = start_arg_i;
      end else if (spawn_i) begin
        vector_write = spawn_mask_i;
        scratch_write = spawn_mask_i;
        vector = mtvec_q[warp_i];
        scratch = mscratch_q[warp_i];
      end else if (access_i && writes_i) begin
        if (which_q == Vector) vector_write = Warps'(1) << warp_i;
        if (which_q == Scratch) scratch_write = Warps'(1) << warp_i;
        vector = merged(mtvec_q[warp_i]) & ~32'd3;
        scratch = merged(mscratch_q[warp_i]);
      end
      for (int w = 0; w < int'(Warps); w++) begin
        if (vector_write[w]) mtvec_q[w] <= vector;
        if (scratch_write[w]) mscratch_q[w] <= scratch;
      end
    end
  end

  // What a trap leaves, or a write to it. What becomes of each is told by a number, so that one gate makes a bit.
  typedef enum logic [2:0] { Stays, Clears, Traps, Puts, Sets, Unsets } change_e;

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

  // Of a register of the lanes, where an access writes this one.
  function automatic change_e change_of(change_e trapped, logic is_written);
    if (trapped != Stays || !is_written) return trapped;
    unique case (op_i)
      2'd1:    return Puts;
      2'd2:    return Sets;
      default: return Unsets;
    endcase
  endfunction

  logic trap_number, trap_write;
  logic [WarpWidth-1:0] trap_row;

  always_comb begin
    trap_number = 1'b0;
    trap_write = clear_i;
    if (valid_i) begin
      if (access_i && writes_i) trap_number = which_q inside {Epc, Cause, Value};
      if (trap_i != '0 || trap_number) trap_write = 1'b1;
    end
  end

  assign trap_row = clear_i ? clear_warp_i : warp_i;

  always_ff @(posedge clk_i) begin
    if (trap_write) begin
      automatic logic [Threads-1:0][31:0] epcs, values;
      automatic logic [Threads-1:0][4:0] causes;
      automatic logic [Threads-1:0][5:0] depths;
      for (int t = 0; t < int'(Threads); t++) begin
        automatic change_e change;
        automatic logic writes;
        change = clear_i ? Clears : trap_i[t] ? Traps : Stays;
        writes = trap_number && mask_i[t];
        epcs[t] = changed(
          change_of(change, writes && which_q == Epc), mepc_q[warp_i][t], trap_pc_i, {lane_operand_i[t][31:2], 2'b00});
        causes[t] = 5'(changed(
          change_of(change, writes && which_q == Cause), 32'(mcause_q[warp_i][t]), 32'(trap_cause_i), lane_operand_i[t]));
        values[t] = changed(change_of(change, writes && which_q == Value), mtval_q[warp_i][t], trap_value_i[t], lane_operand_i[t]);
        depths[t] = 6'(changed(change, 32'(mdepth_q[warp_i][t]), 32'(trap_depth_i), '0));
      end
      mepc_q[trap_row] <= epcs;
      mcause_q[trap_row] <= causes;
      mtval_q[trap_row] <= values;
      mdepth_q[trap_row] <= depths;
    end
  end

`ifndef SYNTHESIS
  OfAnInstruction_A : assert property (@(posedge clk_i) access_i || spawn_i || trap_i != '0 |-> valid_i);
`endif

endmodule
