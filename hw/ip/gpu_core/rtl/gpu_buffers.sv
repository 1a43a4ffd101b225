// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Instructions that are decoded and wait for their turn: two places a warp, first in, first out.
///
/// The first one of a warp stays until it has taken effect (`pop_i`), so one that has to come again need not be fetched again.
module gpu_buffers
  import gpu_pkg::*;
#(
  parameter int unsigned Warps = 4,
  localparam int unsigned WarpWidth = (Warps > 1) ? $clog2(Warps) : 1
) (
  input  logic                 clk_i,
  /// Synchronous reset, active low: empty.
  input  logic                 rst_ni,

  input  logic                 push_i,
  input  logic [WarpWidth-1:0] push_warp_i,
  input  needs_t               push_needs_i,
  input  ready_t               push_ready_i,

  /// The first of these warps leaves; of those that are flushed whatever is behind it too, and what is pushed now.
  input  logic [Warps-1:0]     pop_i,
  input  logic [Warps-1:0]     flush_i,

  output logic [Warps-1:0]     valid_o,
  output logic [Warps-1:0]     full_o,
  /// What the first of this warp needs, or the one behind it.
  input  logic [WarpWidth-1:0] look_warp_i,
  input  logic                 look_behind_i,
  output needs_t               look_needs_o,
  /// The first of this warp, and what it reads; what it needs, for assertions.
  input  logic [WarpWidth-1:0] read_warp_i,
  output ready_t               first_o,
  output reads_t               reads_o,
  output needs_t               needs_o
);

  typedef logic [$clog2(2*Warps)-1:0] place_t;

  logic [Warps-1:0] one_q, two_q, head_q;
  needs_t needs_ram [2 * Warps];
  ready_t ram [2 * Warps];
  // Beside the memory, of each warp: what its first one reads, and the one behind it. Which warp it is is known last, and then the
  // registers are to be found; words of 32 bits are found at once.
  logic [Warps-1:0][31:0] first_q, second_q;
  place_t first, look;

  assign valid_o = one_q;
  assign full_o = two_q;
  assign first = place_t'({read_warp_i, head_q[read_warp_i]});
  assign first_o = ram[first];
  assign reads_o = reads_t'(first_q[read_warp_i]);
  assign needs_o = needs_ram[first];
  assign look = place_t'({look_warp_i, head_q[look_warp_i] ^ look_behind_i});
  assign look_needs_o = needs_ram[look];

  // Behind what is there.
  place_t place;
  assign place = place_t'({push_warp_i, head_q[push_warp_i] ^ one_q[push_warp_i]});

  // Warps that get one; whose number changes.
  logic [Warps-1:0] push, moves;
  assign push = push_i ? Warps'(1) << push_warp_i : '0;
  assign moves = push ^ pop_i;

  always_ff @(posedge clk_i) begin
    if (push_i) begin
      ram[place] <= push_ready_i;
      needs_ram[place] <= push_needs_i;
    end
  end

  always_ff @(posedge clk_i) begin
    automatic logic [Warps-1:0] others;
    others = pop_i | (push & ~one_q);
    for (int w = 0; w < int'(Warps); w++) begin
      if (others[w]) first_q[w] <= two_q[w] ? second_q[w] : 32'(push_needs_i.reads);
    end
    if (push_i) second_q[push_warp_i] <= 32'(push_needs_i.reads);
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      one_q <= '0;
      two_q <= '0;
      head_q <= '0;
    end else begin
      head_q <= head_q ^ pop_i;
      one_q <= ((one_q & ~moves) | (moves & (push | two_q))) & ~flush_i;
      two_q <= ((two_q & ~moves) | (moves & push & one_q)) & ~flush_i;
    end
  end

`ifndef SYNTHESIS
  TheSameReads_A : assert property (@(posedge clk_i) disable iff (!rst_ni) one_q[read_warp_i] |-> reads_o == needs_o.reads);
  RoomToPush_A : assert property (@(posedge clk_i) disable iff (!rst_ni) push_i |-> !two_q[push_warp_i]);
  SomethingToPop_A : assert property (@(posedge clk_i) disable iff (!rst_ni) (pop_i & ~one_q) == '0);
  FlushedArePopped_A : assert property (@(posedge clk_i) disable iff (!rst_ni) (flush_i & ~pop_i) == '0);
`endif

endmodule
