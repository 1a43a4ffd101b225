// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Writes a stream of 64-bit words into lists of memory ranges, in bursts.
///
/// A burst is announced only when all its words are in the FIFO, so write data follows its address
/// without a pause of the module's making and a slow producer never holds up the memory system.
/// `hls_bursts` says what bursts are. Write responses are always taken.
/// A write error sets `error_o`; the run goes on to its end.
module hls_writer #(
  /// Ranges of one run, written in order.
  parameter int unsigned NumRanges = 1,
  /// Width of a range's length in words.
  parameter int unsigned BeatsWidth = 24,
  parameter int unsigned MaxBurst = 16,
  /// Words gathered; at least two bursts, or gathering and writing do not overlap.
  parameter int unsigned FifoDepth = 64
) (
  input  logic clk_i,
  input  logic rst_ni,

  /// Begin a run; ranges must stay stable until `idle_o`.
  input  logic                                 start_i,
  input  logic [NumRanges-1:0][39:0]           addr_i,
  input  logic [NumRanges-1:0][BeatsWidth-1:0] beats_i,
  /// Everything has been written and acknowledged.
  output logic                                 idle_o,
  output logic                                 error_o,

  input  logic        in_valid_i,
  output logic        in_ready_o,
  input  logic [63:0] in_data_i,

  output logic [39:0] m_axi_awaddr,
  output logic [7:0]  m_axi_awlen,
  output logic        m_axi_awvalid,
  input  logic        m_axi_awready,
  output logic [63:0] m_axi_wdata,
  output logic [7:0]  m_axi_wstrb,
  output logic        m_axi_wlast,
  output logic        m_axi_wvalid,
  input  logic        m_axi_wready,
  input  logic [1:0]  m_axi_bresp,
  input  logic        m_axi_bvalid,
  output logic        m_axi_bready
);

  if (FifoDepth < MaxBurst) begin : gen_check_depth
    $fatal(1, "hls_writer: FifoDepth must hold a whole burst");
  end

  localparam int unsigned FillWidth = $clog2(FifoDepth + 1);
  /// Bursts announced and not yet acknowledged, at most.
  localparam int unsigned MaxOpen = 8;

  /// Words in the FIFO that belong to no announced burst yet.
  logic [FillWidth-1:0] fill_q;
  /// Bursts announced and not acknowledged.
  logic [3:0] open_q;
  logic [8:0] burst;
  logic done, issue, push, ready_q, error_q;

  hls_bursts #(.NumRanges(NumRanges), .BeatsWidth(BeatsWidth), .MaxBurst(MaxBurst)) u_bursts (
    .clk_i, .rst_ni, .start_i, .addr_i, .beats_i, .done_o(done),
    .burst_o(burst), .allow_i(32'(fill_q) >= 32'(burst) && open_q != 4'(MaxOpen)), .issue_o(issue),
    .ax_addr_o(m_axi_awaddr), .ax_len_o(m_axi_awlen), .ax_valid_o(m_axi_awvalid), .ax_ready_i(m_axi_awready)
  );

  assign push = in_valid_i && in_ready_o;

  assign idle_o = done && open_q == '0;
  assign error_o = error_q;
  assign m_axi_bready = ready_q;
  assign m_axi_wstrb = 8'hFF;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      fill_q  <= '0;
      open_q  <= '0;
      ready_q <= 1'b0;
      error_q <= 1'b0;
    end else begin
      ready_q <= 1'b1;
      fill_q  <= start_i ? '0 : fill_q - (issue ? FillWidth'(burst) : '0) + FillWidth'(push);
      open_q  <= open_q + 4'(issue) - 4'(m_axi_bvalid && m_axi_bready);
      if (start_i) error_q <= 1'b0;
      if (m_axi_bvalid && m_axi_bready && m_axi_bresp[1]) error_q <= 1'b1;
    end
  end

  // The lengths of taken addresses queue up for the data channel, so data never leads its address
  // and the next address overlaps this burst's data. `MaxOpen` bounds what can queue.
  logic queue_ready, queue_valid, queue_pop;
  logic [7:0] queue_len;

  hls_fifo #(.Width(8), .Depth(MaxOpen)) u_lengths (
    .clk_i, .rst_ni,
    .clear_i(1'b0),
    .push_valid_i(m_axi_awvalid && m_axi_awready), .push_ready_o(queue_ready), .push_data_i(m_axi_awlen),
    .pop_valid_o(queue_valid), .pop_ready_i(queue_pop), .pop_data_o(queue_len)
  );

  // Data channel: one output register, reloaded whenever it is free.
  logic [8:0] beats_q, beats;
  logic free, send, fifo_valid;
  logic [63:0] fifo_data;

  assign free  = !m_axi_wvalid || m_axi_wready;
  assign beats = (beats_q != '0) ? beats_q : (queue_valid ? 9'(queue_len) + 9'd1 : 9'd0);
  assign send  = free && beats != '0;
  assign queue_pop = send && beats_q == '0;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      beats_q      <= '0;
      m_axi_wvalid <= 1'b0;
      m_axi_wlast  <= 1'b0;
      m_axi_wdata  <= '0;
    end else if (send) begin
      beats_q      <= beats - 9'd1;
      m_axi_wvalid <= 1'b1;
      m_axi_wlast  <= beats == 9'd1;
      m_axi_wdata  <= fifo_data;
    end else if (m_axi_wready) begin
      m_axi_wvalid <= 1'b0;
    end
  end

  hls_fifo #(.Width(64), .Depth(FifoDepth)) u_data (
    .clk_i, .rst_ni,
    .clear_i(start_i),
    .push_valid_i(in_valid_i), .push_ready_o(in_ready_o), .push_data_i(in_data_i),
    .pop_valid_o(fifo_valid), .pop_ready_i(send), .pop_data_o(fifo_data)
  );

  // The exclusive bit of the response (EXOKAY) cannot occur: no exclusive access is made.
  logic unused;
  assign unused = ^{m_axi_bresp[0], queue_ready, fifo_valid};

`ifndef SYNTHESIS
  // A burst's words were counted before it was announced.
  DataIsThere_A : assert property (@(posedge clk_i) disable iff (!rst_ni) send |-> fifo_valid);
  LengthsFit_A : assert property (@(posedge clk_i) disable iff (!rst_ni)
    m_axi_awvalid && m_axi_awready |-> queue_ready);
`endif

endmodule
