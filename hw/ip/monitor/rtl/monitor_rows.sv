// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Tells whether a request is to the row that its bank saw last from this slot.
///
/// The address a bank saw last is kept whole, in distributed RAM, and compared from the row's lowest bit up. While
/// `clear_i` is high every request misses and the bank of `clear_bank_i` forgets its row.
module monitor_rows
  import eddy_pkg::*;
(
  input  logic                 clk_i,
  /// Synchronous reset, active low.
  input  logic                 rst_ni,
  /// DRAM geometry: a row is the address bits from `row_shift_i` up, its bank `bank_bits_i` bits from `bank_shift_i` up.
  input  logic [          5:0] bank_shift_i,
  input  logic [          2:0] bank_bits_i,
  input  logic [          5:0] row_shift_i,
  /// Of each bit of the bank: the address bits, from bit 12 up, whose parity is added to it.
  input  logic [    4:0][27:0] bank_hash_i,
  input  logic                 clear_i,
  input  logic [          4:0] clear_bank_i,
  /// A request; and in the cycle after it, whether it hits.
  input  logic                 admit_i,
  input  logic [AddrWidth-1:0] addr_i,
  output logic                 hit_o
);

  typedef struct packed {
    logic                 open;
    logic [AddrWidth-1:0] addr;
  } bank_t;

  bank_t banks_q [32];
  bank_t last;
  logic [19:0] sixteens;
  logic [7:0] fours;
  logic [4:0] bank, bank_q;
  logic admit_q;
  logic [AddrWidth-1:0] addr_q;
  logic [AddrWidth-1:0] row_mask;

  for (genvar i = 0; i < AddrWidth; i++) begin : gen_row_mask
    assign row_mask[i] = 6'(i) >= row_shift_i;
  end

  // Only looks while there is a request, for a simulator's sake; two bits of the shift a step are one LUT a bit.
  always_comb begin
    sixteens = 'x;
    fours = 'x;
    bank = 'x;
    if (admit_i) begin
      sixteens = 20'(addr_i >> {bank_shift_i[5:4], 4'd0});
      fours = 8'(sixteens >> {bank_shift_i[3:2], 2'd0});
      bank = 5'(fours >> bank_shift_i[1:0]) & ~(5'h1F << bank_bits_i);
      for (int i = 0; i < 5; i++) bank[i] = bank[i] ^ (^(addr_i[AddrWidth-1:12] & bank_hash_i[i]));
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) admit_q <= 1'b0;
    else admit_q <= admit_i;
  end

  always_ff @(posedge clk_i) begin
    if (admit_i) begin
      bank_q <= bank;
      addr_q <= addr_i;
    end
  end

  always_comb begin
    last = 'x;
    hit_o = 'x;
    if (admit_q) begin
      last = banks_q[bank_q];
      hit_o = last.open && ((addr_q ^ last.addr) & row_mask) == '0 && !clear_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (clear_i || admit_q) banks_q[clear_i ? clear_bank_i : bank_q] <= clear_i ? '0 : '{open: 1'b1, addr: addr_q};
  end

endmodule
