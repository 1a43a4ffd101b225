// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Replaces each byte of `count` words by table[byte ^ key]. Block-level protocol: ap_ctrl_chain.
`timescale 1 ns / 1 ps
`include "hls_table_flow.vh"
(* CORE_GENERATION_INFO = "hls_table" *)
module hls_table (
  ap_clk, ap_rst_n,
  m_axi_gmem_AWVALID, m_axi_gmem_AWREADY, m_axi_gmem_AWADDR, m_axi_gmem_AWLEN, m_axi_gmem_AWSIZE, m_axi_gmem_AWBURST,
  m_axi_gmem_WVALID, m_axi_gmem_WREADY, m_axi_gmem_WDATA, m_axi_gmem_WSTRB, m_axi_gmem_WLAST,
  m_axi_gmem_ARVALID, m_axi_gmem_ARREADY, m_axi_gmem_ARADDR, m_axi_gmem_ARLEN, m_axi_gmem_ARSIZE, m_axi_gmem_ARBURST,
  m_axi_gmem_RVALID, m_axi_gmem_RREADY, m_axi_gmem_RDATA, m_axi_gmem_RLAST, m_axi_gmem_BVALID, m_axi_gmem_BREADY,
  s_axi_control_AWVALID, s_axi_control_AWREADY, s_axi_control_AWADDR, s_axi_control_WVALID, s_axi_control_WREADY,
  s_axi_control_WDATA, s_axi_control_WSTRB, s_axi_control_ARVALID, s_axi_control_ARREADY, s_axi_control_ARADDR,
  s_axi_control_RVALID, s_axi_control_RREADY, s_axi_control_RDATA, s_axi_control_RRESP, s_axi_control_BVALID,
  s_axi_control_BREADY, s_axi_control_BRESP, interrupt
);

parameter ap_ST_fsm_state1 = 8'd1;
parameter ap_ST_fsm_state2 = 8'd2;
parameter ap_ST_fsm_state3 = 8'd4;
parameter ap_ST_fsm_state4 = 8'd8;
parameter ap_ST_fsm_state5 = 8'd16;
parameter ap_ST_fsm_state6 = 8'd32;
parameter ap_ST_fsm_state7 = 8'd64;
parameter ap_ST_fsm_state8 = 8'd128;

input   ap_clk;
input   ap_rst_n;
output   m_axi_gmem_AWVALID;
input   m_axi_gmem_AWREADY;
output  [63:0] m_axi_gmem_AWADDR;
output  [7:0] m_axi_gmem_AWLEN;
output  [2:0] m_axi_gmem_AWSIZE;
output  [1:0] m_axi_gmem_AWBURST;
output   m_axi_gmem_WVALID;
input   m_axi_gmem_WREADY;
output  [63:0] m_axi_gmem_WDATA;
output  [7:0] m_axi_gmem_WSTRB;
output   m_axi_gmem_WLAST;
output   m_axi_gmem_ARVALID;
input   m_axi_gmem_ARREADY;
output  [63:0] m_axi_gmem_ARADDR;
output  [7:0] m_axi_gmem_ARLEN;
output  [2:0] m_axi_gmem_ARSIZE;
output  [1:0] m_axi_gmem_ARBURST;
input   m_axi_gmem_RVALID;
output   m_axi_gmem_RREADY;
input  [63:0] m_axi_gmem_RDATA;
input   m_axi_gmem_RLAST;
input   m_axi_gmem_BVALID;
output   m_axi_gmem_BREADY;
input   s_axi_control_AWVALID;
output   s_axi_control_AWREADY;
input  [5:0] s_axi_control_AWADDR;
input   s_axi_control_WVALID;
output   s_axi_control_WREADY;
input  [31:0] s_axi_control_WDATA;
input  [3:0] s_axi_control_WSTRB;
input   s_axi_control_ARVALID;
output   s_axi_control_ARREADY;
input  [5:0] s_axi_control_ARADDR;
output   s_axi_control_RVALID;
input   s_axi_control_RREADY;
output  [31:0] s_axi_control_RDATA;
output  [1:0] s_axi_control_RRESP;
output   s_axi_control_BVALID;
input   s_axi_control_BREADY;
output  [1:0] s_axi_control_BRESP;
output   interrupt;

 reg    ap_rst_n_inv;
