// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
`include "clock_when.svh"

/// What a data cache keeps, and local memory: two ways of rows, and the rows of local memory by their place in a line.
///
/// A read is of the row at `next_i` and shows in the cycle after, without what is written meanwhile. One write a cycle into
/// the ways: a beat of a line that comes, or the bytes of a store.
module gpu_dcache_rows
  import gpu_pkg::*;
#(
  /// Bytes of a row, a power of two from 8 to a line.
  parameter int unsigned RowBytes = 16,
  /// Rows of a way, a power of two.
  parameter int unsigned Rows = 256,
  parameter int unsigned LocalLines = 256,
  localparam int unsigned RowBits = 8 * RowBytes,
  localparam int unsigned RowWidth = 32 - $clog2(RowBytes),
  localparam int unsigned LocalWidth = (LocalLines > 1) ? $clog2(LocalLines) : 1
) (
  input  logic                     clk_i,
  /// Something here may change: a simulation looks at no clock without it.
  input  logic                     awake_i,
  /// The row of the next cycle, if there will be one.
  input  logic                     next_read_i,
  input  logic [RowWidth-1:0]      next_i,
  /// The row of this cycle, and which copy: local memory's, way 0's or way 1's.
  input  logic [RowWidth-1:0]      row_i,
  input  logic                     read_i,
  input  logic                     local_i,
  input  logic                     way_i,
  output logic [RowBits-1:0]       data_o,
  /// Bytes to be stored in the row of this cycle.
  input  logic                     store_i,
  input  logic [RowBits-1:0]       store_data_i,
  input  logic [RowBytes-1:0]      store_strb_i,
  /// A beat; no store to a way in the same cycle.
  input  logic                     fill_i,
  input  logic                     fill_way_i,
  input  logic [LineAddrWidth-1:0] fill_line_i,
  input  logic [2:0]               fill_beat_i,
  input  logic [63:0]              fill_data_i,
  /// Zero a line of local memory.
  input  logic                     clear_i,
  input  logic [LocalWidth-1:0]    clear_line_i
);

  localparam int unsigned RowBeats = RowBytes / 8;
  localparam int unsigned LineRows = LineBytes / RowBytes;
  localparam int unsigned IndexWidth = (Rows > 1) ? $clog2(Rows) : 1;
  localparam int unsigned PartWidth = (LineRows > 1) ? $clog2(LineRows) : 1;
  localparam int unsigned BankWidth = (RowBeats > 1) ? $clog2(RowBeats) : 1;

  typedef logic [IndexWidth-1:0] index_t;
  typedef logic [PartWidth-1:0] part_t;

  index_t index, next_index, fill_index;
  part_t part;
  logic [LocalWidth-1:0] local_line, next_local;
  logic [BankWidth-1:0] fill_bank;
  logic [RowWidth-1:0] fill_row;
  logic [RowBits-1:0] way_row;
  logic [LineRows-1:0][RowBits-1:0] local_rows;

  // Of addresses only the bits that a memory of this size looks at.
  logic unused;
  assign unused = ^{row_i, next_i, fill_row};

  function automatic index_t index_of(logic [RowWidth-1:0] number);
    return (Rows > 1) ? number[IndexWidth-1:0] : '0;
  endfunction

  function automatic logic [LocalWidth-1:0] local_of(logic [RowWidth-1:0] number);
    return (LocalLines > 1) ? LocalWidth'(number >> $clog2(LineRows)) : '0;
  endfunction

  assign index = index_of(row_i);
  assign next_index = index_of(next_i);
  assign part = (LineRows > 1) ? row_i[PartWidth-1:0] : '0;
  assign local_line = local_of(row_i);
  assign next_local = local_of(next_i);
  assign fill_row = RowWidth'({fill_line_i, fill_beat_i} >> $clog2(RowBeats));
  assign fill_index = index_of(fill_row);
  assign fill_bank = (RowBeats > 1) ? fill_beat_i[BankWidth-1:0] : '0;

  always_comb begin
    data_o = 'x;
    if (read_i) data_o = local_i ? local_rows[part] : way_row;
  end

  // Byte by byte what is stored, else what is there: synthesis makes byte enables of it.
  function automatic logic [63:0] merged(logic [63:0] old, logic [63:0] data, logic [7:0] strb);
    logic [63:0] now;
    for (int k = 0; k < 8; k++) now[8*k+:8] = strb[k] ? data[8*k+:8] : old[8*k+:8];
    return now;
  endfunction

  for (genvar b = 0; b < int'(RowBeats); b++) begin : gen_bank
    logic [63:0] way0_ram [Rows];
    logic [63:0] way1_ram [Rows];
    logic [63:0] way0_q, way1_q, write_data;
    logic write0, write1;
    index_t write_index;
    logic [7:0] write_strb;

    assign way_row[64*b+:64] = way_i ? way1_q : way0_q;
    assign write_index = fill_i ? fill_index : index;
    assign write_data = fill_i ? fill_data_i : store_data_i[64*b+:64];
    assign write_strb = fill_i ? '1 : store_strb_i[8*b+:8];
    assign write0 = fill_i ? !fill_way_i && fill_bank == BankWidth'(b) : store_i && !local_i && !way_i;
    assign write1 = fill_i ? fill_way_i && fill_bank == BankWidth'(b) : store_i && !local_i && way_i;

    always_ff @(`EDDY_RISES(clk_i, awake_i)) begin
      if (next_read_i) begin
        way0_q <= way0_ram[next_index];
        way1_q <= way1_ram[next_index];
      end
      if (write0) way0_ram[write_index] <= merged(way0_ram[write_index], write_data, write_strb);
      if (write1) way1_ram[write_index] <= merged(way1_ram[write_index], write_data, write_strb);
    end
  end

  for (genvar r = 0; r < int'(LineRows); r++) begin : gen_local
    for (genvar b = 0; b < int'(RowBeats); b++) begin : gen_bank
      logic [63:0] ram [LocalLines];
      logic [63:0] data_q;
      logic [LocalWidth-1:0] write_line;

      assign local_rows[r][64*b+:64] = data_q;
      assign write_line = clear_i ? clear_line_i : local_line;

      always_ff @(`EDDY_RISES(clk_i, awake_i)) begin
        if (next_read_i) data_q <= ram[next_local];
        if (clear_i || (store_i && local_i && part == part_t'(r))) begin
          ram[write_line] <= merged(ram[write_line], clear_i ? '0 : store_data_i[64*b+:64], clear_i ? '1 : store_strb_i[8*b+:8]);
        end
      end
    end
  end

`ifndef SYNTHESIS
  OneWrite_A : assert property (@(posedge clk_i) fill_i |-> !(store_i && !local_i));
  NoStoreWhileCleared_A : assert property (@(posedge clk_i) store_i |-> !clear_i);
`endif

endmodule
