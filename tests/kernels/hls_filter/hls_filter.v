// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// A kernel with arrays in its registers, in the manner of Vitis HLS, with gaps between them: sums[i] is three times taps[i],
// and i, and is added to state[i], which it reads and writes.
`timescale 1ns/1ps
module hls_filter (
    input  wire        ap_clk,
    input  wire        ap_rst_n,
    input  wire        s_axi_control_AWVALID,
    output wire        s_axi_control_AWREADY,
    input  wire [16:0] s_axi_control_AWADDR,
    input  wire        s_axi_control_WVALID,
    output wire        s_axi_control_WREADY,
    input  wire [31:0] s_axi_control_WDATA,
    input  wire [3:0]  s_axi_control_WSTRB,
    output wire        s_axi_control_BVALID,
    input  wire        s_axi_control_BREADY,
    output wire [1:0]  s_axi_control_BRESP,
    input  wire        s_axi_control_ARVALID,
    output wire        s_axi_control_ARREADY,
    input  wire [16:0] s_axi_control_ARADDR,
    output wire        s_axi_control_RVALID,
    input  wire        s_axi_control_RREADY,
    output wire [31:0] s_axi_control_RDATA,
    output wire [1:0]  s_axi_control_RRESP,
    output wire        interrupt
);
    wire        ap_start;
    wire [15:0] taps_q0;
    wire [15:0] kept;
    wire [15:0] state_q0;
    reg         busy = 0, done = 0;
    reg  [4:0]  turn = 0;

    hls_filter_control_s_axi control_s_axi_U (
        .ACLK(ap_clk), .ARESET(!ap_rst_n), .AWVALID(s_axi_control_AWVALID), .AWREADY(s_axi_control_AWREADY),
        .AWADDR(s_axi_control_AWADDR), .WVALID(s_axi_control_WVALID), .WREADY(s_axi_control_WREADY),
        .WDATA(s_axi_control_WDATA), .WSTRB(s_axi_control_WSTRB), .BVALID(s_axi_control_BVALID),
        .BREADY(s_axi_control_BREADY), .BRESP(s_axi_control_BRESP), .ARVALID(s_axi_control_ARVALID),
        .ARREADY(s_axi_control_ARREADY), .ARADDR(s_axi_control_ARADDR), .RVALID(s_axi_control_RVALID),
        .RREADY(s_axi_control_RREADY), .RDATA(s_axi_control_RDATA), .RRESP(s_axi_control_RRESP),
        .interrupt(interrupt), .ap_start(ap_start), .ap_done(done), .ap_idle(!busy && !ap_start),
        .taps_address0(turn[2:0]), .taps_q0(taps_q0),
        .sums_address0(turn[2:0] - 3'd3), .sums_we0(busy && turn >= 3 && turn < 11),
        .sums_d0(3 * {16'd0, kept} + {29'd0, turn[2:0] - 3'd3}),
        .state_address0(turn[2:0] - 3'd3), .state_q0(state_q0), .state_we0(busy && turn >= 3 && turn < 11),
        .state_d0(state_q0 + 3 * kept + {13'd0, turn[2:0] - 3'd3})
    );

    // Taps go through a memory of the vendor's, which shows them three cycles after they were asked for.
    xpm_memory_sdpram #(
        .ADDR_WIDTH_A(3), .ADDR_WIDTH_B(3), .MEMORY_SIZE(128), .WRITE_DATA_WIDTH_A(16), .BYTE_WRITE_WIDTH_A(16),
        .READ_DATA_WIDTH_B(16), .READ_LATENCY_B(2)
    ) kept_U (
        .sleep(1'b0), .clka(ap_clk), .ena(1'b1), .wea(busy), .addra(turn[2:0]), .dina(taps_q0), .clkb(ap_clk),
        .enb(1'b1), .addrb(turn[2:0] - 3'd1), .rstb(!ap_rst_n), .regceb(1'b1), .doutb(kept), .injectsbiterra(1'b0),
        .injectdbiterra(1'b0), .sbiterrb(), .dbiterrb()
    );

    always @(posedge ap_clk) begin
        done <= 0;
        if (!ap_rst_n) begin
            busy <= 0;
            turn <= 0;
        end else if (!busy) begin
            turn <= 0;
            busy <= ap_start && !done;
        end else begin
            turn <= turn + 1;
            done <= turn == 10;
            busy <= turn != 10;
        end
    end
endmodule

//------------------------Address Info-------------------
// 0x00 : Control signals
//        bit 0  - ap_start (Read/Write/COH)
//        bit 1  - ap_done (Read/COR)
//        bit 2  - ap_idle (Read)
//        others - reserved
// 0x04 : Global Interrupt Enable Register
// 0x08 : IP Interrupt Enable Register (Read/Write)
// 0x0c : IP Interrupt Status Register (Read/TOW)
// 0x20 ~
// 0x2f : Memory 'state' (8 * 16b)
//        Word n : bit [15: 0] - state[2n]
//                 bit [31:16] - state[2n+1]
// 0x8040 ~
// 0x804f : Memory 'taps' (8 * 16b)
//        Word n : bit [15: 0] - taps[2n]
//                 bit [31:16] - taps[2n+1]
// 0x10000 ~
// 0x1001f : Memory 'sums' (8 * 32b)
//        Word n : bit [31:0] - sums[n]
module hls_filter_control_s_axi (
    input  wire        ACLK,
    input  wire        ARESET,
    input  wire        AWVALID,
    output wire        AWREADY,
    input  wire [16:0] AWADDR,
    input  wire        WVALID,
    output wire        WREADY,
    input  wire [31:0] WDATA,
    input  wire [3:0]  WSTRB,
    output reg         BVALID,
    input  wire        BREADY,
    output wire [1:0]  BRESP,
    input  wire        ARVALID,
    output wire        ARREADY,
    input  wire [16:0] ARADDR,
    output reg         RVALID,
    input  wire        RREADY,
    output reg  [31:0] RDATA,
    output wire [1:0]  RRESP,
    output wire        interrupt,
    output reg         ap_start,
    input  wire        ap_done,
    input  wire        ap_idle,
    input  wire [2:0]  taps_address0,
    output wire [15:0] taps_q0,
    input  wire [2:0]  sums_address0,
    input  wire        sums_we0,
    input  wire [31:0] sums_d0,
    input  wire [2:0]  state_address0,
    output wire [15:0] state_q0,
    input  wire        state_we0,
    input  wire [15:0] state_d0
);
    reg [31:0] state [0:3];
    reg [31:0] taps [0:3];
    reg [31:0] sums [0:7];
    reg        gie, ier, isr, finished;
    wire       put = AWVALID && WVALID && !BVALID;

    assign AWREADY = put;
    assign WREADY = put;
    assign ARREADY = !RVALID;
    assign BRESP = 0;
    assign RRESP = 0;
    assign interrupt = gie && isr;
    assign taps_q0 = taps_address0[0] ? taps[taps_address0[2:1]][31:16] : taps[taps_address0[2:1]][15:0];

    assign state_q0 = state_address0[0] ? state[state_address0[2:1]][31:16] : state[state_address0[2:1]][15:0];

    integer i;
    always @(posedge ACLK) begin
        if (sums_we0) sums[sums_address0] <= sums_d0;
        if (state_we0) state[state_address0[2:1]][16 * state_address0[0] +: 16] <= state_d0;
        if (ap_done) ap_start <= 0;
        if (ap_done) finished <= 1;
        if (ap_done && ier) isr <= 1;
        if (BREADY) BVALID <= 0;
        if (RREADY) RVALID <= 0;
        if (put) begin
            BVALID <= 1;
            if (AWADDR == 17'h00 && WDATA[0]) ap_start <= 1;
            if (AWADDR == 17'h04) gie <= WDATA[0];
            if (AWADDR == 17'h08) ier <= WDATA[0];
            if (AWADDR == 17'h0c) isr <= isr ^ WDATA[0];
            for (i = 0; i < 4; i = i + 1)
                if (AWADDR[16:4] == 13'h002 && WSTRB[i]) state[AWADDR[3:2]][8*i +: 8] <= WDATA[8*i +: 8];
            for (i = 0; i < 4; i = i + 1)
                if (AWADDR[16:4] == 13'h804 && WSTRB[i]) taps[AWADDR[3:2]][8*i +: 8] <= WDATA[8*i +: 8];
        end
        if (ARVALID && ARREADY) begin
            RVALID <= 1;
            RDATA <= 0;
            case (ARADDR)
                17'h00: begin
                    RDATA <= {29'd0, ap_idle, finished, ap_start};
                    finished <= ap_done;
                end
                17'h04: RDATA <= gie;
                17'h08: RDATA <= ier;
                17'h0c: RDATA <= isr;
                default: begin
                    if (ARADDR[16:4] == 13'h002) RDATA <= state[ARADDR[3:2]];
                    if (ARADDR[16:4] == 13'h804) RDATA <= taps[ARADDR[3:2]];
                    if (ARADDR[16:5] == 12'h800) RDATA <= sums[ARADDR[4:2]];
                end
            endcase
        end
        if (ARESET) begin
            {BVALID, RVALID, ap_start, gie, ier, isr, finished} <= 0;
            for (i = 0; i < 8; i = i + 1) sums[i] <= 0;
            for (i = 0; i < 4; i = i + 1) taps[i] <= 0;
            for (i = 0; i < 4; i = i + 1) state[i] <= 0;
        end
    end
endmodule
