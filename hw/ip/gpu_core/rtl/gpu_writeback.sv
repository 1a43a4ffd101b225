// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Write back: who writes the registers this cycle. What the execute stage made goes first; then memory, floating point, and
/// multiplication or division, each of which waits with its answer until it is taken.
module gpu_writeback
  import gpu_pkg::*;
#(
  parameter int unsigned Threads = 4,
  /// Registers of a warp: two to this many.
  parameter int unsigned RegWidth = 6,
  parameter int unsigned Rows = 256,
  localparam int unsigned RowWidth = $clog2(Rows)
) (
  input  logic                clk_i,
  /// Synchronous reset, active low.
  input  logic                rst_ni,
  /// Zero the row of this number.
  input  logic                clear_i,
  input  logic [15:0]         clear_row_i,

  /// From the execute stage, for the next cycle.
  input  logic                execute_i,
  input  warp_t               execute_warp_i,
  input  lanes_t              execute_mask_i,
  input  reg_t                execute_rd_i,
  input  logic [31:0]         execute_data_i [Threads],

  input  logic                memory_i,
  input  logic                memory_last_i,
  input  tag_t                memory_tag_i,
  input  logic [Threads-1:0]  memory_mask_i,
  input  logic [31:0]         memory_data_i [Threads],
  output logic                memory_take_o,

  input  logic                fpu_i,
  input  tag_t                fpu_tag_i,
  input  logic [Threads-1:0]  fpu_mask_i,
  input  logic [31:0]         fpu_data_i [Threads],
  output logic                fpu_take_o,

  input  logic                muldiv_i,
  input  tag_t                muldiv_tag_i,
  input  logic [Threads-1:0]  muldiv_mask_i,
  input  logic [31:0]         muldiv_data_i [Threads],
  output logic                muldiv_take_o,

  /// The operation of a unit that has ended, if one has.
  output warp_t               done_warp_o,
  /// It is a fence, or an atomic access; and the instruction cache forgets its lines.
  output logic                done_fence_o,
  output logic                done_fence_i_o,
  /// Answers of memory, floating point, and multiplication or division: whether it ends its operation now, which is no fence.
  output logic [2:0]          ends_o,
  /// A unit's answer waits for the execute stage: nothing shall issue, so that a cycle is free for it.
  output logic                waits_o,
  /// Nothing of the execute stage is left to write.
  output logic                empty_o,

  // The registers
  output logic                write_o,
  output logic [RowWidth-1:0] row_o,
  output logic [Threads-1:0]  mask_o,
  output logic [31:0]         data_o [Threads]
);

  logic write_q;
  logic [1:0] waited_q;
  warp_t warp_q;
  lanes_t mask_q;
  reg_t rd_q;
  logic [31:0] data_q [Threads];

  function automatic logic [RowWidth-1:0] row(warp_t warp, reg_t number);
    return (RowWidth'(warp) << RegWidth) | RowWidth'(number[RegWidth-1:0]);
  endfunction

  always_ff @(posedge clk_i) begin
    if (!rst_ni || !write_q) waited_q <= '0;
    else if ((memory_i || fpu_i || muldiv_i) && waited_q != '1) waited_q <= waited_q + 1'b1;
    if (!rst_ni) write_q <= 1'b0;
    else write_q <= execute_i;
  end

  always_ff @(posedge clk_i) begin
    if (execute_i) begin
      warp_q <= execute_warp_i;
      mask_q <= execute_mask_i;
      rd_q <= execute_rd_i;
    end
  end

  // Zero where nothing is to be written: rows are cleared with it.
  always_ff @(posedge clk_i) begin
    if (execute_i) data_q <= execute_data_i;
    else data_q <= '{default: '0};
  end

  // Who writes: 0 the execute stage, or zeros; 1 memory, 2 floating point, 3 multiplication and division.
  logic [1:0] from;

  always_comb begin
    memory_take_o = 1'b0;
    fpu_take_o = 1'b0;
    muldiv_take_o = 1'b0;
    ends_o = '0;
    done_warp_o = 'x;
    done_fence_o = 1'b0;
    done_fence_i_o = 1'b0;
    write_o = 1'b0;
    row_o = 'x;
    mask_o = 'x;
    from = 'x;
    if (write_q) begin
      write_o = 1'b1;
      row_o = row(warp_q, rd_q);
      mask_o = Threads'(mask_q);
      from = 2'd0;
    end else if (memory_i) begin
      // Loads answer in parts, the last of which ends them.
      memory_take_o = 1'b1;
      ends_o[0] = memory_last_i && !memory_tag_i.fence;
      done_warp_o = memory_tag_i.warp;
      done_fence_o = memory_last_i && memory_tag_i.fence;
      done_fence_i_o = memory_last_i && memory_tag_i.fence_i;
      write_o = memory_tag_i.we;
      row_o = row(memory_tag_i.warp, memory_tag_i.rd);
      mask_o = memory_mask_i;
      from = 2'd1;
    end else if (fpu_i) begin
      fpu_take_o = 1'b1;
      ends_o[1] = !fpu_tag_i.fence;
      done_warp_o = fpu_tag_i.warp;
      done_fence_o = fpu_tag_i.fence;
      done_fence_i_o = fpu_tag_i.fence_i;
      write_o = fpu_tag_i.we;
      row_o = row(fpu_tag_i.warp, fpu_tag_i.rd);
      mask_o = fpu_mask_i;
      from = 2'd2;
    end else if (muldiv_i) begin
      muldiv_take_o = 1'b1;
      ends_o[2] = !muldiv_tag_i.fence;
      done_warp_o = muldiv_tag_i.warp;
      done_fence_o = muldiv_tag_i.fence;
      done_fence_i_o = muldiv_tag_i.fence_i;
      write_o = muldiv_tag_i.we;
      row_o = row(muldiv_tag_i.warp, muldiv_tag_i.rd);
      mask_o = muldiv_mask_i;
      from = 2'd3;
    end
    if (clear_i) begin
      write_o = clear_row_i < 16'(Rows);
      row_o = RowWidth'(clear_row_i);
      mask_o = '1;
      from = 2'd0;
    end
  end

  always_comb begin
    unique case (from)
      2'd0:    data_o = data_q;
      2'd1:    data_o = memory_data_i;
      2'd2:    data_o = fpu_data_i;
      default: data_o = muldiv_data_i;
    endcase
    // Many instructions write nothing; only who has met none of them for a while stops the others.
    waits_o = 1'b0;
    if (waited_q == '1) waits_o = write_q && (memory_i || fpu_i || muldiv_i);
  end

  assign empty_o = !write_q;

`ifndef SYNTHESIS
  OneWriter_A : assert property (@(posedge clk_i) disable iff (!rst_ni)
    $onehot0({write_q, memory_take_o, fpu_take_o, muldiv_take_o}));
  LanesExist_A : assert property (@(posedge clk_i) disable iff (!rst_ni)
    write_q |-> mask_q == lanes_t'(Threads'(mask_q)));
  NothingIsLost_A : assert property (@(posedge clk_i) disable iff (!rst_ni)
    execute_i |=> write_q);
  logic zeros;
  always_comb begin
    zeros = 1'b1;
    for (int t = 0; t < int'(Threads); t++) if (data_q[t] != '0) zeros = 1'b0;
  end
  ZerosClear_A : assert property (@(posedge clk_i) disable iff (!rst_ni)
    clear_i |-> !write_q && zeros);
  ZeroStaysZero_A : assert property (@(posedge clk_i) disable iff (!rst_ni || clear_i)
    write_o |-> row_o[RegWidth-1:0] != '0);
`endif

endmodule
