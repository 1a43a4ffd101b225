// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// A fence of a core means what it says, and so does a clear between two owners: every store that was taken before it has been
/// answered by memory when it ends, and no load is served afterwards from a line that was asked for before it. A line is
/// never on its way while a store to it has not landed, so what comes has all of the core's own stores.
///
/// Told of any one line and any one store. Assumed of memory: it answers what it was asked, in order, and what was sent; of
/// the core: it clears at rest. A line may have any number of beats. Atomic accesses are left out: they have a bench. The
/// smallest cache: two lines in one set, one lane.
module gpu_dcache_proof
  import gpu_pkg::*;
(
  input logic                     clk_i,
  input logic                     rst_ni,
  input logic                     clear_i,
  input logic                     req_valid_i,
  input logic                     req_store_i,
  input logic                     req_fence_i,
  input logic [2:0]               req_size_i,
  input logic [31:0]              req_addr_i,
  input logic [31:0]              req_data_i,
  input logic                     rsp_ready_i,
  input logic                     drain_i,
  input logic                     rd_ready_i,
  input logic                     rd_beat_i,
  input logic [63:0]              rd_data_i,
  input logic                     rd_last_i,
  input logic                     rd_error_i,
  input logic                     wr_ready_i,
  input logic [2:0]               wr_beat_i,
  input logic                     wr_done_i,
  input logic                     wr_error_i,
  /// The line that is followed, and which store to it, of all.
  input logic [LineAddrWidth-1:0] line_i,
  input logic                     follow_i
);

  typedef logic [31:0] words_t [1];
  words_t addr, data, compare, answer;
  assign addr = '{req_addr_i};
  assign data = '{req_data_i};
  assign compare = '{32'd0};

  logic idle;

  gpu_dcache #(.Threads(1), .TagWidth(1), .Bytes(128), .LocalBytes(64), .Reads(2)) dut (
    .clk_i, .rst_ni, .clear_i, .clear_line_i('0), .req_valid_i, .req_ready_o(), .req_store_i, .req_fence_i,
    .req_amo_i(1'b0), .req_amo_op_i('0), .req_acquire_i(1'b0), .req_release_i(1'b0), .req_compare_i(compare), .req_size_i,
    .req_mask_i(1'b1), .req_tag_i('0), .req_addr_i(addr), .req_data_i(data), .wake_o(), .rsp_valid_o(), .rsp_ready_i,
    .rsp_last_o(), .rsp_mask_o(), .rsp_tag_o(), .rsp_data_o(answer), .drain_i, .idle_o(idle), .error_o(),
    .error_store_o(), .error_addr_o(), .hit_event_o(), .miss_event_o(), .lock_o(), .lock_quarter_o(), .lock_line_o(),
    .lock_grant_i(1'b0), .rd_valid_o(), .rd_ready_i, .rd_line_o(), .rd_beat_i, .rd_data_i,
    .rd_last_i, .rd_error_i, .wr_valid_o(), .wr_ready_i, .wr_line_o(), .wr_beats_o(), .wr_beat_i,
    .wr_data_o(), .wr_strb_o(), .wr_done_i, .wr_error_i
  );

  logic [7:0] busy;
  assign busy = dut.u_fills.busy_q;

  // The store that is followed: the access under way; then in the store buffer, and where; then at memory, by its number.
  logic under_way_q, inside_q, sent_q, enters;
  logic [2:0] place_q;
  logic [7:0] number_q, behind_oldest;
  assign behind_oldest = number_q - dut.u_stores.u_sent.oldest_q;

  logic started_q = 1'b0;
  always_ff @(posedge clk_i) started_q <= 1'b1;
  always_comb begin
    InReset_M : assume (rst_ni == started_q);
    if (!rst_ni) NothingInReset_M : assume (!rd_beat_i && !wr_done_i && !clear_i);
    if (clear_i) ClearedAtRest_M : assume (idle && !req_valid_i);
    // A line's beats come when it was asked for.
    if (rd_beat_i) BeatsHaveAskers_M : assume (busy[dut.u_fills.head_q]);
    NotOfLocalMemory_M : assume (!dut.is_local(line_i));
    // Proved of the store buffer by itself: `gpu_store_buffer_proof`.
    OnePlaceForALine_M :
    assume (dut.u_stores.io_push || (dut.u_stores.open & (dut.u_stores.open - 8'd1)) == '0);
    if (inside_q) begin
      NotEmpty_M : assume (!dut.sb_empty);
      if (dut.look && dut.line == line_i) IsToldOf_M : assume (sent_q ? dut.u_stores.told : dut.sb_waits);
      if (sent_q) StaysUntilAnswered_M : assume (behind_oldest < 8'(dut.u_stores.u_sent.next_q - dut.u_stores.u_sent.oldest_q));
    end
    if (wr_done_i) AnswersHaveAskers_M : assume (!dut.u_stores.none_sent);
  end
  always_ff @(posedge clk_i) begin
    if (started_q) OneLine_M : assume ($stable(line_i));
  end

  // Whether the followed line has been asked for since everything was forgotten last.
  logic asked_q, asks, forgets;
  assign asks = (dut.ask || dut.ask_ahead) && dut.line == line_i;
  assign forgets = clear_i || dut.end_fence;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) asked_q <= 1'b0;
    else if (asks || forgets) asked_q <= asks;
  end

  assign enters = under_way_q && dut.serve_store;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      under_way_q <= 1'b0;
      inside_q <= 1'b0;
    end else begin
      if (enters) begin
        under_way_q <= 1'b0;
        inside_q <= 1'b1;
        sent_q <= 1'b0;
        place_q <= dut.u_stores.into;
      end
      if (inside_q && !sent_q && dut.u_stores.send && dut.u_stores.send_q == place_q) begin
        sent_q <= 1'b1;
        number_q <= dut.u_stores.u_sent.next_q;
      end
      if (inside_q && sent_q && wr_done_i && dut.u_stores.u_sent.oldest_q == number_q) inside_q <= 1'b0;
      if (dut.take && dut.asks_store && !dut.asks_fence && dut.asks_addr[0][31:LineOffset] == line_i
          && follow_i && !inside_q && (!under_way_q || enters)) begin
        under_way_q <= !enters;
      end
    end
  end

  // The line that began last is the one that memory has not been asked for, if there is one.
  logic [7:0] coming, places, pending;
  for (genvar f = 0; f < 8; f++) begin : gen_fill
    assign coming[f] = busy[f] && dut.u_fills.line_q[f] == line_i;
    assign pending[f] = dut.u_fills.ask_q && dut.u_fills.tail_q == 3'(f + 1);

    // The way a line goes to is its own: its tag is there, and no other line comes to it.
    always_comb begin
      places[f] = (dut.u_fills.way_q[f] ? dut.tag1_ram[0] : dut.tag0_ram[0]) == dut.u_fills.line_q[f]
          && dut.u_fills.set_q[f] == '0;
      for (int g = 0; g < f; g++) if (busy[g] && dut.u_fills.way_q[g] == dut.u_fills.way_q[f]) places[f] = 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      AWayOfItsOwn_A : assert ((busy & ~places) == '0);
      OnItsWayWasAsked_A : assert (coming == '0 || asked_q);
      HereWasAsked_A :
      assert (asked_q || !((dut.valid0_q[0] && dut.tag0_ram[0] == line_i) || (dut.valid1_q[0] && dut.tag1_ram[0] == line_i)));
      if (dut.serve_load && !dut.local_hit && dut.line == line_i) NoLineFromBefore_A : assert (asked_q);
      if (forgets) ForgottenAtRest_A : assert (busy == '0);
      NotAskedForBeforeItLands_A : assert ((coming & ~pending) == '0 || !inside_q);
      if ((coming & pending) != '0 && inside_q) begin
        HeldUntilItLands_A :
        assert (sent_q && dut.sb_held && behind_oldest < 8'(dut.u_stores.u_sent.limit_q - dut.u_stores.u_sent.oldest_q));
      end
      OneLooks_A : assert (!(dut.valid_q && dut.looks_q));
      NothingAtomic_A :
      assert (!dut.amo && (!dut.u_port.waits_q || (!dut.u_port.waiting_q.amo && dut.u_port.waiting_q.mask)));
      if (under_way_q) begin
        UnderWay_A :
        assert (dut.valid_q && dut.store_q && dut.left_q && dut.addr_q[0][31:LineOffset] == line_i
                && dut.place_q.line == line_i);
        ServedAtOnce_A :
        assert (dut.bank_q[0] == dut.bank_of(dut.addr_q[0][5:2])
                && dut.place_q.parts[dut.bank_q[0]] == dut.part_of(dut.addr_q[0][5:2]));
      end
      if (dut.end_fence) FenceAfterStores_A : assert (!under_way_q && !inside_q);
    end
  end

endmodule
