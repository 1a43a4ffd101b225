// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// A FIFO by the name, ports and parameters of AMD's `xpm_fifo_async` (Ref: UG974), for kernels that instantiate one.
///
/// Both sides have one width, and one clock: a kernel in a slot has the slot's, whichever of its clocks a port is of. It takes `FIFO_WRITE_DEPTH` words; a word that is written can be read two cycles later at the
/// earliest ("std": the read after that). Counts are exact. No ECC, no sleep; resets are synchronous and take one cycle.
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

  if (WRITE_DATA_WIDTH != READ_DATA_WIDTH) begin : gen_check_widths
    $fatal(1, "xpm_fifo_async: this model has one width on both sides");
  end
  if (FIFO_WRITE_DEPTH < 2 || (FIFO_WRITE_DEPTH & (FIFO_WRITE_DEPTH - 1)) != 0) begin : gen_check_depth
    $fatal(1, "xpm_fifo_async: FIFO_WRITE_DEPTH must be a power of two");
  end

  localparam int IndexWidth = $clog2(FIFO_WRITE_DEPTH);
  localparam bit Fwft = READ_MODE == "fwft";
  localparam int Latency = Fwft || FIFO_READ_LATENCY < 1 ? 1 : FIFO_READ_LATENCY;
  typedef logic [IndexWidth:0] count_t;

  logic [WRITE_DATA_WIDTH-1:0] mem_q [FIFO_WRITE_DEPTH];
  // `seen` words can be read: they were written a cycle ago or more.
  count_t write_q, read_q, seen_q, held, readable;
  logic busy_q, put, get;
  logic overflow_q, underflow_q, wr_ack_q;

  assign held = write_q - read_q;
  assign readable = seen_q - read_q;
  assign full = busy_q ? FULL_RESET_VALUE != 0 : held == count_t'(FIFO_WRITE_DEPTH);
  assign empty = busy_q || readable == '0;
  assign put = wr_en && !full && !busy_q && !rst;
  assign get = rd_en && !empty && !rst;
  assign prog_full = held >= count_t'(PROG_FULL_THRESH);
  assign prog_empty = readable <= count_t'(PROG_EMPTY_THRESH);
  assign almost_full = held >= count_t'(FIFO_WRITE_DEPTH - 1);
  assign almost_empty = readable <= count_t'(1);
  assign wr_data_count = WR_DATA_COUNT_WIDTH'(held);
  assign rd_data_count = RD_DATA_COUNT_WIDTH'(readable);
  assign wr_rst_busy = busy_q;
  assign rd_rst_busy = busy_q;
  assign overflow = overflow_q;
  assign underflow = underflow_q;
  assign wr_ack = wr_ack_q;
  assign sbiterr = 1'b0;
  assign dbiterr = 1'b0;

  always_ff @(posedge wr_clk) begin
    busy_q <= rst;
    overflow_q <= wr_en && full && !rst;
    underflow_q <= rd_en && empty && !rst;
    wr_ack_q <= put;
    if (rst) begin
      write_q <= '0;
      read_q <= '0;
      seen_q <= '0;
    end else begin
      seen_q <= write_q;
      if (put) write_q <= write_q + count_t'(1);
      if (get) read_q <= read_q + count_t'(1);
    end
    if (put) mem_q[write_q[IndexWidth-1:0]] <= din;
  end

  if (Fwft) begin : gen_fwft
    assign dout = empty ? '0 : mem_q[read_q[IndexWidth-1:0]];
    assign data_valid = !empty;
  end else begin : gen_std
    logic [READ_DATA_WIDTH-1:0] out_q [Latency];
    logic [Latency-1:0] valid_q;

    always_ff @(posedge wr_clk) begin
      if (get) out_q[0] <= mem_q[read_q[IndexWidth-1:0]];
      valid_q[0] <= get;
      for (int i = 1; i < Latency; i++) begin
        out_q[i] <= out_q[i-1];
        valid_q[i] <= valid_q[i-1];
      end
      if (rst) begin
        valid_q <= '0;
        for (int i = 0; i < Latency; i++) out_q[i] <= '0;
      end
    end
    assign dout = out_q[Latency-1];
    assign data_valid = valid_q[Latency-1];
  end

  logic unused;
  assign unused = ^{rd_clk, sleep, injectsbiterr, injectdbiterr};

endmodule
