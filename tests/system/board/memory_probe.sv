// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// A module that reads words one after the other, each when the last one is here, and adds them up.
///
/// Registers: 0x00 start (write 1) and done (bit 1), 0x10 address, 0x14 bytes from one word to the next, 0x18 how many,
/// 0x1C the sum, 0x20 AxCACHE.
module memory_probe #(
  parameter logic [63:0] BuildHash = '0
) (
  `include "slot_ports.svh"
);

  logic [31:0] address_q, stride_q, count_q, sum_q, data_q;
  logic [15:0] at_q;
  logic [3:0] cache_q;
  logic busy_q, done_q, have_aw_q, have_w_q, asked_q;

  assign {m_axi_awid, m_axi_awaddr, m_axi_awlen, m_axi_awsize, m_axi_awburst, m_axi_awcache, m_axi_awprot} = '0;
  assign {m_axi_awqos, m_axi_awuser, m_axi_awvalid, m_axi_wdata, m_axi_wstrb, m_axi_wlast, m_axi_wvalid} = '0;
  assign m_axi_bready = 1'b1;
  assign {m_axi_arid, m_axi_arprot, m_axi_arqos, m_axi_aruser, m_axi_arlen} = '0;
  assign m_axi_arsize = 3'd3;
  assign m_axi_arburst = 2'b01;
  assign m_axi_arcache = cache_q;
  assign m_axi_araddr = 40'(address_q);
  assign m_axi_arvalid = busy_q && !asked_q;
  assign m_axi_rready = 1'b1;
  assign irq_o = 1'b0;
  assign {s_axil_bresp, s_axil_rresp} = '0;
  assign s_axil_awready = !have_aw_q && !s_axil_bvalid;
  assign s_axil_wready = !have_w_q && !s_axil_bvalid;
  assign s_axil_arready = !s_axil_rvalid;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      {busy_q, done_q, have_aw_q, have_w_q, asked_q, s_axil_bvalid, s_axil_rvalid, s_axil_rdata} <= '0;
      {address_q, stride_q, count_q, sum_q, at_q, data_q, cache_q} <= '0;
    end else begin
      if (s_axil_bready) s_axil_bvalid <= 1'b0;
      if (s_axil_rready) s_axil_rvalid <= 1'b0;
      if (s_axil_awvalid && s_axil_awready) begin
        have_aw_q <= 1'b1;
        at_q <= s_axil_awaddr;
      end
      if (s_axil_wvalid && s_axil_wready) begin
        have_w_q <= 1'b1;
        data_q <= s_axil_wdata;
      end
      if (m_axi_arvalid && m_axi_arready) asked_q <= 1'b1;
      if (m_axi_rvalid) begin
        asked_q <= 1'b0;
        sum_q <= sum_q + m_axi_rdata[31:0];
        address_q <= address_q + stride_q;
        count_q <= count_q - 32'd1;
        if (count_q == 32'd1) {busy_q, done_q} <= 2'b01;
      end
      if (have_aw_q && have_w_q) begin
        {have_aw_q, have_w_q} <= '0;
        s_axil_bvalid <= 1'b1;
        case (at_q)
          16'h00: {busy_q, done_q, sum_q} <= {1'b1, 1'b0, 32'd0};
          16'h10: address_q <= data_q;
          16'h14: stride_q <= data_q;
          16'h18: count_q <= data_q;
          16'h20: cache_q <= data_q[3:0];
          default: ;
        endcase
      end
      if (s_axil_arvalid && s_axil_arready) begin
        s_axil_rvalid <= 1'b1;
        case (s_axil_araddr)
          16'h00: s_axil_rdata <= {30'd0, done_q, 1'b0};
          16'h1C: s_axil_rdata <= sum_q;
          16'hF000: s_axil_rdata <= 32'h4544_4459;
          16'hF008: s_axil_rdata <= BuildHash[31:0];
          16'hF00C: s_axil_rdata <= BuildHash[63:32];
          default: s_axil_rdata <= 32'h0001_0100;
        endcase
      end
    end
  end

endmodule
