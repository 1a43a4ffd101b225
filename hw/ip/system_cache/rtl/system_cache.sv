// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// A cache that all slots share, between the crossbar and memory: reads are kept, writes go past and drop what they change.
///
/// Lines of 64 bytes, physical addresses, behind the firewalls: a slot only meets lines of pages it may read. Answers come
/// in the order of the requests. Requests are served in the order in which the crossbar hands them over.
///
/// A read is kept where AxCACHE lets it be modified (bit 1) and allocated (bits 3:2), or bit k of `force_i` is set for
/// slot k. One that may be modified and not allocated is fetched again each time, line by line. One that may not be
/// modified, or that AXI forbids, goes to memory as it is, alone. Errors reach whoever asked and are never kept.
///
/// Write data and write answers go past this block (`m_axi_w*`, `m_axi_b*`); it only needs to see the answers. Whoever
/// asks must always take its answers.
module system_cache
  import eddy_pkg::*;
  import system_cache_pkg::*;
#(
  /// A power of two, at least 128 bytes a way.
  parameter int unsigned CacheBytes = 32768,
  /// Ways of a set: a power of two, 2 to 16.
  parameter int unsigned Ways = 4,
  /// Lines that are fetched or answered from at a time: a power of two, 2 to 16.
  parameter int unsigned Fetches = 8,
  /// Write bursts that memory has not answered; a power of two.
  parameter int unsigned MaxWrites = 16,
  /// Beats of answers that wait for their data; a power of two.
  parameter int unsigned MaxBeats = 64
) (
  input  logic        clk_i,
  /// Synchronous reset, active low.
  input  logic        rst_ni,

  // From the crossbar.
  input  ax_t         aw_i,
  input  logic [ 3:0] aw_slot_i,
  input  logic        aw_valid_i,
  output logic        aw_ready_o,
  input  ax_t         ar_i,
  input  logic [ 3:0] ar_slot_i,
  input  logic        ar_valid_i,
  output logic        ar_ready_o,
  output r_t          r_o,
  output logic [ 3:0] r_slot_o,
  output logic        r_valid_o,

  // Memory.
  output ax_t         aw_o,
  output logic [ 3:0] aw_slot_o,
  output logic        aw_valid_o,
  input  logic        aw_ready_i,
  input  logic        b_valid_i,
  input  logic [ 7:0] b_id_i,
  output ax_t         ar_o,
  output logic [ 3:0] ar_slot_o,
  output logic        ar_valid_o,
  input  logic        ar_ready_i,
  input  r_t          r_i,
  input  logic [ 3:0] r_slot_i,
  input  logic        r_valid_i,

  /// Slots whose reads are kept although they do not ask for it.
  input  logic [15:0] force_i,
  /// Pulse: forget the lines of these pages, first and last included. Not heard while busy.
  input  logic        flush_i,
  input  page_t       flush_first_i,
  input  page_t       flush_last_i,
  output logic        flush_busy_o,

  /// Whose counters to show: lines found, lines asked of memory.
  input  logic        show_i,
  input  logic [ 3:0] show_slot_i,
  output logic [63:0] hits_o,
  output logic [63:0] misses_o
);

  if (Ways < 2 || Ways > 16 || (Ways & (Ways - 1)) != 0) begin : gen_check_ways
    $fatal(1, "system_cache: Ways must be a power of two, 2 to 16");
  end
  if (CacheBytes < 128 * Ways || (CacheBytes & (CacheBytes - 1)) != 0) begin : gen_check_bytes
    $fatal(1, "system_cache: CacheBytes must be a power of two, at least 128 bytes a way");
  end
  if (Fetches < 2 || Fetches > MaxFetches || (Fetches & (Fetches - 1)) != 0) begin : gen_check_fetches
    $fatal(1, "system_cache: Fetches must be a power of two, 2 to 16");
  end
  if (MaxBeats < 2 || (MaxBeats & (MaxBeats - 1)) != 0) begin : gen_check_beats
    $fatal(1, "system_cache: MaxBeats must be a power of two, 2 or more");
  end

  localparam int unsigned Sets = CacheBytes / 64 / Ways;
  localparam int unsigned SetWidth = $clog2(Sets);
  localparam int unsigned WayWidth = $clog2(Ways);
  localparam int unsigned IndexWidth = $clog2(Fetches);
  localparam int unsigned BeatWidth = $clog2(MaxBeats);
  typedef logic [SetWidth-1:0] set_t;
  typedef logic [WayWidth-1:0] way_t;
  typedef logic [IndexWidth-1:0] index_t;
  typedef logic [BeatWidth:0] ptr_t;

  // The read that waits to be looked up, beat by beat.
  logic plain, enters, leaves, last, step;
  line_t line;
  word_t word;
  logic lookup;

  // What is known of its line.
  logic hit, room, fetching, joinable, written, flushed;
  way_t hit_way, oldest_way, way;
  logic [Ways-1:0] used, pinned;
  logic wanted, blocked, start, start_hit, start_join, start_fetch, keep, ask_free;
  index_t next;

  // Requests to memory, and a read that goes to memory as it is.
  ax_t ar_q;
  logic [3:0] ar_slot_q;
  logic ar_valid_q, pass_q, pass_start;

  // Beats that wait for their data.
  beat_t beats_q [MaxBeats];
  ptr_t beat_in_q, beat_out_q;
  beat_t beat;
  logic beat_room, beat_valid, push, pop;

  // Words from memory, and where answers take theirs.
  logic fill, fill_aside, filled, answer_aside;
  word_t fill_word;
  set_t fill_set, answer_set;
  way_t fill_way, answer_way;
  index_t fill_index, answer_row;
  logic [7:0] have;
  logic [7:0][1:0] resp;
  logic idle;

  // Dropping lines.
  logic drop, drop_turn, sweep, mark, marked;
  line_t drop_line;
  set_t sweep_set;
  extent_t entering;
  page_t first_page, last_page;

  cache_walk u_walk (
    .clk_i,
    .rst_ni,
    .ax_i(ar_i),
    .valid_i(ar_valid_i),
    .step_i(step),
    .plain_o(plain),
    .line_o(line),
    .word_o(word),
    .enters_o(enters),
    .leaves_o(leaves),
    .last_o(last)
  );

  assign lookup = ar_valid_i && plain && enters && !pass_q;

  cache_tags #(
    .Sets(Sets),
    .Ways(Ways)
  ) u_tags (
    .clk_i,
    .rst_ni,
    .lookup_i(lookup),
    .line_i(line),
    .hit_o(hit),
    .hit_way_o(hit_way),
    .used_o(used),
    .oldest_o(oldest_way),
    .take_i(start_fetch && keep),
    .take_way_i(way),
    .fill_i(filled),
    .fill_set_i(fill_set),
    .fill_way_i(fill_way),
    .drop_i(drop_turn),
    .drop_line_i(drop_line),
    .sweep_i(sweep),
    .sweep_set_i(sweep_set),
    .first_page_i(first_page),
    .last_page_i(last_page)
  );

  cache_writes #(
    .MaxWrites(MaxWrites)
  ) u_writes (
    .clk_i,
    .rst_ni,
    .aw_i,
    .aw_slot_i,
    .aw_valid_i,
    .aw_ready_o,
    .aw_o,
    .aw_slot_o,
    .aw_valid_o,
    .aw_ready_i,
    .b_valid_i,
    .b_id_i,
    .drop_o(drop),
    .drop_line_o(drop_line),
    .drop_turn_i(drop_turn),
    .entering_o(entering),
    .lookup_i(lookup),
    .line_i(line),
    .busy_o(written),
    .mark_i(mark),
    .marked_o(marked)
  );

  cache_flush #(
    .Sets(Sets)
  ) u_flush (
    .clk_i,
    .rst_ni,
    .start_i(flush_i),
    .first_i(flush_first_i),
    .last_i(flush_last_i),
    .busy_o(flush_busy_o),
    .first_o(first_page),
    .last_o(last_page),
    .mark_o(mark),
    .marked_i(marked),
    .drop_i(drop),
    .drop_turn_o(drop_turn),
    .sweep_o(sweep),
    .set_o(sweep_set),
    .lookup_i(lookup),
    .page_i(line[$bits(line_t)-1-:PageWidth]),
    .covers_o(flushed)
  );

  // How a visit gets its line. One that nobody may keep waits for a fetch of it that is under way, so that two reads of
  // one line are never outstanding at once, as memory could reorder them.
  assign wanted = ar_i.cache[3:2] != '0 || force_i[ar_slot_i];
  assign blocked = written || flushed || !wanted;

  always_comb begin
    start_hit = 1'b0;
    start_join = 1'b0;
    start_fetch = 1'b0;
    if (lookup && room && beat_room) begin
      start_join = joinable && !blocked;
      start_hit = !fetching && hit && !blocked;
      start_fetch = !fetching && !start_hit && ask_free;
    end
  end

  assign start = start_hit || start_join || start_fetch;
  assign keep = !blocked && pinned != '1;
  assign push = ar_valid_i && plain && !pass_q && beat_room && (!enters || start);
  assign step = push;
  assign ar_ready_o = (push && last) || pass_start;

  // A way that nobody reads from: an empty one, or else the one taken longest ago.
  always_comb begin
    way = hit_way;
    if (start_fetch) begin
      way = oldest_way;
      for (int i = int'(Ways) - 1; i >= 0; i--) if (!pinned[oldest_way+way_t'(i)]) way = oldest_way + way_t'(i);
      for (int i = int'(Ways) - 1; i >= 0; i--) if (!pinned[i] && !used[i]) way = way_t'(i);
    end
  end

  cache_fetches #(
    .Fetches(Fetches),
    .Sets(Sets),
    .Ways(Ways)
  ) u_fetches (
    .clk_i,
    .rst_ni,
    .lookup_i(lookup),
    .line_i(line),
    .room_o(room),
    .fetching_o(fetching),
    .joinable_o(joinable),
    .pinned_o(pinned),
    .next_o(next),
    .start_i(start),
    .hit_i(start_hit),
    .join_i(start_join),
    .keep_i(keep),
    .word_i(word),
    .way_i(way),
    .r_valid_i(fill),
    .r_index_i(fill_index),
    .r_resp_i(r_i.resp),
    .r_aside_o(fill_aside),
    .r_word_o(fill_word),
    .r_set_o(fill_set),
    .r_way_o(fill_way),
    .filled_o(filled),
    .writing_i(aw_valid_i),
    .extent_i(entering),
    .flush_i(flush_busy_o),
    .first_page_i(first_page),
    .last_page_i(last_page),
    .have_o(have),
    .resp_o(resp),
    .aside_o(answer_aside),
    .row_o(answer_row),
    .set_o(answer_set),
    .way_o(answer_way),
    .leave_i(pop && beat.leaves),
    .idle_o(idle)
  );

  // Requests to memory.
  assign ask_free = !ar_valid_q || ar_ready_i;
  assign pass_start = ar_valid_i && !plain && !pass_q && idle && ask_free;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      ar_valid_q <= 1'b0;
      pass_q <= 1'b0;
    end else begin
      if (start_fetch || pass_start) ar_valid_q <= 1'b1;
      else if (ar_ready_i) ar_valid_q <= 1'b0;
      if (pass_start) pass_q <= 1'b1;
      else if (r_valid_i && r_i.last) pass_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (start_fetch || pass_start) begin
      ar_q <= ar_i;
      ar_slot_q <= ar_slot_i;
    end
    if (start_fetch) begin
      ar_q.id <= 4'(next);
      ar_q.addr <= {line, word, 3'd0};
      ar_q.len <= 8'd7;
      ar_q.size <= 3'd3;
      ar_q.burst <= BurstWrap;
    end
  end

  assign ar_o = ar_q;
  assign ar_slot_o = ar_slot_q;
  assign ar_valid_o = ar_valid_q;

  // Beats that wait for their data.
  assign beat_room = beat_in_q - beat_out_q != ptr_t'(MaxBeats);
  assign beat_valid = beat_in_q != beat_out_q;
  assign beat = beats_q[beat_out_q[BeatWidth-1:0]];
  assign pop = beat_valid && have[beat.word];

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      beat_in_q <= '0;
      beat_out_q <= '0;
    end else begin
      if (push) beat_in_q <= beat_in_q + ptr_t'(1);
      if (pop) beat_out_q <= beat_out_q + ptr_t'(1);
    end
  end

  always_ff @(posedge clk_i) begin
    if (push) beats_q[beat_in_q[BeatWidth-1:0]] <= '{id: {ar_slot_i, ar_i.id}, word: word, last: last, leaves: leaves};
  end

  // Data: the cache, and a row for each visit beside it.
  logic [63:0] data_ram [Sets * Ways * 8];
  logic [63:0] aside_ram [Fetches * 8];
  logic [63:0] data_q, other_q;
  logic [SetWidth+WayWidth+2:0] fill_at, answer_at;

  assign fill = r_valid_i && !pass_q;
  assign fill_index = r_i.id[IndexWidth-1:0];
  assign fill_at = {fill_set, fill_way, fill_word};
  assign answer_at = {answer_set, answer_way, beat.word};

  always_ff @(posedge clk_i) begin
    if (fill && !fill_aside) data_ram[fill_at] <= r_i.data;
    if (pop && !answer_aside) data_q <= data_ram[answer_at];
  end

  always_ff @(posedge clk_i) begin
    if (fill && fill_aside) aside_ram[{fill_index, fill_word}] <= r_i.data;
    if (pass_q) begin
      if (r_valid_i) other_q <= r_i.data;
    end else if (pop && answer_aside) other_q <= aside_ram[{answer_row, beat.word}];
  end

  // Answers.
  logic r_valid_q, r_last_q, r_other_q;
  logic [7:0] r_id_q;
  logic [1:0] r_resp_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) r_valid_q <= 1'b0;
    else r_valid_q <= pop || (pass_q && r_valid_i);
  end

  always_ff @(posedge clk_i) begin
    if (pass_q && r_valid_i) begin
      r_id_q <= {r_slot_i, r_i.id};
      r_resp_q <= r_i.resp;
      r_last_q <= r_i.last;
      r_other_q <= 1'b1;
    end else if (pop) begin
      r_id_q <= beat.id;
      r_resp_q <= resp[beat.word];
      r_last_q <= beat.last;
      r_other_q <= answer_aside;
    end
  end

  assign r_o = '{id: r_id_q[3:0], data: r_other_q ? other_q : data_q, resp: r_resp_q, last: r_last_q};
  assign r_slot_o = r_id_q[7:4];
  assign r_valid_o = r_valid_q;

  cache_counters u_counters (
    .clk_i,
    .rst_ni,
    .count_i(start),
    .hit_i(!start_fetch),
    .slot_i(ar_slot_i),
    .show_i,
    .show_slot_i,
    .hits_o,
    .misses_o
  );

