// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Transposes a stream of 8x8 blocks, 16 beats of four samples each; two banks, so that one block
/// fills while the other drains. Throughput one beat a cycle, latency one block.
///
/// Element (row, column) lies in memory (row + key) mod 4, `key` being the lane its column came in on:
/// then the four elements of a beat lie in four memories both by rows and by columns, and each memory
/// needs one write and one read port.
module dct8_transpose #(
  /// Rows come as elements 0 2 4 6, then 1 3 5 7, instead of in natural order.
  parameter bit EvenOdd = 1'b0
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic clear_i,

  input  logic             in_valid_i,
  output logic             in_ready_o,
  input  dct8_pkg::beat_t  in_data_i,
  output logic             out_valid_o,
  input  logic             out_ready_i,
  output dct8_pkg::beat_t  out_data_o
);
  import dct8_pkg::*;

  logic [1:0] full_q;
  /// {bank, row, half}.
  logic [4:0] in_q, out_q;
  logic push, pop;

  assign in_ready_o  = !full_q[in_q[4]];
  assign out_valid_o = full_q[out_q[4]];
  assign push = in_valid_i && in_ready_o;
  assign pop  = out_valid_o && out_ready_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      in_q   <= '0;
      out_q  <= '0;
      full_q <= '0;
    end else begin
      if (push) in_q <= in_q + 1'b1;
      if (pop) out_q <= out_q + 1'b1;
      if (push && in_q[3:0] == '1) full_q[in_q[4]] <= 1'b1;
      if (pop && out_q[3:0] == '1) full_q[out_q[4]] <= 1'b0;
    end
  end

  // A row's columns, split into the lane they come in on and the beat; `key` and `part` of the column
  // that is read now.
  logic [2:0] column;
  logic [1:0] key;
  logic part;
  logic [3:0][SampleWidth-1:0] fetched;
  assign column = out_q[3:1];
  assign key    = EvenOdd ? column[2:1] : column[1:0];
  assign part   = EvenOdd ? column[0] : column[2];

  for (genvar m = 0; m < 4; m++) begin : gen_memory
    logic [SampleWidth-1:0] mem_q [32];
    logic [1:0] in_lane, out_lane;
    assign in_lane  = 2'(m) - in_q[2:1];
    assign out_lane = 2'(m) - key;
    always_ff @(posedge clk_i) begin
      // {bank, row, beat of the row}
      if (push) mem_q[in_q] <= in_data_i[in_lane];
    end
    assign fetched[m] = mem_q[{out_q[4], out_q[0], out_lane, part}];
  end

  for (genvar lane = 0; lane < 4; lane++) begin : gen_lane
    logic [1:0] memory;
    assign memory = key + 2'(lane);
    assign out_data_o[lane] = fetched[memory];
  end

endmodule
