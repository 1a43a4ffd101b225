// Ports of a primitive, for checks without the vendor's tools, which have their own; outputs are 0.
// verilator lint_off UNUSEDSIGNAL
// verilator lint_off DECLFILENAME
/// The processing system of a Zynq UltraScale+: the ports that are used (UG1085).
module PS8 (
  output wire [95:0] EMIOGPIOO,
  output wire [39:0] MAXIGP0ARADDR,
  output wire [1:0] MAXIGP0ARBURST,
  output wire [15:0] MAXIGP0ARID,
  output wire [7:0] MAXIGP0ARLEN,
  output wire [2:0] MAXIGP0ARSIZE,
  output wire MAXIGP0ARVALID,
  output wire [39:0] MAXIGP0AWADDR,
  output wire [1:0] MAXIGP0AWBURST,
  output wire [15:0] MAXIGP0AWID,
  output wire [7:0] MAXIGP0AWLEN,
  output wire [2:0] MAXIGP0AWSIZE,
  output wire MAXIGP0AWVALID,
  output wire MAXIGP0BREADY,
  output wire MAXIGP0RREADY,
  output wire [127:0] MAXIGP0WDATA,
  output wire MAXIGP0WLAST,
  output wire [15:0] MAXIGP0WSTRB,
  output wire MAXIGP0WVALID,
  output wire [3:0] PLCLK,
  output wire SAXIGP2ARREADY,
  output wire SAXIGP2AWREADY,
  output wire [5:0] SAXIGP2BID,
  output wire [1:0] SAXIGP2BRESP,
  output wire SAXIGP2BVALID,
  output wire [127:0] SAXIGP2RDATA,
  output wire [5:0] SAXIGP2RID,
  output wire SAXIGP2RLAST,
  output wire [1:0] SAXIGP2RRESP,
  output wire SAXIGP2RVALID,
  output wire SAXIGP2WREADY,
  input  wire MAXIGP0ACLK,
  input  wire MAXIGP0ARREADY,
  input  wire MAXIGP0AWREADY,
  input  wire [15:0] MAXIGP0BID,
  input  wire [1:0] MAXIGP0BRESP,
  input  wire MAXIGP0BVALID,
  input  wire [127:0] MAXIGP0RDATA,
  input  wire [15:0] MAXIGP0RID,
  input  wire MAXIGP0RLAST,
  input  wire [1:0] MAXIGP0RRESP,
  input  wire MAXIGP0RVALID,
  input  wire MAXIGP0WREADY,
  input  wire [7:0] PLPSIRQ0,
  input  wire [48:0] SAXIGP2ARADDR,
  input  wire [1:0] SAXIGP2ARBURST,
  input  wire [3:0] SAXIGP2ARCACHE,
  input  wire [5:0] SAXIGP2ARID,
  input  wire [7:0] SAXIGP2ARLEN,
  input  wire SAXIGP2ARLOCK,
  input  wire [2:0] SAXIGP2ARPROT,
  input  wire [3:0] SAXIGP2ARQOS,
  input  wire [2:0] SAXIGP2ARSIZE,
  input  wire SAXIGP2ARUSER,
  input  wire SAXIGP2ARVALID,
  input  wire [48:0] SAXIGP2AWADDR,
  input  wire [1:0] SAXIGP2AWBURST,
  input  wire [3:0] SAXIGP2AWCACHE,
  input  wire [5:0] SAXIGP2AWID,
  input  wire [7:0] SAXIGP2AWLEN,
  input  wire SAXIGP2AWLOCK,
  input  wire [2:0] SAXIGP2AWPROT,
  input  wire [3:0] SAXIGP2AWQOS,
  input  wire [2:0] SAXIGP2AWSIZE,
  input  wire SAXIGP2AWUSER,
  input  wire SAXIGP2AWVALID,
  input  wire SAXIGP2BREADY,
  input  wire SAXIGP2RCLK,
  input  wire SAXIGP2RREADY,
  input  wire SAXIGP2WCLK,
  input  wire [127:0] SAXIGP2WDATA,
  input  wire SAXIGP2WLAST,
  input  wire [15:0] SAXIGP2WSTRB,
  input  wire SAXIGP2WVALID
);
  assign EMIOGPIOO = '0;
  assign MAXIGP0ARADDR = '0;
  assign MAXIGP0ARBURST = '0;
  assign MAXIGP0ARID = '0;
  assign MAXIGP0ARLEN = '0;
  assign MAXIGP0ARSIZE = '0;
  assign MAXIGP0ARVALID = '0;
  assign MAXIGP0AWADDR = '0;
  assign MAXIGP0AWBURST = '0;
  assign MAXIGP0AWID = '0;
  assign MAXIGP0AWLEN = '0;
  assign MAXIGP0AWSIZE = '0;
  assign MAXIGP0AWVALID = '0;
  assign MAXIGP0BREADY = '0;
  assign MAXIGP0RREADY = '0;
  assign MAXIGP0WDATA = '0;
  assign MAXIGP0WLAST = '0;
  assign MAXIGP0WSTRB = '0;
  assign MAXIGP0WVALID = '0;
  assign PLCLK = '0;
  assign SAXIGP2ARREADY = '0;
  assign SAXIGP2AWREADY = '0;
  assign SAXIGP2BID = '0;
  assign SAXIGP2BRESP = '0;
  assign SAXIGP2BVALID = '0;
  assign SAXIGP2RDATA = '0;
  assign SAXIGP2RID = '0;
  assign SAXIGP2RLAST = '0;
  assign SAXIGP2RRESP = '0;
  assign SAXIGP2RVALID = '0;
  assign SAXIGP2WREADY = '0;
endmodule
