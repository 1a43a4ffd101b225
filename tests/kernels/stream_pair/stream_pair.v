// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Two streams in, two out, without a control of its own (ap_ctrl_none). Each beat is one byte of `gain` and one word of `data`:
// `scaled` is the lowest 24 bits of their product, with TLAST where `data` has it; `pairs` is every eighth beat 512 bits of
// eight words, without TLAST. In the shape of Vitis HLS output.
`timescale 1 ns / 1 ps
(* CORE_GENERATION_INFO="stream_pair,hls_ip_2023_1" *)
module stream_pair (
        ap_clk,
        ap_rst_n,
        gain_TDATA, gain_TVALID, gain_TREADY,
        data_r_TDATA, data_r_TVALID, data_r_TREADY, data_r_TKEEP, data_r_TSTRB, data_r_TLAST, data_r_TUSER, data_r_TID, data_r_TDEST,
        scaled_TDATA, scaled_TVALID, scaled_TREADY, scaled_TKEEP, scaled_TSTRB, scaled_TLAST, scaled_TUSER, scaled_TID, scaled_TDEST,
        pairs_TDATA, pairs_TVALID, pairs_TREADY
);

input   ap_clk;
input   ap_rst_n;
input   [7:0] gain_TDATA;
input   gain_TVALID;
output  gain_TREADY;
input   [63:0] data_r_TDATA;
input   data_r_TVALID;
output  data_r_TREADY;
input   [7:0] data_r_TKEEP;
input   [7:0] data_r_TSTRB;
input   [0:0] data_r_TLAST;
input   [0:0] data_r_TUSER;
input   [0:0] data_r_TID;
input   [0:0] data_r_TDEST;
output  [23:0] scaled_TDATA;
output  scaled_TVALID;
input   scaled_TREADY;
output  [2:0] scaled_TKEEP;
output  [2:0] scaled_TSTRB;
output  [0:0] scaled_TLAST;
output  [0:0] scaled_TUSER;
output  [0:0] scaled_TID;
output  [0:0] scaled_TDEST;
output  [511:0] pairs_TDATA;
output  pairs_TVALID;
input   pairs_TREADY;

reg     [23:0] product;
reg     product_vld, product_last;
reg     [511:0] words;
reg     words_vld;
reg     [2:0] count;
wire    go = gain_TVALID & data_r_TVALID & (~product_vld | scaled_TREADY) & (~words_vld | pairs_TREADY);
wire    [71:0] full = gain_TDATA * data_r_TDATA;

initial begin
#0 product_vld = 1'b0;
#0 words_vld = 1'b0;
#0 count = 3'd0;
end

always @ (posedge ap_clk) begin
    if (ap_rst_n == 1'b0) begin
        product_vld <= 1'b0;
        words_vld <= 1'b0;
        count <= 3'd0;
    end else begin
        if (go) begin
            product <= full[23:0];
            product_last <= data_r_TLAST;
            words <= {data_r_TDATA, words[511:64]};
            count <= count + 3'd1;
        end
        if (go) product_vld <= 1'b1;
        else if (scaled_TREADY) product_vld <= 1'b0;
        if (go & count == 3'd7) words_vld <= 1'b1;
        else if (pairs_TREADY) words_vld <= 1'b0;
    end
end

assign gain_TREADY = go;
assign data_r_TREADY = go;
assign scaled_TDATA = product;
assign scaled_TVALID = product_vld;
assign scaled_TKEEP = 3'd7;
assign scaled_TSTRB = 3'd7;
assign scaled_TLAST = product_last;
assign scaled_TUSER = 1'd0;
assign scaled_TID = 1'd0;
assign scaled_TDEST = 1'd0;
assign pairs_TDATA = words;
assign pairs_TVALID = words_vld;

endmodule
