// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Reads lists of memory ranges in bursts and delivers them as one stream of 64-bit words.
///
/// A burst is asked for only when the FIFO has room for all of it, so read data is always taken at
/// once (`m_axi_rready` stays high) and a slow consumer never holds up the memory system. `hls_bursts`
/// says what bursts are. All use one id, so responses come in order.
/// A read error sets `error_o`; the stream goes on to its full length, so that the run ends.
module hls_reader #(
  /// Ranges of one run, read in order.
  parameter int unsigned NumRanges = 1,
  /// Width of a range's length in words.
  parameter int unsigned BeatsWidth = 24,
  parameter int unsigned MaxBurst = 16,
  /// Words in flight or waiting; bounds memory latency times bandwidth.
  parameter int unsigned FifoDepth = 128
) (
  input  logic clk_i,
  input  logic rst_ni,

  /// Begin a run; ranges must stay stable until `idle_o`.
  input  logic                                 start_i,
  input  logic [NumRanges-1:0][39:0]           addr_i,
  input  logic [NumRanges-1:0][BeatsWidth-1:0] beats_i,
  /// Everything asked for has been delivered.
  output logic                                 idle_o,
  output logic                                 error_o,

  output logic        out_valid_o,
  input  logic        out_ready_i,
  output logic [63:0] out_data_o,

  output logic [39:0] m_axi_araddr,
  output logic [7:0]  m_axi_arlen,
  output logic        m_axi_arvalid,
  input  logic        m_axi_arready,
  input  logic [63:0] m_axi_rdata,
  input  logic [1:0]  m_axi_rresp,
  input  logic        m_axi_rvalid,
  output logic        m_axi_rready
);

  localparam int unsigned CreditWidth = $clog2(FifoDepth + 1);

  logic [CreditWidth-1:0] credit_q;
  logic [8:0] burst;
  logic done, issue, pop, ready_q, error_q;
  logic fifo_ready;

  hls_bursts #(.NumRanges(NumRanges), .BeatsWidth(BeatsWidth), .MaxBurst(MaxBurst)) u_bursts (
    .clk_i, .rst_ni, .start_i, .addr_i, .beats_i, .done_o(done),
    .burst_o(burst), .allow_i(32'(credit_q) >= 32'(burst)), .issue_o(issue),
    .ax_addr_o(m_axi_araddr), .ax_len_o(m_axi_arlen), .ax_valid_o(m_axi_arvalid), .ax_ready_i(m_axi_arready)
  );

  assign pop = out_valid_o && out_ready_i;

  assign idle_o = done && !m_axi_arvalid && credit_q == CreditWidth'(FifoDepth);
  assign error_o = error_q;
  assign m_axi_rready = ready_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      credit_q <= CreditWidth'(FifoDepth);
      ready_q  <= 1'b0;
      error_q  <= 1'b0;
    end else begin
      ready_q  <= 1'b1;
      credit_q <= credit_q - (issue ? CreditWidth'(burst) : '0) + CreditWidth'(pop);
      if (start_i) error_q <= 1'b0;
      if (m_axi_rvalid && m_axi_rready && m_axi_rresp[1]) error_q <= 1'b1;
    end
  end

  hls_fifo #(.Width(64), .Depth(FifoDepth)) u_fifo (
    .clk_i, .rst_ni,
    .clear_i(1'b0),
    .push_valid_i(m_axi_rvalid && m_axi_rready), .push_ready_o(fifo_ready), .push_data_i(m_axi_rdata),
    .pop_valid_o(out_valid_o), .pop_ready_i(out_ready_i), .pop_data_o(out_data_o)
  );

  // The exclusive bit of the response (EXOKAY) cannot occur: no exclusive access is made.
  logic unused;
  assign unused = ^{fifo_ready, m_axi_rresp[0]};

`ifndef SYNTHESIS
  // A credit was taken for every word asked for; a word nobody asked for would be lost.
  CreditsCoverResponses_A : assert property (@(posedge clk_i) disable iff (!rst_ni)
    m_axi_rvalid && m_axi_rready |-> fifo_ready);
`endif

endmodule
