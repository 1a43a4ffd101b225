// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Barriers across the cores of one memory context: which open, and which never will.
///
/// A core has arrived when all its active warps have (`bar_i`). A barrier opens when as many cores as it counts have
/// arrived, or when every running core of the context has and their warps are as many as it counts: both ways of counting
/// that programs use. It opens never more where every core of the kernel runs and waits at a barrier across cores.
///
/// The barriers at which cores wait are looked at in turn, five cycles each: whose turn it is, what that core waits for,
/// who waits for the same, how many those are, who goes on. Those have gone when the next are looked for. A barrier opens 5
/// to 9 cycles after the last core has come to it, later where cores wait at several. A kernel is stuck that was found so
/// in two turns of one of its cores, with no barrier of its context opened in between.
module gpu_cluster_barriers
  import eddy_pkg::*;
#(
  parameter int unsigned Cores = 2
) (
  input  logic                    clk_i,
  /// Synchronous reset, active low.
  input  logic                    rst_ni,
  input  logic [ContextWidth-1:0] context_i [Cores],
  /// How many cores the kernel of a core has.
  input  logic [7:0]              num_cores_i [Cores],
  input  logic [Cores-1:0]        running_i,
  /// The core waits at a barrier across cores: which, how many that counts, and how many warps the core has there. It does
  /// so until it is released, or stopped.
  input  logic [Cores-1:0]        bar_i,
  input  logic [4:0]              id_i [Cores],
  input  logic [7:0]              count_i [Cores],
  input  logic [4:0]              warps_i [Cores],
  /// Goes on; one cycle.
  output logic [Cores-1:0]        release_o,
  /// Will never go on.
  output logic [Cores-1:0]        stuck_o
);

  localparam int unsigned CoreWidth = (Cores > 1) ? $clog2(Cores) : 1;

  typedef logic [CoreWidth-1:0] core_t;
  typedef enum logic [2:0] { Choose, Name, Match, Count, Decide } phase_e;

  phase_e phase_q;
  core_t leader_q, leader;
  logic [Cores-1:0] here, later;
  logic [4:0] id_q;
  logic [ContextWidth-1:0] context_q;
  // Of the leader's context: who waits for the same, who waits at all, who runs without waiting.
  logic [Cores-1:0] same_q, waits_q, runs_q;
  logic [7:0] reach_q, waiting_q;
  logic busy_q, hopeless;
  logic [Cores-1:0] release_q, doubt_q, stuck_q, opens;

  // Sums of what waits: warps where every running core of the context is there, which are more than cores, else cores.
  logic [7:0] reach, waiting;

  // What was stopped at a barrier stands there until its next start, and counts no more.
  assign here = bar_i & running_i;

  always_comb begin
    later = here & ~((Cores'(2) << leader_q) - Cores'(1));
    if (later == '0) later = here;
    leader = '0;
    for (int c = int'(Cores) - 1; c >= 0; c--) if (later[c]) leader = core_t'(c);
  end

  // By pairs, and those by pairs.
  always_comb begin
    automatic logic [7:0][7:0] there, waits;
    automatic logic all;
    there = '0;
    waits = '0;
    if (phase_q == Count) begin
      all = (waits_q & ~same_q) == '0 && runs_q == '0;
      for (int c = 0; c < int'(Cores); c++) begin
        if (same_q[c]) there[c] = all ? 8'(warps_i[c]) : 8'd1;
        waits[c] = 8'(waits_q[c]);
      end
      for (int d = 4; d > 0; d = d / 2) begin
        for (int c = 0; c < d; c++) begin
          there[c] = there[2*c] + there[2*c+1];
          waits[c] = waits[2*c] + waits[2*c+1];
        end
      end
    end
    reach = there[0];
    waiting = waits[0];
  end

  always_comb begin
    opens = '0;
    if (phase_q == Decide) begin
      for (int c = 0; c < int'(Cores); c++) opens[c] = same_q[c] && here[c] && reach_q >= count_i[c];
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      phase_q <= Choose;
      leader_q <= '0;
      release_q <= '0;
    end else
`ifndef SYNTHESIS
    // Else nobody waits, and nothing has opened just now: a simulation passes over it. In gates it would only be a condition more.
    if (phase_q != Choose || here != '0 || release_q != '0)
`endif
    begin
      release_q <= opens;
      unique case (phase_q)
        Choose: if (here != '0) begin
          phase_q <= Name;
          leader_q <= leader;
        end
        Name: begin
          phase_q <= Match;
          id_q <= id_i[leader_q];
          context_q <= context_i[leader_q];
        end
        Match: begin
          phase_q <= Count;
          for (int c = 0; c < int'(Cores); c++) begin
            same_q[c] <= here[c] && context_i[c] == context_q && id_i[c] == id_q;
            waits_q[c] <= here[c] && context_i[c] == context_q;
            runs_q[c] <= running_i[c] && !bar_i[c] && context_i[c] == context_q;
          end
        end
        Count: begin
          phase_q <= Decide;
          reach_q <= reach;
          waiting_q <= waiting;
          busy_q <= runs_q != '0;
        end
        default: phase_q <= Choose;
      endcase
    end
  end

  // Found so in its turn, and found so again a round later: then all of the kernel are told in one cycle.
  always_comb begin
    hopeless = 1'b0;
    if (phase_q == Decide) hopeless = opens == '0 && !busy_q && waiting_q >= num_cores_i[leader_q];
  end

  always_ff @(posedge clk_i) begin
`ifndef SYNTHESIS
    // Nobody waits or is told anything: nothing would change.
    if (!rst_ni || (bar_i | doubt_q | stuck_q) != '0)
`endif
    begin
      automatic logic [Cores-1:0] doubt, stuck;
      doubt = doubt_q;
      stuck = stuck_q;
      for (int c = 0; c < int'(Cores); c++) begin
        if (!rst_ni || !bar_i[c] || (phase_q == Decide && waits_q[c] && opens != '0)) begin
          doubt[c] = 1'b0;
          stuck[c] = 1'b0;
        end else if (phase_q == Decide) begin
          if (leader_q == core_t'(c)) doubt[c] = hopeless;
          if (waits_q[c] && hopeless && doubt_q[leader_q]) stuck[c] = 1'b1;
        end
      end
      doubt_q <= doubt;
      stuck_q <= stuck;
    end
  end

  assign release_o = release_q;
  assign stuck_o = stuck_q & bar_i;

`ifndef SYNTHESIS
  OpensAtTheEnd_A : assert property (@(posedge clk_i) disable iff (!rst_ni) phase_q != Decide |-> opens == '0);
  OnlyWhoWaits_A : assert property (@(posedge clk_i) disable iff (!rst_ni) (opens & ~bar_i) == '0);
  NotTwice_A : assert property (@(posedge clk_i) disable iff (!rst_ni) release_q != '0 |=> release_q == '0);
`endif

endmodule