`ifndef SYNTHESIS
  logic ar_stalled_q, aw_stalled_q, ar_was_q, aw_was_q;
  ax_t ar_before_q, aw_before_q;
  always_ff @(posedge clk_i) begin
    ar_stalled_q <= rst_ni && ar_valid_o && !ar_ready_i;
    aw_stalled_q <= rst_ni && aw_valid_o && !aw_ready_i;
    ar_was_q <= rst_ni && ar_valid_i && !ar_ready_o;
    aw_was_q <= rst_ni && aw_valid_i && !aw_ready_o;
    ar_before_q <= ar_o;
    aw_before_q <= aw_o;
    if (rst_ni) begin
      ReadRequestHeld_A :
      assert (!ar_stalled_q || (ar_valid_o && ar_o == ar_before_q))
      else $error("system_cache: a read request changed before it was taken");
      WriteRequestHeld_A :
      assert (!aw_stalled_q || (aw_valid_o && aw_o == aw_before_q))
      else $error("system_cache: a write request changed before it was taken");
      RequestsStay_A :
      assert ((!ar_was_q || ar_valid_i) && (!aw_was_q || aw_valid_i))
      else $error("system_cache: a request was withdrawn");
      AloneInPassing_A :
      assert (!pass_q || (idle && !beat_valid))
      else $error("system_cache: a read passes while others are under way");
      BeatsHaveVisits_A :
      assert (!beat_valid || !idle)
      else $error("system_cache: a beat waits for no line");
    end
  end
`endif

endmodule
