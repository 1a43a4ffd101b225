// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// A kernel's AXI4-Stream port to memory: what it sends in a run lies from `addr_i` on, at most `bytes_i` bytes (`kernel_pack` says
/// when a run ends and what is thrown away).
///
/// Words gather in a queue; a burst goes when all its words are here, of 16 words at most, up to where 16 words are aligned, so
/// that none crosses 4 KiB and no kernel holds memory up. Of the last word, the bytes beyond the run have no strobe. A write that
/// fails is told, and the run goes on. `stop_i` ends the run: what has come is written.
module kernel_stream_out
  import eddy_pkg::*;
#(
  /// Bytes of a beat, 1 to 64.
  parameter int unsigned Bytes = 8,
  /// Words that gather: a power of two, and at least two bursts.
  parameter int unsigned Depth = 64
) (
  input  logic clk_i,
  /// Synchronous reset, active low.
  input  logic rst_ni,

  input  logic                 start_i,
  input  logic [AddrWidth-1:0] addr_i,
  input  logic [31:0]          bytes_i,
  input  logic                 by_length_i,
  input  logic                 stop_i,
  /// From the start until the run has ended and memory has answered all of it.
  output logic                 busy_o,
  /// Bytes that were kept.
  output logic [31:0]          moved_o,
  /// Pulses: memory answered with an error; a packet was longer than its buffer; a beat was thrown away.
  output logic                 error_o,
  output logic                 overlong_o,
  output logic                 ragged_o,

  input  logic [8*Bytes-1:0] tdata_i,
  input  logic [Bytes-1:0]   tkeep_i,
  input  logic               tlast_i,
  input  logic               tvalid_i,
  output logic               tready_o,

  output axi_req_t req_o,
  input  axi_rsp_t rsp_i
);

  if (Depth < 32) begin : gen_check_depth
    $fatal(1, "kernel_stream_out: Depth must be at least 32");
  end

  localparam int unsigned FillWidth = $clog2(Depth + 1);
  /// Bursts announced and not answered.
  localparam int unsigned MaxOpen = 8;
  typedef logic [FillWidth-1:0] fill_t;

  logic open, packed_all, word_valid, word_ready, push;
  logic [63:0] word;
  logic [7:0] strb;

  kernel_pack #(
    .Bytes(Bytes)
  ) u_pack (
    .clk_i,
    .rst_ni,
    .start_i,
    .bytes_i,
    .by_length_i,
    .stop_i,
    .open_o(open),
    .done_o(packed_all),
    .moved_o,
    .overlong_o,
    .ragged_o,
    .tdata_i,
    .tkeep_i,
    .tlast_i,
    .tvalid_i,
    .tready_o,
    .word_o(word),
    .strb_o(strb),
    .word_valid_o(word_valid),
    .word_ready_i(word_ready)
  );

  assign push = word_valid && word_ready;

  // Bursts, of words that are here and belong to none yet.
  fill_t fill_q;
  logic [AddrWidth-4:0] at_q;
  logic [4:0] reach, burst;
  logic [3:0] open_q;
  logic issue, answer, aw_valid_q, aw_free;
  ax_t aw_q;

  assign reach = 5'd16 - {1'b0, at_q[3:0]};
  assign burst = fill_q < fill_t'(reach) ? 5'(fill_q) : reach;
  assign aw_free = !aw_valid_q || rsp_i.aw_ready;
  assign issue = aw_free && open_q != 4'(MaxOpen) && (fill_q >= fill_t'(reach) || (packed_all && fill_q != '0));
  assign answer = rsp_i.b_valid && req_o.b_ready;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      fill_q <= '0;
      at_q <= '0;
      open_q <= '0;
      aw_valid_q <= 1'b0;
    end else begin
      fill_q <= fill_q - (issue ? fill_t'(burst) : '0) + fill_t'(push);
      open_q <= open_q + 4'(issue) - 4'(answer);
      if (start_i) at_q <= addr_i[AddrWidth-1:3];
      else if (issue) at_q <= at_q + (AddrWidth - 3)'(burst);
      if (issue) aw_valid_q <= 1'b1;
      else if (rsp_i.aw_ready) aw_valid_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (issue) begin
      aw_q <= '{
        addr: {at_q, 3'd0}, len: 8'(burst) - 8'd1, size: 3'd3, burst: BurstIncr, cache: 4'b0011, default: '0
      };
    end
  end

  // Data follows the addresses that were taken: `granted` words may go. A burst ends where 16 words are aligned, or with the
  // run, for none is cut short elsewhere.
  localparam int unsigned GrantedWidth = $clog2(16 * MaxOpen + 1);
  typedef logic [GrantedWidth-1:0] granted_t;

  granted_t granted_q;
  logic words_valid, send, last, w_valid_q;
  logic [3:0] place_q;
  logic [63:0] data;
  logic [7:0] data_strb;
  w_t w_q;

  hls_fifo #(
    .Width(72),
    .Depth(Depth)
  ) u_words (
    .clk_i,
    .rst_ni,
    .clear_i(1'b0),
    .push_valid_i(word_valid),
    .push_ready_o(word_ready),
    .push_data_i({strb, word}),
    .pop_valid_o(words_valid),
    .pop_ready_i(send),
    .pop_data_o({data_strb, data})
  );

  assign send = (!w_valid_q || rsp_i.w_ready) && granted_q != '0;
  assign last = place_q == 4'd15 || (packed_all && fill_q == '0 && !aw_valid_q && granted_q == granted_t'(1));

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      granted_q <= '0;
      place_q <= '0;
      w_valid_q <= 1'b0;
    end else begin
      granted_q <= granted_q + (aw_valid_q && rsp_i.aw_ready ? granted_t'(aw_q.len[3:0]) + granted_t'(1) : '0)
          - granted_t'(send);
      if (start_i) place_q <= addr_i[6:3];
      else if (send) place_q <= place_q + 4'd1;
      if (send) w_valid_q <= 1'b1;
      else if (rsp_i.w_ready) w_valid_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (send) w_q <= '{data: data, strb: data_strb, last: last};
  end

  assign busy_o = !packed_all || fill_q != '0 || open_q != '0;
  assign error_o = answer && rsp_i.b.resp[1];

  always_comb begin
    req_o = '0;
    req_o.aw = aw_q;
    req_o.aw_valid = aw_valid_q;
    req_o.w = w_q;
    req_o.w_valid = w_valid_q;
    req_o.b_ready = 1'b1;
    req_o.r_ready = 1'b1;
  end

  logic unused;
  assign unused = ^{addr_i[2:0], open, words_valid, rsp_i.b.id, rsp_i.ar_ready, rsp_i.r, rsp_i.r_valid};

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      DataIsThere_A :
      assert (!send || words_valid)
      else $error("kernel_stream_out: a burst was announced without its words");
      StartsAtRest_A :
      assert (!start_i || !busy_o)
      else $error("kernel_stream_out: a run begins before the last one has ended");
    end
  end
`endif

endmodule