wire    ap_start;
reg    ap_done;
reg    ap_idle;
reg    ap_ready;
wire    ap_continue;
reg    ap_done_reg;
(* fsm_encoding = "none" *) reg   [7:0] ap_CS_fsm;
wire   [63:0] in_r;
wire   [63:0] out_r;
wire   [31:0] count;
wire   [31:0] key;
reg   [31:0] i_fu_70;
reg   [2:0] byte;
reg   [`HLS_TABLE_WORD_BITS-1:0] do;
wire   [7:0] bit;
wire   [7:0] table_q0;
reg    table_ce0;
reg   [7:0] ap_NS_fsm;
wire    icmp_ln9_fu_91_p2;

// power-on initialization
initial begin
#0 ap_done_reg = 1'b0;
#0 ap_CS_fsm = 8'd1;
end

hls_table_sbox_rom #(
    .DataWidth( 8 ),
    .AddressRange( `HLS_TABLE_ENTRIES ),
    .AddressWidth( 8 ))
table_U(
    .clk(ap_clk),
    .reset(ap_rst_n_inv),
    .address0(bit),
    .ce0(table_ce0),
    .q0(table_q0)
);

hls_control_s_axi #(
    .C_S_AXI_ADDR_WIDTH( 6 ),
    .C_S_AXI_DATA_WIDTH( 32 ),
    .CHAIN( 1 ))
