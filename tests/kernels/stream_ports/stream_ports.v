// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Takes 64 words of 32 bits and sends their running sums, each with the upper bits of `bias` added; started and ended by ports
// (ap_ctrl_chain). In the shape of Vitis HLS output without an s_axilite interface: a start is held until ap_ready, done until
// ap_continue. Two arrays have a port for each element (ap_none, ap_vld); what goes in comes out with its number in front. `fall` is `lift`
// with the other sign.
`timescale 1 ns / 1 ps
module stream_ports (
        ap_clk, ap_rst, ap_start, ap_done, ap_continue, ap_idle, ap_ready,
        in_r_TDATA, in_r_TVALID, in_r_TREADY,
        out_r_TDATA, out_r_TVALID, out_r_TREADY,
        tap_1_0, tap_0_1, bias, tap_0_0, tap_1_1,
        last_0, last_1, last_1_ap_vld, last_2, last_3, last_0_ap_vld, last_2_ap_vld, last_3_ap_vld,
        lift, fall
);

input   ap_clk;
input   ap_rst;
input   ap_start;
output  ap_done;
input   ap_continue;
output  ap_idle;
output  ap_ready;
input   [31:0] in_r_TDATA;
input   in_r_TVALID;
output  in_r_TREADY;
output  [31:0] out_r_TDATA;
output  out_r_TVALID;
input   out_r_TREADY;
input   [39:0] bias;
input   [11:0] tap_0_0, tap_0_1, tap_1_0, tap_1_1;
input   signed [11:0] lift;
output  signed [11:0] fall;
output  [15:0] last_0, last_1, last_2, last_3;
output  last_0_ap_vld, last_1_ap_vld, last_2_ap_vld, last_3_ap_vld;

parameter ap_ST_idle = 2'd0, ap_ST_take = 2'd1, ap_ST_send = 2'd2, ap_ST_done = 2'd3;

reg     [1:0] ap_CS_fsm;
reg     [6:0] i;
reg     [31:0] sum;

always @ (posedge ap_clk) begin
    if (ap_rst == 1'b1) begin
        ap_CS_fsm <= ap_ST_idle;
    end else begin
        case (ap_CS_fsm)
            ap_ST_idle: begin
                i <= 7'd0;
                sum <= 32'd0;
                if (ap_start) ap_CS_fsm <= ap_ST_take;
            end
            ap_ST_take: if (in_r_TVALID) begin
                sum <= sum + in_r_TDATA;
                i <= i + 7'd1;
                ap_CS_fsm <= ap_ST_send;
            end
            ap_ST_send: if (out_r_TREADY) ap_CS_fsm <= (i == 7'd64) ? ap_ST_done : ap_ST_take;
            default: if (ap_continue) ap_CS_fsm <= ap_ST_idle;
        endcase
    end
end

assign ap_done = ap_CS_fsm == ap_ST_done;
assign ap_ready = ap_CS_fsm == ap_ST_done;
assign ap_idle = ap_CS_fsm == ap_ST_idle && !ap_start;
assign in_r_TREADY = ap_CS_fsm == ap_ST_take;
assign out_r_TDATA = sum + bias[39:8];
assign fall = -lift;
assign last_0 = {4'd0, tap_0_0};
assign last_1 = {4'd1, tap_0_1};
assign last_2 = {4'd2, tap_1_0};
assign last_3 = {4'd3, tap_1_1};
assign {last_0_ap_vld, last_1_ap_vld, last_2_ap_vld, last_3_ap_vld} = {4{ap_done}};
assign out_r_TVALID = ap_CS_fsm == ap_ST_send;

endmodule
