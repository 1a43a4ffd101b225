// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// A slot's AXI4-Lite to the register bundle of an HLS kernel, which has the first `Bytes` of the window, and the identity
/// block. Every other address reads zero and ignores writes. One write and one read at a time; outputs follow from
/// registers alone.
module hls_axil #(
  parameter int unsigned AddrWidth = 6,
  parameter int unsigned Bytes = 64,
  parameter logic [15:0] RegMap = 16'h0100,
  parameter logic [63:0] BuildHash = '0
) (
  input  logic clk_i,
  input  logic rst_ni,

  input  logic [15:0] s_axil_awaddr,
  input  logic        s_axil_awvalid,
  output logic        s_axil_awready,
  input  logic [31:0] s_axil_wdata,
  input  logic [3:0]  s_axil_wstrb,
  input  logic        s_axil_wvalid,
  output logic        s_axil_wready,
  output logic [1:0]  s_axil_bresp,
  output logic        s_axil_bvalid,
  input  logic        s_axil_bready,
  input  logic [15:0] s_axil_araddr,
  input  logic        s_axil_arvalid,
  output logic        s_axil_arready,
  output logic [31:0] s_axil_rdata,
  output logic [1:0]  s_axil_rresp,
  output logic        s_axil_rvalid,
  input  logic        s_axil_rready,

  output logic [AddrWidth-1:0] kernel_awaddr,
  output logic                 kernel_awvalid,
  input  logic                 kernel_awready,
  output logic [31:0]          kernel_wdata,
  output logic [3:0]           kernel_wstrb,
  output logic                 kernel_wvalid,
  input  logic                 kernel_wready,
  input  logic                 kernel_bvalid,
  output logic                 kernel_bready,
  output logic [AddrWidth-1:0] kernel_araddr,
  output logic                 kernel_arvalid,
  input  logic                 kernel_arready,
  input  logic [31:0]          kernel_rdata,
  input  logic                 kernel_rvalid,
  output logic                 kernel_rready
);

  typedef enum logic [1:0] {WrTake, WrKernel, WrWait, WrAnswer} write_e;
  typedef enum logic [1:0] {RdTake, RdKernel, RdWait, RdAnswer} read_e;

  write_e write_q;
  logic address_held_q, data_held_q, address_left_q, data_left_q;
  logic [15:0] write_addr_q;

  assign s_axil_awready = write_q == WrTake && !address_held_q;
  assign s_axil_wready = write_q == WrTake && !data_held_q;
  assign s_axil_bvalid = write_q == WrAnswer;
  assign s_axil_bresp = '0;
  assign kernel_awaddr = write_addr_q[AddrWidth-1:0];
  assign kernel_awvalid = write_q == WrKernel && address_left_q;
  assign kernel_wvalid = write_q == WrKernel && data_left_q;
  assign kernel_bready = write_q == WrWait;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      write_q <= WrTake;
      address_held_q <= 1'b0;
      data_held_q <= 1'b0;
      address_left_q <= 1'b0;
      data_left_q <= 1'b0;
      write_addr_q <= '0;
      kernel_wdata <= '0;
      kernel_wstrb <= '0;
    end else begin
      if (s_axil_awvalid && s_axil_awready) begin
        address_held_q <= 1'b1;
        write_addr_q <= s_axil_awaddr;
      end
      if (s_axil_wvalid && s_axil_wready) begin
        data_held_q <= 1'b1;
        kernel_wdata <= s_axil_wdata;
        kernel_wstrb <= s_axil_wstrb;
      end
      unique case (write_q)
        WrTake: begin
          if (address_held_q && data_held_q) begin
            write_q <= (32'(write_addr_q) < Bytes) ? WrKernel : WrAnswer;
            address_left_q <= 1'b1;
            data_left_q <= 1'b1;
          end
        end
        WrKernel: begin
          if (kernel_awready) address_left_q <= 1'b0;
          if (kernel_wready) data_left_q <= 1'b0;
          if ((kernel_awready || !address_left_q) && (kernel_wready || !data_left_q)) write_q <= WrWait;
        end
        WrWait: if (kernel_bvalid) write_q <= WrAnswer;
        default: begin
          if (s_axil_bready) begin
            write_q <= WrTake;
            address_held_q <= 1'b0;
            data_held_q <= 1'b0;
          end
        end
      endcase
    end
  end

  read_e read_q;

  assign s_axil_arready = read_q == RdTake;
  assign s_axil_rvalid = read_q == RdAnswer;
  assign s_axil_rresp = '0;
  assign kernel_arvalid = read_q == RdKernel;
  assign kernel_rready = read_q == RdWait;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      read_q <= RdTake;
      kernel_araddr <= '0;
      s_axil_rdata <= '0;
    end else begin
      unique case (read_q)
        RdTake: begin
          if (s_axil_arvalid) begin
            read_q <= (32'(s_axil_araddr) < Bytes) ? RdKernel : RdAnswer;
            kernel_araddr <= s_axil_araddr[AddrWidth-1:0];
            unique case (s_axil_araddr)
              16'hF000: s_axil_rdata <= 32'h4544_4459;
              16'hF004: s_axil_rdata <= {16'd1, RegMap};
              16'hF008: s_axil_rdata <= BuildHash[31:0];
              16'hF00C: s_axil_rdata <= BuildHash[63:32];
              default: s_axil_rdata <= '0;
            endcase
          end
        end
        RdKernel: if (kernel_arready) read_q <= RdWait;
        RdWait: begin
          if (kernel_rvalid) begin
            read_q <= RdAnswer;
            s_axil_rdata <= kernel_rdata;
          end
        end
        default: if (s_axil_rready) read_q <= RdTake;
      endcase
    end
  end

endmodule
