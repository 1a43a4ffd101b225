// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Counts in steps of `step`, for ever. Block-level protocol: ap_ctrl_none, so no control register.
//
// 0x10 step, 0x18 the sum (read only)
`timescale 1 ns / 1 ps
module hls_free (
  input  wire        ap_clk,
  input  wire        ap_rst_n,
  input  wire [5:0]  s_axi_control_AWADDR,
  input  wire        s_axi_control_AWVALID,
  output wire        s_axi_control_AWREADY,
  input  wire [31:0] s_axi_control_WDATA,
  input  wire [3:0]  s_axi_control_WSTRB,
  input  wire        s_axi_control_WVALID,
  output wire        s_axi_control_WREADY,
  output wire [1:0]  s_axi_control_BRESP,
  output wire        s_axi_control_BVALID,
  input  wire        s_axi_control_BREADY,
  input  wire [5:0]  s_axi_control_ARADDR,
  input  wire        s_axi_control_ARVALID,
  output wire        s_axi_control_ARREADY,
  output wire [31:0] s_axi_control_RDATA,
  output wire [1:0]  s_axi_control_RRESP,
  output wire        s_axi_control_RVALID,
  input  wire        s_axi_control_RREADY
);

  reg [1:0]  wstate;
  reg        rstate;
  reg [5:0]  waddr;
  reg [31:0] step, sum, rdata;
  wire [31:0] wmask = {{8{s_axi_control_WSTRB[3]}}, {8{s_axi_control_WSTRB[2]}}, {8{s_axi_control_WSTRB[1]}},
                       {8{s_axi_control_WSTRB[0]}}};

  initial begin
    #0 wstate = 2'd0;
    #0 rstate = 1'b0;
  end

  assign s_axi_control_AWREADY = (wstate == 2'd0);
  assign s_axi_control_WREADY  = (wstate == 2'd1);
  assign s_axi_control_BVALID  = (wstate == 2'd2);
  assign s_axi_control_BRESP   = 2'b00;
  assign s_axi_control_ARREADY = (rstate == 1'b0);
  assign s_axi_control_RVALID  = (rstate == 1'b1);
  assign s_axi_control_RDATA   = rdata;
  assign s_axi_control_RRESP   = 2'b00;

  always @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      wstate <= 2'd0;
      rstate <= 1'b0;
      step   <= 32'd0;
      sum    <= 32'd0;
    end else begin
      sum <= sum + step;
      case (wstate)
        2'd0: if (s_axi_control_AWVALID) begin
          waddr  <= s_axi_control_AWADDR;
          wstate <= 2'd1;
        end
        2'd1: if (s_axi_control_WVALID) begin
          wstate <= 2'd2;
          if (waddr == 6'h10) step <= (s_axi_control_WDATA & wmask) | (step & ~wmask);
        end
        default: if (s_axi_control_BREADY) wstate <= 2'd0;
      endcase
      if (rstate == 1'b0 && s_axi_control_ARVALID) begin
        rstate <= 1'b1;
        case (s_axi_control_ARADDR)
          6'h10:   rdata <= step;
          6'h18:   rdata <= sum;
          default: rdata <= 32'd0;
        endcase
      end else if (rstate == 1'b1 && s_axi_control_RREADY) begin
        rstate <= 1'b0;
      end
    end
  end

endmodule
