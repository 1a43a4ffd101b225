// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Reorders pixels between raster and block order, eight to a word.
///
/// A stripe is eight image rows, `columns_i` words each, i.e. `columns_i` blocks. Raster order goes
/// row by row through the stripe, block order block by block. Two banks: one stripe fills while the
/// other drains, a word a cycle each.
module image_blocks_reorder #(
  /// 0: raster in, blocks out. 1: blocks in, raster out.
  parameter bit ToRaster = 1'b0,
  /// Widest image, in words of eight pixels; a power of two.
  parameter int unsigned MaxColumns = 64,
  localparam int unsigned ColumnWidth = $clog2(MaxColumns)
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic clear_i,
  /// Image width in words less one; stable while a run lasts.
  input  logic [ColumnWidth-1:0] last_column_i,

  input  logic        in_valid_i,
  output logic        in_ready_o,
  input  logic [63:0] in_data_i,
  output logic        out_valid_o,
  input  logic        out_ready_i,
  output logic [63:0] out_data_o
);

  /// Position in a stripe.
  typedef struct packed {
    logic bank;
    logic [2:0] row;
    logic [ColumnWidth-1:0] column;
  } position_t;

  function automatic position_t advance(position_t at, logic by_row, logic [ColumnWidth-1:0] last);
    position_t next;
    next = at;
    if (at.row == 3'd7 && at.column == last) begin
      next = '{bank: !at.bank, row: '0, column: '0};
    end else if (by_row) begin
      next.column = (at.column == last) ? '0 : at.column + 1'b1;
      if (at.column == last) next.row = at.row + 1'b1;
    end else begin
      next.row = at.row + 1'b1;
      if (at.row == 3'd7) next.column = at.column + 1'b1;
    end
    return next;
  endfunction

  logic [63:0] mem_q [2**$bits(position_t)];
  position_t in_q, fetch_q;
  logic [1:0] full_q;
  logic push, fetch, valid_q, in_last, fetch_last;

  assign in_last    = in_q.row == 3'd7 && in_q.column == last_column_i;
  assign fetch_last = fetch_q.row == 3'd7 && fetch_q.column == last_column_i;

  assign in_ready_o  = !full_q[in_q.bank];
  assign push        = in_valid_i && in_ready_o;
  // The word fetched next goes to the output register, which a block RAM has anyway.
  assign fetch       = full_q[fetch_q.bank] && (!valid_q || out_ready_i);
  assign out_valid_o = valid_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      in_q    <= '0;
      fetch_q <= '0;
      full_q  <= '0;
      valid_q <= 1'b0;
    end else begin
      if (push) in_q <= advance(in_q, !ToRaster, last_column_i);
      if (fetch) fetch_q <= advance(fetch_q, ToRaster, last_column_i);
      if (push && in_last) full_q[in_q.bank] <= 1'b1;
      if (fetch && fetch_last) full_q[fetch_q.bank] <= 1'b0;
      if (fetch || out_ready_i) valid_q <= fetch;
    end
  end

  always_ff @(posedge clk_i) begin
    if (push) mem_q[in_q] <= in_data_i;
    if (fetch) out_data_o <= mem_q[fetch_q];
  end

endmodule
