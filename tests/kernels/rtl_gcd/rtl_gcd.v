// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// The greatest common divisor of two numbers, with a control of its own: 0x00 go (bit 4), 0x04 state (bit 0 busy, bit 1 done,
// which a one clears that is written to it), 0x10 a, 0x14 b, 0x18 result. In the manner of an RTL designer's registers.
module rtl_gcd (
  input  wire        clk,
  input  wire        rst_n,
  input  wire [4:0]  s_axil_awaddr,
  input  wire        s_axil_awvalid,
  output wire        s_axil_awready,
  input  wire [31:0] s_axil_wdata,
  input  wire [3:0]  s_axil_wstrb,
  input  wire        s_axil_wvalid,
  output wire        s_axil_wready,
  output wire [1:0]  s_axil_bresp,
  output reg         s_axil_bvalid,
  input  wire        s_axil_bready,
  input  wire [4:0]  s_axil_araddr,
  input  wire        s_axil_arvalid,
  output wire        s_axil_arready,
  output reg  [31:0] s_axil_rdata,
  output wire [1:0]  s_axil_rresp,
  output reg         s_axil_rvalid,
  input  wire        s_axil_rready
);

  reg [31:0] a, b, x, y;
  reg busy, done;
  wire write = s_axil_awvalid && s_axil_wvalid && !s_axil_bvalid;
  wire read = s_axil_arvalid && !s_axil_rvalid;
  wire [31:0] mask = {{8{s_axil_wstrb[3]}}, {8{s_axil_wstrb[2]}}, {8{s_axil_wstrb[1]}}, {8{s_axil_wstrb[0]}}};

  assign s_axil_awready = write;
  assign s_axil_wready = write;
  assign s_axil_bresp = 2'd0;
  assign s_axil_arready = read;
  assign s_axil_rresp = 2'd0;

  always @(posedge clk) begin
    if (!rst_n) begin
      s_axil_bvalid <= 1'b0;
      s_axil_rvalid <= 1'b0;
      busy <= 1'b0;
      done <= 1'b0;
      a <= 32'd0;
      b <= 32'd0;
      x <= 32'd0;
      y <= 32'd0;
    end else begin
      if (write) s_axil_bvalid <= 1'b1;
      else if (s_axil_bready) s_axil_bvalid <= 1'b0;
      if (read) begin
        s_axil_rvalid <= 1'b1;
        case (s_axil_araddr[4:2])
          3'd1: s_axil_rdata <= {30'd0, done, busy};
          3'd4: s_axil_rdata <= a;
          3'd5: s_axil_rdata <= b;
          3'd6: s_axil_rdata <= x;
          default: s_axil_rdata <= 32'd0;
        endcase
      end else if (s_axil_rready) s_axil_rvalid <= 1'b0;
      if (busy) begin
        if (y == 32'd0) begin
          busy <= 1'b0;
          done <= 1'b1;
        end else if (x >= y) x <= x - y;
        else begin
          x <= y;
          y <= x;
        end
      end
      if (write) begin
        case (s_axil_awaddr[4:2])
          3'd0: if (s_axil_wdata[4] && !busy) begin
            busy <= 1'b1;
            x <= a;
            y <= b;
          end
          3'd1: if (s_axil_wdata[1]) done <= 1'b0;
          3'd4: a <= (a & ~mask) | (s_axil_wdata & mask);
          3'd5: b <= (b & ~mask) | (s_axil_wdata & mask);
          default: ;
        endcase
      end
    end
  end

endmodule
