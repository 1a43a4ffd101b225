// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Whatever a kernel sends, and wherever a run is stopped: each word that was packed goes to memory once, in its place; nothing
/// outside the buffer is asked for; bursts are such that no shell refuses them, and all their data is here before they are asked.
///
/// Word `number_i` is watched, whichever it is, and memory answers only bursts whose data it has. What the words hold:
/// `kernel_pack_proof`.
module kernel_stream_out_proof
  import eddy_pkg::*;
#(
  parameter int unsigned Bytes = 8
) (
  input logic                 clk_i,
  input logic                 rst_ni,
  input logic                 start_i,
  input logic [AddrWidth-1:0] addr_i,
  input logic [31:0]          bytes_i,
  input logic                 by_length_i,
  input logic                 stop_i,
  input logic [8*Bytes-1:0]   tdata_i,
  input logic [Bytes-1:0]     tkeep_i,
  input logic                 tlast_i,
  input logic                 tvalid_i,
  input axi_rsp_t             rsp_i,
  input logic [31:0]          number_i
);

  localparam int unsigned Unit = Bytes % 8 == 0 ? 8 : Bytes % 4 == 0 ? 4 : Bytes % 2 == 0 ? 2 : 1;
  localparam int unsigned Depth = 32;

  logic busy, failed, overlong, ragged, tready;
  logic [31:0] moved;
  axi_req_t req;

  kernel_stream_out #(.Bytes(Bytes), .Depth(Depth)) dut (
    .clk_i, .rst_ni, .start_i, .addr_i, .bytes_i, .by_length_i, .stop_i, .busy_o(busy), .moved_o(moved), .error_o(failed),
    .overlong_o(overlong), .ragged_o(ragged), .tdata_i, .tkeep_i, .tlast_i, .tvalid_i, .tready_o(tready), .req_o(req), .rsp_i
  );

  logic started_q = 1'b0;
  always_ff @(posedge clk_i) started_q <= 1'b1;
  always_comb InReset_M : assume (rst_ni == started_q);

  // Of a run: its buffer, words that were packed, announced and sent, bursts that memory has not answered, the watched byte.
  typedef logic [31:0] count_t;
  logic run_q = 1'b0;
  logic [AddrWidth-1:0] base_q = '0;
  count_t room_q = '0, packed_q = '0, announced_q = '0, sent_q = '0, number_q = '0;
  logic [3:0] whole_q = '0;
  logic [5:0] slot_q = '0;
  logic [63:0] word_q = '0;
  logic [7:0] strb_q = '0;
  logic w_last_go, b_go;

  assign w_last_go = req.w_valid && rsp_i.w_ready && req.w.last;
  assign b_go = rsp_i.b_valid && req.b_ready;
  always_comb begin
    AnswersAreOwed_M : assume (!rsp_i.b_valid || whole_q != '0);
    RunsAreApart_M : assume (!start_i || (!busy && !stop_i));
    // Of sizes, 64 KiB stand for all: what counts bytes and words is as wide as they are.
    RunsAreShort_M : assume (bytes_i[31:16] == '0 && number_i[31:16] == '0);
    // A buffer does not go around the end of the address space.
    NotAtTheEnd_M : assume (!(&addr_i[AddrWidth-1:32]));
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      run_q <= 1'b0;
      whole_q <= '0;
    end else begin
      if (w_last_go != b_go) whole_q <= w_last_go ? whole_q + 4'd1 : whole_q - 4'd1;
      if (start_i) begin
        run_q <= 1'b1;
        base_q <= {addr_i[AddrWidth-1:3], 3'd0};
        room_q <= bytes_i;
        {packed_q, announced_q, sent_q} <= '0;
        number_q <= number_i;
      end else begin
        if (dut.push) begin
          packed_q <= packed_q + 32'd1;
          if (packed_q == number_q) begin
            slot_q <= dut.u_words.write_q;
            word_q <= dut.word;
            strb_q <= dut.strb;
          end
        end
        if (dut.issue) announced_q <= announced_q + 32'(dut.burst);
        if (dut.send) sent_q <= sent_q + 32'd1;
      end
    end
  end

  // Where things are: bytes held of no word yet, words announced and not sent, bursts of which words are left.
  count_t held, whole_words, owed, first, unsent;
  logic [5:0] queued, behind;
  logic [AddrWidth-1:0] reach, page;
  logic full_up;
  always_comb begin
    full_up = dut.u_pack.full_up;
    behind = slot_q - dut.u_words.read_q;
    queued = dut.u_words.write_q - dut.u_words.read_q;
    held = 32'(dut.u_pack.fill_q) * 32'(Unit);
    whole_words = (moved + 32'd7) >> 3;
    owed = 32'(dut.granted_q) + (dut.aw_valid_q ? 32'(dut.aw_q.len) + 32'd1 : 32'd0);
    // Of 16 aligned words, one burst has all that are of the run.
    first = 32'(base_q[6:3]);
    unsent = announced_q == sent_q ? '0 : ((first + announced_q - 32'd1) >> 4) - ((first + sent_q) >> 4) + 32'd1;
    reach = req.aw.addr + ((AddrWidth'(req.aw.len) + AddrWidth'(1)) << 3);
    page = reach - AddrWidth'(1);
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni && started_q && !run_q) begin
      NothingBeforeRuns_A : assert (!req.aw_valid && !req.w_valid && !tready && !busy && owed == '0);
      AtRest_A : assert (dut.u_pack.fill_q == '0 && dut.fill_q == '0 && dut.u_words.write_q == dut.u_words.read_q
          && whole_q == '0 && dut.open_q == '0 && !dut.u_pack.open_q);
    end
    if (rst_ni && run_q) begin
      // Of the stream: what is kept is never more than there is room for, and is packed or held.
      RoomIsLeft_A : assert (moved <= room_q && dut.u_pack.room_q == room_q - moved);
      HeldIsKept_A : assert (dut.u_pack.fill_q == '0 ? packed_q == whole_words
          : (packed_q << 3) + held >= moved && (packed_q << 3) + held < moved + 32'(Unit) && packed_q < whole_words);
      WholeUnits_A : assert (full_up || moved % 32'(Unit) == '0);
      NoRestIsLost_A : assert (full_up || (packed_q << 3) + held == moved);
      UnitsFit_A : assert (32'(dut.u_pack.fill_q) <= dut.u_pack.Units);
      AmountIsOfABeat_A : assert (!dut.u_pack.beat_q || (32'(dut.u_pack.amount_q) <= Bytes
          && (dut.u_pack.full_q == (32'(dut.u_pack.amount_q) == Bytes))));
      // Of words: packed, announced, sent, in this order.
      QueueIsBetween_A : assert (queued == 6'(packed_q - sent_q)
          && packed_q - sent_q <= Depth && sent_q <= packed_q);
      FillIsBetween_A : assert (32'(dut.fill_q) == packed_q - announced_q && announced_q <= packed_q);
      OwedIsBetween_A : assert (owed == announced_q - sent_q && sent_q <= announced_q);
      OpenIsCounted_A : assert (32'(dut.open_q) == unsent + 32'(req.w_valid && req.w.last) + 32'(whole_q) && dut.open_q <= 4'd8);
      PlaceIsSent_A : assert (dut.place_q == 4'(first + sent_q));
      PartIsLast_A : assert (announced_q == '0 || 4'(first + announced_q) == '0
          || (dut.packed_all && announced_q == packed_q));
      if (sent_q <= number_q && number_q < packed_q) begin
        InTheQueue_A : assert (dut.u_words.mem_q[slot_q[4:0]] == {strb_q, word_q} && behind == 6'(number_q - sent_q));
      end
      if (req.w_valid) begin
        if (sent_q == number_q + 32'd1) InItsPlace_A : assert (req.w.data == word_q && req.w.strb == strb_q);
        SomeWord_A : assert (sent_q != '0);
        LastEndsTheBurst_A : assert (req.w.last == (4'(first + sent_q) == '0 || (dut.packed_all && sent_q == packed_q)));
      end
      // Of bursts: within the buffer, and one after the other from its beginning.
      AtFollows_A : assert ({dut.at_q, 3'd0} == base_q + (AddrWidth'(announced_q) << 3));
      if (req.aw_valid) begin
        BurstIsShort_A : assert (req.aw.len < 8'd16 && req.aw.size == 3'd3 && req.aw.burst == BurstIncr);
        BurstFollows_A : assert (reach == {dut.at_q, 3'd0} && 32'(req.aw.len) < announced_q);
        BurstInBuffer_A : assert (req.aw.addr >= base_q && reach <= base_q + AddrWidth'(((room_q + 32'd7) >> 3) << 3));
        BurstInPage_A : assert (page[AddrWidth-1:12] == req.aw.addr[AddrWidth-1:12]);
        BurstInSixteen_A : assert (page[AddrWidth-1:7] == req.aw.addr[AddrWidth-1:7]);
      end
      BaseIsWhole_A : assert (base_q[2:0] == '0 && !(&base_q[AddrWidth-1:32]) && room_q[31:16] == '0 && number_q[31:16] == '0);
      // The run's end: everything kept is in memory, as far as memory answered.
      if (!busy) AllIsSent_A : assert (sent_q == whole_words && !req.w_valid && !req.aw_valid);
    end
  end

  logic unused;
  assign unused = ^{failed, overlong, ragged};

endmodule