control_s_axi_U(
    .AWVALID(s_axi_control_AWVALID),
    .AWREADY(s_axi_control_AWREADY),
    .AWADDR(s_axi_control_AWADDR),
    .WVALID(s_axi_control_WVALID),
    .WREADY(s_axi_control_WREADY),
    .WDATA(s_axi_control_WDATA),
    .WSTRB(s_axi_control_WSTRB),
    .ARVALID(s_axi_control_ARVALID),
    .ARREADY(s_axi_control_ARREADY),
    .ARADDR(s_axi_control_ARADDR),
    .RVALID(s_axi_control_RVALID),
    .RREADY(s_axi_control_RREADY),
    .RDATA(s_axi_control_RDATA),
    .RRESP(s_axi_control_RRESP),
    .BVALID(s_axi_control_BVALID),
    .BREADY(s_axi_control_BREADY),
    .BRESP(s_axi_control_BRESP),
    .ACLK(ap_clk),
    .ARESET(ap_rst_n_inv),
    .ACLK_EN(1'b1),
    .in_r(in_r),
    .out_r(out_r),
    .count(count),
    .key(key),
    .ap_start(ap_start),
    .interrupt(interrupt),
    .ap_ready(ap_ready),
    .ap_done(ap_done),
    .ap_continue(ap_continue),
    .ap_idle(ap_idle)
);

always @ (posedge ap_clk) begin
    if (ap_rst_n_inv == 1'b1) begin
        ap_CS_fsm <= ap_ST_fsm_state1;
    end else begin
        ap_CS_fsm <= ap_NS_fsm;
    end
end

always @ (posedge ap_clk) begin
    if (ap_rst_n_inv == 1'b1) begin
        ap_done_reg <= 1'b0;
    end else begin
        if ((ap_continue == 1'b1)) begin
            ap_done_reg <= 1'b0;
        end else if (((1'b1 == ap_CS_fsm[1]) & (icmp_ln9_fu_91_p2 == 1'b1))) begin
            ap_done_reg <= 1'b1;
        end
    end
end

always @ (posedge ap_clk) begin
    if (((1'b1 == ap_CS_fsm[0]) & (ap_start == 1'b1) & (ap_done_reg == 1'b0))) begin
        i_fu_70 <= 32'd0;
    end else if (((1'b1 == ap_CS_fsm[7]) & (m_axi_gmem_BVALID == 1'b1))) begin
        i_fu_70 <= (i_fu_70 + 32'd1);
    end
end

always @ (posedge ap_clk) begin
    if (((1'b1 == ap_CS_fsm[2]) & (m_axi_gmem_RVALID == 1'b1))) begin
        do <= m_axi_gmem_RDATA;
        byte <= 3'd0;
    end else if ((1'b1 == ap_CS_fsm[4])) begin
        do <= {{table_q0}, {do[63:8]}};
        byte <= (byte + 3'd1);
    end
end

always @ (*) begin
    case (ap_CS_fsm)
        ap_ST_fsm_state1 : begin
            if (((ap_start == 1'b1) & (ap_done_reg == 1'b0))) begin
                ap_NS_fsm = ap_ST_fsm_state2;
            end else begin
                ap_NS_fsm = ap_ST_fsm_state1;
            end
        end
        ap_ST_fsm_state2 : begin
            if ((icmp_ln9_fu_91_p2 == 1'b1)) begin
                ap_NS_fsm = ap_ST_fsm_state1;
            end else if ((m_axi_gmem_ARREADY == 1'b1)) begin
                ap_NS_fsm = ap_ST_fsm_state3;
            end else begin
                ap_NS_fsm = ap_ST_fsm_state2;
            end
        end
        ap_ST_fsm_state3 : begin
            if ((m_axi_gmem_RVALID == 1'b1)) begin
                ap_NS_fsm = ap_ST_fsm_state4;
            end else begin
                ap_NS_fsm = ap_ST_fsm_state3;
            end
        end
        ap_ST_fsm_state4 : begin
            ap_NS_fsm = ap_ST_fsm_state5;
        end
        ap_ST_fsm_state5 : begin
            if ((byte == `HLS_TABLE_LAST_BYTE)) begin
                ap_NS_fsm = ap_ST_fsm_state6;
            end else begin
                ap_NS_fsm = ap_ST_fsm_state4;
            end
        end
        ap_ST_fsm_state6 : begin
            if ((m_axi_gmem_AWREADY == 1'b1)) begin
                ap_NS_fsm = ap_ST_fsm_state7;
            end else begin
                ap_NS_fsm = ap_ST_fsm_state6;
            end
        end
        ap_ST_fsm_state7 : begin
            if ((m_axi_gmem_WREADY == 1'b1)) begin
                ap_NS_fsm = ap_ST_fsm_state8;
            end else begin
                ap_NS_fsm = ap_ST_fsm_state7;
            end
        end
        ap_ST_fsm_state8 : begin
            if ((m_axi_gmem_BVALID == 1'b1)) begin
                ap_NS_fsm = ap_ST_fsm_state2;
            end else begin
                ap_NS_fsm = ap_ST_fsm_state8;
            end
        end
        default : begin
            ap_NS_fsm = 'bx;
        end
    endcase
end

always @ (*) begin
    if (((1'b1 == ap_CS_fsm[1]) & (icmp_ln9_fu_91_p2 == 1'b1))) begin
        ap_done = 1'b1;
        ap_ready = 1'b1;
    end else begin
        ap_done = ap_done_reg;
        ap_ready = 1'b0;
    end
end

always @ (*) begin
    if (((1'b1 == ap_CS_fsm[0]) & (ap_start == 1'b0) & (ap_done_reg == 1'b0))) begin
        ap_idle = 1'b1;
    end else begin
        ap_idle = 1'b0;
    end
end

always @ (*) begin
    table_ce0 = ap_CS_fsm[3];
end

always @ (*) begin
    ap_rst_n_inv = ~ap_rst_n;
end

assign bit = (do[7:0] ^ key[7:0]);
assign icmp_ln9_fu_91_p2 = ((i_fu_70 == count) ? 1'b1 : 1'b0);
assign m_axi_gmem_ARVALID = ((1'b1 == ap_CS_fsm[1]) & (icmp_ln9_fu_91_p2 == 1'b0));
assign m_axi_gmem_ARADDR = (in_r + {{29'd0}, {i_fu_70}, {3'd0}});
assign m_axi_gmem_ARLEN = 8'd0;
assign m_axi_gmem_ARSIZE = 3'd3;
assign m_axi_gmem_ARBURST = 2'd1;
assign m_axi_gmem_RREADY = ap_CS_fsm[2];
assign m_axi_gmem_AWVALID = ap_CS_fsm[5];
assign m_axi_gmem_AWADDR = (out_r + {{29'd0}, {i_fu_70}, {3'd0}});
assign m_axi_gmem_AWLEN = 8'd0;
assign m_axi_gmem_AWSIZE = 3'd3;
assign m_axi_gmem_AWBURST = 2'd1;
assign m_axi_gmem_WVALID = ap_CS_fsm[6];
assign m_axi_gmem_WDATA = do;
assign m_axi_gmem_WSTRB = 8'hff;
assign m_axi_gmem_WLAST = 1'b1;
assign m_axi_gmem_BREADY = ap_CS_fsm[7];

endmodule
