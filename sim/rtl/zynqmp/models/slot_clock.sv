// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// For simulation alone: the ports of the wizard that the build makes (hw/top/models), and behaviour of our own.
/// The clock of a slot (PG065, AXI4-Lite, one output): its registers. The clock itself, and when it is locked, comes of
/// the bench, which sees `changes` count and works out the rate from `feedback` and `divide`.
module slot_clock (
`include "slot_clock_ports.svh"
);

  logic clk, is_locked;
  logic [31:0] feedback, divide;
  logic [7:0] changes;

  localparam logic [10:0] Status = 11'h004, Feedback = 11'h200, Divide = 11'h208, Load = 11'h25C;

  logic b_valid_q, r_valid_q;
  logic [31:0] r_data_q;
  logic write;

  // A write is taken when address and data are there, and nobody waits for the answer to the one before.
  assign write = s_axi_awvalid && s_axi_wvalid && !b_valid_q;
  assign s_axi_awready = write;
  assign s_axi_wready = write;
  assign s_axi_bvalid = b_valid_q;
  assign s_axi_bresp = '0;
  assign s_axi_arready = !r_valid_q;
  assign s_axi_rvalid = r_valid_q;
  assign s_axi_rdata = r_data_q;
  assign s_axi_rresp = '0;
  assign clk_out1 = clk;
  assign locked = is_locked;

  always_ff @(posedge s_axi_aclk) begin
    if (!s_axi_aresetn) begin
      b_valid_q <= 1'b0;
      r_valid_q <= 1'b0;
      // 100 MHz of 100 MHz, by an oscillator of 1 GHz.
      feedback <= 32'h0000_0A01;
      divide <= 32'd10;
      changes <= '0;
    end else begin
      if (s_axi_bready) b_valid_q <= 1'b0;
      if (s_axi_rready) r_valid_q <= 1'b0;
      if (write) begin
        b_valid_q <= 1'b1;
        unique case (s_axi_awaddr)
          Feedback: feedback <= s_axi_wdata;
          Divide: divide <= s_axi_wdata;
          Load: if (s_axi_wdata[1:0] == 2'b11) changes <= changes + 8'd1;
          default: ;
        endcase
      end
      if (s_axi_arvalid && !r_valid_q) begin
        r_valid_q <= 1'b1;
        unique case (s_axi_araddr)
          Status: r_data_q <= 32'(is_locked);
          Feedback: r_data_q <= feedback;
          Divide: r_data_q <= divide;
          default: r_data_q <= '0;
        endcase
      end
    end
  end

endmodule
