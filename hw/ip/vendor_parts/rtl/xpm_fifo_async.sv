// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// A FIFO by the name, ports and parameters of AMD's `xpm_fifo_async` (Ref: UG974), for kernels that instantiate one.
///
/// Both sides have one clock: a kernel in a slot has the slot's, whichever of its clocks a port is of. So it is the FIFO of
/// one clock, with what is said there.
module xpm_fifo_async #(
  parameter int CDC_SYNC_STAGES = 2,
  parameter int RELATED_CLOCKS = 0,
  parameter string DOUT_RESET_VALUE = "0",
  parameter string ECC_MODE = "no_ecc",
  parameter string FIFO_MEMORY_TYPE = "auto",
  parameter int FIFO_READ_LATENCY = 1,
  parameter int FIFO_WRITE_DEPTH = 2048,
  parameter int FULL_RESET_VALUE = 0,
  parameter int PROG_EMPTY_THRESH = 10,
  parameter int PROG_FULL_THRESH = 10,
  parameter int RD_DATA_COUNT_WIDTH = 1,
  parameter int READ_DATA_WIDTH = 32,
  parameter string READ_MODE = "std",
  parameter int SIM_ASSERT_CHK = 0,
  parameter string USE_ADV_FEATURES = "0707",
  parameter int WAKEUP_TIME = 0,
  parameter int WRITE_DATA_WIDTH = 32,
  parameter int WR_DATA_COUNT_WIDTH = 1,
  parameter int CASCADE_HEIGHT = 0,
  parameter string EN_SIM_ASSERT_ERR = "warning"
) (
  input  logic sleep,
  input  logic rst,
  input  logic wr_clk,
  input  logic wr_en,
  input  logic [WRITE_DATA_WIDTH-1:0] din,
  output logic full,
  output logic prog_full,
  output logic [WR_DATA_COUNT_WIDTH-1:0] wr_data_count,
  output logic overflow,
  output logic wr_rst_busy,
  output logic almost_full,
  output logic wr_ack,
  input  logic rd_clk,
  input  logic rd_en,
  output logic [READ_DATA_WIDTH-1:0] dout,
  output logic empty,
  output logic prog_empty,
  output logic [RD_DATA_COUNT_WIDTH-1:0] rd_data_count,
  output logic underflow,
  output logic rd_rst_busy,
  output logic almost_empty,
  output logic data_valid,
  input  logic injectsbiterr,
  input  logic injectdbiterr,
  output logic sbiterr,
  output logic dbiterr
);

  xpm_fifo_sync #(
    .DOUT_RESET_VALUE(DOUT_RESET_VALUE),
    .ECC_MODE(ECC_MODE),
    .FIFO_MEMORY_TYPE(FIFO_MEMORY_TYPE),
    .FIFO_READ_LATENCY(FIFO_READ_LATENCY),
    .FIFO_WRITE_DEPTH(FIFO_WRITE_DEPTH),
    .FULL_RESET_VALUE(FULL_RESET_VALUE),
    .PROG_EMPTY_THRESH(PROG_EMPTY_THRESH),
    .PROG_FULL_THRESH(PROG_FULL_THRESH),
    .RD_DATA_COUNT_WIDTH(RD_DATA_COUNT_WIDTH),
    .READ_DATA_WIDTH(READ_DATA_WIDTH),
    .READ_MODE(READ_MODE),
    .SIM_ASSERT_CHK(SIM_ASSERT_CHK),
    .USE_ADV_FEATURES(USE_ADV_FEATURES),
    .WAKEUP_TIME(WAKEUP_TIME),
    .WRITE_DATA_WIDTH(WRITE_DATA_WIDTH),
    .WR_DATA_COUNT_WIDTH(WR_DATA_COUNT_WIDTH),
    .CASCADE_HEIGHT(CASCADE_HEIGHT),
    .EN_SIM_ASSERT_ERR(EN_SIM_ASSERT_ERR)
  ) u_fifo (
    .sleep, .rst, .wr_clk, .wr_en, .din, .full, .prog_full, .wr_data_count, .overflow, .wr_rst_busy,
    .almost_full, .wr_ack, .rd_en, .dout, .empty, .prog_empty, .rd_data_count, .underflow, .rd_rst_busy,
    .almost_empty, .data_valid, .injectsbiterr, .injectdbiterr, .sbiterr, .dbiterr
  );

  logic unused;
  assign unused = rd_clk;

endmodule
