// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The execute stage: integer arithmetic, branches, CSRs and traps. Loads and stores, multiplication, division and floating
/// point are dispatched to their units.
///
/// Two cycles:
/// - Cycle 1 (execute): an instruction whose lanes are all the running lanes of its warp, and continue together at the next
///   instruction or at one branch target, retires here (`advance_o`).
/// - Cycle 2 (flow): every other instruction is finished by `gpu_flow` from registers, while its warp waits (`flow_o`,
///   `outcome_o`). CSRs are accessed and traps are recorded in this cycle, too. The result of a CSR access uses the write port
///   of the instruction behind it, so none may issue there (`csr_o`).
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
  /// Synchronous reset, active low: empties the flow cycle.
  input  logic               rst_ni,

  input  launch_t            launch_i,
  /// The instruction in the stage is discarded.
  input  logic               halt_i,

  // The instruction and its operands
  input  logic               valid_i,
  input  execute_t           execute_i,
  input  logic [31:0]        rs1_i [Threads],
  input  logic [31:0]        rs2_i [Threads],
  input  units_ready_t       ready_i,

  /// The executing lanes are all the running lanes of their warp.
  input  logic               alone_i,
  /// Warps with a live lane.
  input  logic [Warps-1:0]   active_i,
  // The warp of `flow_o`: as `alone_i`; state of its lanes, and program counters of those that do not execute
  input  logic               flow_alone_i,
  input  lane_state_t        state_i,
  input  logic [31:0]        lane_pc_i [Threads],

  // CSRs: constants, the counter that is read, and flags to add
  input  facts_t             facts_i,
  output counter_read_t      counter_read_o,
  input  logic [63:0]        counter_i,
  input  fflags_t            fflags_i,

  // Result, in the execute cycle
  /// The instruction retires.
  output logic               retire_o,
  /// It writes a register, now or when its unit answers.
  output logic               sets_o,
  /// A CSR access writes a cycle late: nothing may issue in this cycle.
  output logic               csr_o,
  output advance_t           advance_o,
  /// `result_o` is written to a register in the next cycle.
  output register_write_t    write_o,
  output logic [31:0]        result_o [Threads],
  // Result, in the flow cycle: the instruction, its effect on its warp, and where each lane continues
  output flow_t              flow_o,
  output outcome_t           outcome_o,
  output logic [31:0]        lane_pc_o [Threads],
  output depth_t             lane_depth_o [Threads],

  // To the units
  /// A unit will answer under this entry of the scoreboard.
  output logic               push_o,
  input  entry_t             entry_i,
  output dispatch_t          dispatch_o,
  output logic [31:0]        address_o [Threads],

  // Of the instruction of `flow_o`: bounds of stacks that it sets, lanes that trap, and a trap without a handler
  output stack_set_t         stack_set_o,
  output logic [31:0]        stack_operand_o [Threads],
  output lanes_t             trap_o,
  output logic [31:0]        trap_value_o [Threads],
  /// `cause` holds for every trap, with a handler or without.
  output fault_t             fatal_o
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
  // `passes`: nothing prevents the instruction, except a misaligned branch target or a failed `wspawn`, found in gpu_flow.
  logic odd_branch, passes;

  assign target = (execute_i.op.from_zero ? '0 : pc) + execute_i.op.imm;
  assign odd_branch = unit == UnitBranch && execute_i.op.imm[1];
  assign rm_bad = execute_i.op.fp_dynamic && frm_bad;

  gpu_trap #(.Threads(Threads)) u_trap (
    .go_i(go), .unit_i(unit), .sub_i(sub), .mask_i(mask),
    .imm_i(execute_i.op.imm[1:0]), .rs1_i, .rm_bad_i(rm_bad), .trap_o(trap)
  );

  // ---- Replay, and dispatch to units

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

  assign dispatch_o = '{
    memory: go && trap == '0 && MemoryUnits[unit],
    muldiv: go && unit == UnitMulDiv,
    fpu: go && !rm_bad && unit == UnitFpu,
    rounding: execute_i.op.fp_dynamic ? frm : sub,
    tag: '{
      fence: FenceUnits[unit], fence_i: unit == UnitFence && sub[0], entry: entry_i, we: execute_i.op.rd_we,
      rd: execute_i.op.rd, warp: execute_i.from.warp
    }
  };
  assign replay_memory = dispatch_o.memory && !ready_i.memory;
  assign replay_unit = (dispatch_o.muldiv && !ready_i.muldiv) || (dispatch_o.fpu && !ready_i.fpu);
  // The warps to start must have ended: programs spawn again without waiting.
  assign replay_spawn = (spawn_wanted & (active_i | Warps'(outcome_o.spawn))) != '0;
  assign spawn = spawn_wanted != '0 && !replay_spawn;
  assign passes = go && !replay_memory && !replay_unit && trap == '0;
  assign retire_o = passes && !replay_spawn && !(odd_branch && taken != '0);
  assign sets_o = passes && execute_i.op.rd_we;

  localparam units_t AnsweringUnits = only(UnitLoad) | only(UnitMulDiv) | only(UnitFpu);

  assign push_o = passes && AnsweringUnits[unit];

  logic linked, ends, jumps;

  always_comb begin
    ends = 1'b0;
    jumps = 1'b0;
    unique case (unit)
      UnitAlu, UnitLane, UnitLoad, UnitStore, UnitMulDiv, UnitFpu: ends = passes && alone_i;
      UnitBranch: begin
        ends = passes && !odd_branch && alone_i && (taken == '0 || taken == mask);
        jumps = ends && taken == mask;
      end
      UnitJal: begin
        ends = passes && alone_i;
        jumps = ends;
      end
      default: ;
    endcase
  end

  // Calls, by the link register, as in gpu_flow.
  assign linked = unit == UnitJal && (execute_i.instr[11:7] inside {5'd1, 5'd5}) && execute_i.from.depth != '1;
  assign advance_o = '{
    valid: ends, jump: jumps, depth: linked ? execute_i.from.depth + 1'b1 : execute_i.from.depth, pc: target
  };

  // ---- Where the lanes go

  // Instructions after which all lanes continue at `outcome_o.next_pc`.
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
  } working_t;

  logic [31:0] mtvec;
  logic [5:0] counter_index;
  logic [31:0] mepc [Threads];
  // Sums of the lanes: addresses, targets, operands of CSR accesses.
  logic [Threads-1:0][31:0] sum_q;
  depth_t mdepth [Threads];
  // In simulation each of its members is a variable of its own.
  working_t flow_q  /*verilator split_var*/;
  logic flow_valid_q;
  logic uniform, next_sequential, bar_write;
  depth_t next_depth;
  logic [31:0] next_pc;
  mask_t lane_write;
  lane_state_t next_state;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) flow_valid_q <= 1'b0;
    else flow_valid_q <= valid_i && !ends;
  end

  always_ff @(posedge clk_i) begin
    // A branch always: whether it ends is known late.
    if (valid_i && (!ends || unit == UnitBranch)) begin
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

  assign flow_o = '{
    valid: flow_valid_q, warp: flow_q.warp, mask: flow_q.mask, pc: flow_q.pc, instr: flow_q.instr
  };

  gpu_flow #(.Threads(Threads)) u_flow (
    .go_i(flow_valid_q && flow_q.go), .retire_i(flow_valid_q && flow_q.retire),
    .replay_i(flow_q.replay_memory || flow_q.replay_unit || flow_q.replay_spawn), .alone_i(flow_alone_i),
    .unit_i(flow_q.unit), .sub_i(flow_q.sub), .from_i(flow_o),
    .depth_i(flow_q.depth), .taken_i(flow_q.taken), .target_i(flow_q.target),
    .address_i(sum_q), .top_lane_i(flow_q.top_lane), .odd_i(flow_q.odd),
    .scalar1_i(mask_t'(flow_q.scalar1)), .scalar2_i(mask_t'(flow_q.scalar2)), .state_i, .lane_pc_i, .trap_i(flow_q.trap),
    .mtvec_i(mtvec), .mepc_i(mepc), .mdepth_i(mdepth), .uniform_o(uniform), .next_pc_o(next_pc), .sequential_o(next_sequential),
    .next_depth_o(next_depth), .next_lane_pc_o(lane_pc_o), .next_lane_depth_o(lane_depth_o),
    .lane_write_o(lane_write), .state_o(next_state),
    .bar_write_o(bar_write)
  );

  // Undefined without an instruction, except that no warp is spawned.
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
        state: next_state,
        spawn: '0, spawn_pc: {flow_q.scalar2[31:2], 2'b00}, next_pc: next_pc
      };
      if (flow_q.spawn) outcome_o.spawn = 16'(flow_q.spawn_wanted);
    end
  end

  // ---- CSRs and traps, in the flow cycle

  logic csr, csr_writes;
  logic [31:0] csr_operand, fatal_value;
  logic [4:0] trap_cause;
  csr_access_t csr_access;
  logic [31:0] csr_word;
  logic [31:0] csr_value [Threads];
  mask_t flow_trap;

  assign csr = flow_valid_q && flow_q.retire && flow_q.unit == UnitCsr;
  assign flow_trap = flow_valid_q && flow_q.go ? flow_q.trap : '0;

  // The lanes' sums hold the operand of a CSR access.
  always_comb begin
    csr_writes = 1'b0;
    csr_operand = 'x;
    if (flow_valid_q) begin
      if (csr) csr_writes = flow_q.sub[1:0] == 2'd1 || flow_q.instr[19:15] != '0;
      csr_operand = sum_q[flow_q.top_lane];
    end
  end

  assign csr_access = '{
    valid: flow_valid_q, access: csr, writes: csr_writes, op: flow_q.sub[1:0], warp: flow_q.warp, operand: csr_operand
  };

  gpu_trap_value #(.Threads(Threads)) u_trap_value (
    .unit_i(flow_q.unit), .sub_i(flow_q.sub), .instr_i(flow_q.instr), .trap_i(flow_trap), .target_i(flow_q.target),
    .address_i(sum_q), .cause_o(trap_cause), .value_o(trap_value_o), .top_o(fatal_value)
  );

  gpu_csr #(.Warps(Warps), .Threads(Threads), .Fpu(Fpu), .LocalBase(LocalBase)) u_csr (
    .clk_i,
    .launch_i, .instr_i(csr_access), .lane_operand_i(sum_q), .common_o(csr_word), .lane_o(csr_value),
    .facts_i, .active_i, .mask_i(mask_t'(flow_q.mask)),
    .ask_i(valid_i && unit == UnitCsr), .ask_addr_i(execute_i.instr[31:20]), .ask_counter_o(counter_index), .counter_i,
    .trap_i((mtvec != '0) ? flow_trap : '0), .trap_pc_i(flow_q.pc), .trap_cause_i(trap_cause),
    .trap_value_i(trap_value_o), .trap_depth_i(flow_q.depth),
    .mtvec_o(mtvec), .mepc_o(mepc), .mdepth_o(mdepth),
    .spawn_i(flow_valid_q && flow_q.spawn), .spawn_mask_i(flow_q.spawn_wanted),
    .stack_base_o(stack_set_o.base), .stack_bytes_o(stack_set_o.bytes), .ask_warp_i(warp), .frm_o(frm), .frm_bad_o(frm_bad), .fflags_i
  );

  assign counter_read_o = '{valid: csr, index: flow_q.counter};

  // Both registers read zero, so clearing bits leaves zero.
  always_comb begin
    stack_set_o.size = 'x;
    for (int t = 0; t < int'(Threads); t++) stack_operand_o[t] = 'x;
    if (flow_valid_q) begin
      automatic logic clears;
      clears = flow_q.sub[1:0] == 2'd3;
      stack_set_o.size = clears ? '0 : csr_operand;
      for (int t = 0; t < int'(Threads); t++) stack_operand_o[t] = clears ? '0 : sum_q[t];
    end
  end

  assign trap_o = lanes_t'(flow_trap);
  assign fatal_o = '{valid: flow_trap != '0 && mtvec == '0, cause: trap_cause, pc: flow_q.pc, value: fatal_value};

  // ---- Register write

  logic writes;
  // The same for all lanes: a program counter (auipc, jal, jalr), or the lanes that execute (the token of `split`).
  logic [31:0] word;

  assign csr_o = valid_i && unit == UnitCsr;
  localparam units_t WritingUnits = only(UnitAlu) | only(UnitJal) | only(UnitJalr) | only(UnitLane) | only(UnitWarp);

  assign writes = sets_o && WritingUnits[unit];
  assign write_o = '{
    valid: writes || (csr && flow_q.rd_we),
    warp: csr ? flow_q.warp : execute_i.from.warp,
    mask: csr ? flow_q.mask : execute_i.from.mask,
    rd: csr ? {1'b0, flow_q.instr[11:7]} : execute_i.op.rd
  };

  // Sources that do not apply are zero, so that results are combined by OR. Undefined for instructions without a result.
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
  EndsInOneWay_A : assert property (@(posedge clk_i) disable iff (launch_i.clear) $onehot0({retire_o, replay_memory, replay_unit, replay_spawn, trap != '0}));
  ExecutingLanesRun_A : assert property (@(posedge clk_i) disable iff (launch_i.clear)
    flow_valid_q |-> (mask_t'(flow_q.mask) & ~mask_t'(state_i.live & ~(state_i.join_wait | state_i.bar_wait))) == '0);
  NothingBehindACsrAccess_A : assert property (@(posedge clk_i) disable iff (!rst_ni) csr |-> !valid_i);
  OneOfAWarp_A : assert property (@(posedge clk_i) disable iff (launch_i.clear)
    valid_i && flow_valid_q |-> execute_i.from.warp != flow_q.warp);
  OfThisCore_A : assert property (@(posedge clk_i) disable iff (launch_i.clear)
    go |-> execute_i.from.mask == lanes_t'(mask) && execute_i.from.warp == warp_t'(warp));
  FlagsOfThisCore_A : assert property (@(posedge clk_i) disable iff (launch_i.clear)
    fflags_i.valid |-> fflags_i.warp == warp_t'(WarpWidth'(fflags_i.warp)));
`endif

endmodule
