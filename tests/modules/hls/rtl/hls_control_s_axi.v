// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Registers of a kernel with two pointers and two scalars, in the manner of Vitis HLS.
//
// 0x00 control: 0 ap_start (cleared by ap_ready), 1 ap_done (CHAIN 0: clears on read; CHAIN 1: as long as the kernel is
//      done), 2 ap_idle, 3 ap_ready (clears on read), 4 ap_continue (CHAIN 1, clears itself), 7 auto_restart
// 0x04 global interrupt enable, 0x08 interrupt enable (0 done, 1 ready), 0x0c interrupt status (toggles on write; with
//      CLEAR_ON_READ it clears when it is read, as by `config_interface -s_axilite_interrupt_mode cor`)
// 0x10 in, 0x14 in (high), 0x1c out, 0x20 out (high), 0x28 count, 0x30 key
`timescale 1 ns / 1 ps
module hls_control_s_axi #(
  parameter C_S_AXI_ADDR_WIDTH = 6,
  parameter C_S_AXI_DATA_WIDTH = 32,
  parameter CHAIN = 0,
  parameter CLEAR_ON_READ = 0
) (
  input  wire                            ACLK,
  input  wire                            ARESET,
  input  wire                            ACLK_EN,
  input  wire [C_S_AXI_ADDR_WIDTH-1:0]   AWADDR,
  input  wire                            AWVALID,
  output wire                            AWREADY,
  input  wire [C_S_AXI_DATA_WIDTH-1:0]   WDATA,
  input  wire [C_S_AXI_DATA_WIDTH/8-1:0] WSTRB,
  input  wire                            WVALID,
  output wire                            WREADY,
  output wire [1:0]                      BRESP,
  output wire                            BVALID,
  input  wire                            BREADY,
  input  wire [C_S_AXI_ADDR_WIDTH-1:0]   ARADDR,
  input  wire                            ARVALID,
  output wire                            ARREADY,
  output wire [C_S_AXI_DATA_WIDTH-1:0]   RDATA,
  output wire [1:0]                      RRESP,
  output wire                            RVALID,
  input  wire                            RREADY,
  output wire                            interrupt,
  output wire                            ap_start,
  input  wire                            ap_done,
  input  wire                            ap_ready,
  input  wire                            ap_idle,
  output wire                            ap_continue,
  output wire [63:0]                     in_r,
  output wire [63:0]                     out_r,
  output wire [31:0]                     count,
  output wire [31:0]                     key
);

  localparam ADDR_CTRL = 6'h00, ADDR_GIE = 6'h04, ADDR_IER = 6'h08, ADDR_ISR = 6'h0c;
  localparam ADDR_IN_0 = 6'h10, ADDR_IN_1 = 6'h14, ADDR_OUT_0 = 6'h1c, ADDR_OUT_1 = 6'h20;
  localparam ADDR_COUNT = 6'h28, ADDR_KEY = 6'h30;
  localparam WRIDLE = 2'd0, WRDATA = 2'd1, WRRESP = 2'd2, WRRESET = 2'd3;
  localparam RDIDLE = 2'd0, RDDATA = 2'd1, RDRESET = 2'd2;

  reg  [1:0]                      wstate = WRRESET, rstate = RDRESET;
  reg  [C_S_AXI_ADDR_WIDTH-1:0]   waddr;
  reg  [C_S_AXI_DATA_WIDTH-1:0]   rdata;
  reg                             int_ap_start = 1'b0, int_ap_done = 1'b0, int_ap_ready = 1'b0, int_ap_idle = 1'b0;
  reg                             int_ap_continue = 1'b0, int_auto_restart = 1'b0, int_gie = 1'b0, int_interrupt = 1'b0;
  reg  [1:0]                      int_ier = 2'b0, int_isr = 2'b0;
  reg  [63:0]                     int_in = 'b0, int_out = 'b0;
  reg  [31:0]                     int_count = 'b0, int_key = 'b0;
  wire                            aw_hs = AWVALID & AWREADY, w_hs = WVALID & WREADY, ar_hs = ARVALID & ARREADY;
  wire [31:0]                     wmask = {{8{WSTRB[3]}}, {8{WSTRB[2]}}, {8{WSTRB[1]}}, {8{WSTRB[0]}}};
  wire                            ctrl_hs = w_hs && waddr == ADDR_CTRL && WSTRB[0];
  wire                            isr_hs = w_hs && waddr == ADDR_ISR && WSTRB[0];

  assign AWREADY = (wstate == WRIDLE);
  assign WREADY  = (wstate == WRDATA);
  assign BRESP   = 2'b00;
  assign BVALID  = (wstate == WRRESP);
  assign ARREADY = (rstate == RDIDLE);
  assign RDATA   = rdata;
  assign RRESP   = 2'b00;
  assign RVALID  = (rstate == RDDATA);

  always @(posedge ACLK) begin
    if (ARESET) wstate <= WRRESET;
    else if (ACLK_EN) begin
      case (wstate)
        WRIDLE:  if (AWVALID) wstate <= WRDATA;
        WRDATA:  if (WVALID) wstate <= WRRESP;
        WRRESP:  if (BREADY) wstate <= WRIDLE;
        default: wstate <= WRIDLE;
      endcase
    end
  end

  always @(posedge ACLK) begin
    if (ACLK_EN && aw_hs) waddr <= AWADDR;
  end

  always @(posedge ACLK) begin
    if (ARESET) rstate <= RDRESET;
    else if (ACLK_EN) begin
      case (rstate)
        RDIDLE:  if (ARVALID) rstate <= RDDATA;
        RDDATA:  if (RREADY) rstate <= RDIDLE;
        default: rstate <= RDIDLE;
      endcase
    end
  end

  always @(posedge ACLK) begin
    if (ACLK_EN && ar_hs) begin
      rdata <= 'b0;
      case (ARADDR)
        ADDR_CTRL: begin
          rdata[0] <= int_ap_start;
          rdata[1] <= int_ap_done;
          rdata[2] <= int_ap_idle;
          rdata[3] <= int_ap_ready;
          rdata[4] <= int_ap_continue;
          rdata[7] <= int_auto_restart;
          rdata[9] <= int_interrupt;
        end
        ADDR_GIE:   rdata <= int_gie;
        ADDR_IER:   rdata <= int_ier;
        ADDR_ISR:   rdata <= int_isr;
        ADDR_IN_0:  rdata <= int_in[31:0];
        ADDR_IN_1:  rdata <= int_in[63:32];
        ADDR_OUT_0: rdata <= int_out[31:0];
        ADDR_OUT_1: rdata <= int_out[63:32];
        ADDR_COUNT: rdata <= int_count;
        ADDR_KEY:   rdata <= int_key;
      endcase
    end
  end

  assign interrupt   = int_interrupt;
  assign ap_start    = int_ap_start;
  assign ap_continue = int_ap_continue;
  assign in_r        = int_in;
  assign out_r       = int_out;
  assign count       = int_count;
  assign key         = int_key;

  always @(posedge ACLK) begin
    if (ARESET) begin
      int_ap_start     <= 1'b0;
      int_ap_done      <= 1'b0;
      int_ap_ready     <= 1'b0;
      int_ap_idle      <= 1'b0;
      int_ap_continue  <= 1'b0;
      int_auto_restart <= 1'b0;
      int_gie          <= 1'b0;
      int_ier          <= 2'b0;
      int_interrupt    <= 1'b0;
    end else if (ACLK_EN) begin
      if (ctrl_hs && WDATA[0]) int_ap_start <= 1'b1;
      else if (ap_ready) int_ap_start <= int_auto_restart;
      if (CHAIN != 0) int_ap_done <= ap_done && !int_ap_continue;
      else if (ap_done) int_ap_done <= 1'b1;
      else if (ar_hs && ARADDR == ADDR_CTRL) int_ap_done <= 1'b0;
      if (ap_ready) int_ap_ready <= 1'b1;
      else if (ar_hs && ARADDR == ADDR_CTRL) int_ap_ready <= 1'b0;
      int_ap_idle     <= ap_idle;
      int_ap_continue <= CHAIN != 0 && ctrl_hs && WDATA[4];
      if (ctrl_hs) int_auto_restart <= WDATA[7];
      if (w_hs && waddr == ADDR_GIE && WSTRB[0]) int_gie <= WDATA[0];
      if (w_hs && waddr == ADDR_IER && WSTRB[0]) int_ier <= WDATA[1:0];
      int_interrupt <= int_gie && (|int_isr);
    end
  end

  always @(posedge ACLK) begin
    if (ARESET) int_isr <= 2'b0;
    else if (ACLK_EN) begin
      if (int_ier[0] & ap_done) int_isr[0] <= 1'b1;
      else if (CLEAR_ON_READ != 0 && ar_hs && ARADDR == ADDR_ISR) int_isr[0] <= 1'b0;
      else if (CLEAR_ON_READ == 0 && isr_hs) int_isr[0] <= int_isr[0] ^ WDATA[0];
      if (int_ier[1] & ap_ready) int_isr[1] <= 1'b1;
      else if (CLEAR_ON_READ != 0 && ar_hs && ARADDR == ADDR_ISR) int_isr[1] <= 1'b0;
      else if (CLEAR_ON_READ == 0 && isr_hs) int_isr[1] <= int_isr[1] ^ WDATA[1];
    end
  end

  always @(posedge ACLK) begin
    if (ARESET) begin
      int_in    <= 64'b0;
      int_out   <= 64'b0;
      int_count <= 32'b0;
      int_key   <= 32'b0;
    end else if (ACLK_EN && w_hs) begin
      case (waddr)
        ADDR_IN_0:  int_in[31:0]   <= (WDATA & wmask) | (int_in[31:0] & ~wmask);
        ADDR_IN_1:  int_in[63:32]  <= (WDATA & wmask) | (int_in[63:32] & ~wmask);
        ADDR_OUT_0: int_out[31:0]  <= (WDATA & wmask) | (int_out[31:0] & ~wmask);
        ADDR_OUT_1: int_out[63:32] <= (WDATA & wmask) | (int_out[63:32] & ~wmask);
        ADDR_COUNT: int_count      <= (WDATA & wmask) | (int_count & ~wmask);
        ADDR_KEY:   int_key        <= (WDATA & wmask) | (int_key & ~wmask);
      endcase
    end
  end

endmodule
