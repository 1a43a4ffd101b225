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
  /// Nothing is computed without it.
  input  logic                         valid_i,
  input  logic [Threads-1:0]           runnable_i,
  input  logic [Threads-1:0]           favour_i,
  /// The group until now.
  input  logic [Threads-1:0]           group_i,
  input  logic                         expired_i,
  input  logic [Threads-1:0][31:0]     lane_pc_i,
  input  logic [Threads-1:0][DepthWidth-1:0] lane_depth_i,
  output logic [Threads-1:0]           group_o,
  output logic [Threads-1:0]           favour_o,
  output logic [31:0]                  pc_o,
  output depth_t                       depth_o
);

  localparam int unsigned KeyWidth = DepthWidth + 30;

  logic [Threads-1:0] considered;
  logic [KeyWidth-1:0] key [Threads];
  logic [KeyWidth:0] best [Threads];

  // Program counters are multiples of four.
  logic unused;
  always_comb begin
    unused = 1'b0;
    for (int t = 0; t < int'(Threads); t++) unused ^= ^lane_pc_i[t][1:0];
  end

  always_comb begin
    considered = '0;
    group_o = '0;
    favour_o = '1;
    for (int t = 0; t < int'(Threads); t++) begin
      key[t] = '0;
      best[t] = '0;
    end
    if (valid_i) begin
      favour_o = favour_i;
      if (expired_i) favour_o = favour_o & ~group_i;
      if ((runnable_i & favour_o) == '0) favour_o = '1;
      considered = runnable_i & favour_o;
      for (int t = 0; t < int'(Threads); t++) begin
        key[t] = {lane_depth_i[t], ~lane_pc_i[t][31:2]};
        best[t] = {considered[t], key[t]};
      end
      for (int s = 1; s < int'(Threads); s *= 2) begin
        for (int t = 0; t + s < int'(Threads); t += 2 * s) begin
          if (best[t + s] > best[t]) best[t] = best[t + s];
        end
      end
      for (int t = 0; t < int'(Threads); t++) group_o[t] = runnable_i[t] && key[t] == best[0][KeyWidth-1:0];
    end
    if (group_o == runnable_i) favour_o = '1;
  end

  assign pc_o = {~best[0][29:0], 2'b00};
  assign depth_o = best[0][KeyWidth-1-:DepthWidth];

endmodule
