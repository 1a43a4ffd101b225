// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// A FIFO between two unrelated clocks, by Gray-coded pointers.
///
/// Both sides are reset together: there must be a time at which both resets are asserted, and neither side may be reset
/// alone. In reset `ready_o` and `valid_o` are low, and what the FIFO held is gone. A word is visible at the output three
/// to four cycles of the reading clock after it went in; freed room is visible as late on the writing side.
///
/// Ref: C. Cummings, Simulation and Synthesis Techniques for Asynchronous FIFO Design, SNUG 2002, style 1.
module async_fifo #(
  /// Bits of a word.
  parameter int unsigned Width = 8,
  /// Words it holds: a power of two; 8 or more keep up full rate between like clocks. One word lies in flops, and the next
  /// is taken when the reading side's word of it has come back.
  parameter int unsigned Depth = 8
) (
  input  logic             src_clk_i,
  /// Synchronous to `src_clk_i`, active low.
  input  logic             src_rst_ni,
  input  logic             valid_i,
  output logic             ready_o,
  input  logic [Width-1:0] data_i,

  input  logic             dst_clk_i,
  /// Synchronous to `dst_clk_i`, active low.
  input  logic             dst_rst_ni,
  output logic             valid_o,
  input  logic             ready_i,
  output logic [Width-1:0] data_o
);

  if (Depth < 1 || (Depth & (Depth - 1)) != 0) begin : gen_check_depth
    $fatal(1, "async_fifo: Depth must be a power of two");
  end

  localparam int unsigned IndexWidth = $clog2(Depth);
  localparam int unsigned PtrWidth = IndexWidth + 1;
  localparam int unsigned PlaceWidth = Depth > 1 ? IndexWidth : 1;

  typedef logic [PtrWidth-1:0] ptr_t;
  typedef logic [PlaceWidth-1:0] place_t;

  /// In Gray code the pointer one lap ahead differs in the top two bits.
  localparam ptr_t LapMask = ptr_t'(32'd3 << IndexWidth >> 1);

  logic [Width-1:0] mem_q [Depth];
  place_t write_place, read_place;

  // Writing side.
  ptr_t write_q, write_gray_q, write_next;
  (* ASYNC_REG = "TRUE" *) ptr_t read_gray_meta_q, read_gray_sync_q;
  logic write_up_q;

  // Reading side.
  ptr_t read_q, read_gray_q, read_next;
  (* ASYNC_REG = "TRUE" *) ptr_t write_gray_meta_q, write_gray_sync_q;

  assign write_place = place_t'(write_q & ptr_t'(Depth - 1));
  assign read_place = place_t'(read_q & ptr_t'(Depth - 1));

  assign write_next = write_q + ptr_t'(1);
  assign read_next = read_q + ptr_t'(1);

  assign ready_o = write_up_q && write_gray_q != (read_gray_sync_q ^ LapMask);

  always_ff @(posedge src_clk_i) begin
    if (!src_rst_ni) begin
      write_q <= '0;
      write_gray_q <= '0;
      read_gray_meta_q <= '0;
      read_gray_sync_q <= '0;
      write_up_q <= 1'b0;
    end else begin
      write_up_q <= 1'b1;
      read_gray_meta_q <= read_gray_q;
      read_gray_sync_q <= read_gray_meta_q;
      if (valid_i && ready_o) begin
        write_q <= write_next;
        write_gray_q <= write_next ^ ptr_t'({1'b0, write_next} >> 1);
      end
    end
  end

  always_ff @(posedge src_clk_i) begin
    if (valid_i && ready_o) mem_q[write_place] <= data_i;
  end

  assign valid_o = read_gray_q != write_gray_sync_q;
  assign data_o = mem_q[read_place];

  always_ff @(posedge dst_clk_i) begin
    if (!dst_rst_ni) begin
      read_q <= '0;
      read_gray_q <= '0;
      write_gray_meta_q <= '0;
      write_gray_sync_q <= '0;
    end else begin
      write_gray_meta_q <= write_gray_q;
      write_gray_sync_q <= write_gray_meta_q;
      if (valid_o && ready_i) begin
        read_q <= read_next;
        read_gray_q <= read_next ^ ptr_t'({1'b0, read_next} >> 1);
      end
    end
  end

endmodule
