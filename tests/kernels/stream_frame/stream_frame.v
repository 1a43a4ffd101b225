// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Takes a frame of 600 beats of 16 bits, and sends the sums of its four quarters, in the shape of Vitis HLS output. Its port has a
// register slice, as those of HLS have: two beats beyond the frame are taken before it knows that it needs none.
`timescale 1 ns / 1 ps
module stream_frame (
        ap_clk, ap_rst, ap_start, ap_done, ap_idle, ap_ready,
        frame_TDATA, frame_TVALID, frame_TREADY,
        sums_TDATA, sums_TVALID, sums_TREADY
);

input   ap_clk;
input   ap_rst;
input   ap_start;
output  ap_done;
output  ap_idle;
output  ap_ready;
input   [15:0] frame_TDATA;
input   frame_TVALID;
output  frame_TREADY;
output  [31:0] sums_TDATA;
output  sums_TVALID;
input   sums_TREADY;

parameter ap_ST_idle = 2'd0, ap_ST_take = 2'd1, ap_ST_send = 2'd2, ap_ST_done = 2'd3;

reg     [1:0] ap_CS_fsm;
reg     [9:0] i;
reg     [7:0] beats;
reg     [31:0] sum;
reg     [15:0] slice [0:1];
reg     [1:0] held;
wire    needs = ap_CS_fsm == ap_ST_take && held != 2'd0;
wire    takes = frame_TVALID && frame_TREADY;

always @ (posedge ap_clk) begin
    if (ap_rst == 1'b1) begin
        ap_CS_fsm <= ap_ST_idle;
        held <= 2'd0;
    end else begin
        held <= held + {1'b0, takes} - {1'b0, needs};
        if (needs) slice[0] <= slice[1];
        if (takes) slice[held[0] && !needs] <= frame_TDATA;
        case (ap_CS_fsm)
            ap_ST_idle: begin
                i <= 10'd0;
                beats <= 8'd0;
                sum <= 32'd0;
                if (ap_start) ap_CS_fsm <= ap_ST_take;
            end
            ap_ST_take: if (needs) begin
                sum <= sum + slice[0];
                i <= i + 10'd1;
                beats <= beats + 8'd1;
                if (beats == 8'd149) ap_CS_fsm <= ap_ST_send;
            end
            ap_ST_send: if (sums_TREADY) begin
                sum <= 32'd0;
                beats <= 8'd0;
                ap_CS_fsm <= (i == 10'd600) ? ap_ST_done : ap_ST_take;
            end
            default: ap_CS_fsm <= ap_ST_idle;
        endcase
    end
end

assign ap_done = ap_CS_fsm == ap_ST_done;
assign ap_ready = ap_done;
assign ap_idle = ap_CS_fsm == ap_ST_idle && !ap_start;
assign frame_TREADY = held != 2'd2;
assign sums_TDATA = sum;
assign sums_TVALID = ap_CS_fsm == ap_ST_send;

endmodule
