// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Barriers: which warps of a core have arrived at which, and when they go on.
///
/// A barrier within the core opens when as many warps have arrived at it as it counts; one across cores when all active
/// warps of the core have (`bar_o`) and the cluster says so (`release_i`).
module gpu_barriers
  import gpu_pkg::*;
#(
  parameter int unsigned Warps = 4,
  localparam int unsigned WarpWidth = (Warps > 1) ? $clog2(Warps) : 1
) (
  input  logic                 clk_i,
  /// Synchronous reset, active low: nobody waits.
  input  logic                 rst_ni,

  /// A lane of this warp has come to a barrier.
  input  logic                 write_i,
  input  logic [WarpWidth-1:0] write_warp_i,
  input  logic                 global_i,
  input  logic [4:0]           id_i,
  input  logic [7:0]           count_i,
  /// This warp is looked at; all its live lanes have come to its barrier.
  input  logic                 look_i,
  input  logic [WarpWidth-1:0] warp_i,
  input  logic                 arrive_i,
  input  logic [Warps-1:0]     active_i,

  output logic [Warps-1:0]     arrived_o,
  /// These go on.
  output logic [Warps-1:0]     open_o,

  // Across cores
  output logic                 bar_o,
  output logic [4:0]           bar_id_o,
  output logic [7:0]           bar_count_o,
  output logic [4:0]           bar_warps_o,
  input  logic                 release_i
);

  logic [Warps-1:0] arrived_q, global_q;
  logic [Warps-1:0][4:0] id_q;
  logic [Warps-1:0][7:0] count_q;
  logic [Warps-1:0] at_same;
  logic release_local;

  // How many warps are at the barrier this warp arrives at.
  always_comb begin
    at_same = '0;
    release_local = 1'b0;
    if (look_i) begin
      automatic logic [7:0] count;
      count = '0;
      for (int w = 0; w < int'(Warps); w++) begin
        at_same[w] = !global_q[w] && id_q[w] == id_q[warp_i] && (arrived_q[w] || WarpWidth'(w) == warp_i);
        count += 8'(at_same[w]);
      end
      release_local = count >= count_q[warp_i] && !global_q[warp_i] && arrive_i;
    end
  end

  // Where nobody waits for other cores, what is said of it means nothing.
  always_comb begin
    bar_o = 1'b0;
    bar_id_o = 'x;
    bar_count_o = 'x;
    bar_warps_o = 'x;
    if ((arrived_q & global_q) != '0) begin
      automatic logic [WarpWidth-1:0] lowest;
      lowest = '0;
      for (int w = int'(Warps) - 1; w >= 0; w--) if (arrived_q[w]) lowest = WarpWidth'(w);
      bar_id_o = id_q[lowest];
      bar_count_o = count_q[lowest];
      bar_o = arrived_q == active_i;
      bar_warps_o = '0;
      for (int w = 0; w < int'(Warps); w++) begin
        bar_warps_o += 5'(arrived_q[w]);
        if (arrived_q[w] && (!global_q[w] || id_q[w] != bar_id_o)) bar_o = 1'b0;
      end
    end
  end

  assign arrived_o = arrived_q;
  assign open_o = (release_local ? at_same : '0) | (release_i ? arrived_q & global_q : '0);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      arrived_q <= '0;
      global_q <= '0;
    end else begin
      if (write_i) begin
        id_q[write_warp_i] <= id_i;
        count_q[write_warp_i] <= count_i;
        global_q[write_warp_i] <= global_i;
      end
      if (arrive_i) arrived_q[warp_i] <= 1'b1;
      for (int w = 0; w < int'(Warps); w++) if (open_o[w]) arrived_q[w] <= 1'b0;
    end
  end

`ifndef SYNTHESIS
  LookedAt_A : assert property (@(posedge clk_i) disable iff (!rst_ni) arrive_i |-> look_i);
  ArrivesOnce_A : assert property (@(posedge clk_i) disable iff (!rst_ni) arrive_i |-> !arrived_q[warp_i]);
  OnlyTheLiveWait_A : assert property (@(posedge clk_i) disable iff (!rst_ni) (arrived_q & ~active_i) == '0);
`endif

endmodule
