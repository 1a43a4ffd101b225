// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Where the lanes of a warp go from an instruction, and how their conditions change. Purely combinational.
///
/// docs/reference/gpu-isa.md defines what tmc, pred, join and bar do to the lanes.
module gpu_flow
  import gpu_pkg::*;
#(
  parameter int unsigned Threads = 4,
  localparam int unsigned LaneWidth = (Threads > 1) ? $clog2(Threads) : 1
) (
  input  logic                    go_i,
  /// The instruction ends: it neither traps nor comes again.
  input  logic                    retire_i,
  input  logic                    replay_i,
  /// The executing lanes are all the running lanes of the warp.
  input  logic                    alone_i,
  input  unit_e                   unit_i,
  input  logic [2:0]              sub_i,
  input  logic [31:0]             pc_i,
  input  logic [4:0]              rd_i,
  input  logic [4:0]              rs1_number_i,
  input  logic [DepthWidth-1:0]   depth_i,
  input  logic [Threads-1:0]      mask_i,
  input  logic [Threads-1:0]      taken_i,
  input  logic [31:0]             target_i,
  input  logic [Threads-1:0][31:0] address_i,
  input  logic [LaneWidth-1:0]    top_lane_i,
  /// Bit 0 of the first operand.
  input  logic [Threads-1:0]      odd_i,
  /// Scalar operands, as masks.
  input  logic [Threads-1:0]      scalar1_i,
  input  logic [Threads-1:0]      scalar2_i,
  /// Conditions of the warp's lanes, before and after; `lane_pc_i` is that of lanes that wait.
  input  logic [Threads-1:0]      live_i,
  input  logic [Threads-1:0]      joined_i,
  input  logic [Threads-1:0]      at_bar_i,
  input  logic [31:0]             lane_pc_i [Threads],
  input  logic [Threads-1:0]      trap_i,
  input  logic [31:0]             mtvec_i,
  input  logic [31:0]             mepc_i [Threads],
  input  logic [DepthWidth-1:0]   mdepth_i [Threads],
  /// All lanes go on at `next_pc_o`; otherwise those of `lane_write_o` each at its own.
  output logic                    uniform_o,
  output logic [31:0]             next_pc_o,
  /// It is that of the instruction behind.
  output logic                    sequential_o,
  output logic [DepthWidth-1:0]   next_depth_o,
  output logic [31:0]             next_lane_pc_o [Threads],
  output logic [DepthWidth-1:0]   next_lane_depth_o [Threads],
  output logic [Threads-1:0]      lane_write_o,
  output logic [Threads-1:0]      new_live_o,
  output logic [Threads-1:0]      new_join_o,
  output logic [Threads-1:0]      new_bar_o,
  output logic                    bar_write_o
);

  typedef logic [Threads-1:0] mask_t;

  logic split_branch, link_in, link_out;
  mask_t jumping;

  function automatic logic is_link(logic [4:0] number);
    return number == 5'd1 || number == 5'd5;
  endfunction

  assign link_in = (unit_i inside {UnitJal, UnitJalr}) && is_link(rd_i);
  assign link_out = unit_i == UnitJalr && rd_i == '0 && is_link(rs1_number_i);

  always_comb begin
    next_pc_o = 'x;
    sequential_o = 'x;
    next_depth_o = 'x;
    jumping = 'x;
    split_branch = 'x;
    if (go_i) begin
      next_pc_o = pc_i + 32'd4;
      sequential_o = 1'b1;
      next_depth_o = depth_i;
      jumping = '0;
      split_branch = 1'b0;
      unique case (unit_i)
        UnitBranch: begin
          jumping = taken_i;
          split_branch = taken_i != '0 && taken_i != mask_i;
          if (taken_i == mask_i) begin
            next_pc_o = target_i;
            sequential_o = 1'b0;
          end
        end
        UnitJal: begin
          next_pc_o = target_i;
          sequential_o = 1'b0;
        end
        UnitJalr: begin
          sequential_o = 1'b0;
          next_pc_o = {address_i[top_lane_i][31:2], 2'b00};
          for (int t = 0; t < int'(Threads); t++) begin
            if (mask_i[t] && address_i[t][31:2] != address_i[top_lane_i][31:2]) split_branch = 1'b1;
          end
        end
        UnitSystem: begin
          if (sub_i == SysMret) begin
            split_branch = 1'b1;
          end
        end
        default: ;
      endcase
      if (link_in && depth_i != '1 && !(unit_i == UnitJalr && rs1_number_i != rd_i &&
          is_link(rs1_number_i))) next_depth_o = depth_i + 1'b1;
      if (link_out && depth_i != '0) next_depth_o = depth_i - 1'b1;
    end
  end

  // Lane state, for instructions that change it.
  mask_t enabled, together;
  logic changes, bar_now, join_done;

  always_comb begin
    new_live_o = live_i;
    new_join_o = joined_i;
    new_bar_o = at_bar_i;
    enabled = '0;
    together = '0;
    changes = 1'b0;
    bar_now = 1'b0;
    join_done = 1'b1;
    if (retire_i && unit_i == UnitWarp) begin
      unique case (sub_i)
        WarpTmc, WarpPred: begin
          automatic mask_t wanted, holds;
          wanted = scalar1_i;
          if (sub_i == WarpPred) begin
            for (int t = 0; t < int'(Threads); t++) holds[t] = mask_i[t] && (odd_i[t] ^ rd_i[0]);
            wanted = (holds != '0) ? holds : scalar2_i;
          end
          enabled = wanted & ~live_i;
          new_live_o = (live_i & ~mask_i) | (mask_i & wanted) | enabled;
          changes = new_live_o != live_i;
          // Lanes that wait for one that is gone look again.
          if (changes) new_join_o = '0;
        end
        WarpJoin: begin
          // The token is the set of lanes that split; those still alive wait here for each other.
          together = (scalar1_i & live_i) | mask_i;
          for (int t = 0; t < int'(Threads); t++) begin
            if (together[t] && !mask_i[t] && !(joined_i[t] && gpu_lines_pkg::same(lane_pc_i[t][31:2], pc_i[31:2]))) join_done = 1'b0;
          end
          if (join_done) new_join_o = joined_i & ~together;
          else new_join_o = joined_i | mask_i;
          changes = !join_done || together != mask_i;
        end
        WarpBar: begin
          bar_now = 1'b1;
          new_bar_o = at_bar_i | mask_i;
          changes = 1'b1;
        end
        default: ;
      endcase
    end
  end

  assign bar_write_o = bar_now;

  // A lane goes on at one of two places that all have in common, at the address it found, or where it trapped.
  typedef enum logic [1:0] { Here, There, Address, Trapped } place_e;

  logic [31:0] here, there;
  depth_t depth_here, depth_there;
  place_e place [Threads];

  always_comb begin
    // Nothing where all go on together; then the places do not matter.
    uniform_o = 1'b0;
    lane_write_o = '0;
    here = 'x;
    there = 'x;
    depth_here = 'x;
    depth_there = 'x;
    for (int t = 0; t < int'(Threads); t++) begin
      place[t] = place_e'('x);
      next_lane_pc_o[t] = 'x;
      next_lane_depth_o[t] = 'x;
    end
    if (go_i) uniform_o = !replay_i && alone_i && !split_branch && trap_i == '0 && !changes;
    if (go_i && !uniform_o) begin
      lane_write_o = join_done ? mask_i | enabled | together : mask_i | enabled;
      here = next_pc_o;
      there = target_i;
      depth_here = next_depth_o;
      depth_there = next_depth_o;
      for (int t = 0; t < int'(Threads); t++) place[t] = Here;
      if (!join_done) here = pc_i;
      if (trap_i != '0) begin
        // Only the lanes that trap_i leave; the others execute the instruction again, without them. The handler's
        // lanes run first: theirs is the greatest depth.
        here = pc_i;
        there = mtvec_i;
        depth_here = depth_i;
        depth_there = '1;
        for (int t = 0; t < int'(Threads); t++) if (trap_i[t]) place[t] = There;
      end else begin
        unique case (unit_i)
          // Where all go together, the next one is the target itself.
          UnitBranch: for (int t = 0; t < int'(Threads); t++) if (jumping[t]) place[t] = There;
          UnitJalr:   for (int t = 0; t < int'(Threads); t++) place[t] = Address;
          UnitSystem: if (sub_i == SysMret) for (int t = 0; t < int'(Threads); t++) place[t] = Trapped;
          default: ;
        endcase
      end
      for (int t = 0; t < int'(Threads); t++) begin
        unique case (place[t])
          Here:    next_lane_pc_o[t] = here;
          There:   next_lane_pc_o[t] = there;
          Address: next_lane_pc_o[t] = {address_i[t][31:2], 2'b00};
          default: next_lane_pc_o[t] = mepc_i[t];
        endcase
        unique case (place[t])
          There:   next_lane_depth_o[t] = depth_there;
          Trapped: next_lane_depth_o[t] = mdepth_i[t];
          default: next_lane_depth_o[t] = depth_here;
        endcase
      end
    end
  end

endmodule
