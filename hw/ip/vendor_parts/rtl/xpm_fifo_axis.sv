// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// A FIFO of AXI4-Stream beats by the name, ports and parameters of AMD's `xpm_fifo_axis` (Ref: UG974), for kernels that
/// instantiate one.
///
/// Both sides have one clock, whatever `CLOCKING_MODE` says: a kernel in a slot has the slot's. It holds `FIFO_DEPTH` beats; one
/// that was taken comes two cycles later at the earliest. With `PACKET_FIFO` "true", no beat of a packet comes before its last
/// one is held, but where the FIFO is full: then what is held of the packet goes, and its rest as it comes. No ECC.
module xpm_fifo_axis #(
  parameter int CASCADE_HEIGHT = 0,
  parameter int CDC_SYNC_STAGES = 2,
  parameter string CLOCKING_MODE = "common_clock",
  parameter string ECC_MODE = "no_ecc",
  parameter string EN_SIM_ASSERT_ERR = "warning",
  parameter int FIFO_DEPTH = 2048,
  parameter string FIFO_MEMORY_TYPE = "auto",
  parameter string PACKET_FIFO = "false",
  parameter int PROG_EMPTY_THRESH = 10,
  parameter int PROG_FULL_THRESH = 10,
  parameter int RD_DATA_COUNT_WIDTH = 1,
  parameter int RELATED_CLOCKS = 0,
  parameter int SIM_ASSERT_CHK = 0,
  parameter int TDATA_WIDTH = 32,
  parameter int TDEST_WIDTH = 1,
  parameter int TID_WIDTH = 1,
  parameter int TUSER_WIDTH = 1,
  parameter string USE_ADV_FEATURES = "1000",
  parameter int WR_DATA_COUNT_WIDTH = 1
) (
  input  logic s_aresetn,
  input  logic s_aclk,
  input  logic m_aclk,
  input  logic s_axis_tvalid,
  output logic s_axis_tready,
  input  logic [TDATA_WIDTH-1:0] s_axis_tdata,
  input  logic [TDATA_WIDTH/8-1:0] s_axis_tstrb,
  input  logic [TDATA_WIDTH/8-1:0] s_axis_tkeep,
  input  logic s_axis_tlast,
  input  logic [TID_WIDTH-1:0] s_axis_tid,
  input  logic [TDEST_WIDTH-1:0] s_axis_tdest,
  input  logic [TUSER_WIDTH-1:0] s_axis_tuser,
  output logic m_axis_tvalid,
  input  logic m_axis_tready,
  output logic [TDATA_WIDTH-1:0] m_axis_tdata,
  output logic [TDATA_WIDTH/8-1:0] m_axis_tstrb,
  output logic [TDATA_WIDTH/8-1:0] m_axis_tkeep,
  output logic m_axis_tlast,
  output logic [TID_WIDTH-1:0] m_axis_tid,
  output logic [TDEST_WIDTH-1:0] m_axis_tdest,
  output logic [TUSER_WIDTH-1:0] m_axis_tuser,
  output logic prog_full_axis,
  output logic prog_empty_axis,
  output logic almost_full_axis,
  output logic almost_empty_axis,
  output logic [WR_DATA_COUNT_WIDTH-1:0] wr_data_count_axis,
  output logic [RD_DATA_COUNT_WIDTH-1:0] rd_data_count_axis,
  input  logic injectsbiterr_axis,
  input  logic injectdbiterr_axis,
  output logic sbiterr_axis,
  output logic dbiterr_axis
);

  localparam int Width = TDATA_WIDTH + 2 * (TDATA_WIDTH / 8) + 1 + TID_WIDTH + TDEST_WIDTH + TUSER_WIDTH;
  localparam int CountWidth = $clog2(FIFO_DEPTH) + 1;

  logic full, empty, busy, put, get, goes;
  logic [Width-1:0] head;
  logic unused;

  assign s_axis_tready = !full && !busy && s_aresetn;
  assign put = s_axis_tvalid && s_axis_tready;
  assign m_axis_tvalid = !empty && goes;
  assign get = m_axis_tvalid && m_axis_tready;
  assign {m_axis_tuser, m_axis_tdest, m_axis_tid, m_axis_tlast, m_axis_tkeep, m_axis_tstrb, m_axis_tdata} = head;

  xpm_fifo_sync #(
    .FIFO_WRITE_DEPTH(FIFO_DEPTH), .READ_MODE("fwft"), .FIFO_READ_LATENCY(0), .PROG_FULL_THRESH(PROG_FULL_THRESH),
    .PROG_EMPTY_THRESH(PROG_EMPTY_THRESH), .READ_DATA_WIDTH(Width), .WRITE_DATA_WIDTH(Width),
    .WR_DATA_COUNT_WIDTH(WR_DATA_COUNT_WIDTH), .RD_DATA_COUNT_WIDTH(RD_DATA_COUNT_WIDTH)
  ) u_fifo (
    .sleep(1'b0), .rst(!s_aresetn), .wr_clk(s_aclk), .wr_en(put),
    .din({s_axis_tuser, s_axis_tdest, s_axis_tid, s_axis_tlast, s_axis_tkeep, s_axis_tstrb, s_axis_tdata}), .full,
    .prog_full(prog_full_axis), .wr_data_count(wr_data_count_axis), .overflow(), .wr_rst_busy(busy),
    .almost_full(almost_full_axis), .wr_ack(), .rd_en(get), .dout(head), .empty, .prog_empty(prog_empty_axis),
    .rd_data_count(rd_data_count_axis), .underflow(), .rd_rst_busy(), .almost_empty(almost_empty_axis), .data_valid(),
    .injectsbiterr(injectsbiterr_axis), .injectdbiterr(injectdbiterr_axis), .sbiterr(sbiterr_axis), .dbiterr(dbiterr_axis)
  );

  if (PACKET_FIFO == "true") begin : gen_packets
    // Last beats that are held, and whether a packet that filled the FIFO goes before its last beat has come.
    logic [CountWidth-1:0] lasts_q;
    logic forced_q;

    assign goes = lasts_q != '0 || forced_q;
    always_ff @(posedge s_aclk) begin
      if (!s_aresetn) begin
        lasts_q <= '0;
        forced_q <= 1'b0;
      end else begin
        lasts_q <= lasts_q + CountWidth'(put && s_axis_tlast) - CountWidth'(get && m_axis_tlast);
        if (get && m_axis_tlast) forced_q <= 1'b0;
        else if (full && lasts_q == '0) forced_q <= 1'b1;
      end
    end
  end else begin : gen_beats
    assign goes = 1'b1;
  end

  assign unused = m_aclk;

endmodule
