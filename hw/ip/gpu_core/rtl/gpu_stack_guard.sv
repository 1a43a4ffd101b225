// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Looks at what is written to the stack pointer (x2): a core whose stack pointer leaves its lane's stack ends at once.
///
/// Each lane has a lowest address, the core one size; with a size of 0, as at the start, nothing is looked at. A written value v is
/// good where base <= v <= base + bytes, in units of 16 bytes as the calling convention aligns it. It says so, from a flop, one
/// cycle after the write: that is when an instruction that uses the value can be in the execute stage for the first time, and
/// whoever asks has to keep it from taking effect.
module gpu_stack_guard
  import gpu_pkg::*;
#(
  parameter int unsigned Warps = 4,
  parameter int unsigned Threads = 4,
  localparam int unsigned WarpWidth = (Warps > 1) ? $clog2(Warps) : 1,
  localparam int unsigned LaneWidth = (Threads > 1) ? $clog2(Threads) : 1
) (
  input  logic                 clk_i,
  /// Synchronous reset, active low.
  input  logic                 rst_ni,
  /// Forget everything: hold while `clear_row_i` counts through the warps.
  input  logic                 clear_i,
  input  logic [WarpWidth-1:0] clear_row_i,

  // Settings, of the executing lanes of a warp, and of the core
  input  logic                 base_write_i,
  input  logic                 bytes_write_i,
  input  logic [WarpWidth-1:0] set_warp_i,
  input  logic [Threads-1:0]   set_mask_i,
  input  logic [31:0]          base_i [Threads],
  input  logic [31:0]          bytes_i,

  // Registers as they are written
  input  logic                 write_i,
  input  reg_t                 rd_i,
  input  logic [WarpWidth-1:0] warp_i,
  input  logic [Threads-1:0]   mask_i,
  input  logic [31:0]          data_i [Threads],
  /// Of the instruction that made it in the cycle before; of a load, the one that changed the pointer last.
  input  logic [31:0]          pc_i,

  output logic                 overflow_o,
  output logic [31:0]          pc_o,
  /// The value, of the highest lane at fault.
  output logic [31:0]          value_o
);

  logic unused;
  assign unused = ^bytes_i[3:0];

  logic [27:0] bytes_q;

  logic look, overflow_q;
  logic [Threads-1:0] outside;
  logic [LaneWidth-1:0] top;
  logic [31:0] value_q, pc_q;
  logic [WarpWidth-1:0] set_row;

  assign set_row = clear_i ? clear_row_i : set_warp_i;

  // A memory a lane, so that the others need not be read to be kept.
  for (genvar t = 0; t < int'(Threads); t++) begin : gen_lane
    logic [27:0] base_ram [Warps];

    always_ff @(posedge clk_i) begin
      if (clear_i || (base_write_i && set_mask_i[t])) base_ram[set_row] <= clear_i ? '0 : base_i[t][31:4];
    end

    // Addresses below the base are far above it, modulo 2^32.
    always_comb begin
      outside[t] = 1'b0;
      if (look) outside[t] = mask_i[t] && data_i[t][31:4] - base_ram[warp_i] > bytes_q;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      bytes_q <= '0;
      overflow_q <= 1'b0;
    end else begin
      if (bytes_write_i) bytes_q <= bytes_i[31:4];
      overflow_q <= outside != '0;
    end
  end

  assign look = write_i && rd_i == reg_t'(2) && bytes_q != '0;

  always_comb begin
    top = '0;
    if (look) for (int t = 0; t < int'(Threads); t++) if (outside[t]) top = LaneWidth'(t);
  end

  always_ff @(posedge clk_i) begin
    if (outside != '0) begin
      value_q <= data_i[top];
      pc_q <= pc_i;
    end
  end

  assign overflow_o = overflow_q;
  assign value_o = value_q;
  assign pc_o = pc_q;

endmodule
