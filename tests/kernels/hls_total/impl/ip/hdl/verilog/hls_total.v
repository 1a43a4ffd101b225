// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// y[i] = x[i] + step for n words of 32 bits; returns their sum and tells the largest of x, 16 bits of it. In the shape of
// Vitis HLS output: x by a bundle of 32 bits in one burst, y by one of 128 bits, four words a beat (n a multiple of four).
`timescale 1 ns / 1 ps
(* CORE_GENERATION_INFO="hls_total,hls_ip_2022_2" *)
module hls_total (
        ap_clk,
        ap_rst_n,
        m_axi_gmem0_AWVALID, m_axi_gmem0_AWREADY, m_axi_gmem0_AWADDR, m_axi_gmem0_AWID, m_axi_gmem0_AWLEN, m_axi_gmem0_AWSIZE,
        m_axi_gmem0_AWBURST, m_axi_gmem0_AWLOCK, m_axi_gmem0_AWCACHE, m_axi_gmem0_AWPROT, m_axi_gmem0_AWQOS,
        m_axi_gmem0_AWREGION, m_axi_gmem0_AWUSER, m_axi_gmem0_WVALID, m_axi_gmem0_WREADY, m_axi_gmem0_WDATA,
        m_axi_gmem0_WSTRB, m_axi_gmem0_WLAST, m_axi_gmem0_WID, m_axi_gmem0_WUSER, m_axi_gmem0_ARVALID, m_axi_gmem0_ARREADY,
        m_axi_gmem0_ARADDR, m_axi_gmem0_ARID, m_axi_gmem0_ARLEN, m_axi_gmem0_ARSIZE, m_axi_gmem0_ARBURST,
        m_axi_gmem0_ARLOCK, m_axi_gmem0_ARCACHE, m_axi_gmem0_ARPROT, m_axi_gmem0_ARQOS, m_axi_gmem0_ARREGION,
        m_axi_gmem0_ARUSER, m_axi_gmem0_RVALID, m_axi_gmem0_RREADY, m_axi_gmem0_RDATA, m_axi_gmem0_RLAST, m_axi_gmem0_RID,
        m_axi_gmem0_RUSER, m_axi_gmem0_RRESP, m_axi_gmem0_BVALID, m_axi_gmem0_BREADY, m_axi_gmem0_BRESP, m_axi_gmem0_BID,
        m_axi_gmem0_BUSER,
        m_axi_gmem1_AWVALID, m_axi_gmem1_AWREADY, m_axi_gmem1_AWADDR, m_axi_gmem1_AWLEN, m_axi_gmem1_AWSIZE,
        m_axi_gmem1_AWBURST, m_axi_gmem1_WVALID, m_axi_gmem1_WREADY, m_axi_gmem1_WDATA, m_axi_gmem1_WSTRB,
        m_axi_gmem1_WLAST, m_axi_gmem1_BVALID, m_axi_gmem1_BREADY, m_axi_gmem1_BRESP,
        s_axi_control_AWVALID, s_axi_control_AWREADY, s_axi_control_AWADDR, s_axi_control_WVALID, s_axi_control_WREADY,
        s_axi_control_WDATA, s_axi_control_WSTRB, s_axi_control_ARVALID, s_axi_control_ARREADY, s_axi_control_ARADDR,
        s_axi_control_RVALID, s_axi_control_RREADY, s_axi_control_RDATA, s_axi_control_RRESP, s_axi_control_BVALID,
        s_axi_control_BREADY, s_axi_control_BRESP,
        interrupt
);

parameter    C_S_AXI_CONTROL_DATA_WIDTH = 32;
parameter    C_S_AXI_CONTROL_ADDR_WIDTH = 7;
parameter    C_M_AXI_GMEM0_DATA_WIDTH = 32;
parameter    C_M_AXI_GMEM1_DATA_WIDTH = 128;

input   ap_clk;
input   ap_rst_n;
output  m_axi_gmem0_AWVALID;
input   m_axi_gmem0_AWREADY;
output  [63:0] m_axi_gmem0_AWADDR;
output  [0:0] m_axi_gmem0_AWID;
output  [7:0] m_axi_gmem0_AWLEN;
output  [2:0] m_axi_gmem0_AWSIZE;
output  [1:0] m_axi_gmem0_AWBURST;
output  [1:0] m_axi_gmem0_AWLOCK;
output  [3:0] m_axi_gmem0_AWCACHE;
output  [2:0] m_axi_gmem0_AWPROT;
output  [3:0] m_axi_gmem0_AWQOS;
output  [3:0] m_axi_gmem0_AWREGION;
output  [0:0] m_axi_gmem0_AWUSER;
output  m_axi_gmem0_WVALID;
input   m_axi_gmem0_WREADY;
output  [C_M_AXI_GMEM0_DATA_WIDTH-1:0] m_axi_gmem0_WDATA;
output  [C_M_AXI_GMEM0_DATA_WIDTH/8-1:0] m_axi_gmem0_WSTRB;
output  m_axi_gmem0_WLAST;
output  [0:0] m_axi_gmem0_WID;
output  [0:0] m_axi_gmem0_WUSER;
output  m_axi_gmem0_ARVALID;
input   m_axi_gmem0_ARREADY;
output  [63:0] m_axi_gmem0_ARADDR;
output  [0:0] m_axi_gmem0_ARID;
output  [7:0] m_axi_gmem0_ARLEN;
output  [2:0] m_axi_gmem0_ARSIZE;
output  [1:0] m_axi_gmem0_ARBURST;
output  [1:0] m_axi_gmem0_ARLOCK;
output  [3:0] m_axi_gmem0_ARCACHE;
output  [2:0] m_axi_gmem0_ARPROT;
output  [3:0] m_axi_gmem0_ARQOS;
output  [3:0] m_axi_gmem0_ARREGION;
output  [0:0] m_axi_gmem0_ARUSER;
input   m_axi_gmem0_RVALID;
output  m_axi_gmem0_RREADY;
input   [C_M_AXI_GMEM0_DATA_WIDTH-1:0] m_axi_gmem0_RDATA;
input   m_axi_gmem0_RLAST;
input   [0:0] m_axi_gmem0_RID;
input   [0:0] m_axi_gmem0_RUSER;
input   [1:0] m_axi_gmem0_RRESP;
input   m_axi_gmem0_BVALID;
output  m_axi_gmem0_BREADY;
input   [1:0] m_axi_gmem0_BRESP;
input   [0:0] m_axi_gmem0_BID;
input   [0:0] m_axi_gmem0_BUSER;
output  m_axi_gmem1_AWVALID;
input   m_axi_gmem1_AWREADY;
output  [63:0] m_axi_gmem1_AWADDR;
output  [7:0] m_axi_gmem1_AWLEN;
output  [2:0] m_axi_gmem1_AWSIZE;
output  [1:0] m_axi_gmem1_AWBURST;
output  m_axi_gmem1_WVALID;
input   m_axi_gmem1_WREADY;
output  [C_M_AXI_GMEM1_DATA_WIDTH-1:0] m_axi_gmem1_WDATA;
output  [C_M_AXI_GMEM1_DATA_WIDTH/8-1:0] m_axi_gmem1_WSTRB;
output  m_axi_gmem1_WLAST;
input   m_axi_gmem1_BVALID;
output  m_axi_gmem1_BREADY;
input   [1:0] m_axi_gmem1_BRESP;
input   s_axi_control_AWVALID;
output  s_axi_control_AWREADY;
input   [C_S_AXI_CONTROL_ADDR_WIDTH-1:0] s_axi_control_AWADDR;
input   s_axi_control_WVALID;
output  s_axi_control_WREADY;
input   [C_S_AXI_CONTROL_DATA_WIDTH-1:0] s_axi_control_WDATA;
input   [C_S_AXI_CONTROL_DATA_WIDTH/8-1:0] s_axi_control_WSTRB;
input   s_axi_control_ARVALID;
output  s_axi_control_ARREADY;
input   [C_S_AXI_CONTROL_ADDR_WIDTH-1:0] s_axi_control_ARADDR;
output  s_axi_control_RVALID;
input   s_axi_control_RREADY;
output  [C_S_AXI_CONTROL_DATA_WIDTH-1:0] s_axi_control_RDATA;
output  [1:0] s_axi_control_RRESP;
output  s_axi_control_BVALID;
input   s_axi_control_BREADY;
output  [1:0] s_axi_control_BRESP;
output  interrupt;

parameter    ap_ST_idle = 3'd0, ap_ST_read = 3'd1, ap_ST_write = 3'd2, ap_ST_word = 3'd3, ap_ST_beat = 3'd4, ap_ST_answer = 3'd5, ap_ST_done = 3'd6;

reg     ap_rst_n_inv;
reg     [2:0] ap_CS_fsm;
reg     [31:0] i;
reg     [127:0] beat;
reg     [63:0] total;
reg     [15:0] largest;
wire    [63:0] x, y;
wire    [31:0] n;
wire    [7:0] step;
wire    ap_start, ap_continue;
wire    ap_done = ap_CS_fsm == ap_ST_done;
wire    ap_idle = ap_CS_fsm == ap_ST_idle && !ap_start;
wire    ap_ready = ap_done;
wire    [31:0] sum = m_axi_gmem0_RDATA + step;

initial begin
#0 ap_CS_fsm = 3'd0;
end

hls_total_control_s_axi control_s_axi_U (
    .ACLK(ap_clk), .ARESET(ap_rst_n_inv), .ACLK_EN(1'b1),
    .AWADDR(s_axi_control_AWADDR), .AWVALID(s_axi_control_AWVALID), .AWREADY(s_axi_control_AWREADY),
    .WDATA(s_axi_control_WDATA), .WSTRB(s_axi_control_WSTRB), .WVALID(s_axi_control_WVALID), .WREADY(s_axi_control_WREADY),
    .BRESP(s_axi_control_BRESP), .BVALID(s_axi_control_BVALID), .BREADY(s_axi_control_BREADY),
    .ARADDR(s_axi_control_ARADDR), .ARVALID(s_axi_control_ARVALID), .ARREADY(s_axi_control_ARREADY),
    .RDATA(s_axi_control_RDATA), .RRESP(s_axi_control_RRESP), .RVALID(s_axi_control_RVALID), .RREADY(s_axi_control_RREADY),
    .interrupt(interrupt), .ap_start(ap_start), .ap_done(ap_done), .ap_ready(ap_ready), .ap_continue(ap_continue),
    .ap_idle(ap_idle), .ap_return(total), .x(x), .y(y), .n(n), .step(step), .peak(largest), .peak_ap_vld(ap_done)
);

always @ (*) begin
    ap_rst_n_inv = ~ap_rst_n;
end

always @ (posedge ap_clk) begin
    if (ap_rst_n_inv == 1'b1) begin
        ap_CS_fsm <= ap_ST_idle;
    end else begin
        case (ap_CS_fsm)
            ap_ST_idle: begin
                i <= 32'd0;
                total <= 64'd0;
                largest <= 16'd0;
                if (ap_start) ap_CS_fsm <= (n == 32'd0) ? ap_ST_done : ap_ST_read;
            end
            ap_ST_read: if (m_axi_gmem0_ARREADY) ap_CS_fsm <= ap_ST_write;
            ap_ST_write: if (m_axi_gmem1_AWREADY) ap_CS_fsm <= ap_ST_word;
            ap_ST_word: if (m_axi_gmem0_RVALID) begin
                beat <= {sum, beat[127:32]};
                total <= total + sum;
                if (m_axi_gmem0_RDATA[15:0] > largest) largest <= m_axi_gmem0_RDATA[15:0];
                i <= i + 32'd1;
                if (i[1:0] == 2'd3) ap_CS_fsm <= ap_ST_beat;
            end
            ap_ST_beat: if (m_axi_gmem1_WREADY) ap_CS_fsm <= (i == n) ? ap_ST_answer : ap_ST_word;
            ap_ST_answer: if (m_axi_gmem1_BVALID) ap_CS_fsm <= ap_ST_done;
            default: if (ap_continue) ap_CS_fsm <= ap_ST_idle;
        endcase
    end
end

assign m_axi_gmem0_ARVALID = ap_CS_fsm == ap_ST_read;
assign m_axi_gmem0_ARADDR = x;
assign m_axi_gmem0_ARLEN = n - 32'd1;
assign m_axi_gmem0_ARSIZE = 3'd2;
assign m_axi_gmem0_ARBURST = 2'd1;
assign m_axi_gmem0_ARID = 1'd0;
assign m_axi_gmem0_ARLOCK = 2'd0;
assign m_axi_gmem0_ARCACHE = 4'd3;
assign m_axi_gmem0_ARPROT = 3'd0;
assign m_axi_gmem0_ARQOS = 4'd0;
assign m_axi_gmem0_ARREGION = 4'd0;
assign m_axi_gmem0_ARUSER = 1'd0;
assign m_axi_gmem0_RREADY = ap_CS_fsm == ap_ST_word;
assign m_axi_gmem0_AWVALID = 1'b0;
assign m_axi_gmem0_AWADDR = 64'd0;
assign m_axi_gmem0_AWID = 1'd0;
assign m_axi_gmem0_AWLEN = 8'd0;
assign m_axi_gmem0_AWSIZE = 3'd0;
assign m_axi_gmem0_AWBURST = 2'd0;
assign m_axi_gmem0_AWLOCK = 2'd0;
assign m_axi_gmem0_AWCACHE = 4'd0;
assign m_axi_gmem0_AWPROT = 3'd0;
assign m_axi_gmem0_AWQOS = 4'd0;
assign m_axi_gmem0_AWREGION = 4'd0;
assign m_axi_gmem0_AWUSER = 1'd0;
assign m_axi_gmem0_WVALID = 1'b0;
assign m_axi_gmem0_WDATA = 32'd0;
assign m_axi_gmem0_WSTRB = 4'd0;
assign m_axi_gmem0_WLAST = 1'b0;
assign m_axi_gmem0_WID = 1'd0;
assign m_axi_gmem0_WUSER = 1'd0;
assign m_axi_gmem0_BREADY = 1'b0;
assign m_axi_gmem1_AWVALID = ap_CS_fsm == ap_ST_write;
assign m_axi_gmem1_AWADDR = y;
assign m_axi_gmem1_AWLEN = (n >> 2) - 32'd1;
assign m_axi_gmem1_AWSIZE = 3'd4;
assign m_axi_gmem1_AWBURST = 2'd1;
assign m_axi_gmem1_WVALID = ap_CS_fsm == ap_ST_beat;
assign m_axi_gmem1_WDATA = beat;
assign m_axi_gmem1_WSTRB = 16'hffff;
assign m_axi_gmem1_WLAST = i == n;
assign m_axi_gmem1_BREADY = ap_CS_fsm == ap_ST_answer;

endmodule
