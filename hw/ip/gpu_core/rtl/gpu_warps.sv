// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The warps of a core: which lanes of each live, where they are, and what each warp waits for.
///
/// Every lane has a program counter and a call depth. The lanes of a warp that run together are its *group*
/// (`gpu_group`). While the group is all the warp's runnable lanes (`alone_o`), its one program counter is all there is to
/// keep; lanes' own counters are written when the group is not, and the group is chosen again after every instruction (one
/// more cycle).
module gpu_warps
  import gpu_pkg::*;
#(
  parameter int unsigned Warps = 4,
  parameter int unsigned Threads = 4,
  /// Instructions a group may execute while others of its warp wait.
  parameter int unsigned StarveBound = 4096,
  localparam int unsigned WarpWidth = (Warps > 1) ? $clog2(Warps) : 1
) (
  input  logic                  clk_i,
  /// Synchronous reset, active low: no warp lives.
  input  logic                  rst_ni,
  /// Warp 0 lane 0 begins.
  input  logic                  start_i,
  input  logic [31:0]           start_pc_i,
  /// Nothing issues.
  input  logic                  hold_i,

  // Issue
  /// Warps that have an instruction; whose instruction must wait for others of the warp.
  input  logic [Warps-1:0]      valid_i,
  input  logic [Warps-1:0]      wait_i,
  output logic                  issue_o,
  output warp_t                 issue_warp_o,
  output lanes_t                issue_mask_o,
  output depth_t                issue_depth_o,
  /// Warps whose first instruction has issued and not ended; whose next one to issue is another from the next cycle on.
  output logic [Warps-1:0]      flight_o,
  output logic [Warps-1:0]      forget_o,

  // Of each warp: something is under way, in memory; its instructions are not there.
  input  logic [Warps-1:0]      busy_i,
  input  logic [Warps-1:0]      busy_memory_i,
  input  logic                  wait_fetch_i,

  // Where the warps go on
  /// It is known where.
  output logic [Warps-1:0]      placed_o,
  /// Warps that go on at an address from the next cycle on, beside one that jumps.
  output logic [Warps-1:0]      place_o,
  output logic [31:0]           place_pc_o,
  /// Warps whose first instruction leaves their buffer; one of them loses whatever is behind it too, beside one that jumps.
  output logic [Warps-1:0]      pop_o,
  output logic                  flush_o,
  output logic [WarpWidth-1:0]  flush_warp_o,

  // The instruction in the execute stage, and that all its warp does is to go on: with the one behind, or elsewhere.
  input  warp_t                 end_warp_i,
  input  logic                  end_i,
  input  logic                  end_jump_i,
  input  depth_t                end_depth_i,
  output logic                  alone_o,
  // An instruction leaves the stage behind that.
  input  logic                  exec_i,
  input  warp_t                 exec_warp_i,
  input  outcome_t              outcome_i,
  /// Where they go on together; those in `outcome_i.write`, where the outcome is not uniform.
  input  logic [31:0]           next_pc_i,
  input  logic [31:0]           lane_pc_i [Threads],
  input  depth_t                lane_depth_i [Threads],
  input  logic                  memory_ready_i,
  input  logic                  unit_ready_i,
  /// It comes again.
  output logic                  replay_o,

  // A fence, or an atomic access, has ended.
  input  logic                  fence_i,
  input  warp_t                 fence_warp_i,

  // By `exec_warp_i`: what it is about to change.
  output logic                  exec_alone_o,
  output lane_state_t           state_o,
  output logic [31:0]           lane_pc_o [Threads],

  output logic [Warps-1:0]      active_o,
  /// No instruction is between issue and completion.
  output logic                  quiet_o,

  // Barrier across cores.
  output logic                  global_bar_o,
  output logic [4:0]            global_id_o,
  output logic [7:0]            global_count_o,
  output logic [4:0]            global_warps_o,
  input  logic                  global_release_i,

  output waits_t                waits_o,
  /// Every live warp waits at a barrier, or for others to end; and which wait at barriers.
  output logic                  still_o,
  output logic [15:0]           stuck_warps_o
);

  localparam int unsigned AgeWidth = $clog2(StarveBound + 1);
  // Of an atomic access or a fence: in a loop that others wait for, it is mostly a wait for one of them.
  localparam int unsigned LongTurn = StarveBound < 8 ? 1 : StarveBound / 8;

  typedef logic [Threads-1:0] mask_t;
  typedef logic [WarpWidth-1:0] index_t;

  // One bit a warp.
  logic [Warps-1:0] active_q, flight_q, fence_q, replay_memory_q, replay_unit_q, replay_spawn_q;
  logic [Warps-1:0] select_q, alone_q, expired_q, arrived;
  logic died_q;
  // One entry a warp.
  logic [Warps-1:0][Threads-1:0] live_q, join_q, bar_q, favour_q, group_q;
  logic [Warps-1:0][7:0] depth_q;  // of a byte each, which are found at once
  logic [Warps-1:0][AgeWidth-1:0] age_q;  // and whether it has come to the bound: `expired_q`
  // One entry a lane of a warp, in a memory a lane with one write a cycle; valid for lanes outside the group, and for all while a
  // choice is due.
  typedef struct packed {
    depth_t      depth;
    logic [29:0] pc;
  } place_t;
  place_t chosen_places [Threads];

  index_t issue_warp, end_warp, exec_warp, fence_warp;

  assign end_warp = index_t'(end_warp_i);
  assign exec_warp = index_t'(exec_warp_i);
  assign fence_warp = index_t'(fence_warp_i);

  // ---- Issue

  logic [Warps-1:0] ready;

  assign placed_o = active_q & ~(select_q | fence_q | arrived);

  assign ready = placed_o & valid_i & ~(wait_i | flight_q | replay_memory_q | replay_unit_q | replay_spawn_q);

  gpu_warp_select #(.Warps(Warps)) u_select (
    .clk_i, .rst_ni, .ready_i(ready), .hold_i, .issue_o, .warp_o(issue_warp)
  );

  assign issue_warp_o = warp_t'(issue_warp);
  assign issue_mask_o = lanes_t'(group_q[issue_warp]);
  assign issue_depth_o = depth_t'(depth_q[issue_warp]);

  assign alone_o = alone_q[end_warp];
  assign exec_alone_o = alone_q[exec_warp];
  assign state_o = '{
    live: lanes_t'(live_q[exec_warp]), join_wait: lanes_t'(join_q[exec_warp]), bar_wait: lanes_t'(bar_q[exec_warp])
  };

  assign active_o = active_q;
  assign quiet_o = (flight_q | fence_q | busy_i) == '0;
  assign waits_o = '{
    fetch: wait_fetch_i,
    memory: (fence_q | replay_memory_q | (wait_i & valid_i & busy_memory_i)) != '0,
    unit: (replay_unit_q | (wait_i & valid_i & ~busy_memory_i)) != '0,
    barrier: arrived != '0
  };

  // Whoever would come to a barrier, or end, is none of those that can run.
  assign still_o = (active_q & ~(arrived | replay_spawn_q)) == '0;
  assign stuck_warps_o = 16'(arrived);

  // ---- What the instruction behind the execute stage does, and the choice of a group: one warp a cycle, picked in the cycle before

  // Something happens to warps that is neither an issue nor an end like most. Gates need not know; a simulation skips the rest.
  logic eventful;
