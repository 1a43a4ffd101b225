// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// A kernel with ports to memory blocks, in the shape of Vitis HLS output: `ap_memory` of two sides that it reads (a, 19 elements of
// 12 bits), one that it writes (c, 19 of 8) and that it is said not to read, and `bram` that it reads and writes (b, 8 of 32).
// c[i] is the lower byte of a[i] + a[18 - i], and the two lower bytes of b[i] get a[i] added.
`timescale 1 ns / 1 ps
module hls_blocks (
        ap_clk, ap_rst, ap_start, ap_done, ap_idle, ap_ready,
        a_address0, a_ce0, a_q0, a_address1, a_ce1, a_q1,
        b_Addr_A, b_EN_A, b_WEN_A, b_Din_A, b_Dout_A, b_Clk_A, b_Rst_A,
        c_address0, c_ce0, c_we0, c_d0, c_q0
);

input   ap_clk;
input   ap_rst;
input   ap_start;
output  ap_done;
output  ap_idle;
output  ap_ready;
output  [4:0] a_address0;
output  a_ce0;
input   [11:0] a_q0;
output  [4:0] a_address1;
output  a_ce1;
input   [11:0] a_q1;
output  [31:0] b_Addr_A;
output  b_EN_A;
output  [3:0] b_WEN_A;
output  [31:0] b_Din_A;
input   [31:0] b_Dout_A;
output  b_Clk_A;
output  b_Rst_A;
output  [4:0] c_address0;
output  c_ce0;
output  c_we0;
output  [7:0] c_d0;
input   [7:0] c_q0;

parameter ap_ST_idle = 2'd0, ap_ST_ask = 2'd1, ap_ST_put = 2'd2, ap_ST_done = 2'd3;

reg     [1:0] ap_CS_fsm;
reg     [4:0] i;

always @ (posedge ap_clk) begin
    if (ap_rst == 1'b1) begin
        ap_CS_fsm <= ap_ST_idle;
    end else begin
        case (ap_CS_fsm)
            ap_ST_idle: begin
                i <= 5'd0;
                if (ap_start) ap_CS_fsm <= ap_ST_ask;
            end
            ap_ST_ask: ap_CS_fsm <= ap_ST_put;
            ap_ST_put: begin
                i <= i + 5'd1;
                ap_CS_fsm <= (i == 5'd18) ? ap_ST_done : ap_ST_ask;
            end
            default: ap_CS_fsm <= ap_ST_idle;
        endcase
    end
end

wire    asks = ap_CS_fsm == ap_ST_ask;
wire    puts = ap_CS_fsm == ap_ST_put;
wire    [31:0] sum = b_Dout_A + {20'd0, a_q0};

assign ap_done = ap_CS_fsm == ap_ST_done;
assign ap_ready = ap_done;
assign ap_idle = ap_CS_fsm == ap_ST_idle && !ap_start;
assign a_address0 = i;
assign a_ce0 = asks;
assign a_address1 = 5'd18 - i;
assign a_ce1 = asks;
assign b_Addr_A = {25'd0, i, 2'd0};
assign b_EN_A = (asks || puts) && i < 5'd8;
assign b_WEN_A = puts ? 4'd3 : 4'd0;
assign b_Din_A = sum;
assign b_Clk_A = ap_clk;
assign b_Rst_A = ap_rst;
assign c_address0 = i;
assign c_ce0 = puts;
assign c_we0 = puts;
assign c_d0 = a_q0[7:0] + a_q1[7:0];

endmodule
