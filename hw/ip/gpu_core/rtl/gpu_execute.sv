// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The execute stage: integer work, CSRs, traps, and where the lanes go; memory, multiplication, division and floating point
/// leave for their units from here.
///
/// An instruction whose lanes are all of its warp's and go on together, with the one behind or at a branch's target, ends
/// here. Where anything else happens to them, `gpu_flow` works it out in the cycle after, from registers, and the warp waits.
/// CSRs are read and written in that cycle too, and what traps leave; the result of a CSR access takes the place of that of an
/// instruction behind it, which must not be there (`csr_o`).
module gpu_execute
  import gpu_pkg::*;
#(
  parameter int unsigned Warps = 4,
  parameter int unsigned Threads = 4,
  parameter bit Fpu = 1'b0,
  parameter logic [31:0] LocalBase = 32'hffff_0000,
  localparam int unsigned WarpWidth = (Warps > 1) ? $clog2(Warps) : 1
) (
  input  logic               clk_i,
  /// Synchronous reset, active low: nothing is in the stage behind.
  input  logic               rst_ni,

  // Life of a kernel
  /// CSRs back to zero: hold while `clear_row_i` counts through the warps.
  input  logic               clear_i,
  input  logic [WarpWidth-1:0] clear_row_i,
  input  logic               begin_i,
  input  logic [31:0]        start_arg_i,
  /// What is in the stage has no effect.
  input  logic               halt_i,

  // The instruction and its operands
  input  logic               valid_i,
  input  execute_t           execute_i,
  input  logic [31:0]        rs1_i [Threads],
  input  logic [31:0]        rs2_i [Threads],
  input  logic               memory_ready_i,
  input  logic               muldiv_ready_i,
  input  logic               fpu_ready_i,

  // Its warp
  /// The executing lanes are all the running lanes of the warp.
  input  logic               alone_i,
  input  logic [Warps-1:0]   active_i,
  // The warp of `flow_warp_o`
  input  logic               flow_alone_i,
  input  lane_state_t        state_i,
  input  logic [31:0]        lane_pc_i [Threads],

  // Facts that CSRs show
  input  logic [7:0]         core_id_i,
  input  logic [7:0]         num_cores_i,
  input  logic [31:0]        cap_i,
  /// A counter is looked at, this one.
  output logic               counter_o,
  output logic [5:0]         counter_index_o,
  input  logic [63:0]        counter_i,
  // Flags of an operation that ends
  input  logic               fflags_i,
  input  warp_t              fflags_warp_i,
  input  logic [4:0]         fflags_value_i,

  // What it did
  output logic               retire_o,
  /// It will have set its register, now or when its unit answers.
  output logic               sets_o,
  /// It will write a cycle later than others: nothing shall issue in this cycle.
  output logic               csr_o,
  /// The warp goes on with the instruction behind, or elsewhere, and that is all.
  output logic               end_o,
  output logic               end_jump_o,
  output logic [31:0]        end_pc_o,
  output depth_t             end_depth_o,
  // What it did to the lanes otherwise, a cycle later
  output logic               flow_valid_o,
  output warp_t              flow_warp_o,
  output logic [31:0]        flow_pc_o,
  output outcome_t           outcome_o,
  /// Where the lanes go on, where they do together.
  output logic [31:0]        next_pc_o,
  output logic [31:0]        lane_pc_o [Threads],
  output depth_t             lane_depth_o [Threads],
  /// This warp's lanes write `result_o` to a register in the next cycle.
  output logic               write_o,
  output warp_t              write_warp_o,
  output lanes_t             write_mask_o,
  output reg_t               write_rd_o,
  output logic [31:0]        result_o [Threads],

  // To the units
  /// It goes on there, under this entry of the scoreboard.
  output logic               push_o,
  input  entry_t             entry_i,
  output logic               to_memory_o,
  output logic               to_muldiv_o,
  output logic               to_fpu_o,
  output tag_t               tag_o,
  output logic [31:0]        address_o [Threads],
  output logic [2:0]         rounding_o,

  // Traps, and CSRs: of the instruction of `flow_warp_o`, a cycle later
  output logic [31:0]        flow_instr_o,
  output logic [Threads-1:0] flow_mask_o,
  output lanes_t             trap_o,
  output logic [4:0]         trap_cause_o,
  output logic [31:0]        trap_value_o [Threads],
  // Bounds of stacks that it sets
  output logic               stack_base_o,
  output logic               stack_bytes_o,
  output logic [31:0]        stack_operand_o [Threads],
  output logic [31:0]        stack_size_o,

  /// A trap nobody handles, and what it says.
  output logic               fatal_o,
  output logic [31:0]        fatal_value_o
);

  localparam int unsigned LaneWidth = (Threads > 1) ? $clog2(Threads) : 1;

  typedef logic [Threads-1:0] mask_t;

  unit_e unit;
  logic [2:0] sub;
  mask_t mask;
  logic [31:0] pc;
  logic [WarpWidth-1:0] warp;
  logic go;

  assign unit = execute_i.op.unit;
  assign sub = execute_i.op.sub;
  assign mask = mask_t'(execute_i.from.mask);
  assign pc = execute_i.pc;
  assign warp = WarpWidth'(execute_i.from.warp);
  assign go = valid_i && !halt_i;

  // ---- Lane by lane

  logic [31:0] lanes_result [Threads];
  mask_t taken;

  gpu_lanes #(.Threads(Threads)) u_lanes (
    .valid_i(go), .unit_i(unit), .alu_i(execute_i.op.alu), .sub_i(sub), .imm_i(execute_i.op.imm),
    .b_is_imm_i(execute_i.op.b_is_imm), .subtracts_i(execute_i.op.subtracts),
    .is_signed_i(execute_i.op.is_signed), .mask_i(mask), .rs1_i, .rs2_i,
    .result_o(lanes_result), .address_o, .taken_o(taken)
  );

  // Scalar operands: the highest-numbered executing lane.
  logic [LaneWidth-1:0] top_lane;
  logic [31:0] scalar1, scalar2;

  localparam units_t ScalarUnits = only(UnitWarp) | only(UnitCsr) | only(UnitJalr);

  always_comb begin
    top_lane = '0;
    if (go) begin
      if (ScalarUnits[unit]) for (int t = 0; t < int'(Threads); t++) if (mask[t]) top_lane = LaneWidth'(t);
    end
  end
  assign scalar1 = rs1_i[top_lane];
  assign scalar2 = rs2_i[top_lane];

  // ---- Traps

  logic rm_bad, frm_bad;
  logic [2:0] frm;
  logic [31:0] target;
  mask_t trap;
  // It takes effect, but for what branches and `wspawn` find out about their operands late; they end in gpu_flow.
  logic odd_branch, passes;

  assign target = (execute_i.op.from_zero ? '0 : pc) + execute_i.op.imm;
  assign odd_branch = unit == UnitBranch && execute_i.op.imm[1];
  assign rounding_o = execute_i.op.fp_dynamic ? frm : sub;
  assign rm_bad = execute_i.op.fp_dynamic && frm_bad;

  gpu_trap #(.Threads(Threads)) u_trap (
    .go_i(go), .unit_i(unit), .sub_i(sub), .mask_i(mask),
    .imm_i(execute_i.op.imm[1:0]), .rs1_i, .rm_bad_i(rm_bad), .trap_o(trap)
  );

  // ---- What must come again, and what goes on in another unit

  logic replay_memory, replay_unit, replay_spawn, spawn;
  logic [Warps-1:0] spawn_wanted;

  always_comb begin
    spawn_wanted = '0;
    if (go) begin
      if (unit == UnitWarp && sub == WarpWspawn) begin
        for (int w = 1; w < int'(Warps); w++) spawn_wanted[w] = 32'(w) < scalar1 && WarpWidth'(w) != warp;
      end
    end
  end

  assign to_memory_o = go && trap == '0 && MemoryUnits[unit];
  assign to_muldiv_o = go && unit == UnitMulDiv;
  assign to_fpu_o = go && !rm_bad && unit == UnitFpu;
  assign tag_o = '{
    fence: FenceUnits[unit], fence_i: unit == UnitFence && sub[0], entry: entry_i, we: execute_i.op.rd_we,
    rd: execute_i.op.rd, warp: execute_i.from.warp
  };
  assign replay_memory = to_memory_o && !memory_ready_i;
  assign replay_unit = (to_muldiv_o && !muldiv_ready_i) || (to_fpu_o && !fpu_ready_i);
  // The warps to start must have ended: programs spawn again without waiting.
  assign replay_spawn = (spawn_wanted & (active_i | Warps'(outcome_o.spawn))) != '0;
  assign spawn = spawn_wanted != '0 && !replay_spawn;
  assign passes = go && !replay_memory && !replay_unit && trap == '0;
  assign retire_o = passes && !replay_spawn && !(odd_branch && taken != '0);
  assign sets_o = passes && execute_i.op.rd_we;

  localparam units_t AnsweringUnits = only(UnitLoad) | only(UnitMulDiv) | only(UnitFpu);

  assign push_o = passes && AnsweringUnits[unit];

  logic linked;

  always_comb begin
    end_o = 1'b0;
    end_jump_o = 1'b0;
    unique case (unit)
      UnitAlu, UnitLane, UnitLoad, UnitStore, UnitMulDiv, UnitFpu: end_o = passes && alone_i;
      UnitBranch: begin
        end_o = passes && !odd_branch && alone_i && (taken == '0 || taken == mask);
        end_jump_o = end_o && taken == mask;
      end
      UnitJal: begin
        end_o = passes && alone_i;
        end_jump_o = end_o;
      end
      default: ;
    endcase
  end

  // Calls, by the link register, as in gpu_flow.
  assign linked = unit == UnitJal && (execute_i.instr[11:7] inside {5'd1, 5'd5}) && execute_i.from.depth != '1;
  assign end_pc_o = target;
  assign end_depth_o = linked ? execute_i.from.depth + 1'b1 : execute_i.from.depth;

  // ---- Where the lanes go

  // They go on at the place that is said.
  localparam units_t MovingUnits = only(UnitJalr) | FenceUnits;

  typedef struct packed {
    logic                 go;
    logic                 retire;
    logic                 replay_memory;
    logic                 replay_unit;
    logic                 replay_spawn;
    logic                 spawn;
    unit_e                unit;
    logic [2:0]           sub;
    logic [31:0]          instr;
    logic                 rd_we;
    logic [5:0]           counter;
    logic [LaneWidth-1:0] top_lane;
    depth_t               depth;
    warp_t                warp;
    lanes_t               mask;
    logic [31:0]          pc;
    mask_t                taken;
    mask_t                trap;
    mask_t                odd;
    logic [Warps-1:0]     spawn_wanted;
    logic [31:0]          target;
    logic [31:0]          scalar1;
    logic [31:0]          scalar2;
  } flow_t;

  logic [31:0] mtvec;
  logic [5:0] counter_index;
  logic [31:0] mepc [Threads];
  // Sums of the lanes: addresses, targets, operands of CSR accesses.
  logic [Threads-1:0][31:0] sum_q;
  depth_t mdepth [Threads];
  // In simulation each of its members is a variable of its own.
  flow_t flow_q  /*verilator split_var*/;
  logic flow_valid_q;
  logic uniform, next_sequential, bar_write;
  depth_t next_depth;
  mask_t lane_write, new_live, new_join, new_bar;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) flow_valid_q <= 1'b0;
    else flow_valid_q <= valid_i && !end_o;
  end

  always_ff @(posedge clk_i) begin
    // A branch always: whether it ends is known late.
    if (valid_i && (!end_o || unit == UnitBranch)) begin
      automatic mask_t odd;
      for (int t = 0; t < int'(Threads); t++) odd[t] = rs1_i[t][0];
      flow_q.go <= go;
      flow_q.retire <= retire_o;
      flow_q.replay_memory <= replay_memory;
      flow_q.replay_unit <= replay_unit;
      flow_q.replay_spawn <= replay_spawn;
      flow_q.spawn <= spawn;
      flow_q.unit <= unit;
      flow_q.sub <= sub;
      flow_q.instr <= execute_i.instr;
      flow_q.rd_we <= execute_i.op.rd_we;
      flow_q.counter <= counter_index;
      flow_q.top_lane <= top_lane;
      flow_q.depth <= execute_i.from.depth;
      flow_q.warp <= execute_i.from.warp;
      flow_q.mask <= execute_i.from.mask;
      flow_q.pc <= pc;
      flow_q.taken <= taken;
      flow_q.trap <= odd_branch ? taken : trap;
      flow_q.odd <= odd;
      flow_q.spawn_wanted <= spawn_wanted;
      flow_q.target <= target;
      flow_q.scalar1 <= scalar1;
      flow_q.scalar2 <= scalar2;
      for (int t = 0; t < int'(Threads); t++) sum_q[t] <= address_o[t];
    end
  end

  assign flow_valid_o = flow_valid_q;
  assign flow_warp_o = flow_q.warp;
  assign flow_pc_o = flow_q.pc;
  assign flow_instr_o = flow_q.instr;
  assign flow_mask_o = mask_t'(flow_q.mask);

  gpu_flow #(.Threads(Threads)) u_flow (
    .go_i(flow_valid_q && flow_q.go), .retire_i(flow_valid_q && flow_q.retire),
    .replay_i(flow_q.replay_memory || flow_q.replay_unit || flow_q.replay_spawn), .alone_i(flow_alone_i),
    .unit_i(flow_q.unit), .sub_i(flow_q.sub), .pc_i(flow_q.pc), .rd_i(flow_q.instr[11:7]), .rs1_number_i(flow_q.instr[19:15]),
    .depth_i(flow_q.depth), .mask_i(mask_t'(flow_q.mask)), .taken_i(flow_q.taken), .target_i(flow_q.target),
    .address_i(sum_q), .top_lane_i(flow_q.top_lane), .odd_i(flow_q.odd),
    .scalar1_i(mask_t'(flow_q.scalar1)), .scalar2_i(mask_t'(flow_q.scalar2)), .live_i(mask_t'(state_i.live)),
    .joined_i(mask_t'(state_i.join_wait)), .at_bar_i(mask_t'(state_i.bar_wait)), .lane_pc_i, .trap_i(flow_q.trap),
    .mtvec_i(mtvec), .mepc_i(mepc), .mdepth_i(mdepth), .uniform_o(uniform), .next_pc_o, .sequential_o(next_sequential),
    .next_depth_o(next_depth), .next_lane_pc_o(lane_pc_o), .next_lane_depth_o(lane_depth_o),
    .lane_write_o(lane_write), .new_live_o(new_live), .new_join_o(new_join), .new_bar_o(new_bar),
    .bar_write_o(bar_write)
  );

  // Without an instruction it means nothing, but that none begins.
  always_comb begin
    outcome_o = 'x;
    outcome_o.spawn = '0;
    if (flow_valid_q) begin
      outcome_o = '{
        replay_memory: flow_q.replay_memory, replay_unit: flow_q.replay_unit, replay_spawn: flow_q.replay_spawn,
        fence: flow_q.retire && FenceUnits[flow_q.unit],
        uniform: uniform, sequential: next_sequential, depth: next_depth,
        moves: MovingUnits[flow_q.unit],
        bar_write: bar_write, bar_global: flow_q.scalar1[31], bar_id: flow_q.scalar1[4:0],
        bar_count: (flow_q.scalar2[31:8] != '0) ? 8'hff : flow_q.scalar2[7:0],
        write: lanes_t'(lane_write),
        state: '{live: lanes_t'(new_live), join_wait: lanes_t'(new_join), bar_wait: lanes_t'(new_bar)},
        spawn: '0, spawn_pc: {flow_q.scalar2[31:2], 2'b00}
      };
      if (flow_q.spawn) outcome_o.spawn = 16'(flow_q.spawn_wanted);
    end
  end

  // ---- CSRs, and what traps leave: of the instruction that `gpu_flow` has

  logic csr, csr_writes;
  logic [31:0] csr_operand;
  logic [31:0] csr_word;
  logic [31:0] csr_value [Threads];
  mask_t flow_trap;

  assign csr = flow_valid_q && flow_q.retire && flow_q.unit == UnitCsr;
  assign flow_trap = flow_valid_q && flow_q.go ? flow_q.trap : '0;

  // Of a CSR access the sum is the operand.
  always_comb begin
    csr_writes = 1'b0;
    csr_operand = 'x;
    if (flow_valid_q) begin
      if (csr) csr_writes = flow_q.sub[1:0] == 2'd1 || flow_q.instr[19:15] != '0;
      csr_operand = sum_q[flow_q.top_lane];
    end
  end

  gpu_trap_value #(.Threads(Threads)) u_trap_value (
    .unit_i(flow_q.unit), .sub_i(flow_q.sub), .instr_i(flow_q.instr), .trap_i(flow_trap), .target_i(flow_q.target),
    .address_i(sum_q), .cause_o(trap_cause_o), .value_o(trap_value_o), .top_o(fatal_value_o)
  );

  gpu_csr #(.Warps(Warps), .Threads(Threads), .Fpu(Fpu), .LocalBase(LocalBase)) u_csr (
    .clk_i,
    .clear_i, .clear_warp_i(clear_row_i), .start_i(begin_i), .start_arg_i,
    .valid_i(flow_valid_q), .access_i(csr), .warp_i(WarpWidth'(flow_q.warp)), .writes_i(csr_writes),
    .op_i(flow_q.sub[1:0]), .operand_i(csr_operand), .lane_operand_i(sum_q), .common_o(csr_word), .lane_o(csr_value),
    .core_id_i, .num_cores_i, .cap_i, .active_i, .mask_i(mask_t'(flow_q.mask)),
    .ask_i(valid_i && unit == UnitCsr), .ask_addr_i(execute_i.instr[31:20]), .ask_counter_o(counter_index), .counter_i,
    .trap_i((mtvec != '0) ? flow_trap : '0), .trap_pc_i(flow_q.pc), .trap_cause_i(trap_cause_o),
    .trap_value_i(trap_value_o), .trap_depth_i(flow_q.depth),
    .mtvec_o(mtvec), .mepc_o(mepc), .mdepth_o(mdepth),
    .spawn_i(flow_valid_q && flow_q.spawn), .spawn_mask_i(flow_q.spawn_wanted),
    .stack_base_o, .stack_bytes_o, .ask_warp_i(warp), .frm_o(frm), .frm_bad_o(frm_bad), .fflags_i, .fflags_warp_i(WarpWidth'(fflags_warp_i)),
    .fflags_value_i
  );

  assign counter_o = csr;
  assign counter_index_o = flow_q.counter;

  // Both registers read zero, so clearing bits leaves zero.
  always_comb begin
    stack_size_o = 'x;
    for (int t = 0; t < int'(Threads); t++) stack_operand_o[t] = 'x;
    if (flow_valid_q) begin
      automatic logic clears;
      clears = flow_q.sub[1:0] == 2'd3;
      stack_size_o = clears ? '0 : csr_operand;
      for (int t = 0; t < int'(Threads); t++) stack_operand_o[t] = clears ? '0 : sum_q[t];
    end
  end

  assign trap_o = lanes_t'(flow_trap);
  assign fatal_o = flow_trap != '0 && mtvec == '0;

  // ---- What it writes

  logic writes;
  // The same for all lanes: where an instruction is from, or jumped from; split: the token is the set of lanes that split.
  logic [31:0] word;

  assign csr_o = valid_i && unit == UnitCsr;
  localparam units_t WritingUnits = only(UnitAlu) | only(UnitJal) | only(UnitJalr) | only(UnitLane) | only(UnitWarp);

  assign writes = sets_o && WritingUnits[unit];
  assign write_o = writes || (csr && flow_q.rd_we);
  assign write_warp_o = csr ? flow_q.warp : execute_i.from.warp;
  assign write_mask_o = csr ? flow_q.mask : execute_i.from.mask;
  assign write_rd_o = csr ? {1'b0, flow_q.instr[11:7]} : execute_i.op.rd;

  // Each of them is zero where it does not count; of what writes nothing the result means nothing.
  always_comb begin
    word = '0;
    if (valid_i) begin
      unique case (unit)
        UnitAlu: if (execute_i.op.alu == AluWord) word = target;
        UnitJal, UnitJalr: word = pc + 32'd4;
        UnitWarp: word = 32'(mask);
        default: ;
      endcase
    end
    for (int t = 0; t < int'(Threads); t++) result_o[t] = lanes_result[t] | word;
    if (csr) for (int t = 0; t < int'(Threads); t++) result_o[t] |= csr_word | csr_value[t];
  end

`ifndef SYNTHESIS
  EndsInOneWay_A : assert property (@(posedge clk_i) disable iff (clear_i) $onehot0({retire_o, replay_memory, replay_unit, replay_spawn, trap != '0}));
  NobodyWaitsOrIsDead_A : assert property (@(posedge clk_i) disable iff (clear_i)
    flow_valid_q |-> (mask_t'(flow_q.mask) & ~mask_t'(state_i.live & ~(state_i.join_wait | state_i.bar_wait))) == '0);
  NothingBehindACsrAccess_A : assert property (@(posedge clk_i) disable iff (!rst_ni) csr |-> !valid_i);
  OneOfAWarp_A : assert property (@(posedge clk_i) disable iff (clear_i)
    valid_i && flow_valid_q |-> execute_i.from.warp != flow_q.warp);
  OfThisCore_A : assert property (@(posedge clk_i) disable iff (clear_i)
    go |-> execute_i.from.mask == lanes_t'(mask) && execute_i.from.warp == warp_t'(warp));
  FlagsOfThisCore_A : assert property (@(posedge clk_i) disable iff (clear_i)
    fflags_i |-> fflags_warp_i == warp_t'(WarpWidth'(fflags_warp_i)));
`endif

endmodule
