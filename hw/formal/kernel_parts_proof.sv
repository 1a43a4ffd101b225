// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Whatever bursts a kernel of 1024 bits asks for, served ones are cut into parts that no shell refuses: at most 16 beats of at
/// most a word, within 4 KiB; parts of a burst follow on each other, begin where it begins, and cover what it names, no more. A
/// part that is offered stays until it is taken.
module kernel_parts_proof
  import eddy_pkg::*;
  import kernel_pkg::*;
(
  input logic        clk_i,
  input logic        rst_ni,
  input logic        valid_i,
  input logic [63:0] addr_i,
  input logic [7:0]  len_i,
  input logic [2:0]  size_i,
  input logic [1:0]  burst_i,
  input logic        lock_i,
  input logic        full_i,
  input logic        part_ready_i
);

  logic ready, put, idle, part_valid;
  burst_t burst;
  ax_t part;

  kernel_parts #(.KernelDataWidth(1024), .KernelAddrWidth(64)) dut (
    .clk_i, .rst_ni, .valid_i, .ready_o(ready), .addr_i, .len_i, .size_i, .burst_i, .lock_i, .full_i, .put_o(put),
    .burst_o(burst), .idle_o(idle), .part_valid_o(part_valid), .part_ready_i, .part_o(part)
  );

  logic started_q = 1'b0;
  always_ff @(posedge clk_i) started_q <= 1'b1;
  always_comb InReset_M : assume (rst_ni == started_q);

  // Of the burst under way: where the next part must begin, and where the burst ends. A FIXED one ends with every beat.
  logic [AddrWidth-1:0] next_q, end_q, begin_in, end_in;
  logic [AddrWidth-1:0] reach;
  logic [4:0] again_q;
  logic fixed_q;
  ax_t part_q;
  logic stalled_q;

  always_comb begin
    begin_in = addr_i[AddrWidth-1:0];
    if (size_i > 3'(BeatBits)) begin_in[BeatBits-1:0] = '0;
    end_in = (addr_i[AddrWidth-1:0] >> size_i) << size_i;
    end_in = end_in + (AddrWidth'(burst_i == BurstFixed ? 9'd1 : 9'(len_i) + 9'd1) << size_i);
    reach = ((part.addr >> part.size) << part.size) + ((AddrWidth'(part.len) + AddrWidth'(1)) << part.size);
  end

  always_ff @(posedge clk_i) begin
    stalled_q <= rst_ni && part_valid && !part_ready_i;
    part_q <= part;
    if (put && !burst.refused) begin
      next_q <= begin_in;
      end_q <= end_in;
      fixed_q <= burst_i == BurstFixed;
      again_q <= 5'(len_i[3:0]) + 5'd1;
    end else if (part_valid && part_ready_i) begin
      if (fixed_q) again_q <= again_q - 5'd1;
      else next_q <= reach;
    end
  end

  // A slot has no memory at the end of its address space; else sums of addresses would wrap here.
  always_comb NotAtTheEnd_M : assume (!(&addr_i[AddrWidth-1:16]));

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      OfferIsIdle_A : assert (part_valid == !idle);
      Refused_A : assert (!put || burst.refused == (burst_i[1] || lock_i || addr_i[63:AddrWidth] != '0
          || (burst_i == BurstFixed && len_i > 8'd15)));
      if (stalled_q) OfferStays_A : assert (part_valid && part == part_q);
      if (part_valid) begin
        PartIsShort_A : assert (part.len < 8'd16 && part.size <= 3'(BeatBits) && part.burst == BurstIncr);
        WithinAPage_A : assert (((reach - AddrWidth'(1)) >> 12) == (part.addr >> 12));
        EndIsAhead_A : assert (end_q > next_q);
        PartFollows_A : assert (part.addr == next_q);
        NotBeyond_A : assert (reach <= end_q && reach > part.addr);
        // What is left is what the burst still names, in beats toward memory.
        LeftIsLeft_A : assert (((AddrWidth'(dut.left_q)) << dut.unit_q) == end_q - ((next_q >> dut.unit_q) << dut.unit_q));
        LastEndsIt_A : assert (dut.last == (reach == end_q));
        if (fixed_q) FixedIsOnePart_A : assert (dut.last && dut.fixed_q && 5'(dut.again_q) == again_q - 5'd1 && again_q != '0);
        else IncrIsIncr_A : assert (!dut.fixed_q);
      end
    end
  end

endmodule
