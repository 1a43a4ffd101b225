// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Tells in which half of a bus of 128 bits each beat of a direction's bursts lies, whose beats have 64 bits at most.
///
/// Data comes in the order of the requests. A request waits where `Depth` of them have not all their data.
module widen_lane #(
  /// Bursts, a power of two.
  parameter int unsigned Depth = 32
) (
  input  logic       clk_i,
  /// Synchronous reset, active low.
  input  logic       rst_ni,

  /// A request passes: the lower bits of its address, and what AXI says of its beats.
  input  logic       ask_i,
  input  logic [3:0] addr_i,
  input  logic [7:0] len_i,
  input  logic [2:0] size_i,
  input  logic [1:0] burst_i,
  /// There is no room for a request.
  output logic       full_o,

  /// A beat passes, and whether it is a burst's last.
  input  logic       beat_i,
  input  logic       last_i,
  /// Where it lies; nothing is known of a beat that no request is for.
  output logic       upper_o,
  output logic       unknown_o
);

  logic still, head_still, inside_q;
  logic [3:0] head_addr, addr_q, addr, step;
  logic [1:0] head_size;

  // FIXED stays where it is; a WRAP burst of 8 bytes or fewer stays within them. A longer one goes round at a multiple of 16.
  always_comb begin
    still = burst_i == eddy_pkg::BurstFixed;
    if (burst_i == eddy_pkg::BurstWrap) still = ((11'(len_i) + 11'd1) << size_i[1:0]) <= 11'd8;
  end

  part_queue #(
    .Width(7),
    .Depth(Depth)
  ) u_bursts (
    .clk_i,
    .rst_ni,
    .put_i(ask_i),
    .data_i({still, size_i[1:0], addr_i}),
    .full_o(full_o),
    .take_i(beat_i && last_i),
    .data_o({head_still, head_size, head_addr}),
    .empty_o(unknown_o)
  );

  assign addr = inside_q ? addr_q : head_addr;
  assign step = 4'd1 << head_size;
  assign upper_o = addr[3];

  always_ff @(posedge clk_i) begin
    if (!rst_ni) inside_q <= 1'b0;
    else if (beat_i) inside_q <= !last_i;
  end

  always_ff @(posedge clk_i) begin
    if (beat_i) addr_q <= head_still ? addr : (addr & ~(step - 4'd1)) + step;
  end

  // Beats of more than 64 bits: the module's port has none.
  logic unused;
  assign unused = size_i[2];

endmodule
