// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Memory to a kernel's AXI4-Stream port: in a run, `bytes_i` bytes from `addr_i` on become one packet, or packets of so many
/// beats.
///
/// Memory is read in bursts of at most 16 words within 4 KiB, each only when there is room for it (`hls_reader`), so that no
/// kernel holds memory up. Whole words are read; the bytes beyond the last one are not looked at. A read that fails is told, and
/// its beats go all the same. `stop_i` ends the run: the rest is read and thrown away, a word a cycle.
module kernel_stream_in
  import eddy_pkg::*;
#(
  /// Bytes of a beat, 1 to 64.
  parameter int unsigned Bytes = 8,
  /// TLAST with each so many beats, besides the last of the run; 0 for with that alone.
  parameter int unsigned PacketBeats = 0
) (
  input  logic clk_i,
  /// Synchronous reset, active low.
  input  logic rst_ni,

  input  logic                 start_i,
  input  logic [AddrWidth-1:0] addr_i,
  input  logic [31:0]          bytes_i,
  input  logic                 stop_i,
  /// From the start until the last beat was taken, or all that memory owes has come.
  output logic                 busy_o,
  /// Bytes that went toward the kernel.
  output logic [31:0]          moved_o,
  /// Pulse: memory answered with an error.
  output logic                 error_o,

  output logic [8*Bytes-1:0] tdata_o,
  output logic [Bytes-1:0]   tkeep_o,
  output logic               tlast_o,
  output logic               first_o,
  output logic               tvalid_o,
  input  logic               tready_i,

  output axi_req_t req_o,
  input  axi_rsp_t rsp_i
);

  localparam int unsigned BeatsWidth = 30;

  logic idle, failed, unpacking, word_valid, word_ready, started_q, stopped_q;
  logic [63:0] word;
  logic [31:0] left, total_q;
  logic [AddrWidth-1:0] araddr;
  logic [7:0] arlen;
  logic arvalid, rready;

  hls_reader #(
    .BeatsWidth(BeatsWidth)
  ) u_reader (
    .clk_i,
    .rst_ni,
    .start_i,
    .addr_i({addr_i[AddrWidth-1:3], 3'd0}),
    .beats_i(BeatsWidth'(bytes_i[31:3]) + BeatsWidth'(bytes_i[2:0] != '0)),
    .idle_o(idle),
    .error_o(failed),
    .out_valid_o(word_valid),
    .out_ready_i(word_ready),
    .out_data_o(word),
    .m_axi_araddr(araddr),
    .m_axi_arlen(arlen),
    .m_axi_arvalid(arvalid),
    .m_axi_arready(rsp_i.ar_ready),
    .m_axi_rdata(rsp_i.r.data),
    .m_axi_rresp(rsp_i.r.resp),
    .m_axi_rvalid(rsp_i.r_valid),
    .m_axi_rready(rready)
  );

  kernel_unpack #(
    .Bytes(Bytes),
    .PacketBeats(PacketBeats)
  ) u_unpack (
    .clk_i,
    .rst_ni,
    .start_i,
    .bytes_i,
    .stop_i,
    .busy_o(unpacking),
    .left_o(left),
    .word_i(word),
    .word_valid_i(word_valid),
    .word_ready_o(word_ready),
    .tdata_o,
    .tkeep_o,
    .tlast_o,
    .first_o,
    .tvalid_o,
    .tready_i
  );

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      started_q <= 1'b0;
      stopped_q <= 1'b0;
      total_q <= '0;
      moved_o <= '0;
    end else begin
      started_q <= start_i;
      if (start_i) total_q <= bytes_i;
      // A run that was stopped keeps what it had moved: what is thrown away after that was not taken.
      stopped_q <= !start_i && (stop_i || stopped_q);
      if (start_i) moved_o <= '0;
      else if (!stop_i && !stopped_q) moved_o <= total_q - left;
    end
  end

  // In the cycle after its start, the reader still shows the end of the run before.
  assign busy_o = started_q || unpacking || !idle;
  assign error_o = rsp_i.r_valid && rsp_i.r.resp[1];

  always_comb begin
    req_o = '0;
    req_o.ar = '{addr: araddr, len: arlen, size: 3'd3, burst: BurstIncr, cache: 4'b0011, default: '0};
    req_o.ar_valid = arvalid;
    // The reader has room for what it asked for; in the first cycle out of reset, when it takes nothing, it has asked nothing.
    req_o.r_ready = 1'b1;
    req_o.b_ready = 1'b1;
  end

  logic unused;
  assign unused = ^{addr_i[2:0], failed, rready, rsp_i.aw_ready, rsp_i.w_ready, rsp_i.b, rsp_i.b_valid, rsp_i.r.id, rsp_i.r.last};

endmodule
