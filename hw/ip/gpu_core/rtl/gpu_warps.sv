/// Which warp issues next, and which of its lanes.
///
/// Every lane has a program counter and a call depth. The lanes of a warp that run together are its *group*: the lanes
/// at the program counter and depth that come first, deepest depth before lowest program counter. While the group is
/// all the warp's runnable lanes (`alone`), its one program counter is all there is to keep; lanes' own counters are
/// written when the group is not, and the group is chosen anew after every instruction (one more cycle).
///
/// Starvation bound: after `StarveBound` instructions with others waiting, the waiting lanes alone are considered, until
/// they too used up the bound; so every lane runs after at most `Threads` times the bound.
module gpu_warps
  import gpu_pkg::*;
#(
  parameter int unsigned Warps = 4,
  parameter int unsigned Threads = 4,
  parameter int unsigned StarveBound = 4096,
  parameter int unsigned DepthWidth = 6,
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
  output logic                  issue_o,
  output logic [WarpWidth-1:0]  issue_warp_o,
  output logic [31:0]           issue_pc_o,
  output logic [Threads-1:0]    issue_mask_o,
  output logic [DepthWidth-1:0] issue_depth_o,

  // The fetched instruction was not there.
  input  logic                  fetch_miss_i,
  input  logic [WarpWidth-1:0]  fetch_warp_i,
  input  logic                  fetch_busy_i,

  // An instruction leaves the execute stage.
  input  logic                  exec_i,
  input  logic [WarpWidth-1:0]  exec_warp_i,
  /// It must come again, when memory (or a warp) is free.
  input  logic                  replay_memory_i,
  input  logic                  replay_unit_i,
  input  logic                  replay_spawn_i,
  input  logic                  memory_ready_i,
  input  logic                  unit_ready_i,
  /// It waits for `done_i` (a load, say).
  input  logic                  long_i,
  input  logic                  long_memory_i,
  /// All its lanes go on at `exec_pc_i`; otherwise each at `lane_pc_i`, and lanes change state as below.
  input  logic                  uniform_i,
  input  logic [31:0]           exec_pc_i,
  input  logic [DepthWidth-1:0] exec_depth_i,
  input  logic [31:0]           lane_pc_i [Threads],
  input  logic [DepthWidth-1:0] lane_depth_i [Threads],
  /// Lanes that take `lane_pc_i` and `lane_depth_i`: the executing ones and those newly enabled.
  input  logic [Threads-1:0]    lane_write_i,
  /// New value of the lanes' state, all lanes of the warp.
  input  logic [Threads-1:0]    live_i,
  input  logic [Threads-1:0]    join_i,
  input  logic [Threads-1:0]    bar_i,
  input  logic                  bar_write_i,
  input  logic                  bar_global_i,
  input  logic [4:0]            bar_id_i,
  input  logic [7:0]            bar_count_i,
  input  logic                  spawn_i,
  input  logic [Warps-1:0]      spawn_mask_i,
  input  logic [31:0]           spawn_pc_i,

  input  logic                  done_i,
  input  logic [WarpWidth-1:0]  done_warp_i,

  // What the execute stage looks up, by `exec_warp_i`.
  output logic                  alone_o,
  output logic [Threads-1:0]    live_o,
  output logic [Threads-1:0]    join_o,
  output logic [Threads-1:0]    bar_o,
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

  // Why nothing issues.
  output logic                  wait_fetch_o,
  output logic                  wait_memory_o,
  output logic                  wait_unit_o,
  output logic                  wait_bar_o
);

  localparam int unsigned AgeWidth = $clog2(StarveBound + 1);
  localparam int unsigned KeyWidth = DepthWidth + 30;

  typedef logic [Threads-1:0] mask_t;
  typedef logic [WarpWidth-1:0] warp_t;

  // One bit a warp.
  logic [Warps-1:0] active_q, flight_q, memory_q, fetch_q, replay_memory_q, replay_unit_q, replay_spawn_q;
  logic [Warps-1:0] select_q, alone_q, arrived_q, global_q;
  // One entry a warp.
  logic [Warps-1:0][Threads-1:0] live_q, join_q, bar_q, favour_q, group_q;
  logic [Warps-1:0][31:0] pc_q;
  logic [Warps-1:0][DepthWidth-1:0] depth_q;
  logic [Warps-1:0][AgeWidth-1:0] age_q;
  logic [Warps-1:0][4:0] bar_id_q;
  logic [Warps-1:0][7:0] bar_count_q;
  // One entry a lane of a warp, a warp's written whole; valid for lanes outside the group, and for all while a choice is
  // due.
  logic [Threads-1:0][31:0] lane_pc_q [Warps];
  logic [Threads-1:0][DepthWidth-1:0] lane_depth_q [Warps];

  warp_t last_q;

  // Issue: the next ready warp after the last one.
  logic [Warps-1:0] ready, later;

  assign ready = active_q & ~(flight_q | select_q | fetch_q | replay_memory_q | replay_unit_q | replay_spawn_q | arrived_q);

  always_comb begin
    later = ready & ~((Warps'(2) << last_q) - Warps'(1));
    if (later == '0) later = ready;
    issue_warp_o = '0;
    for (int w = int'(Warps) - 1; w >= 0; w--) if (later[w]) issue_warp_o = warp_t'(w);
  end

  assign issue_o = ready != '0 && !hold_i;
  assign issue_pc_o = pc_q[issue_warp_o];
  assign issue_mask_o = group_q[issue_warp_o];
  assign issue_depth_o = depth_q[issue_warp_o];

  assign alone_o = alone_q[exec_warp_i];
  assign live_o = live_q[exec_warp_i];
  assign join_o = join_q[exec_warp_i];
  assign bar_o = bar_q[exec_warp_i];
  always_comb begin
    for (int t = 0; t < int'(Threads); t++) lane_pc_o[t] = lane_pc_q[exec_warp_i][t];
  end

  assign active_o = active_q;
  assign quiet_o = flight_q == '0;
  assign wait_fetch_o = (fetch_q & active_q) != '0;
  assign wait_memory_o = ((flight_q & memory_q) | replay_memory_q) != '0;
  assign wait_unit_o = ((flight_q & ~memory_q) | replay_unit_q) != '0;
  assign wait_bar_o = arrived_q != '0;

  // Choice of a group: one warp a cycle.
  logic choose, choose_none, arrive, expired;
  warp_t choose_warp;
  mask_t runnable, considered, chosen, favour;
  logic [KeyWidth-1:0] chosen_key;
  logic [KeyWidth-1:0] key [Threads];
  logic [KeyWidth:0] best [Threads];

  assign choose = select_q != '0;

  always_comb begin
    choose_warp = '0;
    runnable = '0;
    considered = '0;
    chosen = '0;
    favour = '1;
    expired = 1'b0;
    chosen_key = '0;
    for (int t = 0; t < int'(Threads); t++) begin
      key[t] = '0;
      best[t] = '0;
    end
    if (choose) begin
      for (int w = int'(Warps) - 1; w >= 0; w--) if (select_q[w]) choose_warp = warp_t'(w);
      runnable = live_q[choose_warp] & ~join_q[choose_warp] & ~bar_q[choose_warp];
      expired = age_q[choose_warp] == AgeWidth'(StarveBound);
      favour = favour_q[choose_warp];
      if (expired) favour = favour & ~group_q[choose_warp];
      if ((runnable & favour) == '0) favour = '1;
      considered = runnable & favour;
      for (int t = 0; t < int'(Threads); t++) begin
        key[t] = {lane_depth_q[choose_warp][t], ~lane_pc_q[choose_warp][t][31:2]};
        best[t] = {considered[t], key[t]};
      end
      for (int s = 1; s < int'(Threads); s *= 2) begin
        for (int t = 0; t + s < int'(Threads); t += 2 * s) begin
          if (best[t + s] > best[t]) best[t] = best[t + s];
        end
      end
      chosen_key = best[0][KeyWidth-1:0];
      for (int t = 0; t < int'(Threads); t++) chosen[t] = runnable[t] && key[t] == chosen_key;
    end
  end

  assign choose_none = choose && runnable == '0;
  // Every live lane waits at a barrier: the warp has arrived.
  assign arrive = choose_none && live_q[choose_warp] != '0 && bar_q[choose_warp] == live_q[choose_warp];

  // Lanes' counters after the instruction, and after joins that open by themselves.
  logic [Threads-1:0][31:0] lane_pc_d, opened_pc;
  logic [Threads-1:0][DepthWidth-1:0] lane_depth_d;

  always_comb begin
    lane_pc_d = '0;
    lane_depth_d = '0;
    if (exec_i && !uniform_i) begin
      lane_pc_d = lane_pc_q[exec_warp_i];
      lane_depth_d = lane_depth_q[exec_warp_i];
      for (int t = 0; t < int'(Threads); t++) begin
        if (lane_write_i[t]) begin
          lane_pc_d[t] = lane_pc_i[t];
          lane_depth_d[t] = lane_depth_i[t];
        end
      end
    end
  end

  always_comb begin
    opened_pc = '0;
    if (choose_none && !arrive) begin
      opened_pc = lane_pc_q[choose_warp];
      for (int t = 0; t < int'(Threads); t++) if (join_q[choose_warp][t]) opened_pc[t] = opened_pc[t] + 32'd4;
    end
  end

  // Barriers within the core: how many warps are at the barrier this warp arrives at.
  logic release_local;
  logic [Warps-1:0] at_same;

  always_comb begin
    at_same = '0;
    release_local = 1'b0;
    if (arrive && !global_q[choose_warp]) begin
      automatic logic [7:0] count;
      count = '0;
      for (int w = 0; w < int'(Warps); w++) begin
        at_same[w] = !global_q[w] && bar_id_q[w] == bar_id_q[choose_warp] &&
                     (arrived_q[w] || warp_t'(w) == choose_warp);
        count += 8'(at_same[w]);
      end
      release_local = count >= bar_count_q[choose_warp];
    end
  end

  // Barriers across cores: the core has arrived when all its active warps have.
  warp_t lowest;

  always_comb begin
    global_bar_o = 1'b0;
    global_warps_o = '0;
    lowest = '0;
    if ((arrived_q & global_q) != '0) begin
      for (int w = int'(Warps) - 1; w >= 0; w--) if (arrived_q[w]) lowest = warp_t'(w);
      global_bar_o = arrived_q == active_q;
      for (int w = 0; w < int'(Warps); w++) begin
        global_warps_o += 5'(arrived_q[w]);
        if (arrived_q[w] && (!global_q[w] || bar_id_q[w] != bar_id_q[lowest])) global_bar_o = 1'b0;
      end
    end
  end

  assign global_id_o = bar_id_q[lowest];
  assign global_count_o = bar_count_q[lowest];

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      active_q <= '0;
      flight_q <= '0;
      memory_q <= '0;
      fetch_q <= '0;
      replay_memory_q <= '0;
      replay_unit_q <= '0;
      replay_spawn_q <= '0;
      select_q <= '0;
      alone_q <= '0;
      arrived_q <= '0;
      global_q <= '0;
      last_q <= '0;
      for (int w = 0; w < int'(Warps); w++) begin
        live_q[w] <= '0;
        join_q[w] <= '0;
        bar_q[w] <= '0;
        group_q[w] <= '0;
      end
    end else begin
      if (!fetch_busy_i) fetch_q <= '0;
      if (memory_ready_i) replay_memory_q <= '0;
      if (unit_ready_i) replay_unit_q <= '0;

      if (start_i) begin
        active_q[0] <= 1'b1;
        alone_q[0] <= 1'b1;
        live_q[0] <= Threads'(1);
        group_q[0] <= Threads'(1);
        join_q[0] <= '0;
        bar_q[0] <= '0;
        favour_q[0] <= '1;
        pc_q[0] <= start_pc_i;
        depth_q[0] <= '0;
        age_q[0] <= '0;
      end

      if (issue_o) begin
        flight_q[issue_warp_o] <= 1'b1;
        memory_q[issue_warp_o] <= 1'b0;
        last_q <= issue_warp_o;
      end

      if (fetch_miss_i) begin
        flight_q[fetch_warp_i] <= 1'b0;
        fetch_q[fetch_warp_i] <= 1'b1;
      end

      if (exec_i) begin
        if (!long_i) flight_q[exec_warp_i] <= 1'b0;
        if (replay_memory_i) begin
          replay_memory_q[exec_warp_i] <= 1'b1;
        end else if (replay_unit_i) begin
          replay_unit_q[exec_warp_i] <= 1'b1;
        end else if (replay_spawn_i) begin
          replay_spawn_q[exec_warp_i] <= 1'b1;
        end else begin
          if (long_memory_i) memory_q[exec_warp_i] <= 1'b1;
          if (uniform_i) begin
            pc_q[exec_warp_i] <= exec_pc_i;
            depth_q[exec_warp_i] <= exec_depth_i;
          end else begin
            select_q[exec_warp_i] <= 1'b1;
            live_q[exec_warp_i] <= live_i;
            join_q[exec_warp_i] <= join_i;
            bar_q[exec_warp_i] <= bar_i;
            if (age_q[exec_warp_i] != AgeWidth'(StarveBound)) age_q[exec_warp_i] <= age_q[exec_warp_i] + 1'b1;
            lane_pc_q[exec_warp_i] <= lane_pc_d;
            lane_depth_q[exec_warp_i] <= lane_depth_d;
            if (bar_write_i) begin
              bar_id_q[exec_warp_i] <= bar_id_i;
              bar_count_q[exec_warp_i] <= bar_count_i;
              global_q[exec_warp_i] <= bar_global_i;
            end
          end
          if (spawn_i) begin
            for (int w = 0; w < int'(Warps); w++) begin
              if (spawn_mask_i[w]) begin
                active_q[w] <= 1'b1;
                alone_q[w] <= 1'b1;
                live_q[w] <= Threads'(1);
                group_q[w] <= Threads'(1);
                join_q[w] <= '0;
                bar_q[w] <= '0;
                favour_q[w] <= '1;
                pc_q[w] <= spawn_pc_i;
                depth_q[w] <= '0;
                age_q[w] <= '0;
              end
            end
          end
        end
      end

      if (done_i) flight_q[done_warp_i] <= 1'b0;

      if (choose) begin
        select_q[choose_warp] <= 1'b0;
        if (runnable != '0) begin
          group_q[choose_warp] <= chosen;
          pc_q[choose_warp] <= {~chosen_key[29:0], 2'b00};
          depth_q[choose_warp] <= chosen_key[KeyWidth-1-:DepthWidth];
          alone_q[choose_warp] <= chosen == runnable;
          favour_q[choose_warp] <= (chosen == runnable) ? '1 : favour;
          if (expired || chosen == runnable) age_q[choose_warp] <= '0;
        end else if (live_q[choose_warp] == '0) begin
          active_q[choose_warp] <= 1'b0;
          replay_spawn_q <= '0;
        end else if (arrive) begin
          arrived_q[choose_warp] <= 1'b1;
        end else begin
          // Nobody is left who could come to where these lanes wait: their joins open.
          select_q[choose_warp] <= 1'b1;
          join_q[choose_warp] <= '0;
          lane_pc_q[choose_warp] <= opened_pc;
        end
      end

      if (release_local || global_release_i) begin
        for (int w = 0; w < int'(Warps); w++) begin
          if ((release_local && at_same[w]) || (global_release_i && arrived_q[w] && global_q[w])) begin
            arrived_q[w] <= 1'b0;
            bar_q[w] <= '0;
            select_q[w] <= 1'b1;
          end
        end
      end
    end
  end

`ifndef SYNTHESIS
  OneStateAtATime_A : assert property (@(posedge clk_i) disable iff (!rst_ni) (flight_q & fetch_q) == '0);
  IssuedLanesLive_A : assert property (@(posedge clk_i) disable iff (!rst_ni)
    issue_o |-> issue_mask_o != '0 && (issue_mask_o & ~live_q[issue_warp_o]) == '0);
`endif

endmodule
