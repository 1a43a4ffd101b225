/// One GPU core: a barrel of warps over Threads lanes, single issue, in order, with its caches and local memory.
///
/// Stages: issue (choose a warp, address the instruction cache), decode (instruction arrives, registers addressed),
/// execute (everything but memory, multiplication, division and floating point ends here), write back. A warp issues
/// again when its instruction has ended: every third cycle for simple ones, so three warps fill the pipeline.
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
  /// Lines of data that may be on their way at once, 1 to 4.
  parameter int unsigned DataReads = 4,
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
  input  logic [5:0]               counter_index_i,
  output logic [63:0]              counter_o,

  // Barrier across cores
  output logic                     bar_o,
  output logic [4:0]               bar_id_o,
  output logic [7:0]               bar_count_o,
  output logic [4:0]               bar_warps_o,
  input  logic                     bar_release_i,

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
  localparam int unsigned LaneWidth = (Threads > 1) ? $clog2(Threads) : 1;
  localparam int unsigned RegWidth = Fpu ? 6 : 5;
  localparam int unsigned Rows = Warps << RegWidth;
  localparam int unsigned RowWidth = $clog2(Rows);
  localparam int unsigned LocalLines = LocalBytes / LineBytes;
  localparam int unsigned LocalWidth = (LocalLines > 1) ? $clog2(LocalLines) : 1;
  localparam int unsigned ClearCycles = (Rows > LocalLines) ? Rows : LocalLines;
  localparam int unsigned DepthWidth = 6;

  typedef logic [WarpWidth-1:0] warp_t;
  typedef logic [Threads-1:0] mask_t;
  typedef logic [DepthWidth-1:0] depth_t;
  typedef struct packed {
    logic       fence_i;
    logic       we;
    logic [5:0] rd;
    warp_t      warp;
  } tag_t;
  localparam int unsigned TagWidth = $bits(tag_t);

  // ---- Life of a kernel

  state_e state_q;
  logic [15:0] clear_q;
  logic halt_q, begin_kernel, quiet, empty;
  logic clear_units_n;

  // ---- Signals between stages

  logic issue;
  warp_t issue_warp;
  logic [31:0] issue_pc;
  mask_t issue_mask;
  depth_t issue_depth;

  logic d_q;
  warp_t d_warp_q;
  logic [31:0] d_pc_q;
  mask_t d_mask_q;
  depth_t d_depth_q;
  logic ic_hit, ic_busy, ic_error;
  logic [31:0] ic_instr, ic_error_addr;

  unit_e d_unit;
  alu_e d_alu;
  logic [2:0] d_sub;
  logic d_rd_we, d_a_is_pc, d_b_is_imm, d_fp_uses_rm;
  logic [5:0] d_rd, d_rs1, d_rs2, d_rs3;
  logic [31:0] d_imm;
  logic [4:0] d_fp_op;

  logic x_q;
  warp_t x_warp_q;
  logic [31:0] x_pc_q, x_instr_q, x_imm_q;
  mask_t x_mask_q;
  depth_t x_depth_q;
  unit_e x_unit_q;
  alu_e x_alu_q;
  logic [2:0] x_sub_q;
  logic x_rd_we_q, x_a_is_pc_q, x_b_is_imm_q, x_fp_uses_rm_q;
  logic [5:0] x_rd_q;
  logic [4:0] x_fp_op_q;

  logic w_q;
  warp_t w_warp_q;
  mask_t w_mask_q;
  logic [5:0] w_rd_q;
  logic [Threads-1:0][31:0] w_data_q;

  // ---- Issue

  logic long_waits, done, go;
  logic replay_memory, replay_unit, replay_spawn, replay, long_op, uniform, retire;
  tag_t done_tag;
  logic alone;
  mask_t live, joined, at_bar, new_live, new_join, new_bar, lane_write;
  logic [31:0] lane_pc [Threads];
  logic [31:0] next_lane_pc [Threads];
  depth_t next_lane_depth [Threads];
  logic [31:0] next_pc;
  depth_t next_depth;
  logic bar_write;
  logic [Warps-1:0] active, spawn_mask;
  logic spawn;
  logic wait_fetch, wait_memory, wait_unit, wait_bar;
  logic dc_ready, md_ready, fp_ready;
  logic [31:0] scalar1, scalar2;

  gpu_warps #(
    .Warps(Warps), .Threads(Threads), .StarveBound(StarveBound), .DepthWidth(DepthWidth)
  ) u_warps (
    .clk_i, .rst_ni(clear_units_n),
    .start_i(begin_kernel), .start_pc_i, .hold_i(halt_q || long_waits),
    .issue_o(issue), .issue_warp_o(issue_warp), .issue_pc_o(issue_pc), .issue_mask_o(issue_mask),
    .issue_depth_o(issue_depth),
    .fetch_miss_i(d_q && !ic_hit), .fetch_warp_i(d_warp_q), .fetch_busy_i(ic_busy),
    .exec_i(x_q), .exec_warp_i(x_warp_q),
    .replay_memory_i(replay_memory), .replay_unit_i(replay_unit), .replay_spawn_i(replay_spawn),
    .memory_ready_i(dc_ready), .unit_ready_i(md_ready && fp_ready),
    .long_i(long_op), .long_memory_i(long_op && (x_unit_q == UnitLoad || x_unit_q == UnitFence)),
    .uniform_i(uniform), .exec_pc_i(next_pc), .exec_depth_i(next_depth),
    .lane_pc_i(next_lane_pc), .lane_depth_i(next_lane_depth), .lane_write_i(lane_write),
    .live_i(new_live), .join_i(new_join), .bar_i(new_bar),
    .bar_write_i(bar_write), .bar_global_i(scalar1[31]), .bar_id_i(scalar1[4:0]),
    .bar_count_i((scalar2[31:8] != '0) ? 8'hff : scalar2[7:0]),
    .spawn_i(spawn), .spawn_mask_i(spawn_mask), .spawn_pc_i({scalar2[31:2], 2'b00}),
    .done_i(done), .done_warp_i(done_tag.warp),
    .alone_o(alone), .live_o(live), .join_o(joined), .bar_o(at_bar), .lane_pc_o(lane_pc),
    .active_o(active), .quiet_o(quiet),
    .global_bar_o(bar_o), .global_id_o(bar_id_o), .global_count_o(bar_count_o), .global_warps_o(bar_warps_o),
    .global_release_i(bar_release_i),
    .wait_fetch_o(wait_fetch), .wait_memory_o(wait_memory), .wait_unit_o(wait_unit), .wait_bar_o(wait_bar)
  );

  gpu_icache #(.Bytes(IcacheBytes)) u_icache (
    .clk_i, .rst_ni,
    .flush_i(state_q == Clear || (done && done_tag.fence_i)),
    .read_i(issue), .pc_i(issue_pc), .hit_o(ic_hit), .instr_o(ic_instr),
    .miss_i(d_q && !ic_hit && !halt_q), .busy_o(ic_busy),
    .error_o(ic_error), .error_addr_o(ic_error_addr),
    .rd_valid_o(ird_valid_o), .rd_ready_i(ird_ready_i), .rd_line_o(ird_line_o),
    .rd_beat_i(ird_beat_i), .rd_data_i, .rd_last_i, .rd_error_i
  );

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      d_q <= 1'b0;
    end else begin
      d_q <= issue;
      if (issue) begin
        d_warp_q <= issue_warp;
        d_pc_q <= issue_pc;
        d_mask_q <= issue_mask;
        d_depth_q <= issue_depth;
      end
    end
  end

  // ---- Decode

  gpu_decode #(.Fpu(Fpu)) u_decode (
    .instr_i(ic_instr),
    .unit_o(d_unit), .alu_o(d_alu), .sub_o(d_sub), .rd_we_o(d_rd_we),
    .rd_o(d_rd), .rs1_o(d_rs1), .rs2_o(d_rs2), .rs3_o(d_rs3),
    .a_is_pc_o(d_a_is_pc), .b_is_imm_o(d_b_is_imm), .imm_o(d_imm),
    .fp_op_o(d_fp_op), .fp_uses_rm_o(d_fp_uses_rm)
  );

  // Without an FPU bit 5 of a register number is never set.
  // verilator lint_off UNUSEDSIGNAL
  function automatic logic [RowWidth-1:0] row(warp_t warp, logic [5:0] number);
    return (RowWidth'(warp) << RegWidth) | RowWidth'(number[RegWidth-1:0]);
  endfunction
  // verilator lint_on UNUSEDSIGNAL

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      x_q <= 1'b0;
    end else begin
      x_q <= d_q && ic_hit;
      if (d_q && ic_hit) begin
        x_warp_q <= d_warp_q;
        x_pc_q <= d_pc_q;
        x_mask_q <= d_mask_q;
        x_depth_q <= d_depth_q;
        x_instr_q <= ic_instr;
        x_unit_q <= d_unit;
        x_alu_q <= d_alu;
        x_sub_q <= d_sub;
        x_rd_we_q <= d_rd_we;
        x_rd_q <= d_rd;
        x_imm_q <= d_imm;
        x_a_is_pc_q <= d_a_is_pc;
        x_b_is_imm_q <= d_b_is_imm;
        x_fp_op_q <= d_fp_op;
        x_fp_uses_rm_q <= d_fp_uses_rm;
      end
    end
  end

  // ---- Registers

  logic [31:0] rs1 [Threads];
  logic [31:0] rs2 [Threads];
  logic [31:0] rs3 [Threads];
  logic rf_write;
  logic [RowWidth-1:0] rf_row;
  mask_t rf_mask;
  logic [31:0] rf_data [Threads];

  gpu_regfile #(.Threads(Threads), .Rows(Rows), .ThirdPort(Fpu)) u_regfile (
    .clk_i,
    .read_i(d_q),
    .a_row_i(row(d_warp_q, d_rs1)), .b_row_i(row(d_warp_q, d_rs2)), .c_row_i(row(d_warp_q, d_rs3)),
    .a_o(rs1), .b_o(rs2), .c_o(rs3),
    .write_i(rf_write), .row_i(rf_row), .mask_i(rf_mask), .data_i(rf_data)
  );

  // ---- Execute

  logic [31:0] lanes_result [Threads];
  logic [31:0] address [Threads];
  logic [31:0] csr_value [Threads];
  mask_t taken;

  assign go = x_q && !halt_q;

  gpu_lanes #(.Threads(Threads)) u_lanes (
    .valid_i(go), .unit_i(x_unit_q), .alu_i(x_alu_q), .sub_i(x_sub_q), .pc_i(x_pc_q), .imm_i(x_imm_q),
    .a_is_pc_i(x_a_is_pc_q), .b_is_imm_i(x_b_is_imm_q), .mask_i(x_mask_q), .rs1_i(rs1), .rs2_i(rs2),
    .result_o(lanes_result), .address_o(address), .taken_o(taken)
  );

  // Scalar operands: the highest-numbered executing lane.
  logic [LaneWidth-1:0] top_lane;
  always_comb begin
    top_lane = '0;
    if (go && (x_unit_q inside {UnitWarp, UnitCsr, UnitJalr})) begin
      for (int t = 0; t < int'(Threads); t++) if (x_mask_q[t]) top_lane = LaneWidth'(t);
    end
  end
  assign scalar1 = rs1[top_lane];
  assign scalar2 = rs2[top_lane];

  logic csr_illegal, csr_writes, rm_bad;
  logic [2:0] frm, rm;
  logic [31:0] mtvec;
  logic [31:0] mepc [Threads];
  depth_t mdepth [Threads];
  logic [31:0] target;

  assign target = x_pc_q + x_imm_q;
  assign csr_writes = x_unit_q == UnitCsr && (x_sub_q[1:0] == 2'd1 || x_instr_q[19:15] != '0);
  assign rm = (x_sub_q == 3'd7) ? frm : x_sub_q;
  assign rm_bad = x_fp_uses_rm_q && rm > 3'd4;

  mask_t trap;
  logic [4:0] trap_cause;
  logic [31:0] trap_top;
  logic [31:0] trap_value [Threads];

  gpu_trap #(.Threads(Threads)) u_trap (
    .go_i(go), .unit_i(x_unit_q), .sub_i(x_sub_q), .instr_i(x_instr_q), .mask_i(x_mask_q), .taken_i(taken),
    .target_i(target), .address_i(address), .csr_illegal_i(csr_illegal), .rm_bad_i(rm_bad), .trap_o(trap),
    .trap_cause_o(trap_cause), .trap_value_o(trap_value), .trap_top_o(trap_top)
  );

  // What must come again, and what goes on in another unit.
  logic to_memory, to_muldiv, to_fpu;
  logic [Warps-1:0] spawn_wanted;

  always_comb begin
    spawn_wanted = '0;
    if (go && x_unit_q == UnitWarp && x_sub_q == WarpWspawn) begin
      for (int w = 1; w < int'(Warps); w++) spawn_wanted[w] = 32'(w) < scalar1 && warp_t'(w) != x_warp_q;
    end
  end

  assign to_memory = go && trap == '0 && (x_unit_q inside {UnitLoad, UnitStore, UnitFence});
  assign to_muldiv = go && x_unit_q == UnitMulDiv;
  assign to_fpu = go && trap == '0 && x_unit_q == UnitFpu;
  assign replay_memory = to_memory && !dc_ready;
  assign replay_unit = (to_muldiv && !md_ready) || (to_fpu && !fp_ready);
  // The warps to start must have ended: programs spawn again without waiting.
  assign replay_spawn = (spawn_wanted & active) != '0;
  assign replay = replay_memory || replay_unit || replay_spawn;
  assign long_op = go && trap == '0 && !replay && (x_unit_q inside {UnitLoad, UnitFence, UnitMulDiv, UnitFpu});
  assign spawn = spawn_wanted != '0 && !replay_spawn;
  assign spawn_mask = spawn_wanted;
  assign retire = go && !replay && trap == '0;

  // Where the lanes go.
  gpu_flow #(.Threads(Threads), .DepthWidth(DepthWidth)) u_flow (
    .go_i(go), .retire_i(retire), .replay_i(replay), .alone_i(alone), .unit_i(x_unit_q), .sub_i(x_sub_q),
    .pc_i(x_pc_q), .rd_i(x_instr_q[11:7]), .rs1_number_i(x_instr_q[19:15]), .depth_i(x_depth_q),
    .mask_i(x_mask_q), .taken_i(taken), .target_i(target), .address_i(address), .top_lane_i(top_lane),
    .rs1_i(rs1), .scalar1_i(Threads'(scalar1)), .scalar2_i(Threads'(scalar2)), .live_i(live),
    .joined_i(joined), .at_bar_i(at_bar), .lane_pc_i(lane_pc), .trap_i(trap), .mtvec_i(mtvec), .mepc_i(mepc),
    .mdepth_i(mdepth), .uniform_o(uniform), .next_pc_o(next_pc), .next_depth_o(next_depth),
    .next_lane_pc_o(next_lane_pc), .next_lane_depth_o(next_lane_depth), .lane_write_o(lane_write),
    .new_live_o(new_live), .new_join_o(new_join), .new_bar_o(new_bar), .bar_write_o(bar_write)
  );

  // ---- CSRs

  logic [5:0] csr_counter_index;
  logic [63:0] csr_counter;
  logic fflags_write;
  logic [31:0] csr_operand [Threads];
  logic [4:0] fflags;

  always_comb for (int t = 0; t < int'(Threads); t++) csr_operand[t] = x_sub_q[2] ? 32'(x_instr_q[19:15]) : rs1[t];

  gpu_csr #(.Warps(Warps), .Threads(Threads), .Fpu(Fpu), .LocalBase(LocalBase)) u_csr (
    .clk_i,
    .clear_i(state_q == Clear), .clear_warp_i(warp_t'(clear_q)),
    .start_i(begin_kernel), .start_arg_i,
    .access_i(go && x_unit_q == UnitCsr), .addr_i(x_imm_q[11:0]), .warp_i(x_warp_q), .writes_i(csr_writes),
    .op_i(x_sub_q[1:0]), .operand_i(x_sub_q[2] ? {27'd0, x_instr_q[19:15]} : scalar1), .lane_operand_i(csr_operand),
    .commit_i(retire), .illegal_o(csr_illegal), .value_o(csr_value),
    .core_id_i, .num_cores_i, .cap_i, .active_i(active), .mask_i(x_mask_q),
    .counter_index_o(csr_counter_index), .counter_i(csr_counter),
    .trap_i((mtvec != '0) ? trap : '0), .trap_pc_i(x_pc_q), .trap_cause_i(trap_cause),
    .trap_value_i(trap_value), .trap_depth_i(x_depth_q),
    .mtvec_o(mtvec), .mepc_o(mepc), .mdepth_o(mdepth),
    .spawn_i(spawn), .spawn_mask_i(spawn_mask),
    .frm_o(frm), .fflags_i(fflags_write), .fflags_warp_i(done_tag.warp), .fflags_value_i(fflags)
  );

  // ---- Units that take their time

  tag_t x_tag;
  assign x_tag = '{fence_i: x_unit_q == UnitFence && x_sub_q[0], we: x_rd_we_q, rd: x_rd_q, warp: x_warp_q};

  logic dc_rsp, dc_last, dc_take, dc_idle, dc_error, dc_error_store, dc_hit, dc_miss;
  tag_t dc_tag;
  mask_t dc_mask;
  logic [31:0] dc_data [Threads];
  logic [31:0] dc_error_addr;

  gpu_dcache #(
    .Threads(Threads), .TagWidth(TagWidth), .Bytes(DcacheBytes), .LocalBytes(LocalBytes), .LocalBase(LocalBase),
    .Reads(DataReads)
  ) u_dcache (
    .clk_i, .rst_ni,
    .clear_i(state_q == Clear), .clear_line_i(LocalWidth'(clear_q)),
    .req_valid_i(to_memory), .req_ready_o(dc_ready), .req_store_i(x_unit_q == UnitStore),
    .req_fence_i(x_unit_q == UnitFence), .req_size_i(x_sub_q), .req_mask_i(x_mask_q), .req_tag_i(x_tag),
    .req_addr_i(address), .req_data_i(rs2),
    .rsp_valid_o(dc_rsp), .rsp_ready_i(dc_take), .rsp_last_o(dc_last), .rsp_mask_o(dc_mask), .rsp_tag_o(dc_tag), .rsp_data_o(dc_data),
    .drain_i(state_q == Drain), .idle_o(dc_idle),
    .error_o(dc_error), .error_store_o(dc_error_store), .error_addr_o(dc_error_addr),
    .hit_event_o(dc_hit), .miss_event_o(dc_miss),
    .rd_valid_o(drd_valid_o), .rd_ready_i(drd_ready_i), .rd_line_o(drd_line_o),
    .rd_beat_i(drd_beat_i), .rd_data_i, .rd_last_i, .rd_error_i,
    .wr_valid_o, .wr_ready_i, .wr_line_o, .wr_beats_o, .wr_beat_i, .wr_data_o, .wr_strb_o, .wr_done_i, .wr_error_i
  );

  logic md_rsp, md_take;
  tag_t md_tag;
  mask_t md_mask;
  logic [31:0] md_data [Threads];

  gpu_muldiv #(.Threads(Threads), .TagWidth(TagWidth)) u_muldiv (
    .clk_i, .rst_ni(clear_units_n),
    .req_valid_i(to_muldiv), .req_ready_o(md_ready), .req_op_i(x_sub_q), .req_mask_i(x_mask_q), .req_tag_i(x_tag),
    .req_a_i(rs1), .req_b_i(rs2),
    .rsp_valid_o(md_rsp), .rsp_ready_i(md_take), .rsp_mask_o(md_mask), .rsp_tag_o(md_tag), .rsp_data_o(md_data)
  );

  logic fp_rsp, fp_take;
  tag_t fp_tag;
  mask_t fp_mask;
  logic [31:0] fp_data [Threads];
  logic [4:0] fp_flags;

  if (Fpu) begin : gen_fpu
    gpu_fpu_pkg::flags_t flags [Threads];
    logic req_ready, div_ready;

    // One line for all operations: an operation of the other kind waits a cycle too, but nothing depends on what is
    // in the execute stage.
    assign fp_ready = req_ready && div_ready;

    gpu_fpu #(.Lanes(Threads), .TagWidth(TagWidth)) u_fpu (
      .clk_i, .rst_ni(clear_units_n),
      .req_valid_i(to_fpu && fp_ready), .req_ready_o(req_ready), .req_op_i(gpu_fpu_pkg::op_e'(x_fp_op_q)),
      .req_rm_i(gpu_fpu_pkg::rm_e'(rm)), .req_mask_i(x_mask_q), .req_tag_i(x_tag),
      .req_a_i(rs1), .req_b_i(rs2), .req_c_i(rs3), .div_ready_o(div_ready),
      .rsp_valid_o(fp_rsp), .rsp_ready_i(fp_take), .rsp_tag_o(fp_tag), .rsp_mask_o(fp_mask),
      .rsp_result_o(fp_data), .rsp_flags_o(flags)
    );

    always_comb begin
      fp_flags = '0;
      if (fp_rsp) for (int t = 0; t < int'(Threads); t++) if (fp_mask[t]) fp_flags |= flags[t];
    end
  end else begin : gen_no_fpu
    assign fp_ready = 1'b1;
    assign fp_rsp = 1'b0;
    assign fp_tag = '0;
    assign fp_mask = '0;
    assign fp_flags = '0;
    always_comb for (int t = 0; t < int'(Threads); t++) fp_data[t] = '0;
    logic unused_fp;
    always_comb begin
      unused_fp = ^{to_fpu, fp_take, x_fp_op_q, rm};
      for (int t = 0; t < int'(Threads); t++) unused_fp ^= ^rs3[t];
    end
  end

  // ---- Write back: what the execute stage made goes first; the units wait for a free cycle.

  logic w_take, part;
  assign w_take = retire && x_rd_we_q &&
                  (x_unit_q inside {UnitAlu, UnitJal, UnitJalr, UnitCsr, UnitLane, UnitWarp});

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      w_q <= 1'b0;
    end else begin
      w_q <= w_take;
      if (w_take) begin
        w_warp_q <= x_warp_q;
        w_mask_q <= x_mask_q;
        w_rd_q <= x_rd_q;
        unique case (x_unit_q)
          UnitJal, UnitJalr: for (int t = 0; t < int'(Threads); t++) w_data_q[t] <= x_pc_q + 32'd4;
          UnitCsr: for (int t = 0; t < int'(Threads); t++) w_data_q[t] <= csr_value[t];
          // Split: the token is the set of lanes that split.
          UnitWarp: for (int t = 0; t < int'(Threads); t++) w_data_q[t] <= 32'(x_mask_q);
          default: for (int t = 0; t < int'(Threads); t++) w_data_q[t] <= lanes_result[t];
        endcase
      end
    end
  end

  assign dc_take = dc_rsp && !w_q;
  assign fp_take = fp_rsp && !dc_rsp && !w_q;
  assign md_take = md_rsp && !dc_rsp && !fp_rsp && !w_q;
  // Loads answer in parts, the last of which ends them.
  assign part = dc_take || fp_take || md_take;
  assign done = part && (!dc_rsp || dc_last);
  assign done_tag = dc_rsp ? dc_tag : fp_rsp ? fp_tag : md_tag;
  assign long_waits = w_q && (dc_rsp || fp_rsp || md_rsp);
  assign fflags_write = fp_take;
  assign fflags = fp_flags;

  always_comb begin
    rf_write = 1'b0;
    rf_row = row(w_warp_q, w_rd_q);
    rf_mask = w_mask_q;
    for (int t = 0; t < int'(Threads); t++) rf_data[t] = w_data_q[t];
    if (state_q == Clear) begin
      rf_write = clear_q < 16'(Rows);
      rf_row = RowWidth'(clear_q);
      rf_mask = '1;
      for (int t = 0; t < int'(Threads); t++) rf_data[t] = '0;
    end else if (w_q) begin
      rf_write = 1'b1;
    end else if (part) begin
      rf_write = done_tag.we;
      rf_row = row(done_tag.warp, done_tag.rd);
      if (dc_rsp) begin
        rf_mask = dc_mask;
        for (int t = 0; t < int'(Threads); t++) rf_data[t] = dc_data[t];
      end else if (fp_rsp) begin
        rf_mask = fp_mask;
        for (int t = 0; t < int'(Threads); t++) rf_data[t] = fp_data[t];
      end else begin
        rf_mask = md_mask;
        for (int t = 0; t < int'(Threads); t++) rf_data[t] = md_data[t];
      end
    end
  end

`ifdef EDDY_GPU_TRACE
  gpu_trace #(.Threads(Threads), .RowWidth(RowWidth), .RegWidth(RegWidth)) u_trace (
    .clk_i, .core_i(core_id_i), .warp_i(32'(x_warp_q)), .pc_i(x_pc_q), .instr_i(x_instr_q),
    .retire_i(retire ? x_mask_q : '0), .trap_i(trap), .trap_cause_i(trap_cause), .trap_value_i(trap_value),
    .write_i(rf_write && state_q != Clear ? rf_mask : '0), .row_i(rf_row), .data_i(rf_data)
  );
`endif

  // ---- Life of a kernel

  assign empty = !d_q && !x_q && !w_q && !ic_busy && !dc_rsp && !md_rsp && !fp_rsp;

  gpu_life #(.ClearCycles(ClearCycles)) u_life (
    .clk_i, .rst_ni, .start_i, .stop_i,
    .work_left_i(active != '0 || !quiet), .empty_i(empty), .drained_i(dc_idle),
    .trap_i(go && trap != '0 && mtvec == '0), .trap_cause_i(trap_cause), .trap_pc_i(x_pc_q), .trap_value_i(trap_top),
    .fetch_error_i(ic_error), .fetch_addr_i(ic_error_addr),
    .data_error_i(dc_error), .data_store_i(dc_error_store), .data_addr_i(dc_error_addr),
    .state_o(state_q), .clear_o(clear_q), .begin_o(begin_kernel), .halt_o(halt_q), .running_o,
    .fault_o, .fault_cause_o, .fault_pc_o, .fault_value_o
  );

  assign clear_units_n = rst_ni && !(state_q == Clear && !begin_kernel);

  // ---- Counters

  logic [CntReplays:CntLoads] event_now;

  always_comb begin
    event_now = '0;
    if (state_q == Run) begin
      event_now[CntLoads] = retire && x_unit_q == UnitLoad;
      event_now[CntStores] = retire && x_unit_q == UnitStore;
      event_now[CntFetchMiss] = ird_valid_o && ird_ready_i;
      event_now[CntDataHit] = dc_hit;
      event_now[CntDataMiss] = dc_miss;
      event_now[CntReplays] = go && replay;
      if (!issue) begin
        if (wait_memory) event_now[CntStallMemory] = 1'b1;
        else if (wait_fetch) event_now[CntStallFetch] = 1'b1;
        else if (wait_bar && quiet) event_now[CntStallBar] = 1'b1;
        else if (x_q || d_q) event_now[CntStallPipe] = 1'b1;
        else if (wait_unit) event_now[CntStallUnit] = 1'b1;
        else event_now[CntStallPipe] = 1'b1;
      end
    end
    event_now[CntLineReads] = (ird_valid_o && ird_ready_i) || (drd_valid_o && drd_ready_i);
    event_now[CntLineWrites] = wr_valid_o && wr_ready_i;
  end

  gpu_counters #(.Threads(Threads)) u_counters (
    .clk_i, .rst_ni,
    .clear_i(state_q == Idle && start_i && !keep_counters_i),
    .running_i(state_q == Run || state_q == Drain), .event_i(event_now),
    .executed_i(retire), .mask_i(x_mask_q),
    .snapshot_i, .shadow_index_i(counter_index_i), .shadow_o(counter_o),
    .live_index_i(csr_counter_index), .live_o(csr_counter)
  );

endmodule
