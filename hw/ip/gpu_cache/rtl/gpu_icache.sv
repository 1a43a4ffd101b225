// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Direct-mapped instruction cache of one core, refilled a line at a time.
///
/// The index is registered with `read_i`; `hit_o` and `instr_o` answer combinationally in the following cycle. A miss is
/// reported by the core with `miss_i`; while `busy_o` a line is on its way and other lines still answer.
module gpu_icache
  import gpu_pkg::*;
#(
  /// Size in bytes, a power of two, at least one line.
  parameter int unsigned Bytes = 4096
) (
  input  logic                     clk_i,
  /// Synchronous reset, active low.
  input  logic                     rst_ni,
  /// Forget every line.
  input  logic                     flush_i,
  input  logic                     read_i,
  input  logic [31:0]              pc_i,
  /// Answer to the address of the cycle before.
  output logic                     hit_o,
  output logic [31:0]              instr_o,
  /// The address of the cycle before is wanted and missed.
  input  logic                     miss_i,
  output logic                     busy_o,
  /// A line could not be read; one cycle.
  output logic                     error_o,
  output logic [31:0]              error_addr_o,
  output logic                     rd_valid_o,
  input  logic                     rd_ready_i,
  output logic [LineAddrWidth-1:0] rd_line_o,
  input  logic                     rd_beat_i,
  input  logic [63:0]              rd_data_i,
  input  logic                     rd_last_i,
  input  logic                     rd_error_i
);

  localparam int unsigned Lines = Bytes / LineBytes;
  localparam int unsigned IndexWidth = (Lines > 1) ? $clog2(Lines) : 1;
  localparam int unsigned TagWidth = LineAddrWidth - $clog2(Lines);
  localparam int unsigned Beats = LineBytes / 8;
  localparam int unsigned BeatWidth = $clog2(Beats);

  if (Bytes < LineBytes || (Bytes & (Bytes - 1)) != 0) begin : gen_check_bytes
    $fatal(1, "gpu_icache: Bytes must be a power of two and hold at least one line of 64 bytes");
  end

  logic [63:0] data_ram [Lines * Beats];
  logic [TagWidth-1:0] tag_ram [Lines];
  logic [Lines-1:0] valid_q;
  logic [31:2] pc_q;
  logic busy_q, asked_q, bad_q, stale_q;
  logic [LineAddrWidth-1:0] line_q;
  logic [BeatWidth-1:0] beat_q;

  // The low bits of a line's address are its index.
  function automatic logic [IndexWidth-1:0] index_of(logic [LineAddrWidth-1:0] line);
    return (Lines > 1) ? line[IndexWidth-1:0] : '0;
  endfunction

  logic [LineAddrWidth-1:0] line;
  logic [63:0] word;

  assign line = pc_q[31:LineOffset];
  assign hit_o = valid_q[index_of(line)] && gpu_lines_pkg::same(30'(tag_ram[index_of(line)]), 30'(line[LineAddrWidth-1-:TagWidth]));
  assign word = data_ram[{index_of(line), pc_q[LineOffset-1:3]}];
  assign instr_o = pc_q[2] ? word[63:32] : word[31:0];

  logic unused;
  assign unused = ^pc_i[1:0];

  assign busy_o = busy_q;
  assign rd_valid_o = busy_q && !asked_q;
  assign rd_line_o = line_q;
  assign error_o = busy_q && rd_beat_i && rd_last_i && (bad_q || rd_error_i);
  assign error_addr_o = {line_q, {LineOffset{1'b0}}};

  always_ff @(posedge clk_i) begin
    if (read_i) pc_q <= pc_i[31:2];
    if (busy_q && rd_beat_i) data_ram[{index_of(line_q), beat_q}] <= rd_data_i;
    if (!rst_ni) begin
      valid_q <= '0;
      busy_q <= 1'b0;
      asked_q <= 1'b0;
      stale_q <= 1'b0;
    end else
`ifndef SYNTHESIS
    // No line is on its way, none has missed: all that would be made ready is made so when one misses, and a simulation passes over
    // it. In gates that would be known late.
    if (busy_q || miss_i || flush_i)
`endif
    begin
      // Ready for the next line before one misses: that is known late.
      if (!busy_q) begin
        asked_q <= 1'b0;
        bad_q <= 1'b0;
        beat_q <= '0;
        stale_q <= 1'b0;
        line_q <= line;
      end
      if (!busy_q && miss_i) begin
        busy_q <= 1'b1;
        valid_q[index_of(line)] <= 1'b0;
      end
      if (rd_valid_o && rd_ready_i) asked_q <= 1'b1;
      if (busy_q && rd_beat_i) begin
        beat_q <= beat_q + 1'b1;
        bad_q <= bad_q || rd_error_i;
        if (rd_last_i) begin
          busy_q <= 1'b0;
          tag_ram[index_of(line_q)] <= line_q[LineAddrWidth-1-:TagWidth];
          // What was asked for before a flush may be older than the flush.
          if (!bad_q && !rd_error_i && !stale_q && !flush_i) valid_q[index_of(line_q)] <= 1'b1;
        end
      end
      if (flush_i) begin
        valid_q <= '0;
        stale_q <= busy_q;
      end
    end
  end

endmodule
