// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Reads two addresses in turn, each read after the answer to the one before: how long a run takes says whether the two lie
/// in different rows of one bank of memory, where every read closes the other's row.
///
/// Arguments: `a` and `b` (8-byte aligned), `pairs` (1 to 2^20). A read is one 64-bit word, and its data goes nowhere. The
/// run's duration is what it is for, so it has no counter of its own and writes nothing.
module row_probe #(
  /// Hash of sources and toolchain, read back from the identity block.
  parameter logic [63:0] BuildHash = '0
) (
  `include "slot_ports.svh"
);

  localparam int unsigned NumPointers = 2, NumScalars = 1;
  localparam int unsigned MaxPairs = 1 << 20;
  localparam int unsigned ReadsWidth = $clog2(2 * MaxPairs + 1);

  typedef enum logic [2:0] {StIdle, StCheck, StAsk, StTake, StDone} state_e;
  state_e state_q, state_d;

  logic [NumPointers-1:0][63:0] pointers;
  logic [NumScalars-1:0][31:0] scalars;
  logic [63:0] a_q, b_q;
  logic [31:0] pairs_q;
  logic [ReadsWidth-1:0] left_q;
  logic ap_start, legal, taken, illegal_q, error_q, ready_q;

  assign legal = pairs_q != '0 && pairs_q <= MaxPairs &&
                 a_q[2:0] == '0 && a_q[63:40] == '0 && b_q[2:0] == '0 && b_q[63:40] == '0;
  assign taken = state_q == StTake && m_axi_rvalid && m_axi_rready;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StIdle:  if (ap_start) state_d = StCheck;
      StCheck: state_d = legal ? StAsk : StDone;
      StAsk:   if (m_axi_arvalid && m_axi_arready) state_d = StTake;
      StTake:  if (taken) state_d = (left_q == '0) ? StDone : StAsk;
      default: state_d = StIdle;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q   <= StIdle;
      a_q       <= '0;
      b_q       <= '0;
      pairs_q   <= '0;
      left_q    <= '0;
      illegal_q <= 1'b0;
      error_q   <= 1'b0;
      ready_q   <= 1'b0;
    end else begin
      state_q <= state_d;
      ready_q <= 1'b1;
      if (state_q == StIdle && ap_start) begin
        a_q     <= pointers[0];
        b_q     <= pointers[1];
        pairs_q <= scalars[0];
      end
      if (state_q == StCheck) begin
        left_q    <= {pairs_q[ReadsWidth-2:0], 1'b0};
        illegal_q <= !legal;
        error_q   <= 1'b0;
      end
      if (state_q == StAsk && state_d == StTake) left_q <= left_q - 1'b1;
      if (taken && m_axi_rresp[1]) error_q <= 1'b1;
    end
  end

  // Two reads a pair: an even number is left before a read of `a`.
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      m_axi_arvalid <= 1'b0;
      m_axi_araddr  <= '0;
    end else if (m_axi_arvalid) begin
      m_axi_arvalid <= !m_axi_arready;
    end else if (state_q == StAsk) begin
      m_axi_arvalid <= 1'b1;
      m_axi_araddr  <= left_q[0] ? b_q[39:0] : a_q[39:0];
    end
  end

  hls_pkg::status_t status;
  assign status = '{illegal: illegal_q, write_error: 1'b0, read_error: error_q && !illegal_q};

  hls_ctrl #(.NumPointers(NumPointers), .NumScalars(NumScalars), .BuildHash(BuildHash)) u_ctrl (
    .clk_i, .rst_ni,
    .s_axil_awaddr, .s_axil_awvalid, .s_axil_awready,
    .s_axil_wdata, .s_axil_wstrb, .s_axil_wvalid, .s_axil_wready,
    .s_axil_bresp, .s_axil_bvalid, .s_axil_bready,
    .s_axil_araddr, .s_axil_arvalid, .s_axil_arready,
    .s_axil_rdata, .s_axil_rresp, .s_axil_rvalid, .s_axil_rready,
    .irq_o,
    .ap_start_o(ap_start), .ap_idle_i(state_q == StIdle), .ap_done_i(state_q == StDone),
    .status_i(status),
    .pointers_o(pointers), .scalars_o(scalars)
  );

  assign m_axi_rready  = ready_q;
  assign m_axi_arid    = '0;
  assign m_axi_arlen   = '0;
  assign m_axi_arsize  = 3'd3;
  assign m_axi_arburst = eddy_pkg::BurstIncr;
  assign m_axi_arcache = 4'b0011;
  assign m_axi_arprot  = '0;
  assign m_axi_arqos   = '0;
  assign m_axi_aruser  = '0;

  // It never writes.
  assign m_axi_awid    = '0;
  assign m_axi_awaddr  = '0;
  assign m_axi_awlen   = '0;
  assign m_axi_awsize  = '0;
  assign m_axi_awburst = '0;
  assign m_axi_awcache = '0;
  assign m_axi_awprot  = '0;
  assign m_axi_awqos   = '0;
  assign m_axi_awuser  = '0;
  assign m_axi_awvalid = 1'b0;
  assign m_axi_wdata   = '0;
  assign m_axi_wstrb   = '0;
  assign m_axi_wlast   = 1'b0;
  assign m_axi_wvalid  = 1'b0;
  assign m_axi_bready  = ready_q;

  // Data is read to be waited for; one read is under way, so ids and `rlast` say nothing new.
  logic unused;
  assign unused = ^{s_axil_awprot, s_axil_arprot, m_axi_awready, m_axi_wready, m_axi_bid, m_axi_bresp, m_axi_bvalid,
                    m_axi_rid, m_axi_rdata, m_axi_rlast, m_axi_rresp[0]};

`ifndef SYNTHESIS
  // One read is under way at most: the next is asked for after the answer to the one before.
  OneAtATime_A : assert property (@(posedge clk_i) disable iff (!rst_ni) m_axi_arvalid |-> state_q == StAsk);
  AnswersAreAskedFor_A : assert property (@(posedge clk_i) disable iff (!rst_ni) m_axi_rvalid |-> state_q == StTake);
`endif

endmodule
