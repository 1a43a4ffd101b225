// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Takes a kernel's bursts and makes parts of them that the slot's port can carry: beats of a word of its width at most, 16 of
/// them at most, ending where 16 beats are aligned. So none crosses 4 KiB, whatever the kernel asks for.
///
/// INCR and FIXED bursts of any length AXI allows are served, narrow and unaligned ones too. Refused are WRAP and reserved
/// bursts, FIXED ones of more than 16 beats, locked (exclusive) accesses, beats wider than the bus, and addresses that the slot
/// does not have. A refused burst makes no part. A part a cycle; a burst follows the one before without a pause.
module kernel_parts
  import eddy_pkg::*;
  import kernel_pkg::*;
#(
  /// The kernel's bus: 8 to 1024 bits of data, 12 to 64 of address.
  parameter int unsigned KernelDataWidth = 64,
  parameter int unsigned KernelAddrWidth = 64
) (
  input  logic clk_i,
  /// Synchronous reset, active low.
  input  logic rst_ni,

  input  logic                       valid_i,
  output logic                       ready_o,
  input  logic [KernelAddrWidth-1:0] addr_i,
  input  logic [7:0]                 len_i,
  input  logic [2:0]                 size_i,
  input  logic [1:0]                 burst_i,
  input  logic                       lock_i,

  /// There is no room to note another burst.
  input  logic   full_i,
  /// A burst is taken; it.
  output logic   put_o,
  output burst_t burst_o,
  /// There is none of which parts are left.
  output logic   idle_o,

  output logic part_valid_o,
  input  logic part_ready_i,
  output ax_t  part_o
);

  localparam int unsigned MaxSize = $clog2(KernelDataWidth / 8);
  localparam int unsigned WideAddr = KernelAddrWidth > AddrWidth ? KernelAddrWidth : AddrWidth + 1;

  /// How far to shift for the number of the 16 beats that an address is in.
  typedef logic [$clog2(BeatBits + 5)-1:0] shift_t;

  // What is to come of the burst under way: beats of 2**unit bytes; how often a FIXED burst's beat comes again.
  logic valid_q, fixed_q;
  logic [AddrWidth-1:0] addr_q, addr_in, addr_next;
  logic [12:0] left_q, total;
  logic [3:0] again_q, to_boundary;
  logic [SizeWidth-1:0] unit_q;
  logic [WideAddr-1:0] wide;
  logic [8:0] beats;
  logic fixed, refused, last, done;

  assign wide = WideAddr'(addr_i);
  assign fixed = burst_i == BurstFixed;
  assign refused = burst_i[1] || lock_i || int'(size_i) > int'(MaxSize) || wide[WideAddr-1:AddrWidth] != '0
      || (fixed && len_i > 8'd15);
  assign beats = fixed ? 9'd1 : 9'(len_i) + 9'd1;
  // Of a wide beat that begins in its middle, the words before its address are not asked for.
  always_comb begin
    unique case (size_i)
      3'd4: total = 13'(beats) << (4 - BeatBits);
      3'd5: total = 13'(beats) << (5 - BeatBits);
      3'd6: total = 13'(beats) << (6 - BeatBits);
      3'd7: total = 13'(beats) << (7 - BeatBits);
      default: total = 13'(beats);
    endcase
    total = total - 13'(wide[6:BeatBits] & words_mask(size_i));
    addr_in = wide[AddrWidth-1:0];
    if (size_i > 3'(BeatBits)) addr_in[BeatBits-1:0] = '0;
  end

  assign burst_o = '{at: addr_in[6:0], size: size_i, len: len_i, fixed: fixed, refused: refused};
  assign put_o = valid_i && ready_o;
  assign ready_o = rst_ni && !full_i && (!valid_q || (done && part_ready_i));
  assign idle_o = !valid_q;

  assign to_boundary = ~4'(addr_q[BeatBits+3:0] >> unit_q);
  assign last = left_q <= 13'(to_boundary) + 13'd1;
  assign done = last && (!fixed_q || again_q == '0);
  assign addr_next = ((addr_q >> (shift_t'(4) + shift_t'(unit_q))) + AddrWidth'(1)) << (shift_t'(4) + shift_t'(unit_q));
  assign part_valid_o = valid_q;
  assign part_o = '{
    id: '0, addr: addr_q, len: last ? 8'(left_q) - 8'd1 : 8'(to_boundary), size: 3'(unit_q), burst: BurstIncr,
    cache: 4'b0011, prot: '0, qos: '0, user: '0
  };

  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_q <= 1'b0;
    else if (put_o) valid_q <= !refused;
    else if (part_ready_i && done) valid_q <= 1'b0;
  end

  always_ff @(posedge clk_i) begin
    if (put_o) begin
      fixed_q <= fixed;
      addr_q <= addr_in;
      left_q <= total;
      again_q <= len_i[3:0];
      unit_q <= unit_of(size_i);
    end else if (valid_q && part_ready_i) begin
      again_q <= again_q - 4'd1;
      if (!fixed_q) begin
        addr_q <= addr_next;
        left_q <= left_q - 13'(to_boundary) - 13'd1;
      end
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && valid_q) begin
      PartsAreShort_A :
      assert (part_o.len < 8'd16 && left_q != '0)
      else $error("kernel_parts: a part of more than 16 beats, or of none");
      FixedIsOnePart_A :
      assert (!fixed_q || last)
      else $error("kernel_parts: a beat at one address makes more than one part");
    end
  end
`endif

endmodule
