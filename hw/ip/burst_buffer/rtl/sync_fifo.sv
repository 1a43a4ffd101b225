// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// A FIFO on one clock with a registered output, so that its memory can be a block RAM. Latency two cycles.
module sync_fifo #(
  parameter int unsigned Width = 8,
  /// Words of the memory, a power of two; the output register holds one more.
  parameter int unsigned Depth = 8
) (
  input  logic             clk_i,
  /// Synchronous reset, active low.
  input  logic             rst_ni,
  input  logic             valid_i,
  output logic             ready_o,
  input  logic [Width-1:0] data_i,
  output logic             valid_o,
  input  logic             ready_i,
  output logic [Width-1:0] data_o
);

  if (Depth < 2 || (Depth & (Depth - 1)) != 0) begin : gen_check_depth
    $fatal(1, "sync_fifo: Depth must be a power of two, 2 or more");
  end

  localparam int unsigned IndexWidth = $clog2(Depth);
  typedef logic [IndexWidth:0] ptr_t;

  logic [Width-1:0] mem_q [Depth];
  logic [Width-1:0] data_q;
  ptr_t write_q, read_q;
  logic valid_q, put, get, ready_q;

  assign put = valid_i && ready_q;
  assign get = write_q != read_q && (!valid_q || ready_i);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      write_q <= '0;
      read_q <= '0;
      valid_q <= 1'b0;
      ready_q <= 1'b0;
    end else begin
      // One word early, so that ready is a flop.
      ready_q <= write_q - read_q < ptr_t'(Depth - 1);
      if (put) write_q <= write_q + ptr_t'(1);
      if (get) begin
        read_q <= read_q + ptr_t'(1);
        valid_q <= 1'b1;
      end else if (ready_i) valid_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (put) mem_q[write_q[IndexWidth-1:0]] <= data_i;
    if (get) data_q <= mem_q[read_q[IndexWidth-1:0]];
  end

  assign ready_o = ready_q;
  assign valid_o = valid_q;
  assign data_o = data_q;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      NeverOverfull_A :
      assert (write_q - read_q <= ptr_t'(Depth))
      else $error("sync_fifo: written while full");
    end
  end
`endif

endmodule
