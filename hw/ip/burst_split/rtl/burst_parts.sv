// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Turns a burst into parts of 16 beats at most, which end where 16 beats are aligned; each without a delay.
///
/// The burst is taken with its last part, and stays at the input until then. FIXED and WRAP bursts have 16 beats at most
/// (AXI) and stay whole.
module burst_parts
  import eddy_pkg::*;
(
  input  logic clk_i,
  /// Synchronous reset, active low.
  input  logic rst_ni,
  /// Bursts that the firewall found legal: none crosses 4 KiB, and no beat has more bytes than the bus.
  input  logic valid_i,
  output logic ready_o,
  input  ax_t  ax_i,
  /// Their parts; whether this is a burst's last.
  output logic valid_o,
  input  logic ready_i,
  output ax_t  ax_o,
  output logic last_o
);

  // Where the next part begins, where it is not the first: beats that are aligned, 16 times; and how long the rest is.
  logic more_q;
  logic [11:4] addr_q;
  logic [7:0] len_q, len;
  logic [11:0] addr;
  logic [3:0] to_boundary;
  logic [SizeWidth-1:0] size;

  assign size = ax_i.size[SizeWidth-1:0];
  assign addr = more_q ? {addr_q, 4'd0} : ax_i.addr[11:0];
  assign len = more_q ? len_q : ax_i.len;
  assign valid_o = valid_i;
  assign ready_o = ready_i && last_o;
  // Beats after this one up to the boundary; an address in the middle of a beat does not matter.
  assign to_boundary = ~4'(addr[BeatBits+3:0] >> size);
  assign last_o = ax_i.burst != BurstIncr || len <= 8'(to_boundary);

  always_comb begin
    ax_o = ax_i;
    ax_o.addr[11:0] = addr;
    ax_o.len = last_o ? len : 8'(to_boundary);
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) more_q <= 1'b0;
    else if (valid_i && ready_i) more_q <= !last_o;
  end

  always_ff @(posedge clk_i) begin
    if (valid_i && ready_i) begin
      // The bits below the boundary are ones before one is added, so they are zero after it.
      addr_q <= (addr[11:4] | ((8'd1 << size) - 8'd1)) + 8'd1;
      len_q <= len - 8'(to_boundary) - 8'd1;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      BeatsFitTheBus_A :
      assert (!valid_i || ax_i.size <= 3'(BeatBits))
      else $error("burst_parts: a beat larger than the bus");
      TheRestStays_A :
      assert (!more_q || valid_i)
      else $error("burst_parts: a burst was withdrawn between its parts");
    end
  end
`endif

endmodule
