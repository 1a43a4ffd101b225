// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
`include "clock_when.svh"

/// What a data cache keeps, and local memory: two ways and local memory in banks of words, each of which reads and writes one part
/// of a line (`gpu_lines_pkg::bank_of`).
///
/// A read is of the line and the parts at `next_*` and shows in the cycle after, without what is written meanwhile. One write a
/// cycle into the ways: a beat of a line that comes, or the bytes of a store.
module gpu_dcache_rows
  import gpu_pkg::*;
#(
  /// Words that are read at once, a power of two from 2 to 16.
  parameter int unsigned Banks = 4,
  /// Lines of a way, a power of two.
  parameter int unsigned Sets = 64,
  parameter int unsigned LocalLines = 256,
  localparam int unsigned Parts = LineBytes / 4 / Banks,
  localparam int unsigned PartWidth = (Parts > 1) ? $clog2(Parts) : 1,
  localparam int unsigned LocalWidth = (LocalLines > 1) ? $clog2(LocalLines) : 1
) (
  input  logic                     clk_i,
  /// Something here may change: a simulation looks at no clock without it.
  input  logic                     awake_i,
  /// What is looked at in the next cycle, if anything is.
  input  logic                     next_read_i,
  input  logic [LineAddrWidth-1:0] next_line_i,
  input  logic [Banks-1:0][PartWidth-1:0] next_parts_i,
  /// What is looked at in this cycle, and which copy: local memory's, way 0's or way 1's.
  input  logic [LineAddrWidth-1:0] line_i,
  input  logic [Banks-1:0][PartWidth-1:0] parts_i,
  input  logic                     read_i,
  input  logic                     local_i,
  input  logic                     way_i,
  output logic [Banks-1:0][31:0]   words_o,
  /// Bytes to be stored there.
  input  logic                     store_i,
  input  logic [Banks-1:0][31:0]   store_data_i,
  input  logic [Banks-1:0][3:0]    store_strb_i,
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

  localparam int unsigned Rows = Sets * Parts;
  localparam int unsigned IndexWidth = (Rows > 1) ? $clog2(Rows) : 1;

  typedef logic [IndexWidth-1:0] index_t;
  typedef logic [PartWidth-1:0] part_t;

  logic [LocalWidth-1:0] local_line, next_local;
  part_t fill_part;

  // Of addresses only the bits that a memory of this size looks at.
  logic unused;
  assign unused = ^{line_i, next_line_i, fill_line_i};

  function automatic index_t index_of(logic [LineAddrWidth-1:0] line, part_t part);
    return (Rows > 1) ? index_t'((32'(line) * Parts) | ((Parts > 1) ? 32'(part) : 0)) : '0;
  endfunction

  assign local_line = (LocalLines > 1) ? LocalWidth'(line_i) : '0;
  assign next_local = (LocalLines > 1) ? LocalWidth'(next_line_i) : '0;
  assign fill_part = part_t'(gpu_lines_pkg::part_of({fill_beat_i, 1'b0}, Banks));

  // Byte by byte what is stored, else what is there: synthesis makes byte enables of it.
  function automatic logic [31:0] merged(logic [31:0] old, logic [31:0] data, logic [3:0] strb);
    logic [31:0] now;
    for (int k = 0; k < 4; k++) now[8*k+:8] = strb[k] ? data[8*k+:8] : old[8*k+:8];
    return now;
  endfunction

  for (genvar b = 0; b < int'(Banks); b++) begin : gen_bank
    logic [31:0] way0_ram [Rows];
    logic [31:0] way1_ram [Rows];
    logic [31:0] way0_q, way1_q, write_data;
    logic write0, write1, fill_low, fill_high;
    index_t next_index, write_index;
    logic [3:0] write_strb;
    logic [Parts-1:0][31:0] locals;

    always_comb begin
      words_o[b] = 'x;
      if (read_i) words_o[b] = local_i ? locals[(Parts > 1) ? parts_i[b] : '0] : way_i ? way1_q : way0_q;
    end

    // A beat has two words.
    assign fill_low = gpu_lines_pkg::bank_of({fill_beat_i, 1'b0}, Banks) == 4'(b);
    assign fill_high = gpu_lines_pkg::bank_of({fill_beat_i, 1'b1}, Banks) == 4'(b);
    assign next_index = index_of(next_line_i, next_parts_i[b]);
    assign write_index = fill_i ? index_of(fill_line_i, fill_part) : index_of(line_i, parts_i[b]);
    assign write_data = fill_i ? (fill_low ? fill_data_i[31:0] : fill_data_i[63:32]) : store_data_i[b];
    assign write_strb = fill_i ? '1 : store_strb_i[b];
    assign write0 = fill_i ? !fill_way_i && (fill_low || fill_high) : store_i && !local_i && !way_i;
    assign write1 = fill_i ? fill_way_i && (fill_low || fill_high) : store_i && !local_i && way_i;

    always_ff @(`EDDY_RISES(clk_i, awake_i)) begin
      if (next_read_i) begin
        way0_q <= way0_ram[next_index];
        way1_q <= way1_ram[next_index];
      end
      if (write0) way0_ram[write_index] <= merged(way0_ram[write_index], write_data, write_strb);
      if (write1) way1_ram[write_index] <= merged(way1_ram[write_index], write_data, write_strb);
    end

    for (genvar p = 0; p < int'(Parts); p++) begin : gen_local
      logic [31:0] ram [LocalLines];
      logic [31:0] data_q;
      logic [LocalWidth-1:0] write_line;

      assign locals[p] = data_q;
      assign write_line = clear_i ? clear_line_i : local_line;

      always_ff @(`EDDY_RISES(clk_i, awake_i)) begin
        if (next_read_i) data_q <= ram[next_local];
        if (clear_i || (store_i && local_i && (Parts == 1 || parts_i[b] == part_t'(p)))) begin
          ram[write_line] <= merged(ram[write_line], clear_i ? '0 : store_data_i[b], clear_i ? '1 : store_strb_i[b]);
        end
      end
    end
  end

`ifndef SYNTHESIS
  OneWrite_A : assert property (@(posedge clk_i) fill_i |-> !(store_i && !local_i));
  NoStoreWhileCleared_A : assert property (@(posedge clk_i) store_i |-> !clear_i);
`endif

endmodule
