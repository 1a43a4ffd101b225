// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
`include "axi_ports.svh"

/// From a manager port of the processing system (M_AXI_HPM, AXI4, 32 bits wide) to the shell's register window (AXI4-Lite).
///
/// A burst becomes one access after the other, one read and one write at a time. Every beat of a burst that asks is an
/// access; a write without a strobe is none. The answer to a write is the worst of its accesses' answers. The window is
/// where the processing system maps it: address bits above 24 are not looked at. No output hangs on an
/// input of the same cycle.
module ps_hpm (
  input  logic clk_i,
  /// Synchronous reset, active low.
  input  logic rst_ni,

  // The processing system. Exclusive accesses are answered as plain ones are, so the manager knows that they were not.
  `AXI_PORTS(s_axi, 16, 40, 32, input logic, output logic),

  // The shell.
  `AXIL_PORTS(m_axil, 24, output logic, input logic)
);

  typedef struct packed {
    logic [23:0] addr;
    logic [7:0]  len;
    logic [2:0]  size;
    logic [1:0]  burst;
  } burst_t;

  localparam logic [1:0] Fixed = 2'd0;
  localparam logic [1:0] Wrap = 2'd2;
  /// Data, non-secure, unprivileged.
  localparam logic [2:0] Prot = 3'b010;

  /// Address of the beat after this one (AXI4, A3.4.1).
  function automatic logic [23:0] after(burst_t burst);
    logic [23:0] step, extent, next;
    step = 24'd1 << burst.size;
    extent = ((24'(burst.len) + 24'd1) << burst.size) - 24'd1;
    next = (burst.addr & ~(step - 24'd1)) + step;
    if (burst.burst == Fixed) return burst.addr;
    return burst.burst == Wrap ? (burst.addr & ~extent) | (next & extent) : next;
  endfunction

  assign m_axil_awprot = Prot;
  assign m_axil_arprot = Prot;

  // Reads: ask for a beat, take it, give it.
  typedef enum logic [1:0] {
    ReadIdle,
    ReadAsk,
    ReadTake,
    ReadGive
  } read_e;
  read_e read_q;
  burst_t ar_q;
  logic [7:0] read_beat_q;

  assign s_axi_arready = read_q == ReadIdle;
  assign m_axil_arvalid = read_q == ReadAsk;
  assign m_axil_araddr = {ar_q.addr[23:2], 2'b00};
  assign m_axil_rready = read_q == ReadTake;
  assign s_axi_rvalid = read_q == ReadGive;
  assign s_axi_rlast = read_beat_q == ar_q.len;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      read_q <= ReadIdle;
      ar_q <= '0;
      read_beat_q <= '0;
      s_axi_rid <= '0;
      s_axi_rdata <= '0;
      s_axi_rresp <= '0;
    end else begin
      unique case (read_q)
        ReadIdle:
        if (s_axi_arvalid) begin
          read_q <= ReadAsk;
          ar_q <= '{addr: s_axi_araddr[23:0], len: s_axi_arlen, size: s_axi_arsize, burst: s_axi_arburst};
          s_axi_rid <= s_axi_arid;
          read_beat_q <= '0;
        end
        ReadAsk: if (m_axil_arready) read_q <= ReadTake;
        ReadTake:
        if (m_axil_rvalid) begin
          read_q <= ReadGive;
          s_axi_rdata <= m_axil_rdata;
          s_axi_rresp <= m_axil_rresp;
        end
        ReadGive:
        if (s_axi_rready) begin
          read_q <= s_axi_rlast ? ReadIdle : ReadAsk;
          read_beat_q <= read_beat_q + 8'd1;
          ar_q.addr <= after(ar_q);
        end
        default: read_q <= ReadIdle;
      endcase
    end
  end

  // Writes: take a beat, write it, take its answer; then answer the burst.
  typedef enum logic [1:0] {
    WriteIdle,
    WriteTake,
    WriteAsk,
    WriteAnswer
  } write_e;
  write_e write_q;
  burst_t aw_q;
  logic last_q;

  assign s_axi_awready = write_q == WriteIdle;
  assign s_axi_wready = write_q == WriteTake;
  assign m_axil_awaddr = {aw_q.addr[23:2], 2'b00};
  assign m_axil_bready = write_q == WriteAsk;
  assign s_axi_bvalid = write_q == WriteAnswer;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      write_q <= WriteIdle;
      aw_q <= '0;
      last_q <= 1'b0;
      s_axi_bid <= '0;
      s_axi_bresp <= '0;
      m_axil_awvalid <= 1'b0;
      m_axil_wvalid <= 1'b0;
      m_axil_wdata <= '0;
      m_axil_wstrb <= '0;
    end else begin
      unique case (write_q)
        WriteIdle:
        if (s_axi_awvalid) begin
          write_q <= WriteTake;
          aw_q <= '{addr: s_axi_awaddr[23:0], len: s_axi_awlen, size: s_axi_awsize, burst: s_axi_awburst};
          s_axi_bid <= s_axi_awid;
          s_axi_bresp <= '0;
        end
        WriteTake:
        if (s_axi_wvalid) begin
          m_axil_wdata <= s_axi_wdata;
          m_axil_wstrb <= s_axi_wstrb;
          last_q <= s_axi_wlast;
          if (s_axi_wstrb != '0) begin
            write_q <= WriteAsk;
            m_axil_awvalid <= 1'b1;
            m_axil_wvalid <= 1'b1;
          end else begin
            if (s_axi_wlast) write_q <= WriteAnswer;
            aw_q.addr <= after(aw_q);
          end
        end
        WriteAsk: begin
          if (m_axil_awready) m_axil_awvalid <= 1'b0;
          if (m_axil_wready) m_axil_wvalid <= 1'b0;
          if (m_axil_bvalid) begin
            write_q <= last_q ? WriteAnswer : WriteTake;
            if (m_axil_bresp > s_axi_bresp) s_axi_bresp <= m_axil_bresp;
            aw_q.addr <= after(aw_q);
          end
        end
        WriteAnswer: if (s_axi_bready) write_q <= WriteIdle;
        default: write_q <= WriteIdle;
      endcase
    end
  end

  // The upper address bits choose this port; nothing here hangs on them.
  logic unused;
  assign unused = ^{s_axi_awaddr[39:24], s_axi_araddr[39:24]};

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      AnsweredAfterBoth_A :
      assert (!(m_axil_bready && m_axil_bvalid) || (!m_axil_awvalid && !m_axil_wvalid))
      else $error("ps_hpm: a write was answered before address and data were taken");
      BeatsFit_A :
      assert (!(s_axi_awvalid && s_axi_awready) || s_axi_awsize <= 3'd2)
      else $error("ps_hpm: a beat of more than 32 bits");
    end
  end
`endif

endmodule
