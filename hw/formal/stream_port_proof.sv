// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Whatever a slot asks for, whatever its settings do and whoever is at the other ends: a word of a stream reaches its reader once
/// and in order, of the connection in which it was sent, and no word waits without one; a read that can get no word is answered
/// at once; what is no stream goes to memory once, unchanged, and memory's answers come through in the same cycle, so that no
/// other slot can be held up.
///
/// Word `number_i` of a connection is watched, whichever it is (counted to 255 and over again).
module stream_port_proof
  import eddy_pkg::*;
(
  input logic        clk_i,
  input logic        rst_ni,
  input logic        send_open_i,
  input logic        send_set_i,
  input logic [27:0] send_first_i,
  input logic [27:0] send_last_i,
  input logic        end_i,
  input logic        receive_open_i,
  input logic        receive_set_i,
  input logic [27:0] receive_first_i,
  input logic [27:0] receive_last_i,
  input logic        send_connected_i,
  input logic        word_ready_i,
  input logic        receive_connected_i,
  input logic [63:0] word_i,
  input logic        word_valid_i,
  input logic        ended_i,
  input logic        sender_refused_i,
  input axi_req_t    req_i,
  input axi_rsp_t    rsp_i,
  input logic [7:0]  number_i
);

  localparam int unsigned Depth = 2, MaxParts = 4;

  axi_rsp_t rsp;
  axi_req_t req;
  logic [63:0] word;
  logic word_valid, word_ready, ended, refused, receive_refused, receive_lost, wake;
  logic [31:0] sent, received, send_stalls, receive_stalls;

  stream_port #(.Depth(Depth), .MaxParts(MaxParts)) dut (
    .clk_i, .rst_ni, .send_open_i, .send_set_i, .send_first_i, .send_last_i, .end_i, .receive_open_i, .receive_set_i,
    .receive_first_i, .receive_last_i, .send_connected_i, .word_o(word), .word_valid_o(word_valid), .word_ready_i,
    .ended_o(ended), .send_refused_o(refused), .receive_connected_i, .word_i, .word_valid_i, .word_ready_o(word_ready),
    .ended_i, .sender_refused_i, .receive_refused_o(receive_refused), .receive_lost_o(receive_lost), .sent_o(sent),
    .received_o(received), .send_stalls_o(send_stalls), .receive_stalls_o(receive_stalls), .req_i, .rsp_o(rsp), .wake_o(wake),
    .req_o(req), .rsp_i
  );

  logic started_q = 1'b0;
  always_ff @(posedge clk_i) started_q <= 1'b1;
  always_comb InReset_M : assume (rst_ni == started_q);

  // What stands before and behind: parts of 16 beats that stay until they are taken, answers to what was asked, taken at once.
  // Of memory's: writes it was asked for and has not answered, and those of them whose data it has not.
  logic [2:0] asked_q, lacking_q, reads_q;
  logic aw_out, w_out_last, ar_out, r_out_last;
  assign aw_out = req.aw_valid && rsp_i.aw_ready;
  assign ar_out = req.ar_valid && rsp_i.ar_ready;
  assign w_out_last = req.w_valid && rsp_i.w_ready && req.w.last;
  assign r_out_last = rsp_i.r_valid && rsp_i.r.last;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) {asked_q, lacking_q, reads_q} <= '0;
    else begin
      asked_q <= asked_q + 3'(aw_out) - 3'(rsp_i.b_valid);
      lacking_q <= lacking_q + 3'(aw_out) - 3'(w_out_last);
      reads_q <= reads_q + 3'(ar_out) - 3'(r_out_last);
    end
  end
  always_comb begin
    AnswersAreOwed_M : assume ((!rsp_i.b_valid || asked_q > lacking_q) && (!rsp_i.r_valid || reads_q != '0));
    PartsAreShort_M : assume (req_i.aw.len < 8'd16 && req_i.ar.len < 8'd16);
    TakenWhileConnected_M : assume (!word_ready_i || send_connected_i);
    NobodyIsConnectedWhileSet_M : assume (!(send_set_i && send_connected_i) && !(receive_set_i && receive_connected_i));
  end
  always_ff @(posedge clk_i) begin
    if (started_q) WatchedStays_M : assume ($stable(number_i));
    if (started_q && $past(rst_ni)) begin
      WriteStays_M : assume (!$past(req_i.aw_valid && !rsp.aw_ready) || (req_i.aw_valid && $stable(req_i.aw)));
      ReadStays_M : assume (!$past(req_i.ar_valid && !rsp.ar_ready) || (req_i.ar_valid && $stable(req_i.ar)));
    end
  end

  // Of a connection: words that went in and came out, and the watched one as it went in.
  logic [7:0] in_q, out_q, place;
  logic [63:0] watched_q, masked;
  logic goes_in, goes_out, burst_q;
  logic [1:0] held;
  // A burst of the stream that was in order, since its end was set, and neither ended nor cut off.
  assign goes_in = req_i.w_valid && rsp.w_ready && dut.w_step_q == 2'd1 && burst_q && send_connected_i && !dut.send_ended_q
      && !dut.send_gone_q;
  assign goes_out = word_valid && word_ready_i;
  assign held = dut.write_q - dut.read_q;
  assign place = number_i - out_q;
  always_comb begin
    for (int unsigned i = 0; i < 8; i++) masked[8*i+:8] = req_i.w.strb[i] ? req_i.w.data[8*i+:8] : 8'd0;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni || !send_connected_i) {in_q, out_q} <= '0;
    else begin
      in_q <= in_q + 8'(goes_in);
      out_q <= out_q + 8'(goes_out);
    end
    if (goes_in && in_q == number_i) watched_q <= masked;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni || send_set_i) burst_q <= 1'b0;
    else if (dut.aw_begin) begin
      burst_q <= !dut.aw_stale_q && !dut.send_refused_q && dut.aw_q.size == 3'd3 && dut.aw_q.burst == BurstIncr
          && dut.aw_q.addr == {dut.send_place_q, 3'd0};
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      // The words: none lost, none twice, none of another connection.
      HeldIsBetween_A : assert (8'(held) == in_q - out_q && held <= 2'(Depth));
      WordsAsSent_A : assert (dut.push == goes_in);
      if (place < 8'(held)) InTheQueue_A : assert (dut.word_ram[1'(dut.read_q + 2'(place))] == watched_q);
      if (goes_out && out_q == number_i) InOrder_A : assert (word == watched_q);
      if (goes_out) OfThisConnection_A : assert (in_q != out_q);
      if (!$past(send_connected_i) || !$past(rst_ni)) NothingUnconnected_A : assert (held == '0);
      NoWordTwice_A : assert (!goes_in || held < 2'(Depth));
      // The reader: what it is told is the sender's word, or zeros; it waits for nobody who is not there.
      if (dut.r_busy_q && rsp.r_valid && !(word_ready && receive_connected_i && word_valid_i))
        ZerosElse_A : assert (rsp.r.data == '0);
      if (dut.r_busy_q && word_ready && receive_connected_i && word_valid_i)
        TheSendersWord_A : assert (rsp.r_valid && rsp.r.data == word_i && rsp.r.resp == RespOkay);
      if (word_ready) WordsForReads_A : assert (dut.r_busy_q && !receive_set_i);
      if (dut.r_busy_q && (receive_lost || dut.over_q || !dut.r_good_q || receive_set_i)) NoWaitForNobody_A : assert (rsp.r_valid);
      // Memory: what goes there is what was asked, once; its answers come through at once.
      AskedAsCounted_A : assert (dut.writes_q == asked_q && dut.owed_q == lacking_q && dut.reads_q == reads_q
          && lacking_q <= asked_q && asked_q <= 3'(MaxParts) && reads_q <= 3'(MaxParts));
      OneAtATime_A : assert ((dut.w_step_q == 2'd0 || asked_q == '0) && (!dut.r_busy_q || reads_q == '0)
          && dut.w_step_q != 2'd3);
      if (rsp_i.b_valid) WriteAnswer_A : assert (rsp.b_valid && rsp.b == rsp_i.b);
      if (rsp_i.r_valid) ReadAnswer_A : assert (rsp.r_valid && rsp.r == rsp_i.r);
      if (req.w_valid) DataToMemory_A : assert (req.w == req_i.w && lacking_q != '0 && dut.w_step_q != 2'd1);
      NoStreamToMemory_A : assert (!(req.aw_valid && dut.aw_mine_q) && !(req.ar_valid && dut.ar_mine_q));
    end
  end

  // Requests to memory are those that came, each once: what is held came last.
  ax_t aw_came_q, ar_came_q;
  logic aw_held_q, ar_held_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) {aw_held_q, ar_held_q} <= '0;
    else begin
      if (req_i.aw_valid && rsp.aw_ready) aw_held_q <= 1'b1;
      else if (aw_out || dut.aw_begin) aw_held_q <= 1'b0;
      if (req_i.ar_valid && rsp.ar_ready) ar_held_q <= 1'b1;
      else if (ar_out || dut.ar_begin) ar_held_q <= 1'b0;
    end
    if (req_i.aw_valid && rsp.aw_ready) aw_came_q <= req_i.aw;
    if (req_i.ar_valid && rsp.ar_ready) ar_came_q <= req_i.ar;
  end
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      WritesOnce_A : assert (dut.aw_valid_q == aw_held_q && (!aw_held_q || dut.aw_q == aw_came_q));
      ReadsOnce_A : assert (dut.ar_valid_q == ar_held_q && (!ar_held_q || dut.ar_q == ar_came_q));
      if (req.aw_valid) WriteUnchanged_A : assert (aw_held_q && req.aw == aw_came_q);
      if (req.ar_valid) ReadUnchanged_A : assert (ar_held_q && req.ar == ar_came_q);
      // A reader's and a sender's burst of before their end was set: an error, and nothing of theirs passes.
      GoodIsOfThisSetting_A : assert (!dut.w_good_q || burst_q);
      BurstIsGood_A : assert (!burst_q || dut.w_good_q);
    end
  end

  // A read that was under way, or waiting, when its end was set again gets no word.
  logic old_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) old_q <= 1'b0;
    else if (receive_set_i && (dut.r_busy_q || dut.ar_begin)) old_q <= 1'b1;
    else if (dut.ar_begin) old_q <= dut.ar_stale_q;
    if (rst_ni && dut.r_busy_q && old_q) OldReadsGetNothing_A : assert (!word_ready && rsp.r_valid && rsp.r.resp == RespSlvErr);
    if (rst_ni && dut.r_busy_q && old_q) OldIsNotGood_A : assert (!dut.r_good_q);
  end

  logic unused;
  assign unused = ^{ended, refused, receive_refused, wake, sent, received, send_stalls, receive_stalls};

endmodule
