// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// A small FIFO with a fall-through read side: `pop_data_o` is valid in the cycle `pop_valid_o` is.
///
/// Latency from push to pop is one cycle; a full FIFO takes no word, even in a cycle that pops one.
module hls_fifo #(
  parameter int unsigned Width = 64,
  /// Words held, a power of two of at least 2.
  parameter int unsigned Depth = 16,
  localparam int unsigned PtrWidth = $clog2(Depth)
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  /// Forget everything held.
  input  logic             clear_i,

  input  logic             push_valid_i,
  output logic             push_ready_o,
  input  logic [Width-1:0] push_data_i,

  output logic             pop_valid_o,
  input  logic             pop_ready_i,
  output logic [Width-1:0] pop_data_o
);

  if (Depth < 2 || (Depth & (Depth - 1)) != 0) begin : gen_check_depth
    $fatal(1, "hls_fifo: Depth must be a power of two of at least 2");
  end

  // One bit more than an index needs, so that full and empty differ.
  logic [PtrWidth:0] write_q, read_q;
  logic [Width-1:0] mem_q [Depth];
  logic push, pop;

  assign push_ready_o = (write_q ^ read_q) != {1'b1, {PtrWidth{1'b0}}};
  assign pop_valid_o  = write_q != read_q;
  assign pop_data_o   = mem_q[read_q[PtrWidth-1:0]];
  assign push = push_valid_i && push_ready_o;
  assign pop  = pop_valid_o && pop_ready_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      write_q <= '0;
      read_q  <= '0;
    end else begin
      if (push) write_q <= write_q + 1'b1;
      if (pop)  read_q  <= read_q + 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (push) mem_q[write_q[PtrWidth-1:0]] <= push_data_i;
  end

endmodule
