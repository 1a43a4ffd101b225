// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// A slot's ends of streams, between its path and the memory it shares: what the slot writes into one buffer goes to another
/// slot's port, and what it reads of one buffer comes from another's. Everything else passes, a cycle later.
///
/// A stream is a buffer that is written once, from its first byte on, and read once in the same order: whole words of 8 bytes,
/// in INCR bursts, of which the bytes without a strobe count as zero. A burst that is anything else is refused: SLVERR, and
/// the stream is lost.
///
/// `send_set_i` and `receive_set_i` set an end once more, with settings that are new in that cycle. Between two of them the ends
/// are connected once at most. Words are here only while the sending end is connected: what was sent before is gone with the
/// connection, so nothing of one owner's reaches the next.
///
/// Sending, until it has sent all: while the reader's end is connected, a word waits for room, and with it the slot's later writes; nobody else's.
/// Without a reader, words are taken and dropped. Afterwards, the pages are memory again. Receiving: a read waits for the next word. Once the sender has ended and all
/// is taken, it reads zeros, as from the rest of a buffer nobody wrote; where the sender went away before, or was refused, zeros
/// with SLVERR, and so it ends at once.
///
/// Stands behind a `burst_split`: parts of 16 beats at most, one id, answers in order and taken at once. So a burst of a stream
/// waits until memory has answered this slot's earlier ones of its direction, and later ones wait for it.
module stream_port
  import eddy_pkg::*;
