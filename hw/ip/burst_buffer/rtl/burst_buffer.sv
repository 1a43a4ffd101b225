// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Keeps a slow slot from holding up the memory it shares: nothing goes toward memory that the slot could still stall.
///
/// A write request goes on only when all its data is here; a read request only when there is room for all its data; an
/// answer always finds room. So every channel toward memory moves at memory's own speed, whatever the slot does.
///
/// At most `MaxOutstanding` writes may be under way (the firewall ensures it). Data is offered from where its request is;
/// what stands behind takes the last beat after the request, the others when it likes (`burst_split`: for the parts it sent).
module burst_buffer
  import eddy_pkg::*;
#(
  /// Write bursts under way, and read requests waiting; a power of two, at least the firewall's.
  parameter int unsigned MaxOutstanding = 8,
  /// Beats held in each direction: a power of two, more than 256.
  parameter int unsigned Beats = 512
) (
  input  logic     clk_i,
  /// Synchronous reset, active low.
  input  logic     rst_ni,
  /// From the slot's side.
  input  axi_req_t req_i,
  output axi_rsp_t rsp_o,
  /// Toward memory.
  output axi_req_t req_o,
  input  axi_rsp_t rsp_i
);

  if (Beats <= 256) begin : gen_check_beats
    $fatal(1, "burst_buffer: Beats must hold the longest burst, 256, and more");
  end

  localparam int unsigned RoomWidth = $clog2(Beats) + 1;
  typedef logic [RoomWidth-1:0] room_t;
  typedef logic [$clog2(MaxOutstanding):0] count_t;

  // Writes: `whole` bursts have all their data here and have not been asked for, `sent` have, and not all data has gone.
  logic aw_valid, w_valid, w_open, w_ready, aw_go, w_go, w_in_last, w_out_last;
  ax_t aw;
  w_t w;
  count_t whole_q, sent_q;

  sync_fifo #(
    .Width($bits(ax_t)),
    .Depth(MaxOutstanding)
  ) u_aw (
    .clk_i,
    .rst_ni,
    .valid_i(req_i.aw_valid),
    .ready_o(rsp_o.aw_ready),
    .data_i(req_i.aw),
    .valid_o(aw_valid),
    .ready_i(aw_go),
    .data_o(aw)
  );

  sync_fifo #(
    .Width($bits(w_t)),
    .Depth(Beats)
  ) u_w (
    .clk_i,
    .rst_ni,
    .valid_i(req_i.w_valid),
    .ready_o(rsp_o.w_ready),
    .data_i(req_i.w),
    .valid_o(w_valid),
    .ready_i(w_ready),
    .data_o(w)
  );

  assign req_o.aw = aw;
  assign req_o.aw_valid = aw_valid && whole_q != '0;
  assign aw_go = req_o.aw_valid && rsp_i.aw_ready;
  assign req_o.w = w;
  assign w_open = sent_q != '0 || req_o.aw_valid;
  assign req_o.w_valid = w_valid && w_open;
  assign w_ready = w_open && rsp_i.w_ready;
  assign w_go = req_o.w_valid && rsp_i.w_ready;
  assign w_in_last = req_i.w_valid && rsp_o.w_ready && req_i.w.last;
  assign w_out_last = w_go && w.last;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      whole_q <= '0;
      sent_q <= '0;
    end else begin
      if (w_in_last != aw_go) whole_q <= w_in_last ? whole_q + count_t'(1) : whole_q - count_t'(1);
      if (aw_go != w_out_last) sent_q <= aw_go ? sent_q + count_t'(1) : sent_q - count_t'(1);
    end
  end

  logic b_ready;

  sync_fifo #(
    .Width($bits(b_t)),
    .Depth(2 * MaxOutstanding)
  ) u_b (
    .clk_i,
    .rst_ni,
    .valid_i(rsp_i.b_valid),
    .ready_o(b_ready),
    .data_i(rsp_i.b),
    .valid_o(rsp_o.b_valid),
    .ready_i(req_i.b_ready),
    .data_o(rsp_o.b)
  );

  // Reads: `room` beats are not promised to any request.
  logic ar_valid, ar_go, r_ready, r_out;
  ax_t ar;
  room_t room_q, ar_beats;

  sync_fifo #(
    .Width($bits(ax_t)),
    .Depth(MaxOutstanding)
  ) u_ar (
    .clk_i,
    .rst_ni,
    .valid_i(req_i.ar_valid),
    .ready_o(rsp_o.ar_ready),
    .data_i(req_i.ar),
    .valid_o(ar_valid),
    .ready_i(ar_go),
    .data_o(ar)
  );

  assign ar_beats = room_t'(ar.len) + room_t'(1);
  assign req_o.ar = ar;
  assign req_o.ar_valid = ar_valid && room_q >= ar_beats;
  assign ar_go = req_o.ar_valid && rsp_i.ar_ready;
  assign r_out = rsp_o.r_valid && req_i.r_ready;

  // One word less than the memory holds, since the FIFO's ready comes one word early.
  always_ff @(posedge clk_i) begin
    if (!rst_ni) room_q <= room_t'(Beats - 2);
    else if (ar_go || r_out) room_q <= room_q - (ar_go ? ar_beats : '0) + room_t'(r_out);
  end

  sync_fifo #(
    .Width($bits(r_t)),
    .Depth(Beats)
  ) u_r (
    .clk_i,
    .rst_ni,
    .valid_i(rsp_i.r_valid),
    .ready_o(r_ready),
    .data_i(rsp_i.r),
    .valid_o(rsp_o.r_valid),
    .ready_i(req_i.r_ready),
    .data_o(rsp_o.r)
  );

  assign req_o.b_ready = 1'b1;
  assign req_o.r_ready = 1'b1;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      ReadDataFindsRoom_A :
      assert (!rsp_i.r_valid || r_ready)
      else $error("burst_buffer: read data without room");
      AnswerFindsRoom_A :
      assert (!rsp_i.b_valid || b_ready)
      else $error("burst_buffer: a write answer without room");
      LastBeatsFollowRequests_A :
      assert (!w_out_last || sent_q != '0)
      else $error("burst_buffer: a burst's data was taken whole before its request");
      WholeWritesOnly_A :
      assert (sent_q == '0 || w_valid || !rsp_i.w_ready || !$past(rst_ni) || $past(w_ready))
      else $error("burst_buffer: a write burst went without its data");
    end
  end
`endif

endmodule
