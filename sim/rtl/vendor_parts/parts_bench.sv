// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Every operation of `fp_model` on the same operands, in single and double precision; and FIFOs of words and of beats.
module parts_bench (
  input  logic clk_i,
  input  logic rst_i,
  input  logic [63:0] a_i,
  input  logic [63:0] b_i,
  input  logic [63:0] c_i,
  input  logic [7:0] operation_i,
  output logic [11:0][63:0] single_o,
  output logic [11:0][63:0] double_o,
  output logic [63:0] resized_o,
  output logic [63:0] late_o,
  output logic late_valid_o,
  input  logic late_enable_i,
  input  logic put_i,
  input  logic [15:0] data_i,
  input  logic [1:0] take_i,
  output logic [1:0] full_o,
  output logic [1:0] empty_o,
  output logic [1:0] prog_full_o,
  output logic [1:0] valid_o,
  output logic [1:0][4:0] count_o,
  output logic [1:0][15:0] data_o,
  input  logic beat_valid_i,
  input  logic [29:0] beat_i,
  output logic [1:0] beat_ready_o,
  output logic [1:0] out_valid_o,
  input  logic [1:0] out_ready_i,
  output logic [1:0][29:0] out_o,
  output logic [1:0][4:0] out_count_o
);

  localparam string Operations [12] = '{
    "add", "sub", "mul", "div", "sqrt", "cmp", "from_fixed", "exp", "log", "recip", "rsqrt", "fma"
  };

  for (genvar i = 0; i < 12; i++) begin : gen_operations
    fp_model #(.Operation(Operations[i])) u_single (
      .clk_i, .enable_i(1'b1), .valid_i(1'b1), .a_i, .b_i, .c_i, .operation_i, .valid_o(), .result_o(single_o[i])
    );
    fp_model #(.Operation(Operations[i]), .ExpWidth(11), .FracWidth(52), .FromWidth(64)) u_double (
      .clk_i, .enable_i(1'b1), .valid_i(1'b1), .a_i, .b_i, .c_i, .operation_i, .valid_o(), .result_o(double_o[i])
    );
  end

  fp_model #(.Operation("resize"), .ExpWidth(11), .FracWidth(52), .ToExpWidth(8), .ToFracWidth(23)) u_resize (
    .clk_i, .enable_i(1'b1), .valid_i(1'b1), .a_i, .b_i, .c_i, .operation_i, .valid_o(), .result_o(resized_o)
  );
  fp_model #(.Operation("add"), .Latency(4)) u_late (
    .clk_i, .enable_i(late_enable_i), .valid_i(a_i[0]), .a_i, .b_i, .c_i, .operation_i, .valid_o(late_valid_o), .result_o(late_o)
  );

  xpm_fifo_sync #(
    .FIFO_WRITE_DEPTH(16), .READ_MODE("fwft"), .FIFO_READ_LATENCY(0), .PROG_FULL_THRESH(11), .READ_DATA_WIDTH(16),
    .WRITE_DATA_WIDTH(16), .WR_DATA_COUNT_WIDTH(5)
  ) u_fwft (
    .sleep(1'b0), .rst(rst_i), .wr_clk(clk_i), .wr_en(put_i), .din(data_i), .full(full_o[0]), .prog_full(prog_full_o[0]),
    .wr_data_count(count_o[0]), .overflow(), .wr_rst_busy(), .almost_full(), .wr_ack(), .rd_en(take_i[0]),
    .dout(data_o[0]), .empty(empty_o[0]), .prog_empty(), .rd_data_count(), .underflow(), .rd_rst_busy(),
    .almost_empty(), .data_valid(valid_o[0]), .injectsbiterr(1'b0), .injectdbiterr(1'b0), .sbiterr(), .dbiterr()
  );
  xpm_fifo_async #(
    .FIFO_WRITE_DEPTH(16), .READ_MODE("std"), .FIFO_READ_LATENCY(2), .PROG_FULL_THRESH(11), .READ_DATA_WIDTH(16),
    .WRITE_DATA_WIDTH(16), .WR_DATA_COUNT_WIDTH(5)
  ) u_std (
    .sleep(1'b0), .rst(rst_i), .wr_clk(clk_i), .wr_en(put_i), .din(data_i), .full(full_o[1]), .prog_full(prog_full_o[1]),
    .wr_data_count(count_o[1]), .overflow(), .wr_rst_busy(), .almost_full(), .wr_ack(), .rd_clk(clk_i),
    .rd_en(take_i[1]), .dout(data_o[1]), .empty(empty_o[1]), .prog_empty(), .rd_data_count(), .underflow(),
    .rd_rst_busy(), .almost_empty(), .data_valid(valid_o[1]), .injectsbiterr(1'b0), .injectdbiterr(1'b0), .sbiterr(),
    .dbiterr()
  );

  // Beats of 16 bits with all that goes beside them: one that gives them as they come, and one packet by packet.
  for (genvar k = 0; k < 2; k++) begin : gen_axis
    xpm_fifo_axis #(
      .FIFO_DEPTH(16), .TDATA_WIDTH(16), .TID_WIDTH(3), .TDEST_WIDTH(2), .TUSER_WIDTH(4), .WR_DATA_COUNT_WIDTH(5),
      .PACKET_FIFO(k == 1 ? "true" : "false")
    ) u_axis (
      .s_aresetn(!rst_i), .s_aclk(clk_i), .m_aclk(clk_i), .s_axis_tvalid(beat_valid_i && &beat_ready_o), .s_axis_tready(beat_ready_o[k]),
      .s_axis_tdata(beat_i[15:0]), .s_axis_tstrb(beat_i[17:16]), .s_axis_tkeep(beat_i[19:18]), .s_axis_tlast(beat_i[20]),
      .s_axis_tid(beat_i[23:21]), .s_axis_tdest(beat_i[25:24]), .s_axis_tuser(beat_i[29:26]),
      .m_axis_tvalid(out_valid_o[k]), .m_axis_tready(out_ready_i[k]), .m_axis_tdata(out_o[k][15:0]),
      .m_axis_tstrb(out_o[k][17:16]), .m_axis_tkeep(out_o[k][19:18]), .m_axis_tlast(out_o[k][20]),
      .m_axis_tid(out_o[k][23:21]), .m_axis_tdest(out_o[k][25:24]), .m_axis_tuser(out_o[k][29:26]), .prog_full_axis(),
      .prog_empty_axis(), .almost_full_axis(), .almost_empty_axis(), .wr_data_count_axis(out_count_o[k]),
      .rd_data_count_axis(), .injectsbiterr_axis(1'b0), .injectdbiterr_axis(1'b0), .sbiterr_axis(), .dbiterr_axis()
    );
  end

endmodule
