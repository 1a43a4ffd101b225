// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// A FIFO between two clocks, with both clocks at once: every word that goes in comes out once, in order, unchanged; none is
/// overwritten before it is read, and none is read that is not there.
///
/// The clocks are inputs like any other: at each step either, both or none may rise, in any ratio and any phase. Where both
/// rise in one step, the other side sees the pointer as it was; a step later, as it is. A pointer changes by one bit at a
/// time, so a bit that is caught as it changes is one of the two.
///
/// Assumed: both sides are in reset until each has had an edge there, and are not reset again (`reset_pair`'s task).
module async_fifo_proof #(
  parameter int unsigned Depth = 4
) (
  input logic       src_clk_i,
  input logic       src_rst_ni,
  input logic       valid_i,
  input logic [1:0] data_i,
  input logic       dst_clk_i,
  input logic       dst_rst_ni,
  input logic       ready_i,
  /// Which word is followed, of all that go in.
  input logic       follow_i
);

  localparam int unsigned PtrWidth = $clog2(Depth) + 1;
  typedef logic [PtrWidth-1:0] ptr_t;

  logic ready, valid;
  logic [1:0] data;

  async_fifo #(.Width(2), .Depth(Depth)) dut (
    .src_clk_i, .src_rst_ni, .valid_i, .ready_o(ready), .data_i,
    .dst_clk_i, .dst_rst_ni, .valid_o(valid), .ready_i, .data_o(data)
  );

  function automatic ptr_t gray(ptr_t value);
    return value ^ ptr_t'({1'b0, value} >> 1);
  endfunction

  function automatic ptr_t binary(ptr_t value);
    binary = value;
    for (int unsigned k = 1; k < PtrWidth; k++) binary ^= value >> k;
  endfunction

  // Each side has had an edge in reset.
  logic src_reset_q = 1'b0, dst_reset_q = 1'b0;
  // Released, as each side's own clock knows.
  logic src_up_q = 1'b0, dst_up_q = 1'b0;

  always_ff @(posedge src_clk_i) begin
    src_reset_q <= 1'b1;
    src_up_q <= src_rst_ni;
  end

  always_ff @(posedge dst_clk_i) begin
    dst_reset_q <= 1'b1;
    dst_up_q <= dst_rst_ni;
  end

  always_comb begin
    if (!(src_reset_q && dst_reset_q)) TogetherInReset_M : assume (!src_rst_ni && !dst_rst_ni);
    if (src_up_q) SourceStaysUp_M : assume (src_rst_ni);
    if (dst_up_q) DestinationStaysUp_M : assume (dst_rst_ni);
  end

  // One word, whichever the solver likes: where it went, what it was, and whether it has been taken.
  logic followed_q = 1'b0, taken_q = 1'b0;
  ptr_t place_q;
  logic [1:0] word_q;
  logic puts, takes;

  assign puts = src_rst_ni && valid_i && ready;
  assign takes = dst_rst_ni && valid && ready_i;

  always_ff @(posedge src_clk_i) begin
    if (puts && follow_i && !followed_q) begin
      followed_q <= 1'b1;
      place_q <= dut.write_q;
      word_q <= data_i;
    end
  end

  logic is_it;
  assign is_it = followed_q && !taken_q && dut.read_q == place_q;

  always_ff @(posedge dst_clk_i) begin
    if (takes && is_it) taken_q <= 1'b1;
  end

  // What each pointer is ahead of what it is known as, around the ring.
  ptr_t read_meta, read_sync, write_meta, write_sync;
  logic [PtrWidth+2:0] ahead;
  assign read_meta = binary(dut.read_gray_meta_q);
  assign read_sync = binary(dut.read_gray_sync_q);
  assign write_meta = binary(dut.write_gray_meta_q);
  assign write_sync = binary(dut.write_gray_sync_q);

  function automatic logic [PtrWidth+2:0] distance(ptr_t from, ptr_t to);
    ptr_t steps;
    steps = to - from;
    return (PtrWidth + 3)'(steps);
  endfunction

  assign ahead = distance(read_sync, read_meta) + distance(read_meta, dut.read_q) + distance(dut.read_q, write_sync)
      + distance(write_sync, write_meta) + distance(write_meta, dut.write_q);

  // Each side knows the other's pointer through two flops of its own clock, so that one that is caught as it changes has
  // a cycle to settle.
  ptr_t read_seen_q, read_seen_before_q, write_seen_q, write_seen_before_q;
  always_ff @(posedge src_clk_i) begin
    read_seen_q <= src_rst_ni ? dut.read_gray_q : '0;
    read_seen_before_q <= src_rst_ni ? read_seen_q : '0;
  end
  always_ff @(posedge dst_clk_i) begin
    write_seen_q <= dst_rst_ni ? dut.write_gray_q : '0;
    write_seen_before_q <= dst_rst_ni ? write_seen_q : '0;
  end

  ptr_t held, behind;
  assign held = dut.write_q - dut.read_q;
  assign behind = place_q - dut.read_q;

  logic known;
  assign known = src_reset_q && dst_reset_q;

  always_comb begin
    if (src_reset_q && !src_up_q) begin
      SourceIsEmpty_A : assert (dut.write_q == '0 && dut.write_gray_q == '0 && dut.read_gray_meta_q == '0
                                && dut.read_gray_sync_q == '0 && !dut.write_up_q && !followed_q);
    end
    if (dst_reset_q && !dst_up_q) begin
      DestinationIsEmpty_A : assert (dut.read_q == '0 && dut.read_gray_q == '0 && dut.write_gray_meta_q == '0
                                     && dut.write_gray_sync_q == '0 && !taken_q);
    end
    if (src_reset_q) begin
      SourceHasTwoFlops_A :
      assert (dut.read_gray_meta_q == read_seen_q && dut.read_gray_sync_q == read_seen_before_q);
    end
    if (dst_reset_q) begin
      DestinationHasTwoFlops_A :
      assert (dut.write_gray_meta_q == write_seen_q && dut.write_gray_sync_q == write_seen_before_q);
    end
    if (known) begin
      GrayIsGray_A : assert (dut.write_gray_q == gray(dut.write_q) && dut.read_gray_q == gray(dut.read_q));
      // What either side knows lies behind what is, in this order, and nothing is a lap ahead.
      InOrder_A : assert (ahead <= (PtrWidth + 3)'(Depth));
      NeverMoreThanFits_A : assert (32'(held) <= Depth);
      if (valid) NothingIsMadeUp_A : assert (held != '0);
      if (ready && src_up_q) NothingIsOverwritten_A : assert (32'(held) < Depth);
      if (followed_q && !taken_q) begin
        WaitsItsTurn_A : assert (behind < held);
        StaysAsItWas_A : assert (dut.mem_q[place_q % Depth] == word_q);
      end
      if (takes && is_it) ComesOutUnchanged_A : assert (data == word_q);
      if (taken_q) TakenOnlyWhatWent_A : assert (followed_q);
    end else begin
      NothingBeforeReset_A : assert (!followed_q && !taken_q && !src_up_q && !dst_up_q);
    end
  end

endmodule
