// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// A kernel in the shape of HLS output that updates an array in memory where it lies: each of `n` words by `step`. Its bundle
// is called as HLS calls one of an argument `input`.
module hls_update (
  input ap_clk, input ap_rst_n, output interrupt,
  input s_axi_control_AWVALID, output s_axi_control_AWREADY, input [5:0] s_axi_control_AWADDR,
  input s_axi_control_WVALID, output s_axi_control_WREADY, input [31:0] s_axi_control_WDATA,
  input [3:0] s_axi_control_WSTRB, output reg s_axi_control_BVALID, input s_axi_control_BREADY,
  output [1:0] s_axi_control_BRESP, input s_axi_control_ARVALID, output s_axi_control_ARREADY,
  input [5:0] s_axi_control_ARADDR, output reg s_axi_control_RVALID, input s_axi_control_RREADY,
  output reg [31:0] s_axi_control_RDATA, output [1:0] s_axi_control_RRESP,
  output m_axi_input_r_ARVALID, input m_axi_input_r_ARREADY, output [63:0] m_axi_input_r_ARADDR,
  output [7:0] m_axi_input_r_ARLEN, output [2:0] m_axi_input_r_ARSIZE, output [1:0] m_axi_input_r_ARBURST,
  input m_axi_input_r_RVALID, output m_axi_input_r_RREADY, input [31:0] m_axi_input_r_RDATA,
  input m_axi_input_r_RLAST, input [1:0] m_axi_input_r_RRESP,
  output m_axi_input_r_AWVALID, input m_axi_input_r_AWREADY, output [63:0] m_axi_input_r_AWADDR,
  output [7:0] m_axi_input_r_AWLEN, output [2:0] m_axi_input_r_AWSIZE, output [1:0] m_axi_input_r_AWBURST,
  output m_axi_input_r_WVALID, input m_axi_input_r_WREADY, output [31:0] m_axi_input_r_WDATA,
  output [3:0] m_axi_input_r_WSTRB, output m_axi_input_r_WLAST,
  input m_axi_input_r_BVALID, output m_axi_input_r_BREADY, input [1:0] m_axi_input_r_BRESP
);

  // 0x00 : Control signals
  //        bit 0  - ap_start (Read/Write/COH)
  //        bit 1  - ap_done (Read/COR)
  //        bit 2  - ap_idle (Read)
  // 0x04 : Global Interrupt Enable Register
  // 0x08 : IP Interrupt Enable Register (Read/Write)
  // 0x0c : IP Interrupt Status Register (Read/TOW)
  // 0x10 : Data signal of data
  //        bit 31~0 - data[31:0] (Read/Write)
  // 0x14 : Data signal of data
  //        bit 31~0 - data[63:32] (Read/Write)
  // 0x1c : Data signal of n
  //        bit 31~0 - n[31:0] (Read/Write)
  // 0x24 : Data signal of step
  //        bit 31~0 - step[31:0] (Read/Write)

  localparam [2:0] IDLE = 0, ASK = 1, TAKE = 2, PUT = 3, SEND = 4, WAIT = 5, NEXT = 6;
  reg [2:0] state;
  reg [63:0] data;
  reg [31:0] n, step, at, word;
  reg start, done, gie, ier, isr;
  wire write = s_axi_control_AWVALID && s_axi_control_WVALID && !s_axi_control_BVALID;
  wire read = s_axi_control_ARVALID && !s_axi_control_RVALID;

  assign s_axi_control_AWREADY = write;
  assign s_axi_control_WREADY = write;
  assign s_axi_control_ARREADY = read;
  assign s_axi_control_BRESP = 2'd0;
  assign s_axi_control_RRESP = 2'd0;
  assign interrupt = gie && isr;
  assign m_axi_input_r_ARVALID = state == ASK;
  assign m_axi_input_r_AWVALID = state == PUT;
  assign m_axi_input_r_WVALID = state == SEND;
  assign m_axi_input_r_RREADY = state == TAKE;
  assign m_axi_input_r_BREADY = state == WAIT;
  assign m_axi_input_r_ARADDR = data + {30'd0, at, 2'd0};
  assign m_axi_input_r_AWADDR = data + {30'd0, at, 2'd0};
  assign m_axi_input_r_ARLEN = 8'd0;
  assign m_axi_input_r_AWLEN = 8'd0;
  assign m_axi_input_r_ARSIZE = 3'd2;
  assign m_axi_input_r_AWSIZE = 3'd2;
  assign m_axi_input_r_ARBURST = 2'd1;
  assign m_axi_input_r_AWBURST = 2'd1;
  assign m_axi_input_r_WDATA = word;
  assign m_axi_input_r_WSTRB = 4'hF;
  assign m_axi_input_r_WLAST = 1'b1;

  always @(posedge ap_clk) begin
    if (!ap_rst_n) begin
      {state, start, done, gie, ier, isr} <= 0;
      {data, n, step, at, word} <= 0;
      {s_axi_control_BVALID, s_axi_control_RVALID, s_axi_control_RDATA} <= 0;
    end else begin
      if (s_axi_control_BREADY) s_axi_control_BVALID <= 1'b0;
      if (write) begin
        s_axi_control_BVALID <= 1'b1;
        case (s_axi_control_AWADDR)
          6'h00: if (s_axi_control_WDATA[0]) start <= 1'b1;
          6'h04: gie <= s_axi_control_WDATA[0];
          6'h08: ier <= s_axi_control_WDATA[0];
          6'h0C: isr <= isr ^ s_axi_control_WDATA[0];
          6'h10: data[31:0] <= s_axi_control_WDATA;
          6'h14: data[63:32] <= s_axi_control_WDATA;
          6'h1C: n <= s_axi_control_WDATA;
          6'h24: step <= s_axi_control_WDATA;
        endcase
      end
      if (s_axi_control_RREADY) s_axi_control_RVALID <= 1'b0;
      if (read) begin
        s_axi_control_RVALID <= 1'b1;
        case (s_axi_control_ARADDR)
          6'h00: begin
            s_axi_control_RDATA <= {29'd0, state == IDLE && !start, done, start};
            done <= 1'b0;
          end
          6'h04: s_axi_control_RDATA <= {31'd0, gie};
          6'h08: s_axi_control_RDATA <= {31'd0, ier};
          6'h0C: s_axi_control_RDATA <= {31'd0, isr};
          6'h10: s_axi_control_RDATA <= data[31:0];
          6'h14: s_axi_control_RDATA <= data[63:32];
          6'h1C: s_axi_control_RDATA <= n;
          6'h24: s_axi_control_RDATA <= step;
          default: s_axi_control_RDATA <= 32'd0;
        endcase
      end
      case (state)
        IDLE: if (start) begin
          at <= 0;
          state <= NEXT;
        end
        ASK: if (m_axi_input_r_ARREADY) state <= TAKE;
        TAKE: if (m_axi_input_r_RVALID) begin
          word <= m_axi_input_r_RDATA + step;
          state <= PUT;
        end
        PUT: if (m_axi_input_r_AWREADY) state <= SEND;
        SEND: if (m_axi_input_r_WREADY) state <= WAIT;
        WAIT: if (m_axi_input_r_BVALID) begin
          at <= at + 1;
          state <= NEXT;
        end
        default: if (at < n) state <= ASK;
        else begin
          start <= 1'b0;
          done <= 1'b1;
          isr <= isr | ier;
          state <= IDLE;
        end
      endcase
    end
  end
endmodule
