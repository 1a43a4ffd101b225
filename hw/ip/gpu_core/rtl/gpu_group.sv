// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The group of lanes of a warp that runs next: the runnable lanes at the program counter and depth that come first,
/// deepest depth before lowest program counter, of the lanes in favour. Purely combinational.
///
/// Starvation bound: where the group has used up its turns (`expired_i`) it leaves those in favour, until nobody is left
/// in favour and all are again; so every lane runs after at most `Threads` times the bound.
module gpu_group
  import gpu_pkg::*;
#(
  parameter int unsigned Threads = 4
) (
  /// Nothing is computed without it, and what comes out means nothing.
  input  logic                         valid_i,
  input  logic [Threads-1:0]           runnable_i,
  input  logic [Threads-1:0]           favour_i,
  /// The group until now.
  input  logic [Threads-1:0]           group_i,
  input  logic                         expired_i,
  /// Where each lane is: its depth, and its program counter without bits 1:0, which are zero.
  input  logic [DepthWidth+29:0]       place_i [Threads],
  output logic [Threads-1:0]           group_o,
  output logic [Threads-1:0]           favour_o,
  output logic [31:0]                  pc_o,
  output depth_t                       depth_o
);

  localparam int unsigned KeyWidth = DepthWidth + 30;

  logic [Threads-1:0] considered, favour;
  logic [KeyWidth-1:0] key [Threads];
  logic [KeyWidth-1:0] best;

  always_comb begin
    favour = 'x;
    considered = 'x;
    for (int t = 0; t < int'(Threads); t++) key[t] = 'x;
    if (valid_i) begin
      favour = favour_i;
      if (expired_i) favour = favour & ~group_i;
      if ((runnable_i & favour) == '0) favour = '1;
      considered = runnable_i & favour;
      for (int t = 0; t < int'(Threads); t++) key[t] = {place_i[t][KeyWidth-1:30], ~place_i[t][29:0]};
    end
  end

  assign favour_o = (group_o == runnable_i) ? '1 : favour;

  if (Threads <= 4) begin : gen_pairs
    // Few lanes are compared each with each, all at once.
    logic [Threads-1:0][Threads-1:0] same, beats;
    logic [Threads-1:0] winners;

    always_comb begin
      same = 'x;
      beats = 'x;
      winners = 'x;
      group_o = 'x;
      best = 'x;
      if (valid_i) begin
        beats = '0;
        for (int s = 0; s < int'(Threads); s++) begin
          same[s][s] = 1'b1;
          for (int t = s + 1; t < int'(Threads); t++) begin
            same[s][t] = key[s] == key[t];
            same[t][s] = same[s][t];
            beats[s][t] = key[s] > key[t];
            beats[t][s] = !beats[s][t] && !same[s][t];
          end
        end
        winners = considered;
        for (int t = 0; t < int'(Threads); t++) begin
          for (int s = 0; s < int'(Threads); s++) if (considered[s] && beats[s][t]) winners[t] = 1'b0;
        end
        for (int t = 0; t < int'(Threads); t++) group_o[t] = runnable_i[t] && (winners & same[t]) != '0;
        best = '0;
        for (int t = 0; t < int'(Threads); t++) if (winners[t]) best = best | key[t];
      end
    end
  end else begin : gen_tree
    logic [KeyWidth:0] found [Threads];

    always_comb begin
      group_o = 'x;
      for (int t = 0; t < int'(Threads); t++) found[t] = 'x;
      if (valid_i) begin
        for (int t = 0; t < int'(Threads); t++) found[t] = {considered[t], key[t]};
        for (int s = 1; s < int'(Threads); s *= 2) begin
          for (int t = 0; t + s < int'(Threads); t += 2 * s) begin
            if (found[t + s] > found[t]) found[t] = found[t + s];
          end
        end
        for (int t = 0; t < int'(Threads); t++) group_o[t] = runnable_i[t] && key[t] == found[0][KeyWidth-1:0];
      end
    end
    assign best = found[0][KeyWidth-1:0];
  end

  assign pc_o = {~best[29:0], 2'b00};
  assign depth_o = best[KeyWidth-1-:DepthWidth];

endmodule
