// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// One GPU core: a barrel of warps over Threads lanes, single issue, in order, with its caches and local memory.
///
/// Stages: issue (`gpu_warps`: choose a warp, address the instruction cache), decode (`gpu_front`: instruction arrives,
/// registers addressed), execute (`gpu_execute`: everything but memory, multiplication, division and floating point ends
/// here, and a cycle later CSR accesses and whatever changes where the lanes go), write back (`gpu_writeback`). What they hand over is
/// declared in `gpu_pkg`; this file connects them. A warp issues again when its instruction has ended: every second cycle
/// for most.
///
/// Life of a kernel: `start_i` -> clear (registers, CSRs, caches, local memory) -> run -> drain (every store landed) ->
/// `running_o` falls. A fault (bus error, or a trap without a handler) or `stop_i` ends it early, drained all the same.
module gpu_core
  import gpu_pkg::*;
#(
  /// Warps, 1 to 16.
  parameter int unsigned Warps = 4,
  /// Lanes of a warp, 1 to 16.
  parameter int unsigned Threads = 4,
  parameter bit Fpu = 1'b0,
  /// Cache and local memory sizes in bytes.
  parameter int unsigned IcacheBytes = 4096,
  parameter int unsigned DcacheBytes = 8192,
  parameter int unsigned LocalBytes = 16384,
  parameter logic [31:0] LocalBase = 32'hffff_0000,
  /// Lines of data that may be on their way at once, 1 to 8.
  parameter int unsigned DataReads = 8,
  /// Instructions a group of lanes may execute while others of its warp wait.
  parameter int unsigned StarveBound = 4096
) (
  input  logic                     clk_i,
  /// Synchronous reset, active low.
  input  logic                     rst_ni,

  // Control
  input  logic                     start_i,
  /// Counters go on from where they are.
  input  logic                     keep_counters_i,
  input  logic                     stop_i,
  input  logic [31:0]              start_pc_i,
  input  logic [31:0]              start_arg_i,
  input  logic [7:0]               core_id_i,
  input  logic [7:0]               num_cores_i,
  input  logic [31:0]              cap_i,
  output logic                     running_o,
  /// Sticky until the next start.
  output logic                     fault_o,
  output logic [4:0]               fault_cause_o,
  output logic [31:0]              fault_pc_o,
  output logic [31:0]              fault_value_o,

  input  logic                     snapshot_i,
  /// The word of this number is looked at.
  input  logic                     counter_read_i,
  input  logic [5:0]               counter_index_i,
  output logic [63:0]              counter_o,

  // Barrier across cores
  output logic                     bar_o,
  output logic [4:0]               bar_id_o,
  output logic [7:0]               bar_count_o,
  output logic [4:0]               bar_warps_o,
  input  logic                     bar_release_i,
  /// No core will come to it any more.
  input  logic                     bar_stuck_i,

  /// Lock of a line among cores: see gpu_line_locks.
  output logic                     lock_o,
  output logic [1:0]               lock_quarter_o,
  output logic [5:0]               lock_line_o,
  input  logic                     lock_grant_i,

  // Lines of instructions
  output logic                     ird_valid_o,
  input  logic                     ird_ready_i,
  output logic [LineAddrWidth-1:0] ird_line_o,
  input  logic                     ird_beat_i,
  // Lines of data
  output logic                     drd_valid_o,
  input  logic                     drd_ready_i,
  output logic [LineAddrWidth-1:0] drd_line_o,
  input  logic                     drd_beat_i,
  // What either reads
  input  logic [63:0]              rd_data_i,
  input  logic                     rd_last_i,
  input  logic                     rd_error_i,
  output logic                     wr_valid_o,
  input  logic                     wr_ready_i,
  output logic [LineAddrWidth-1:0] wr_line_o,
  output logic [LineBytes/8-1:0]   wr_beats_o,
  input  logic [2:0]               wr_beat_i,
  output logic [63:0]              wr_data_o,
  output logic [7:0]               wr_strb_o,
  input  logic                     wr_done_i,
  input  logic                     wr_error_i
);

  if (Warps < 1 || Warps > 16) begin : gen_check_warps
    $fatal(1, "gpu_core: Warps must be 1 to 16");
  end
  if (Threads < 1 || Threads > 16) begin : gen_check_threads
    $fatal(1, "gpu_core: Threads must be 1 to 16");
  end

  localparam int unsigned WarpWidth = (Warps > 1) ? $clog2(Warps) : 1;
  localparam int unsigned RegWidth = Fpu ? 6 : 5;
  localparam int unsigned Rows = Warps << RegWidth;
  localparam int unsigned RowWidth = $clog2(Rows);
  localparam int unsigned LocalLines = LocalBytes / LineBytes;
  localparam int unsigned LocalWidth = (LocalLines > 1) ? $clog2(LocalLines) : 1;
  localparam int unsigned ClearCycles = (Rows > LocalLines) ? Rows : LocalLines;

  typedef logic [Threads-1:0] mask_t;

  // ---- Life of a kernel

  state_e state;
  logic [15:0] clear_row;
  logic hold, halt, begin_kernel, quiet, clear, units_n;
  logic [Warps-1:0] active;

  assign clear = state == Clear;
  assign units_n = rst_ni && !hold;

  // ---- Issue

  logic issue, long_waits, replays;
  issued_t issued;
  waits_t waits;
  needs_t issue_needs, look_needs;
  reads_t issue_reads;
  logic [Warps-1:0] behind, flight, forget;
  logic [WarpWidth-1:0] look_warp;
  logic [Warps-1:0] valid, waiting, busy, busy_memory, placed, place;
  logic wait_fetch, flush;
  logic [Warps-1:0] pop;
  logic [WarpWidth-1:0] flush_warp;
  logic [31:0] place_pc;
  logic execute_valid;
  execute_t execute;
  advance_t advance;
  flow_t flow;
  outcome_t outcome;
  logic [31:0] next_lane_pc [Threads];
  depth_t next_lane_depth [Threads];
  units_ready_t ready;
  logic memory_wake, csr;
  logic alone, flow_alone, still;
  logic [15:0] stuck_warps;
  lane_state_t lane_state;
  logic [31:0] lane_pc [Threads];
  warp_t done_warp;
  logic done_fence, done_fence_i;
  logic [2:0] unit_ends;
  tag_t memory_tag, muldiv_tag, fpu_tag;
  global_bar_t global_bar;

  gpu_warps #(.Warps(Warps), .Threads(Threads), .StarveBound(StarveBound)) u_warps (
    .clk_i, .rst_ni(units_n),
    .start_i(begin_kernel), .start_pc_i, .hold_i(halt || long_waits || csr),
    .valid_i(valid), .wait_i(waiting),
    .issue_o(issue), .issued_o(issued),
    .flight_o(flight), .forget_o(forget),
    .busy_i(busy), .busy_memory_i(busy_memory), .wait_fetch_i(wait_fetch),
    .placed_o(placed), .place_o(place), .place_pc_o(place_pc), .pop_o(pop), .flush_o(flush), .flush_warp_o(flush_warp),
    .end_warp_i(execute.from.warp), .advance_i(advance), .alone_o(alone),
    .exec_i(flow.valid), .exec_warp_i(flow.warp), .outcome_i(outcome),
    .lane_pc_i(next_lane_pc), .lane_depth_i(next_lane_depth),
    .memory_ready_i(memory_wake), .unit_ready_i(ready.muldiv && ready.fpu), .replay_o(replays),
    .fence_i(done_fence), .fence_warp_i(done_warp),
    .exec_alone_o(flow_alone), .state_o(lane_state), .lane_pc_o(lane_pc),
    .active_o(active), .quiet_o(quiet),
    .global_bar_o(global_bar),
    .global_release_i(bar_release_i),
    .waits_o(waits), .still_o(still), .stuck_warps_o(stuck_warps)
  );

  assign {bar_o, bar_id_o, bar_count_o, bar_warps_o} = global_bar;

  // ---- Fetch and decode

  logic front_busy;
  fault_t fetch_error;

  gpu_front #(.IcacheBytes(IcacheBytes), .Warps(Warps), .Fpu(Fpu)) u_front (
    .clk_i, .rst_ni, .buffers_rst_ni(units_n), .forget_i(clear || done_fence_i), .halt_i(halt),
    .placed_i(placed), .place_i(place), .place_pc_i(place_pc),
    .pop_i(pop), .advance_i(advance), .advance_warp_i(WarpWidth'(execute.from.warp)),
    .flush_i(flush), .flush_warp_i(flush_warp),
    .valid_o(valid), .behind_o(behind), .look_warp_i(look_warp), .look_behind_i(flight[look_warp]),
    .look_needs_o(look_needs), .wait_o(wait_fetch),
    .issue_i(issue), .issued_i(issued),
    .issue_reads_o(issue_reads), .issue_needs_o(issue_needs),
    .execute_valid_o(execute_valid), .execute_o(execute),
    .busy_o(front_busy), .error_o(fetch_error),
    .rd_valid_o(ird_valid_o), .rd_ready_i(ird_ready_i), .rd_line_o(ird_line_o),
    .rd_beat_i(ird_beat_i), .rd_data_i, .rd_last_i, .rd_error_i
  );

  logic push;
  dispatch_t dispatch;
  entry_t entry;

  gpu_scoreboard #(.Warps(Warps)) u_scoreboard (
    .clk_i, .rst_ni(units_n), .next_i((flight & behind) | (~flight & valid)), .look_warp_o(look_warp), .needs_i(look_needs),
    .forget_i(forget), .wait_o(waiting),
    .execute_i(execute_valid), .execute_warp_i(execute.from.warp), .execute_rd_i(execute.op.rd),
    .execute_we_i(execute.op.rd_we), .execute_memory_i(execute.op.unit == UnitLoad),
    .push_i(push), .push_entry_o(entry), .ends_i(unit_ends),
    .memory_tag_i(memory_tag), .fpu_tag_i(fpu_tag), .muldiv_tag_i(muldiv_tag),
    .busy_o(busy), .memory_o(busy_memory),
    .issue_i(issue), .issue_warp_i(issued.warp), .issue_needs_i(issue_needs)
  );

  // ---- Registers

  logic [31:0] rs1 [Threads];
  logic [31:0] rs2 [Threads];
  logic [31:0] rs3 [Threads];
  logic rf_write;
  logic [RowWidth-1:0] rf_row;
  mask_t rf_mask;
  logic [31:0] rf_data [Threads];

  gpu_regfile #(.Threads(Threads), .Rows(Rows), .RegWidth(RegWidth)) u_regfile (
    .clk_i, .read_i(issue), .warp_i(issued.warp), .reads_i(issue_reads), .a_o(rs1), .b_o(rs2), .c_o(rs3),
    .write_i(rf_write), .row_i(rf_row), .mask_i(rf_mask), .data_i(rf_data)
  );

  // ---- Execute

  logic retire, sets;
  launch_t launch;
  facts_t facts;
  fflags_t fflags;
  counter_read_t csr_counter_read;
  logic [63:0] csr_counter;
  register_write_t write;
  logic [31:0] result [Threads];
  logic [31:0] address [Threads];
  stack_set_t stack_set;
  logic [31:0] stack_operand [Threads];
  lanes_t trap;
  logic [31:0] trap_value [Threads];
  fault_t fatal, overflow;
  logic fpu_take;
  logic [4:0] fpu_flags;

  assign launch = '{clear: clear, start: begin_kernel, row: warp_t'(clear_row), arg: start_arg_i};
  assign facts = '{core_id: core_id_i, num_cores: num_cores_i, cap: cap_i};
  assign fflags = '{valid: fpu_take, warp: done_warp, flags: fpu_flags};

  gpu_execute #(.Warps(Warps), .Threads(Threads), .Fpu(Fpu), .LocalBase(LocalBase)) u_execute (
    .clk_i, .rst_ni(units_n), .launch_i(launch), .halt_i(halt || overflow.valid),
    .valid_i(execute_valid), .execute_i(execute), .rs1_i(rs1), .rs2_i(rs2), .ready_i(ready),
    .alone_i(alone), .active_i(active), .flow_alone_i(flow_alone), .state_i(lane_state), .lane_pc_i(lane_pc),
    .facts_i(facts), .counter_read_o(csr_counter_read), .counter_i(csr_counter), .fflags_i(fflags),
    .retire_o(retire), .sets_o(sets), .csr_o(csr), .advance_o(advance), .write_o(write), .result_o(result),
    .flow_o(flow), .outcome_o(outcome), .lane_pc_o(next_lane_pc), .lane_depth_o(next_lane_depth),
    .push_o(push), .entry_i(entry), .dispatch_o(dispatch), .address_o(address),
    .stack_set_o(stack_set), .stack_operand_o(stack_operand), .trap_o(trap), .trap_value_o(trap_value), .fatal_o(fatal)
  );

  // ---- Units that take their time

  logic memory_rsp, memory_last, memory_take, memory_idle, memory_error_store, memory_hit, memory_miss;
  fault_t memory_error;
  mask_t memory_mask;
  logic [31:0] memory_data [Threads];

  assign memory_error.cause = memory_error_store ? CauseStoreFault : CauseLoadFault;
  assign memory_error.pc = '0;

  gpu_dcache #(
    .Threads(Threads), .TagWidth(UnitTagWidth), .Bytes(DcacheBytes), .LocalBytes(LocalBytes), .LocalBase(LocalBase),
    .Reads(DataReads)
  ) u_dcache (
    .clk_i, .rst_ni,
    .clear_i(clear), .clear_line_i(LocalWidth'(clear_row)),
    .req_valid_i(dispatch.memory), .req_ready_o(ready.memory), .req_store_i(execute.op.unit == UnitStore),
    .req_fence_i(execute.op.unit == UnitFence), .req_size_i(execute.op.sub), .req_mask_i(mask_t'(execute.from.mask)),
    .req_tag_i(dispatch.tag), .req_addr_i(address), .req_data_i(rs2), .wake_o(memory_wake),
    .req_amo_i(execute.op.unit == UnitAmo), .req_amo_op_i(execute.instr[31:27]), .req_acquire_i(execute.instr[26]),
    .req_release_i(execute.instr[25]), .req_compare_i(rs3), .lock_o, .lock_quarter_o, .lock_line_o, .lock_grant_i,
    .rsp_valid_o(memory_rsp), .rsp_ready_i(memory_take), .rsp_last_o(memory_last), .rsp_mask_o(memory_mask),
    .rsp_tag_o(memory_tag), .rsp_data_o(memory_data),
    .drain_i(state == Drain), .idle_o(memory_idle),
    .error_o(memory_error.valid), .error_store_o(memory_error_store), .error_addr_o(memory_error.value),
    .hit_event_o(memory_hit), .miss_event_o(memory_miss),
    .rd_valid_o(drd_valid_o), .rd_ready_i(drd_ready_i), .rd_line_o(drd_line_o),
    .rd_beat_i(drd_beat_i), .rd_data_i, .rd_last_i, .rd_error_i,
    .wr_valid_o, .wr_ready_i, .wr_line_o, .wr_beats_o, .wr_beat_i, .wr_data_o, .wr_strb_o, .wr_done_i, .wr_error_i
  );

  logic muldiv_rsp, muldiv_take, fpu_rsp;
  mask_t muldiv_mask, fpu_mask;
  logic [31:0] muldiv_data [Threads];
  logic [31:0] fpu_data [Threads];

  gpu_units #(.Threads(Threads), .Fpu(Fpu)) u_units (
    .clk_i, .rst_ni(units_n),
    .muldiv_i(dispatch.muldiv), .muldiv_ready_o(ready.muldiv), .fpu_i(dispatch.fpu), .fpu_ready_o(ready.fpu),
    .sub_i(execute.op.sub), .fp_op_i(execute.op.fp_op), .rounding_i(dispatch.rounding), .tag_i(dispatch.tag),
    .mask_i(execute.from.mask), .rs1_i(rs1), .rs2_i(rs2), .rs3_i(rs3),
    .muldiv_valid_o(muldiv_rsp), .muldiv_take_i(muldiv_take), .muldiv_tag_o(muldiv_tag),
    .muldiv_mask_o(muldiv_mask), .muldiv_data_o(muldiv_data),
    .fpu_valid_o(fpu_rsp), .fpu_take_i(fpu_take), .fpu_tag_o(fpu_tag), .fpu_mask_o(fpu_mask), .fpu_data_o(fpu_data),
    .fpu_flags_o(fpu_flags)
  );

  // ---- Write back

  logic written;

  gpu_writeback #(.Threads(Threads), .RegWidth(RegWidth), .Rows(Rows)) u_writeback (
    .clk_i, .rst_ni, .clear_i(clear), .clear_row_i(clear_row),
    .execute_i(write), .execute_data_i(result),
    .memory_i(memory_rsp), .memory_last_i(memory_last), .memory_tag_i(memory_tag), .memory_mask_i(memory_mask),
    .memory_data_i(memory_data), .memory_take_o(memory_take),
    .fpu_i(fpu_rsp), .fpu_tag_i(fpu_tag), .fpu_mask_i(fpu_mask), .fpu_data_i(fpu_data), .fpu_take_o(fpu_take),
    .muldiv_i(muldiv_rsp), .muldiv_tag_i(muldiv_tag), .muldiv_mask_i(muldiv_mask), .muldiv_data_i(muldiv_data),
    .muldiv_take_o(muldiv_take),
    .done_warp_o(done_warp), .done_fence_o(done_fence), .done_fence_i_o(done_fence_i), .ends_o(unit_ends), .waits_o(long_waits), .empty_o(written),
    .write_o(rf_write), .row_o(rf_row), .mask_o(rf_mask), .data_o(rf_data)
  );

  // ---- Stacks

  logic [31:0] stack_pc_q;

  always_ff @(posedge clk_i) begin
    if (clear) stack_pc_q <= '0;
    else if (sets && execute.op.rd == reg_t'(2)) stack_pc_q <= execute.pc;
  end

  gpu_stack_guard #(.Warps(Warps), .Threads(Threads)) u_stack_guard (
    .clk_i, .rst_ni, .clear_i(clear), .clear_row_i(WarpWidth'(clear_row)),
    .set_i(stack_set), .set_warp_i(WarpWidth'(flow.warp)), .set_mask_i(mask_t'(flow.mask)), .base_i(stack_operand),
    .write_i(rf_write && !clear), .rd_i(reg_t'(rf_row[RegWidth-1:0])), .warp_i(WarpWidth'(rf_row >> RegWidth)),
    .mask_i(rf_mask), .data_i(rf_data), .pc_i(stack_pc_q),
    .overflow_o(overflow)
  );

`ifdef EDDY_GPU_TRACE
  gpu_trace #(.Threads(Threads), .RowWidth(RowWidth), .RegWidth(RegWidth)) u_trace (
    .clk_i, .core_i(core_id_i), .warp_i(32'(execute.from.warp)), .pc_i(execute.pc), .instr_i(execute.instr),
    .rd_i(execute.op.rd_we ? 8'(execute.op.rd) : '1),
    .retire_i(retire ? mask_t'(execute.from.mask) : '0), .trap_i(mask_t'(trap)), .trap_warp_i(32'(flow.warp)),
    .trap_pc_i(flow.pc), .trap_instr_i(flow.instr), .trap_cause_i(fatal.cause), .trap_value_i(trap_value),
    .write_i(rf_write && !clear ? rf_mask : '0), .row_i(rf_row), .data_i(rf_data)
  );
`else
  logic unused_trace;
  always_comb begin
    unused_trace = ^{trap, flow.instr};
    for (int t = 0; t < int'(Threads); t++) unused_trace ^= ^trap_value[t];
  end
`endif

  // ---- Life of a kernel, and its counters

  logic empty;
  fault_t fault;

  assign {fault_o, fault_cause_o, fault_pc_o, fault_value_o} = fault;
  assign empty = !execute_valid && !flow.valid && written && !front_busy && !memory_rsp && !muldiv_rsp && !fpu_rsp;

  gpu_life #(.ClearCycles(ClearCycles)) u_life (
    .clk_i, .rst_ni, .start_i, .stop_i,
    .work_left_i(active != '0 || !quiet), .empty_i(empty), .drained_i(memory_idle),
    .bar_i(flow.valid && outcome.bar_write), .bar_pc_i(flow.pc), .still_i(still), .stuck_i(bar_o ? bar_stuck_i : active != '0), .stuck_warps_i(stuck_warps),
    .fetch_i(fetch_error), .data_i(memory_error), .overflow_i(overflow), .trap_i(fatal),
    .state_o(state), .clear_o(clear_row), .hold_o(hold), .begin_o(begin_kernel), .halt_o(halt), .running_o,
    .fault_o(fault)
  );

  logic [CntReplays:CntLoads] events;
  logic snapshot, clear_counters, counting, executed;
  logic [$clog2(Threads+1)-1:0] executed_lanes;

  gpu_events #(.Threads(Threads)) u_events (
    .clk_i, .rst_ni, .snapshot_i, .clear_i(state == Idle && start_i && !keep_counters_i),
    .run_i(state == Run), .drain_i(state == Drain), .issue_i(issue), .pipe_i(execute_valid || flow.valid), .waits_i(waits),
    .quiet_i(quiet), .retire_i(retire), .unit_i(execute.op.unit), .mask_i(mask_t'(execute.from.mask)), .replay_i(replays),
    .fetch_line_i(ird_valid_o && ird_ready_i), .data_line_i(drd_valid_o && drd_ready_i),
    .write_line_i(wr_valid_o && wr_ready_i), .data_hit_i(memory_hit), .data_miss_i(memory_miss),
    .snapshot_o(snapshot), .clear_o(clear_counters), .running_o(counting), .executed_o(executed), .lanes_o(executed_lanes),
    .event_o(events)
  );

  gpu_counters #(.Threads(Threads)) u_counters (
    .clk_i, .rst_ni, .clear_i(clear_counters), .running_i(counting), .event_i(events),
    .executed_i(executed), .lanes_i(executed_lanes), .snapshot_i(snapshot),
    .shadow_i(counter_read_i), .shadow_index_i(counter_index_i), .shadow_o(counter_o),
    .live_i(csr_counter_read.valid), .live_index_i(csr_counter_read.index), .live_o(csr_counter)
  );

endmodule