`ifdef SYNTHESIS
  assign eventful = 1'b1;
`else
  assign eventful = exec_i || select_q != '0 || start_i || fence_i || global_release_i || died_q || (replay_memory_q | replay_unit_q) != '0;
`endif

  // The instruction takes effect, or it comes again. Its warp goes on at a place that it says; it begins others.
  logic ends, replays, moves;
  // Its warp, where its first instruction leaves, and where the next one is another.
  logic [Warps-1:0] ended, forgotten;
  // Warps that begin, with their lane 0: the first of a kernel, and those an instruction starts.
  logic [Warps-1:0] fresh;
  // The warp that is picked is one to choose for. It has lanes to run; no lane lives; every live lane waits at a barrier, so the
  // warp has arrived; or nobody is left who could come to where lanes wait: their joins open.
  logic picked;
  logic choose, found, dies, arrive, opens, expired;
  logic [Warps-1:0] open;
  index_t pick_q;
  mask_t runnable, chosen, favour;
  logic [31:0] chosen_pc;
  depth_t chosen_depth;

  assign picked = select_q[pick_q];
  assign replay_o = replays;

  always_comb begin
    replays = 1'b0;
    ends = 1'b0;
    moves = 1'b0;
    flush_o = 1'b0;
    ended = '0;
    forgotten = '0;
    fresh = '0;
    choose = 1'b0;
    found = 1'b0;
    dies = 1'b0;
    arrive = 1'b0;
    opens = 1'b0;
    runnable = 'x;
    expired = 'x;
    place_o = '0;
    if (eventful) begin
      if (exec_i) begin
        replays = outcome_i.replay_memory || outcome_i.replay_unit || outcome_i.replay_spawn;
        ends = !replays;
        moves = ends && outcome_i.moves;
        flush_o = ends && (!(outcome_i.uniform && outcome_i.sequential) || outcome_i.fence);
        if (ends) ended = Warps'(1) << exec_warp;
        if (flush_o || replays) forgotten = Warps'(1) << exec_warp;
        fresh = Warps'(outcome_i.spawn);
      end
      if (start_i) fresh = Warps'(1);
      if (picked) begin
        // One place a cycle is told.
        choose = !moves && fresh == '0;
        runnable = live_q[pick_q] & ~join_q[pick_q] & ~bar_q[pick_q];
        expired = expired_q[pick_q];
        found = choose && runnable != '0;
        if (choose && runnable == '0) begin
          dies = live_q[pick_q] == '0;
          arrive = !dies && bar_q[pick_q] == live_q[pick_q];
          // Unless the memories may be written for another warp.
          opens = !dies && !arrive && !exec_i;
        end
      end
      place_o = fresh;
      if (moves) place_o |= Warps'(1) << exec_warp;
      if (found) place_o |= Warps'(1) << pick_q;
    end
  end

  gpu_group #(.Threads(Threads)) u_group (
    .valid_i(picked), .runnable_i(runnable), .favour_i(favour_q[pick_q]), .group_i(group_q[pick_q]),
    .expired_i(expired), .place_i(chosen_places),
    .group_o(chosen), .favour_o(favour), .pc_o(chosen_pc), .depth_o(chosen_depth)
  );

  // Where lanes are after the instruction, and after joins that open by themselves.
  for (genvar t = 0; t < int'(Threads); t++) begin : gen_lane
    place_t ram [Warps];

    always_ff @(posedge clk_i) begin
      if (eventful) begin
        automatic logic write;
        automatic index_t row;
        write = exec_i ? outcome_i.write[t] : opens && join_q[pick_q][t];
        row = exec_i ? exec_warp : pick_q;
        if (write) begin
          if (exec_i) ram[row] <= '{depth: lane_depth_i[t], pc: lane_pc_i[t][31:2]};
          else ram[row] <= '{depth: chosen_places[t].depth, pc: chosen_places[t].pc + 30'd1};
        end
      end
    end

    always_comb begin
      chosen_places[t] = 'x;
      lane_pc_o[t] = 'x;
      if (eventful) begin
        chosen_places[t] = ram[pick_q];
        lane_pc_o[t] = {ram[exec_warp].pc, 2'b00};
      end
    end
  end

  // The instructions its groups have executed while others waited.
  function automatic logic [AgeWidth-1:0] older(logic [AgeWidth-1:0] age, logic fence);
    older = AgeWidth'(StarveBound);
    if (fence) begin
      if (age < AgeWidth'(StarveBound - LongTurn)) older = age + AgeWidth'(LongTurn);
    end else if (age != AgeWidth'(StarveBound)) begin
      older = age + 1'b1;
    end
  endfunction

  // ---- Where they go on

  assign flush_warp_o = exec_warp;
  assign flight_o = flight_q;

  // An instruction that moves its warp, or lets others begin, says where; else a group that was chosen.
  assign place_pc_o = start_i ? start_pc_i : moves ? next_pc_i : fresh != '0 ? outcome_i.spawn_pc : chosen_pc;

  always_comb begin
    pop_o = ended;
    forget_o = forgotten;
    if (end_i) pop_o |= Warps'(1) << end_warp;
    if (end_jump_i) forget_o |= Warps'(1) << end_warp;
    if (issue_o) forget_o |= Warps'(1) << issue_warp;
  end

  // ---- Barriers

  gpu_barriers #(.Warps(Warps)) u_barriers (
    .clk_i, .rst_ni,
    .write_i(ends && outcome_i.bar_write), .write_warp_i(exec_warp),
    .global_i(outcome_i.bar_global), .id_i(outcome_i.bar_id), .count_i(outcome_i.bar_count),
    .look_i(picked), .warp_i(pick_q), .arrive_i(arrive), .active_i(active_q), .arrived_o(arrived), .open_o(open),
    .bar_o(global_bar_o), .bar_id_o(global_id_o), .bar_count_o(global_count_o), .bar_warps_o(global_warps_o),
    .release_i(global_release_i)
  );

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      flight_q <= '0;
    end else begin
      if (issue_o) flight_q[issue_warp] <= 1'b1;
      if (end_i) flight_q[end_warp] <= 1'b0;
      if (exec_i) flight_q[exec_warp] <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (end_jump_i) depth_q[end_warp] <= 8'(end_depth_i);
    if (eventful) begin
      if (ends && outcome_i.uniform) depth_q[exec_warp] <= 8'(outcome_i.depth);
      if (found) depth_q[pick_q] <= 8'(chosen_depth);
      for (int w = 0; w < int'(Warps); w++) if (fresh[w]) depth_q[w] <= '0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      pick_q <= '0;
      active_q <= '0;
      fence_q <= '0;
      replay_memory_q <= '0;
      replay_unit_q <= '0;
      replay_spawn_q <= '0;
      select_q <= '0;
      alone_q <= '0;
      died_q <= 1'b0;
      for (int w = 0; w < int'(Warps); w++) begin
        live_q[w] <= '0;
        join_q[w] <= '0;
        bar_q[w] <= '0;
        group_q[w] <= '0;
      end
    end else if (eventful) begin
      // Who is looked at next: one that waits for it; else the warp of the instruction, whose lanes may part; else the same once
      // more, whose joins or barrier may open. Whether they do is not waited for.
      if (!picked || choose) begin
        automatic logic [Warps-1:0] others;
        others = select_q & ~(Warps'(1) << pick_q);
        if (others != '0) begin
          for (int w = int'(Warps) - 1; w >= 0; w--) if (others[w]) pick_q <= index_t'(w);
        end else if (exec_i) begin
          pick_q <= exec_warp;
        end
      end

      if (memory_ready_i) replay_memory_q <= '0;
      if (unit_ready_i) replay_unit_q <= '0;

      if (exec_i) begin
        if (outcome_i.fence) fence_q[exec_warp] <= 1'b1;
        if (outcome_i.replay_memory) begin
          replay_memory_q[exec_warp] <= 1'b1;
        end else if (outcome_i.replay_unit) begin
          replay_unit_q[exec_warp] <= 1'b1;
        end else if (outcome_i.replay_spawn) begin
          replay_spawn_q[exec_warp] <= 1'b1;
        end else if (!outcome_i.uniform) begin
          automatic logic [AgeWidth-1:0] age;
          age = older(age_q[exec_warp], outcome_i.fence);
          select_q[exec_warp] <= 1'b1;
          live_q[exec_warp] <= mask_t'(outcome_i.state.live);
          join_q[exec_warp] <= mask_t'(outcome_i.state.join_wait);
          bar_q[exec_warp] <= mask_t'(outcome_i.state.bar_wait);
          age_q[exec_warp] <= age;
          expired_q[exec_warp] <= age == AgeWidth'(StarveBound);
        end
      end

      if (fence_i) fence_q[fence_warp] <= 1'b0;

      // Whoever found a warp alive that has ended by now looks again.
      died_q <= dies;
      if (died_q || dies) replay_spawn_q <= '0;

      if (choose) begin
        if (found || dies || arrive) select_q[pick_q] <= 1'b0;
        if (runnable != '0) begin
          group_q[pick_q] <= chosen;
          alone_q[pick_q] <= chosen == runnable;
          favour_q[pick_q] <= favour;
          if (expired || chosen == runnable) begin
            age_q[pick_q] <= '0;
            expired_q[pick_q] <= 1'b0;
          end
        end
        if (dies) active_q[pick_q] <= 1'b0;
        if (opens) join_q[pick_q] <= '0;
      end

      for (int w = 0; w < int'(Warps); w++) begin
        if (open[w]) begin
          bar_q[w] <= '0;
          select_q[w] <= 1'b1;
        end
      end
      for (int w = 0; w < int'(Warps); w++) begin
        if (fresh[w]) begin
          active_q[w] <= 1'b1;
          alone_q[w] <= 1'b1;
          live_q[w] <= Threads'(1);
          group_q[w] <= Threads'(1);
          join_q[w] <= '0;
          bar_q[w] <= '0;
          favour_q[w] <= '1;
          age_q[w] <= '0;
          expired_q[w] <= 1'b0;
        end
      end
    end
  end

`ifndef SYNTHESIS
  NothingIsSkipped_A : assert property (@(posedge clk_i) disable iff (!rst_ni)
    exec_i || fence_i || picked || open != '0 || fresh != '0 || dies != died_q || (died_q && replay_spawn_q != '0) ||
    (memory_ready_i && replay_memory_q != '0) || (unit_ready_i && replay_unit_q != '0) |-> eventful);
  NoneRunsBeforeTheBarrierOfAllCores_A : assert property (@(posedge clk_i) disable iff (!rst_ni) global_bar_o |-> still_o);
  OneStateAtATime_A : assert property (@(posedge clk_i) disable iff (!rst_ni) (flight_q & (fence_q | select_q)) == '0);
  OfThisCore_A : assert property (@(posedge clk_i) disable iff (!rst_ni)
    (end_i |-> end_warp_i == warp_t'(end_warp)) and (exec_i |-> exec_warp_i == warp_t'(exec_warp)) and
    (fence_i |-> fence_warp_i == warp_t'(fence_warp)));
  TogetherToAPlaceThatIsSaid_A : assert property (@(posedge clk_i) disable iff (!rst_ni)
    flush_o && outcome_i.uniform |-> moves);
  OnePlace_A : assert property (@(posedge clk_i) disable iff (!rst_ni) $onehot0({moves, fresh != '0, choose}));
  IssuedLanesLive_A : assert property (@(posedge clk_i) disable iff (!rst_ni)
    issue_o |-> group_q[issue_warp] != '0 && (group_q[issue_warp] & ~live_q[issue_warp]) == '0);
`endif

endmodule
