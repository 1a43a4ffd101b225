// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Everything of an accelerator but its arithmetic: HLS registers, identity, burst DMA, run control.
///
/// A module's top includes `hls_run.svh`, which connects its ports to this wrapper, and puts a stream core between
/// `in_*` and `out_*`. In a run the wrapper reads `NumReads` memory ranges one after the other and offers their words as
/// one stream; the words the core gives back fill `NumWrites` ranges. The run is done when the last of them is
/// acknowledged by memory, so the core needs no end marker: it only has to deliver `write_beats_i` words for
/// `read_beats_i` words.
///
/// Arguments are sampled when a run starts: rewriting a register while the module runs affects the
/// next run only. A run whose `legal_i` is low, or with a pointer that is not 8-byte aligned or lies
/// beyond 40 bits, ends after two cycles with `status.illegal` and touches no memory. Read and write
/// errors of the memory system are flagged in the status and do not keep a run from ending.
///
/// The whole boundary is registered. Memory traffic carries id 0 and context 0, is INCR, 64 bits
/// wide, normal and non-cacheable (AxCACHE 0011), and never crosses 4 KiB.
module hls_wrapper #(
  parameter int unsigned NumPointers = 2,
  parameter int unsigned NumScalars = 1,
  /// Ranges read and written in a run.
  parameter int unsigned NumReads = 1,
  parameter int unsigned NumWrites = 1,
  /// Width of a range's length in 64-bit words.
  parameter int unsigned BeatsWidth = 24,
  parameter logic [15:0] RegMap = 16'h0100,
  parameter logic [63:0] BuildHash = '0
) (
  /// High for one cycle before a run's first word: the core clears its state.
  output logic                                 start_o,
  /// Arguments, sampled at the start, stable through the run.
  output logic [NumPointers-1:0][63:0]         pointers_o,
  output logic [NumScalars-1:0][31:0]          scalars_o,
  /// Functions of the sampled arguments: whether the run may go on, and the ranges it moves.
  input  logic                                 legal_i,
  input  logic [NumReads-1:0][39:0]            read_addr_i,
  input  logic [NumReads-1:0][BeatsWidth-1:0]  read_beats_i,
  input  logic [NumWrites-1:0][39:0]           write_addr_i,
  input  logic [NumWrites-1:0][BeatsWidth-1:0] write_beats_i,

  output logic        in_valid_o,
  input  logic        in_ready_i,
  output logic [63:0] in_data_o,
  input  logic        out_valid_i,
  output logic        out_ready_o,
  input  logic [63:0] out_data_i,

  `include "slot_ports.svh"
);

  typedef enum logic [1:0] {StIdle, StCheck, StRun, StDone} state_e;
  state_e state_q, state_d;

  logic [NumPointers-1:0][63:0] pointers;
  logic [NumScalars-1:0][31:0] scalars;
  logic ap_start, pointers_legal, legal, moved;
  logic reader_idle, reader_error, writer_idle, writer_error, illegal_q;
  hls_pkg::status_t status;

  always_comb begin
    pointers_legal = 1'b1;
    for (int unsigned i = 0; i < NumPointers; i++) begin
      if (pointers_o[i][2:0] != '0 || pointers_o[i][63:40] != '0) pointers_legal = 1'b0;
    end
  end

  assign legal = legal_i && pointers_legal;
  assign moved = reader_idle && writer_idle;
  assign start_o = state_q == StCheck && legal;
  assign status = '{illegal: illegal_q, write_error: writer_error && !illegal_q,
                    read_error: reader_error && !illegal_q};

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StIdle:  if (ap_start) state_d = StCheck;
      StCheck: state_d = legal ? StRun : StDone;
      StRun:   if (moved) state_d = StDone;
      default: state_d = StIdle;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q    <= StIdle;
      illegal_q  <= 1'b0;
      pointers_o <= '0;
      scalars_o  <= '0;
    end else begin
      state_q <= state_d;
      if (state_q == StIdle && ap_start) begin
        pointers_o <= pointers;
        scalars_o  <= scalars;
      end
      if (state_q == StCheck) illegal_q <= !legal;
    end
  end

  hls_ctrl #(
    .NumPointers(NumPointers), .NumScalars(NumScalars), .RegMap(RegMap), .BuildHash(BuildHash)
  ) u_ctrl (
    .clk_i, .rst_ni,
    .s_axil_awaddr, .s_axil_awvalid, .s_axil_awready,
    .s_axil_wdata, .s_axil_wstrb, .s_axil_wvalid, .s_axil_wready,
    .s_axil_bresp, .s_axil_bvalid, .s_axil_bready,
    .s_axil_araddr, .s_axil_arvalid, .s_axil_arready,
    .s_axil_rdata, .s_axil_rresp, .s_axil_rvalid, .s_axil_rready,
    .irq_o,
    .ap_start_o(ap_start), .ap_idle_i(state_q == StIdle), .ap_done_i(state_q == StDone),
    .status_i(status), .pointers_o(pointers), .scalars_o(scalars)
  );

  hls_reader #(.NumRanges(NumReads), .BeatsWidth(BeatsWidth)) u_reader (
    .clk_i, .rst_ni,
    .start_i(start_o), .addr_i(read_addr_i), .beats_i(read_beats_i),
    .idle_o(reader_idle), .error_o(reader_error),
    .out_valid_o(in_valid_o), .out_ready_i(in_ready_i), .out_data_o(in_data_o),
    .m_axi_araddr, .m_axi_arlen, .m_axi_arvalid, .m_axi_arready,
    .m_axi_rdata, .m_axi_rresp, .m_axi_rvalid, .m_axi_rready
  );

  hls_writer #(.NumRanges(NumWrites), .BeatsWidth(BeatsWidth)) u_writer (
    .clk_i, .rst_ni,
    .start_i(start_o), .addr_i(write_addr_i), .beats_i(write_beats_i),
    .idle_o(writer_idle), .error_o(writer_error),
    .in_valid_i(out_valid_i), .in_ready_o(out_ready_o), .in_data_i(out_data_i),
    .m_axi_awaddr, .m_axi_awlen, .m_axi_awvalid, .m_axi_awready,
    .m_axi_wdata, .m_axi_wstrb, .m_axi_wlast, .m_axi_wvalid, .m_axi_wready,
    .m_axi_bresp, .m_axi_bvalid, .m_axi_bready
  );

  assign m_axi_awid    = '0;
  assign m_axi_awsize  = 3'd3;
  assign m_axi_awburst = eddy_pkg::BurstIncr;
  assign m_axi_awcache = 4'b0011;
  assign m_axi_awprot  = '0;
  assign m_axi_awqos   = '0;
  assign m_axi_awuser  = '0;
  assign m_axi_arid    = '0;
  assign m_axi_arsize  = 3'd3;
  assign m_axi_arburst = eddy_pkg::BurstIncr;
  assign m_axi_arcache = 4'b0011;
  assign m_axi_arprot  = '0;
  assign m_axi_arqos   = '0;
  assign m_axi_aruser  = '0;

  // One id is in use and words are counted, so ids and `rlast` say nothing new; registers are the
  // same for every protection level.
  logic unused;
  assign unused = ^{s_axil_awprot, s_axil_arprot, m_axi_bid, m_axi_rid, m_axi_rlast};

endmodule
