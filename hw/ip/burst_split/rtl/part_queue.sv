// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// A short FIFO whose oldest word can be seen at once.
module part_queue #(
  parameter int unsigned Width = 5,
  /// Words, a power of two.
  parameter int unsigned Depth = 8
) (
  input  logic             clk_i,
  /// Synchronous reset, active low.
  input  logic             rst_ni,
  input  logic             put_i,
  input  logic [Width-1:0] data_i,
  output logic             full_o,
  input  logic             take_i,
  output logic [Width-1:0] data_o,
  output logic             empty_o
);

  if (Depth < 2 || (Depth & (Depth - 1)) != 0) begin : gen_check_depth
    $fatal(1, "part_queue: Depth must be a power of two, 2 or more");
  end

  localparam int unsigned IndexWidth = $clog2(Depth);
  typedef logic [IndexWidth:0] ptr_t;

  logic [Width-1:0] mem_q [Depth];
  ptr_t write_q, read_q;

  assign full_o = write_q - read_q == ptr_t'(Depth);
  assign empty_o = write_q == read_q;
  assign data_o = mem_q[read_q[IndexWidth-1:0]];

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      write_q <= '0;
      read_q <= '0;
    end else begin
      if (put_i) write_q <= write_q + ptr_t'(1);
      if (take_i) read_q <= read_q + ptr_t'(1);
    end
  end

  always_ff @(posedge clk_i) begin
    if (put_i) mem_q[write_q[IndexWidth-1:0]] <= data_i;
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      NothingLost_A :
      assert (!(put_i && full_o) && !(take_i && empty_o))
      else $error("part_queue: put while full, or taken while empty");
    end
  end
`endif

endmodule