#(
  /// Words that may be between a sender and its reader: a power of two.
  parameter int unsigned Depth = 64,
  /// Requests of the slot that may be with memory in each direction.
  parameter int unsigned MaxParts = 8
) (
  input  logic        clk_i,
  /// Synchronous reset, active low.
  input  logic        rst_ni,

  /// The sending end: whether it is open, for which pages; set once more; it has sent all (pulse).
  input  logic        send_open_i,
  input  logic        send_set_i,
  input  logic [27:0] send_first_i,
  input  logic [27:0] send_last_i,
  input  logic        end_i,
  /// The receiving end.
  input  logic        receive_open_i,
  input  logic        receive_set_i,
  input  logic [27:0] receive_first_i,
  input  logic [27:0] receive_last_i,

  /// To the reader's port: the oldest word; all was sent and taken; the stream is lost. `word_ready_i` only while connected.
  input  logic        send_connected_i,
  output logic [63:0] word_o,
  output logic        word_valid_o,
  input  logic        word_ready_i,
  output logic        ended_o,
  output logic        send_refused_o,
  /// From the sender's; all of it counts while connected.
  input  logic        receive_connected_i,
  input  logic [63:0] word_i,
  input  logic        word_valid_i,
  output logic        word_ready_o,
  input  logic        ended_i,
  input  logic        sender_refused_i,

  /// For software.
  output logic        receive_refused_o,
  output logic        receive_lost_o,
  output logic [31:0] sent_o,
  output logic [31:0] received_o,
  output logic [31:0] send_stalls_o,
  output logic [31:0] receive_stalls_o,

  /// The slot's path.
  input  axi_req_t    req_i,
  output axi_rsp_t    rsp_o,
  /// An answer goes to it.
  output logic        wake_o,
  /// Toward memory.
  output axi_req_t    req_o,
  input  axi_rsp_t    rsp_i
);

  if (Depth < 2 || (Depth & (Depth - 1)) != 0) begin : gen_check_depth
    $fatal(1, "stream_port: Depth must be a power of two, 2 or more");
  end

  localparam int unsigned CountWidth = $clog2(MaxParts + 1);
  localparam int unsigned IndexWidth = $clog2(Depth);
  typedef logic [CountWidth-1:0] count_t;
  typedef logic [IndexWidth:0] ptr_t;
  /// Number of a word of 8 bytes in memory.
  typedef logic [AddrWidth-4:0] place_t;
  typedef enum logic [1:0] {Rest, Data, Answer} step_e;

  // The burst that is held, of whole words, is the stream's next.
  logic aw_in_order, ar_in_order;

  // Writes. One request is looked at while it is held here; `mine` was told as it came.
  ax_t aw_q;
  logic aw_valid_q, aw_mine_q, aw_stale_q, aw_take, aw_begin, aw_pass, send_ended_q, send_refused_q, send_joined_q, send_gone_q;
  logic w_good_q, w_error_q, w_go, w_room, w_last_go, wanted, push;
  step_e w_step_q;
  place_t send_place_q;
  count_t writes_q, owed_q;
  ptr_t write_q, read_q;
  logic [63:0] word_ram [Depth];
  logic [63:0] word;

  assign aw_in_order = aw_q.addr == {send_place_q, 3'd0} && aw_q.size == 3'd3 && aw_q.burst == BurstIncr;
  assign aw_begin = aw_valid_q && aw_mine_q && w_step_q == Rest && writes_q == '0;
  assign aw_pass = aw_valid_q && !aw_mine_q && w_step_q == Rest && writes_q != count_t'(MaxParts);
  assign aw_take = aw_begin || (aw_pass && rsp_i.aw_ready);
  assign rsp_o.aw_ready = !aw_valid_q || aw_take;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      aw_valid_q <= 1'b0;
      aw_mine_q <= 1'b0;
      aw_stale_q <= 1'b0;
    end else if (rsp_o.aw_ready) begin
      aw_valid_q <= req_i.aw_valid;
      aw_mine_q <= req_i.aw_valid && send_open_i && !(send_ended_q && !send_set_i) && req_i.aw.addr[AddrWidth-1:12] >= send_first_i
          && req_i.aw.addr[AddrWidth-1:12] <= send_last_i;
      aw_stale_q <= 1'b0;
    end else if (send_set_i) begin
      aw_stale_q <= 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (req_i.aw_valid && rsp_o.aw_ready) aw_q <= req_i.aw;
  end

  always_comb begin
    req_o.aw = aw_q;
    req_o.aw_valid = aw_pass;
    req_o.w = req_i.w;
    req_o.w_valid = req_i.w_valid && w_step_q != Data && owed_q != '0;
    req_o.b_ready = req_i.b_ready;
  end

  // A word of a stream finds room, or nobody wants it.
  assign wanted = w_good_q && send_connected_i && !send_ended_q && !send_gone_q;
  assign w_room = !wanted || write_q - read_q != ptr_t'(Depth);
  assign rsp_o.w_ready = w_step_q == Data ? w_room : rsp_i.w_ready && owed_q != '0;
  assign w_go = req_i.w_valid && rsp_o.w_ready;
  assign w_last_go = w_go && req_i.w.last;
  assign push = w_go && w_step_q == Data && wanted;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      w_step_q <= Rest;
      w_good_q <= 1'b0;
      w_error_q <= 1'b0;
      writes_q <= '0;
      owed_q <= '0;
    end else begin
      writes_q <= writes_q + count_t'(aw_pass && rsp_i.aw_ready) - count_t'(rsp_i.b_valid);
      owed_q <= owed_q + count_t'(aw_pass && rsp_i.aw_ready) - count_t'(w_last_go && w_step_q != Data);
      if (send_set_i) w_good_q <= 1'b0;
      unique case (w_step_q)
        Rest: begin
          if (aw_begin) begin
            w_good_q <= !send_refused_q && !aw_stale_q && !send_set_i && aw_in_order;
            w_error_q <= 1'b0;
            w_step_q <= Data;
          end
        end
        Data: begin
          if (!w_good_q) w_error_q <= 1'b1;
          if (w_last_go) w_step_q <= Answer;
        end
        default: w_step_q <= Rest;
      endcase
    end
  end

  // Where the next burst begins, and what became of the end since it was set.
  always_ff @(posedge clk_i) begin
    if (!rst_ni || send_set_i) begin
      send_place_q <= {send_first_i, 9'd0};
      send_refused_q <= 1'b0;
      send_ended_q <= 1'b0;
      send_joined_q <= 1'b0;
      send_gone_q <= 1'b0;
    end else begin
      if (end_i) send_ended_q <= 1'b1;
      send_joined_q <= send_connected_i;
      if (send_joined_q && !send_connected_i) send_gone_q <= 1'b1;
      if (aw_begin && !aw_stale_q) begin
        if (aw_in_order) send_place_q <= send_place_q + place_t'(aw_q.len) + place_t'(1);
        else send_refused_q <= 1'b1;
      end
    end
  end

  // Words between both ends: none without a connection.
  always_comb begin
    for (int unsigned i = 0; i < StrbWidth; i++) word[8*i+:8] = req_i.w.strb[i] ? req_i.w.data[8*i+:8] : 8'd0;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni || !send_connected_i) begin
      write_q <= '0;
      read_q <= '0;
    end else begin
      if (push) write_q <= write_q + ptr_t'(1);
      if (word_valid_o && word_ready_i) read_q <= read_q + ptr_t'(1);
    end
  end

  always_ff @(posedge clk_i) begin
    if (push) word_ram[write_q[IndexWidth-1:0]] <= word;
  end

  assign word_o = word_ram[read_q[IndexWidth-1:0]];
  assign word_valid_o = write_q != read_q;
  assign ended_o = send_ended_q && write_q == read_q;
  assign send_refused_o = send_refused_q || send_gone_q;

  // Reads.
  ax_t ar_q;
  logic ar_valid_q, ar_mine_q, ar_stale_q, ar_take, ar_begin, ar_pass, receive_refused_q, connected_q, over_q, lost_q;
  logic r_busy_q, r_good_q, r_error, r_valid;
  logic [3:0] left_q;
  place_t receive_place_q;
  count_t reads_q;

  assign ar_in_order = ar_q.addr == {receive_place_q, 3'd0} && ar_q.size == 3'd3 && ar_q.burst == BurstIncr;
  assign ar_begin = ar_valid_q && ar_mine_q && !r_busy_q && reads_q == '0;
  assign ar_pass = ar_valid_q && !ar_mine_q && !r_busy_q && reads_q != count_t'(MaxParts);
  assign ar_take = ar_begin || (ar_pass && rsp_i.ar_ready);
  assign rsp_o.ar_ready = !ar_valid_q || ar_take;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      ar_valid_q <= 1'b0;
      ar_mine_q <= 1'b0;
      ar_stale_q <= 1'b0;
    end else if (rsp_o.ar_ready) begin
      ar_valid_q <= req_i.ar_valid;
      ar_mine_q <= req_i.ar_valid && receive_open_i && req_i.ar.addr[AddrWidth-1:12] >= receive_first_i
          && req_i.ar.addr[AddrWidth-1:12] <= receive_last_i;
      ar_stale_q <= 1'b0;
    end else if (receive_set_i) begin
      ar_stale_q <= 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (req_i.ar_valid && rsp_o.ar_ready) ar_q <= req_i.ar;
  end

  always_comb begin
    req_o.ar = ar_q;
    req_o.ar_valid = ar_pass;
    req_o.r_ready = req_i.r_ready;
  end

  // What a read of the stream is answered with: an error, the sender's next word, or zeros where there is none to come.
  assign r_error = !r_good_q || lost_q || receive_set_i;
  assign word_ready_o = r_busy_q && !r_error && !over_q;
  assign r_valid = r_busy_q && (r_error || over_q || (receive_connected_i && word_valid_i));

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      r_busy_q <= 1'b0;
      r_good_q <= 1'b0;
      left_q <= '0;
      reads_q <= '0;
    end else begin
      reads_q <= reads_q + count_t'(ar_pass && rsp_i.ar_ready) - count_t'(rsp_i.r_valid && rsp_i.r.last);
      if (ar_begin) begin
        r_busy_q <= 1'b1;
        r_good_q <= !receive_refused_q && !ar_stale_q && !receive_set_i && ar_in_order;
        left_q <= ar_q.len[3:0];
      end else begin
        if (receive_set_i) r_good_q <= 1'b0;
        if (r_valid) begin
          left_q <= left_q - 4'd1;
          r_busy_q <= left_q != '0;
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni || receive_set_i) begin
      receive_place_q <= {receive_first_i, 9'd0};
      receive_refused_q <= 1'b0;
      connected_q <= 1'b0;
      over_q <= 1'b0;
      lost_q <= 1'b0;
    end else begin
      connected_q <= receive_connected_i;
      if (receive_connected_i && sender_refused_i) lost_q <= 1'b1;
      else if (receive_connected_i && ended_i) over_q <= 1'b1;
      else if (connected_q && !receive_connected_i && !over_q) lost_q <= 1'b1;
      if (ar_begin && !ar_stale_q) begin
        if (ar_in_order) receive_place_q <= receive_place_q + place_t'(ar_q.len) + place_t'(1);
        else receive_refused_q <= 1'b1;
      end
    end
  end

  assign receive_refused_o = receive_refused_q;
  assign receive_lost_o = lost_q;

  always_comb begin
    rsp_o.b = w_step_q == Answer ? '{id: '0, resp: w_error_q ? RespSlvErr : RespOkay} : rsp_i.b;
    rsp_o.b_valid = rsp_i.b_valid || w_step_q == Answer;
    rsp_o.r = rsp_i.r;
    if (r_busy_q) begin
      rsp_o.r.id = '0;
      rsp_o.r.data = r_error || over_q ? '0 : word_i;
      rsp_o.r.resp = r_error ? RespSlvErr : RespOkay;
      rsp_o.r.last = left_q == '0;
    end
    rsp_o.r_valid = rsp_i.r_valid || r_valid;
  end

  // The path's edges count while something here is on its way to it.
  assign wake_o = aw_valid_q || ar_valid_q || r_busy_q || w_step_q != Rest;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || send_set_i) begin
      sent_o <= '0;
      send_stalls_o <= '0;
    end else if (w_step_q == Data && w_good_q) begin
      if (w_go) sent_o <= sent_o + 32'd1;
      if (req_i.w_valid && !w_room) send_stalls_o <= send_stalls_o + 32'd1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni || receive_set_i) begin
      received_o <= '0;
      receive_stalls_o <= '0;
    end else if (r_busy_q) begin
      if (word_ready_o && receive_connected_i && word_valid_i) received_o <= received_o + 32'd1;
      if (!r_valid) receive_stalls_o <= receive_stalls_o + 32'd1;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      AnswersDoNotMeet_A :
      assert (!(rsp_i.b_valid && w_step_q == Answer) && !(rsp_i.r_valid && r_busy_q))
      else $error("stream_port: memory answers while a stream does");
      NobodyTakesUnconnected_A :
      assert (send_connected_i || !word_ready_i)
      else $error("stream_port: a word taken by nobody it is for");
      AnswersWereAsked_A :
      assert (!(rsp_i.b_valid && writes_q == '0) && !(rsp_i.r_valid && reads_q == '0))
      else $error("stream_port: memory answers what it was not asked");
      PartsAreShort_A :
      assert ((!req_i.aw_valid || req_i.aw.len < 8'd16) && (!req_i.ar_valid || req_i.ar.len < 8'd16))
      else $error("stream_port: a burst of more than 16 beats");
    end
  end
`endif

endmodule
