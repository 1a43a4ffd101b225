/// Turns a burst into parts of 16 beats at most, which end where 16 beats are aligned; the first part without a delay.
///
/// The burst is taken with its first part. FIXED and WRAP bursts have 16 beats at most (AXI) and stay whole.
module burst_parts
  import eddy_pkg::*;
(
  input  logic clk_i,
  /// Synchronous reset, active low.
  input  logic rst_ni,
  /// Bursts that the firewall found legal: none crosses 4 KiB.
  input  logic valid_i,
  output logic ready_o,
  input  ax_t  ax_i,
  /// Their parts; whether this is a burst's last.
  output logic valid_o,
  input  logic ready_i,
  output ax_t  ax_o,
  output logic last_o
);

  // What is left of the burst whose first part has gone.
  ax_t rest_q, ax;
  logic more_q;
  logic [3:0] to_boundary;
  logic [11:0] extent;

  assign ax = more_q ? rest_q : ax_i;
  assign valid_o = more_q || valid_i;
  assign ready_o = !more_q && ready_i;
  // Beats after this one up to the boundary; an address in the middle of a beat does not matter.
  assign to_boundary = ~4'(ax.addr[11:0] >> ax.size);
  assign last_o = ax.burst != BurstIncr || ax.len <= 8'(to_boundary);
  assign extent = 12'd16 << ax.size;

  always_comb begin
    ax_o = ax;
    if (!last_o) ax_o.len = 8'(to_boundary);
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) more_q <= 1'b0;
    else if (valid_o && ready_i) more_q <= !last_o;
  end

  always_ff @(posedge clk_i) begin
    if (valid_o && ready_i && !last_o) begin
      rest_q <= ax;
      rest_q.addr[11:0] <= (ax.addr[11:0] & ~(extent - 12'd1)) + extent;
      rest_q.len <= ax.len - 8'(to_boundary) - 8'd1;
    end
  end

endmodule
