// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Registers of all warps: three reads of one warp and one write a cycle, every lane its own memory.
///
/// What is read is there in the cycle after (`read_i`), and then only. Blocks of RAM do not show what is written in the cycle in
/// which they are read: that is kept beside them, and whether it is what was read. Numbers of registers, which are known last, are
/// compared in parts, which meet where the data do. Row = {warp, register}.
module gpu_regfile
  import gpu_pkg::*;
#(
  parameter int unsigned Threads = 4,
  parameter int unsigned Rows = 256,
  /// Registers of a warp: two to this many.
  parameter int unsigned RegWidth = 6,
  localparam int unsigned RowWidth = $clog2(Rows)
) (
  input  logic                clk_i,
  input  logic                read_i,
  input  warp_t               warp_i,
  input  reads_t              reads_i,
  output logic [31:0]         a_o [Threads],
  output logic [31:0]         b_o [Threads],
  output logic [31:0]         c_o [Threads],
  input  logic                write_i,
  input  logic [RowWidth-1:0] row_i,
  input  logic [Threads-1:0]  mask_i,
  input  logic [31:0]         data_i [Threads]
);

  typedef logic [RowWidth-1:0] row_t;

  // Of the last read: whether each part of a register's number was that of the write; lanes of its warp that were written.
  logic [1:0] a_same_q, b_same_q, c_same_q;
  logic [Threads-1:0] write, new_q;
  row_t a_row, b_row, c_row;

  function automatic row_t row(reg_t number);
    return (RowWidth'(warp_i) << RegWidth) | RowWidth'(number[RegWidth-1:0]);
  endfunction

  function automatic logic [1:0] same(reg_t number);
    logic [RegWidth-1:0] apart;
    apart = number[RegWidth-1:0] ^ row_i[RegWidth-1:0];
    return {apart[RegWidth-1:3] == '0, apart[2:0] == '0};
  endfunction

  assign write = write_i ? mask_i : '0;
  assign a_row = row(reads_i.rs1);
  assign b_row = row(reads_i.rs2);
  assign c_row = row(reads_i.rs3);

  always_ff @(posedge clk_i) begin
    if (read_i) begin
      new_q <= '0;
      a_same_q <= 'x;
      b_same_q <= 'x;
      c_same_q <= 'x;
      if ((row_i >> RegWidth) == RowWidth'(warp_i)) begin
        new_q <= write;
        a_same_q <= same(reads_i.rs1);
        b_same_q <= same(reads_i.rs2);
        c_same_q <= same(reads_i.rs3);
      end
    end
  end

  logic [Threads-1:0][31:0] a_q, b_q, c_q, written_q;

  for (genvar t = 0; t < int'(Threads); t++) begin : gen_lane
    logic [31:0] ram [Rows];

    always_ff @(posedge clk_i) begin
      if (write[t]) begin
        ram[row_i] <= data_i[t];
        written_q[t] <= data_i[t];
      end
      if (read_i) begin
        a_q[t] <= ram[a_row];
        b_q[t] <= ram[b_row];
        c_q[t] <= ram[c_row];
      end
    end
  end

  always_comb begin
    for (int t = 0; t < int'(Threads); t++) begin
      a_o[t] = a_q[t];
      b_o[t] = b_q[t];
      c_o[t] = c_q[t];
    end
    if (new_q != '0) begin
      if (a_same_q == '1) for (int t = 0; t < int'(Threads); t++) if (new_q[t]) a_o[t] = written_q[t];
      if (b_same_q == '1) for (int t = 0; t < int'(Threads); t++) if (new_q[t]) b_o[t] = written_q[t];
      if (c_same_q == '1) for (int t = 0; t < int'(Threads); t++) if (new_q[t]) c_o[t] = written_q[t];
    end
  end

endmodule
