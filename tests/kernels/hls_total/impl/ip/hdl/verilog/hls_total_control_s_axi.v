// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Registers of a kernel with two pointers, two scalars and two results, in the manner of Vitis HLS.
`timescale 1ns/1ps
module hls_total_control_s_axi
#(parameter
    C_S_AXI_ADDR_WIDTH = 7,
    C_S_AXI_DATA_WIDTH = 32
)(
    input  wire                          ACLK,
    input  wire                          ARESET,
    input  wire                          ACLK_EN,
    input  wire [C_S_AXI_ADDR_WIDTH-1:0] AWADDR,
    input  wire                          AWVALID,
    output wire                          AWREADY,
    input  wire [C_S_AXI_DATA_WIDTH-1:0] WDATA,
    input  wire [C_S_AXI_DATA_WIDTH/8-1:0] WSTRB,
    input  wire                          WVALID,
    output wire                          WREADY,
    output wire [1:0]                    BRESP,
    output wire                          BVALID,
    input  wire                          BREADY,
    input  wire [C_S_AXI_ADDR_WIDTH-1:0] ARADDR,
    input  wire                          ARVALID,
    output wire                          ARREADY,
    output wire [C_S_AXI_DATA_WIDTH-1:0] RDATA,
    output wire [1:0]                    RRESP,
    output wire                          RVALID,
    input  wire                          RREADY,
    output wire                          interrupt,
    output wire                          ap_start,
    input  wire                          ap_done,
    input  wire                          ap_ready,
    output wire                          ap_continue,
    input  wire                          ap_idle,
    input  wire [63:0]                   ap_return,
    output wire [63:0]                   x,
    output wire [63:0]                   y,
    output wire [31:0]                   n,
    output wire [7:0]                    step,
    input  wire [15:0]                   peak,
    input  wire                          peak_ap_vld
);
//------------------------Address Info-------------------
// 0x00 : Control signals
//        bit 0  - ap_start (Read/Write/COH)
//        bit 1  - ap_done (Read)
//        bit 2  - ap_idle (Read)
//        bit 3  - ap_ready (Read/COR)
//        bit 4  - ap_continue (Read/Write/SC)
//        bit 7  - auto_restart (Read/Write)
//        bit 9  - interrupt (Read)
//        others - reserved
// 0x04 : Global Interrupt Enable Register
//        bit 0  - Global Interrupt Enable (Read/Write)
//        others - reserved
// 0x08 : IP Interrupt Enable Register (Read/Write)
//        bit 0 - enable ap_done interrupt (Read/Write)
//        bit 1 - enable ap_ready interrupt (Read/Write)
//        others - reserved
// 0x0c : IP Interrupt Status Register (Read/TOW)
//        bit 0 - ap_done (Read/TOW)
//        bit 1 - ap_ready (Read/TOW)
//        others - reserved
// 0x10 : Data signal of ap_return
//        bit 31~0 - ap_return[31:0] (Read)
// 0x14 : Data signal of ap_return
//        bit 31~0 - ap_return[63:32] (Read)
// 0x1c : Data signal of x
//        bit 31~0 - x[31:0] (Read/Write)
// 0x20 : Data signal of x
//        bit 31~0 - x[63:32] (Read/Write)
// 0x24 : reserved
// 0x28 : Data signal of y
//        bit 31~0 - y[31:0] (Read/Write)
// 0x2c : Data signal of y
//        bit 31~0 - y[63:32] (Read/Write)
// 0x30 : reserved
// 0x34 : Data signal of n
//        bit 31~0 - n[31:0] (Read/Write)
// 0x38 : reserved
// 0x3c : Data signal of step
//        bit 7~0 - step[7:0] (Read/Write)
//        others  - reserved
// 0x40 : reserved
// 0x44 : Data signal of peak
//        bit 15~0 - peak[15:0] (Read)
//        others   - reserved
// 0x48 : Control signal of peak
//        bit 0  - peak_ap_vld (Read/COR)
//        others - reserved
// (SC = Self Clear, COR = Clear on Read, TOW = Toggle on Write, COH = Clear on Handshake)

localparam
    ADDR_AP_CTRL = 7'h00, ADDR_GIE = 7'h04, ADDR_IER = 7'h08, ADDR_ISR = 7'h0c,
    ADDR_AP_RETURN_0 = 7'h10, ADDR_AP_RETURN_1 = 7'h14,
    ADDR_X_DATA_0 = 7'h1c, ADDR_X_DATA_1 = 7'h20, ADDR_Y_DATA_0 = 7'h28, ADDR_Y_DATA_1 = 7'h2c,
    ADDR_N_DATA_0 = 7'h34, ADDR_STEP_DATA_0 = 7'h3c, ADDR_PEAK_DATA_0 = 7'h44, ADDR_PEAK_CTRL = 7'h48,
    WRIDLE = 2'd0, WRDATA = 2'd1, WRRESP = 2'd2, WRRESET = 2'd3,
    RDIDLE = 2'd0, RDDATA = 2'd1, RDRESET = 2'd2;

    reg  [1:0]  wstate = WRRESET, rstate = RDRESET;
    reg  [6:0]  waddr;
    reg  [31:0] rdata;
    reg         int_interrupt = 1'b0, int_ap_idle = 1'b0, int_ap_continue = 1'b0, int_ap_ready = 1'b0;
    reg         int_ap_done = 1'b0, int_ap_start = 1'b0, int_auto_restart = 1'b0, int_gie = 1'b0;
    reg  [1:0]  int_ier = 2'b0, int_isr = 2'b0;
    reg  [63:0] int_ap_return = 64'b0, int_x = 64'b0, int_y = 64'b0;
    reg  [31:0] int_n = 32'b0;
    reg  [7:0]  int_step = 8'b0;
    reg  [15:0] int_peak = 16'b0;
    reg         int_peak_ap_vld = 1'b0;
    wire        aw_hs = AWVALID & AWREADY, w_hs = WVALID & WREADY, ar_hs = ARVALID & ARREADY;
    wire [31:0] wmask = { {8{WSTRB[3]}}, {8{WSTRB[2]}}, {8{WSTRB[1]}}, {8{WSTRB[0]}} };
    wire        ctrl_hs = w_hs && waddr == ADDR_AP_CTRL && WSTRB[0], isr_hs = w_hs && waddr == ADDR_ISR && WSTRB[0];

    assign AWREADY = (wstate == WRIDLE);
    assign WREADY  = (wstate == WRDATA);
    assign BRESP   = 2'b00;
    assign BVALID  = (wstate == WRRESP);
    assign ARREADY = (rstate == RDIDLE);
    assign RDATA   = rdata;
    assign RRESP   = 2'b00;
    assign RVALID  = (rstate == RDDATA);
    assign interrupt = int_interrupt;
    assign ap_start = int_ap_start;
    assign ap_continue = int_ap_continue;
    assign x = int_x;
    assign y = int_y;
    assign n = int_n;
    assign step = int_step;

    always @(posedge ACLK) begin
        if (ARESET) begin
            wstate <= WRRESET;
            rstate <= RDRESET;
        end else if (ACLK_EN) begin
            case (wstate)
                WRIDLE:  if (AWVALID) wstate <= WRDATA;
                WRDATA:  if (WVALID) wstate <= WRRESP;
                WRRESP:  if (BREADY) wstate <= WRIDLE;
                default: wstate <= WRIDLE;
            endcase
            case (rstate)
                RDIDLE:  if (ARVALID) rstate <= RDDATA;
                RDDATA:  if (RREADY) rstate <= RDIDLE;
                default: rstate <= RDIDLE;
            endcase
        end
    end

    always @(posedge ACLK) begin
        if (aw_hs) waddr <= AWADDR;
        if (ar_hs) begin
            rdata <= 'b0;
            case (ARADDR)
                ADDR_AP_CTRL: rdata[9:0] <= {int_interrupt, 1'b0, int_auto_restart, 2'b0, int_ap_continue, int_ap_ready, int_ap_idle, int_ap_done, int_ap_start};
                ADDR_GIE: rdata <= int_gie;
                ADDR_IER: rdata <= int_ier;
                ADDR_ISR: rdata <= int_isr;
                ADDR_AP_RETURN_0: rdata <= int_ap_return[31:0];
                ADDR_AP_RETURN_1: rdata <= int_ap_return[63:32];
                ADDR_X_DATA_0: rdata <= int_x[31:0];
                ADDR_X_DATA_1: rdata <= int_x[63:32];
                ADDR_Y_DATA_0: rdata <= int_y[31:0];
                ADDR_Y_DATA_1: rdata <= int_y[63:32];
                ADDR_N_DATA_0: rdata <= int_n;
                ADDR_STEP_DATA_0: rdata <= int_step;
                ADDR_PEAK_DATA_0: rdata <= int_peak;
                ADDR_PEAK_CTRL: rdata[0] <= int_peak_ap_vld;
            endcase
        end
    end

    always @(posedge ACLK) begin
        if (ARESET) begin
            int_ap_start <= 1'b0;
            int_ap_done <= 1'b0;
            int_ap_ready <= 1'b0;
            int_ap_idle <= 1'b0;
            int_ap_continue <= 1'b0;
            int_auto_restart <= 1'b0;
            int_gie <= 1'b0;
            int_ier <= 2'b0;
            int_isr <= 2'b0;
            int_interrupt <= 1'b0;
            int_ap_return <= 64'b0;
            int_x <= 64'b0;
            int_y <= 64'b0;
            int_n <= 32'b0;
            int_step <= 8'b0;
            int_peak <= 16'b0;
            int_peak_ap_vld <= 1'b0;
        end else if (ACLK_EN) begin
            int_interrupt <= int_gie && (|int_isr);
            if (ctrl_hs && WDATA[0]) int_ap_start <= 1'b1;
            else if (ap_ready) int_ap_start <= int_auto_restart;
            int_ap_done <= ap_done && !int_ap_continue;
            if (ap_ready) int_ap_ready <= 1'b1;
            else if (ar_hs && ARADDR == ADDR_AP_CTRL) int_ap_ready <= 1'b0;
            int_ap_idle <= ap_idle;
            int_ap_continue <= ctrl_hs && WDATA[4];
            if (ctrl_hs) int_auto_restart <= WDATA[7];
            if (w_hs && waddr == ADDR_GIE && WSTRB[0]) int_gie <= WDATA[0];
            if (w_hs && waddr == ADDR_IER && WSTRB[0]) int_ier <= WDATA[1:0];
            if (int_ier[0] & ap_done) int_isr[0] <= 1'b1;
            else if (isr_hs) int_isr[0] <= int_isr[0] ^ WDATA[0];
            if (int_ier[1] & ap_ready) int_isr[1] <= 1'b1;
            else if (isr_hs) int_isr[1] <= int_isr[1] ^ WDATA[1];
            if (ap_done) int_ap_return <= ap_return;
            if (peak_ap_vld) int_peak <= peak;
            if (peak_ap_vld) int_peak_ap_vld <= 1'b1;
            else if (ar_hs && ARADDR == ADDR_PEAK_CTRL) int_peak_ap_vld <= 1'b0;
            if (w_hs) begin
                case (waddr)
                    ADDR_X_DATA_0: int_x[31:0] <= (WDATA & wmask) | (int_x[31:0] & ~wmask);
                    ADDR_X_DATA_1: int_x[63:32] <= (WDATA & wmask) | (int_x[63:32] & ~wmask);
                    ADDR_Y_DATA_0: int_y[31:0] <= (WDATA & wmask) | (int_y[31:0] & ~wmask);
                    ADDR_Y_DATA_1: int_y[63:32] <= (WDATA & wmask) | (int_y[63:32] & ~wmask);
                    ADDR_N_DATA_0: int_n <= (WDATA & wmask) | (int_n & ~wmask);
                    ADDR_STEP_DATA_0: int_step <= (WDATA[7:0] & wmask[7:0]) | (int_step & ~wmask[7:0]);
                endcase
            end
        end
    end

endmodule
