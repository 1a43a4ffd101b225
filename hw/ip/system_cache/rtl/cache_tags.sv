// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// What the cache holds: tags and valid bits, looked up by a read and dropped by a write or a flush in the same cycle.
///
/// A way that is taken for a line holds nothing until that line is complete (`fill_i`).
module cache_tags
  import system_cache_pkg::*;
#(
  /// Powers of two: sets at least 2, ways at least 2.
  parameter int unsigned Sets = 2,
  parameter int unsigned Ways = 2,
  localparam int unsigned SetWidth = $clog2(Sets),
  localparam int unsigned WayWidth = $clog2(Ways)
) (
  input  logic                clk_i,
  /// Synchronous reset, active low; forgets every line.
  input  logic                rst_ni,

  /// Look a line up; answered in the same cycle.
  input  logic                lookup_i,
  input  line_t               line_i,
  output logic                hit_o,
  output logic [WayWidth-1:0] hit_way_o,
  /// Ways of its set that hold a line, and the one that was taken longest ago.
  output logic [Ways-1:0]     used_o,
  output logic [WayWidth-1:0] oldest_o,
  /// Take a way of that set for the line.
  input  logic                take_i,
  input  logic [WayWidth-1:0] take_way_i,

  /// A line is complete.
  input  logic                fill_i,
  input  logic [SetWidth-1:0] fill_set_i,
  input  logic [WayWidth-1:0] fill_way_i,

  /// Drop a line; or, with `sweep_i`, the lines of one set that are in a range of pages. Never both.
  input  logic                drop_i,
  input  line_t               drop_line_i,
  input  logic                sweep_i,
  input  logic [SetWidth-1:0] sweep_set_i,
  input  page_t               first_page_i,
  input  page_t               last_page_i
);

  localparam int unsigned TagWidth = $bits(line_t) - SetWidth;
  typedef logic [TagWidth-1:0] tag_t;

  logic [SetWidth-1:0] set, drop_set;
  logic [Ways-1:0] match, dropped;
  logic [WayWidth-1:0] oldest_ram [Sets];

  assign set = line_i[SetWidth-1:0];
  assign drop_set = sweep_i ? sweep_set_i : drop_line_i[SetWidth-1:0];

  for (genvar w = 0; w < int'(Ways); w++) begin : gen_way
    tag_t tag_ram [Sets];
    logic [Sets-1:0] valid_q;
    line_t held;

    always_comb begin
      match[w] = 1'b0;
      used_o[w] = 1'b0;
      if (lookup_i) begin
        used_o[w] = valid_q[set];
        match[w] = valid_q[set] && tag_ram[set] == line_i[$bits(line_t)-1:SetWidth];
      end
    end

    always_comb begin
      held = '0;
      dropped[w] = 1'b0;
      if (drop_i || sweep_i) begin
        held = {tag_ram[drop_set], drop_set};
        dropped[w] = sweep_i ? held[$bits(line_t)-1-:PageWidth] inside {[first_page_i:last_page_i]}
                             : held == drop_line_i;
      end
    end

    always_ff @(posedge clk_i) begin
      if (!rst_ni) valid_q <= '0;
      else begin
        if (fill_i && fill_way_i == WayWidth'(w)) valid_q[fill_set_i] <= 1'b1;
        if (dropped[w]) valid_q[drop_set] <= 1'b0;
        if (take_i && take_way_i == WayWidth'(w)) valid_q[set] <= 1'b0;
      end
    end

    always_ff @(posedge clk_i) begin
      if (take_i && take_way_i == WayWidth'(w)) tag_ram[set] <= line_i[$bits(line_t)-1:SetWidth];
    end
  end

  always_comb begin
    hit_way_o = '0;
    for (int w = int'(Ways) - 1; w >= 0; w--) if (match[w]) hit_way_o = WayWidth'(w);
  end

  // Any value will do to begin with.
  always_ff @(posedge clk_i) begin
    if (take_i) oldest_ram[set] <= take_way_i + WayWidth'(1);
  end

  assign hit_o = match != '0;
  assign oldest_o = lookup_i ? oldest_ram[set] : '0;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      LineInOneWay_A :
      assert ($onehot0(match))
      else $error("cache_tags: a line is held twice");
      DroppedOrSwept_A :
      assert (!(drop_i && sweep_i))
      else $error("cache_tags: two asked to drop lines at once");
    end
  end
`endif

endmodule
