// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Whatever slots ask, in whatever order memory answers, and whenever a flush comes:
/// - from the acceptance of a write until memory has answered it, no line it touches is held, or on its way to be held;
/// - when a flush is over, no line of its pages is held, or on its way to be held;
/// - the next word of an answer comes within a bound, a write request is accepted within one, and the sweep of a flush ends
///   within one.
/// A line that is held was thus fetched after the last write to it was answered, and after the last flush of it began.
///
/// Assumed of memory: it answers only what it was asked, takes a request within `Latency` cycles and sends a word, and a
/// write's answer, within as many while it owes any. The smallest cache: two sets of two ways, two lines under way.
module system_cache_proof
  import eddy_pkg::*;
  import system_cache_pkg::*;
#(
  /// Each group is proved in a run of its own, relying on those before it: 0 what is inside fits together; 1 lines that
  /// are written are not on their way; 6 nor held; 3 so for any one write, told from the outside; 2 flushes; 4 how
  /// soon answers go on; 5 how soon writes and sweeps do.
  parameter int unsigned Claims = 0,
  parameter int unsigned Latency = 1
) (
  input logic        clk_i,
  input logic        rst_ni,
  input ax_t         aw_i,
  input logic [ 3:0] aw_slot_i,
  input logic        aw_valid_i,
  input ax_t         ar_i,
  input logic [ 3:0] ar_slot_i,
  input logic        ar_valid_i,
  input logic        aw_ready_i,
  input logic        b_valid_i,
  input logic [ 7:0] b_id_i,
  input logic        ar_ready_i,
  input r_t          r_i,
  input logic [ 3:0] r_slot_i,
  input logic        r_valid_i,
  input logic [15:0] force_i,
  input logic        flush_i,
  input page_t       flush_first_i,
  input page_t       flush_last_i
);

  localparam int unsigned Sets = 2, Ways = 2, Fetches = 2, MaxWrites = 2, MaxBeats = 2;

  ax_t aw, ar;
  logic [3:0] aw_slot, ar_slot, r_slot;
  logic aw_ready, aw_valid, ar_ready, ar_valid, r_valid, flush_busy;
  r_t r;
  logic [63:0] hits, misses;

  system_cache #(
    .CacheBytes(256), .Ways(Ways), .Fetches(Fetches), .MaxWrites(MaxWrites), .MaxBeats(MaxBeats)
  ) dut (
    .clk_i, .rst_ni, .aw_i, .aw_slot_i, .aw_valid_i, .aw_ready_o(aw_ready), .ar_i, .ar_slot_i, .ar_valid_i,
    .ar_ready_o(ar_ready), .r_o(r), .r_slot_o(r_slot), .r_valid_o(r_valid), .aw_o(aw), .aw_slot_o(aw_slot),
    .aw_valid_o(aw_valid), .aw_ready_i, .b_valid_i, .b_id_i, .ar_o(ar), .ar_slot_o(ar_slot), .ar_valid_o(ar_valid),
    .ar_ready_i, .r_i, .r_slot_i, .r_valid_i, .force_i, .flush_i, .flush_first_i, .flush_last_i,
    .flush_busy_o(flush_busy), .show_i(1'b0), .show_slot_i('0), .hits_o(hits), .misses_o(misses)
  );

  logic started_q = 1'b0;
  always_ff @(posedge clk_i) started_q <= 1'b1;
  always_comb InReset_M : assume (rst_ni == started_q);

  // The crossbar keeps a request until it is taken.
  always_ff @(posedge clk_i) begin
    if (started_q && $past(started_q)) begin
      if ($past(ar_valid_i && !ar_ready)) ReadStays_M : assume (ar_valid_i && $stable(ar_i) && $stable(ar_slot_i));
      if ($past(aw_valid_i && !aw_ready)) WriteStays_M : assume (aw_valid_i && $stable(aw_i) && $stable(aw_slot_i));
    end
  end

  // What is inside, in short.
  line_t held [Sets*Ways];
  logic [Sets*Ways-1:0] valid;
  logic [Fetches-1:0] busy, open, keep, aside;
  line_t fetched [Fetches];
  logic way [Fetches];
  logic by [Fetches];
  for (genvar s = 0; s < Sets; s++) begin : gen_held
    assign held[2*s] = {dut.u_tags.gen_way[0].tag_ram[s], 1'(s)};
    assign held[2*s+1] = {dut.u_tags.gen_way[1].tag_ram[s], 1'(s)};
    assign valid[2*s] = dut.u_tags.gen_way[0].valid_q[s];
    assign valid[2*s+1] = dut.u_tags.gen_way[1].valid_q[s];
  end
  for (genvar i = 0; i < Fetches; i++) begin : gen_fetched
    assign fetched[i] = dut.u_fetches.line_q[i];
    assign way[i] = dut.u_fetches.way_q[i];
    assign by[i] = dut.u_fetches.by_q[i];
  end
  assign busy = dut.u_fetches.busy_q;
  assign open = dut.u_fetches.open_q;
  assign keep = dut.u_fetches.keep_q;
  assign aside = dut.u_fetches.aside_q;

  // Memory: words of what it was asked, answers to writes it was given.
  logic pass, asking;
  logic [1:0] owed, unanswered;
  logic [7:0] pass_left_q;
  assign pass = dut.pass_q;
  assign asking = ar_valid && !pass;
  assign owed = busy & ~(asking ? 2'(1) << ar.id[0] : 2'b00);
  // The newest write may still wait for memory to take it.
  assign unanswered = dut.u_writes.used_q & ~(aw_valid ? 2'(1) << !dut.u_writes.next_q : 2'b00);
  always_ff @(posedge clk_i) begin
    if (dut.pass_start) pass_left_q <= ar_i.len;
    else if (pass && r_valid_i) pass_left_q <= pass_left_q - 8'd1;
  end
  always_comb begin
    if (r_valid_i) begin
      if (pass) begin
        PassedInOrder_M : assume (!ar_valid && r_i.last == (pass_left_q == '0));
      end else begin
        WordsWereAsked_M : assume (r_i.id[3:1] == '0 && owed[r_i.id[0]]);
      end
    end
    if (b_valid_i) AnswersAreOwed_M : assume (dut.u_writes.done && unanswered[dut.u_writes.done_index]);
  end

  // A write from its acceptance on until memory has answered it, whichever the solver watches.
  logic watching_q;
  logic [7:0] id;
  logic [1:0] unanswered_q, ahead_q;
  extent_t extent_q;
  logic place_q;
  logic accepted, answered;
  always_ff @(posedge clk_i) begin
    id <= id;
  end
  assign accepted = aw_valid_i && aw_ready && {aw_slot_i, aw_i.id} == id;
  assign answered = b_valid_i && b_id_i == id;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      unanswered_q <= '0;
      watching_q <= 1'b0;
    end else begin
      unanswered_q <= unanswered_q + 2'(accepted) - 2'(answered);
      if (accepted && !watching_q && r_i.data[0]) begin
        watching_q <= 1'b1;
        ahead_q <= unanswered_q - 2'(answered);
        extent_q <= dut.u_writes.extent;
        place_q <= dut.u_writes.next_q;
      end else if (watching_q && answered) begin
        ahead_q <= ahead_q - 2'd1;
        if (ahead_q == '0) watching_q <= 1'b0;
      end
    end
  end

  logic [1:0] same_id;
  for (genvar e = 0; e < MaxWrites; e++) begin : gen_entries
    assign same_id[e] = dut.u_writes.used_q[e] && dut.u_writes.id_q[e] == id;
  end

  // A flush, from its start on.
  logic flushing_q, busy_before_q;
  page_t first_q, last_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      flushing_q <= 1'b0;
      busy_before_q <= 1'b0;
    end else begin
      busy_before_q <= flush_busy;
      if (!flushing_q || !flush_busy) flushing_q <= flush_i && !flush_busy;
      if (flush_i && !flush_busy) begin
        first_q <= flush_first_i;
        last_q <= flush_last_i;
      end
    end
  end

  function automatic logic flushed(line_t line);
    return line[33:6] >= first_q && line[33:6] <= last_q;
  endfunction

  // One line of the solver's choice, so what is claimed of it is claimed of all: held, or on its way to be held.
  line_t line;
  logic line_held, line_comes, held_twice, kept_fetched, kept_has_way, kept_not_held;
  always_ff @(posedge clk_i) line <= line;
  always_comb begin
    line_held = 1'b0;
    line_comes = 1'b0;
    held_twice = 1'b0;
    kept_fetched = 1'b1;
    kept_has_way = 1'b1;
    kept_not_held = 1'b1;
    for (int n = 0; n < int'(Sets * Ways); n++) if (valid[n] && held[n] == line) line_held = 1'b1;
    for (int s = 0; s < int'(Sets); s++) begin
      if (valid[2*s] && valid[2*s+1] && held[2*s] == held[2*s+1]) held_twice = 1'b1;
    end
    for (int i = 0; i < int'(Fetches); i++) begin
      if (keep[i]) begin
        if (fetched[i] == line) line_comes = 1'b1;
        if (!busy[i] || aside[i]) kept_fetched = 1'b0;
        for (int n = 0; n < int'(Sets * Ways); n++) begin
          if (n == int'({fetched[i][0], way[i]}) && (held[n] != fetched[i] || valid[n])) kept_has_way = 1'b0;
          if (valid[n] && held[n] == fetched[i]) kept_not_held = 1'b0;
        end
      end
    end
  end

  // Beats that wait, and the visits they belong to.
  logic [1:0] beats, leaving, opened;
  logic first_beat, newest_leaves;
  assign first_beat = dut.beat_out_q[0];
  assign beats = dut.beat_in_q - dut.beat_out_q;
  assign leaving = 2'(beats != '0 && dut.beats_q[first_beat].leaves)
      + 2'(beats == 2'd2 && dut.beats_q[!first_beat].leaves);
  assign newest_leaves = beats == 2'd2 ? dut.beats_q[!first_beat].leaves : dut.beats_q[first_beat].leaves;
  assign opened = 2'(open[0]) + 2'(open[1]);

  // Three groups of claims. Each is proved in a run of its own; later runs may rely on the earlier groups.
  logic visits_ok, lines_ok;
  logic visits_add_up, visits_in_order, walk_is_sound, pass_is_alone, asks_are_known;
  assign visits_add_up = beats <= 2'd2 && opened == leaving + 2'(dut.u_walk.inside_q)
      && (beats == '0 || newest_leaves == !dut.u_walk.inside_q);
  assign visits_in_order = dut.u_fetches.next_q == 1'(dut.u_fetches.answer_q + opened[0])
      && (opened == '0 || open[dut.u_fetches.answer_q]);
  assign walk_is_sound = dut.u_walk.beat_q == '0 ? !dut.u_walk.inside_q
      : ar_valid_i && dut.plain && !pass && dut.u_walk.beat_q <= ar_i.len;
  assign pass_is_alone = !pass || (busy == '0 && open == '0 && beats == '0);
  assign asks_are_known = !asking
      || (ar.id[3:1] == '0 && busy[ar.id[0]] && dut.u_fetches.count_q[ar.id[0]] == '0);
  assign visits_ok = visits_add_up && visits_in_order && walk_is_sound && pass_is_alone && asks_are_known;

  logic fetched_once;
  assign fetched_once = !(&busy) || fetched[0] != fetched[1];
  assign lines_ok = !held_twice && fetched_once && kept_fetched && kept_has_way && kept_not_held;

  if (Claims == 0) begin : gen_inside
    always_ff @(posedge clk_i) begin
      if (rst_ni) begin
        VisitsAddUp_A : assert (visits_add_up);
        VisitsAreInOrder_A : assert (visits_in_order);
        WalkIsSound_A : assert (walk_is_sound);
        PassIsAlone_A : assert (pass_is_alone);
        AsksAreKnown_A : assert (asks_are_known);
        HeldOnce_A : assert (!held_twice);
        FetchedOnce_A : assert (fetched_once);
        KeptIsFetched_A : assert (kept_fetched);
        KeptHasItsWay_A : assert (kept_has_way);
        KeptIsNotHeld_A : assert (kept_not_held);
      end
    end
  end else begin : gen_inside_known
    always_comb if (rst_ni) InsideIsSound_M : assume (visits_ok && lines_ok);
  end

  // Lines of the waiting write that are dropped already.
  extent_t dropped;
  assign dropped = '{page: dut.u_writes.extent.page, first: dut.u_writes.extent.first, last: dut.u_writes.at_q - 6'd1};

  // What the lines of a request are is worked out from it alone; said once more, because the solver does not see it.
  extent_t extent_before_q;
  logic stalled_q;
  always_ff @(posedge clk_i) begin
    extent_before_q <= dut.u_writes.extent;
    stalled_q <= rst_ni && aw_valid_i && !aw_ready;
  end

  if (Claims == 1) begin : gen_writes
    always_comb begin
      if (stalled_q) ExtentStays_M : assume (dut.u_writes.extent == extent_before_q);
      if (aw_valid_i) ExtentIsOrdered_M : assume (dut.u_writes.extent.first <= dut.u_writes.extent.last);
    end
    always_ff @(posedge clk_i) begin
      if (rst_ni) begin
        if (dut.u_writes.used_q[0] && covers(dut.u_writes.extent_q[0], line)) FirstIsNotComing_A : assert (!line_comes);
        if (dut.u_writes.used_q[1] && covers(dut.u_writes.extent_q[1], line)) SecondIsNotComing_A : assert (!line_comes);
        if (dut.u_writes.begun_q) BegunIsAsked_A : assert (aw_valid_i);
        if (dut.u_writes.begun_q) SpoiledStaysSpoiled_A : assert (!covers(dut.u_writes.extent, line) || !line_comes);
      end
    end
  end

  if (Claims == 6) begin : gen_held_lines
    always_comb if (rst_ni) begin
      if (stalled_q) ExtentStays_M : assume (dut.u_writes.extent == extent_before_q);
      if (aw_valid_i) ExtentIsOrdered_M : assume (dut.u_writes.extent.first <= dut.u_writes.extent.last);
      if (dut.u_writes.used_q[0] && covers(dut.u_writes.extent_q[0], line)) FirstIsNotComing_M : assume (!line_comes);
      if (dut.u_writes.used_q[1] && covers(dut.u_writes.extent_q[1], line)) SecondIsNotComing_M : assume (!line_comes);
      if (dut.u_writes.begun_q) SpoiledStaysSpoiled_M : assume (!covers(dut.u_writes.extent, line) || !line_comes);
    end
    always_ff @(posedge clk_i) begin
      if (rst_ni) begin
        if (dut.u_writes.used_q[0] && covers(dut.u_writes.extent_q[0], line)) FirstIsNotHeld_A : assert (!line_held);
        if (dut.u_writes.used_q[1] && covers(dut.u_writes.extent_q[1], line)) SecondIsNotHeld_A : assert (!line_held);
        if (dut.u_writes.begun_q) begin
          BegunIsAsked_A :
          assert (aw_valid_i && dut.u_writes.at_q > dut.u_writes.extent.first
                  && dut.u_writes.at_q <= dut.u_writes.extent.last);
          DroppedStaysDropped_A : assert (!covers(dropped, line) || !line_held);
        end
      end
    end
  end

  if (Claims == 2) begin : gen_flush
    always_ff @(posedge clk_i) begin
      if (rst_ni) begin
        if (flushing_q && !flush_busy && flushed(line)) NotHeldAfterFlush_A : assert (!line_held && !line_comes);
        if (flush_busy) begin
          FlushIsKnown_A : assert (flushing_q && first_q == dut.first_page && last_q == dut.last_page);
          SweptStaysSwept_A :
          assert (!flushed(line) || !line_held || (dut.u_flush.sweeping_q && line[0] >= dut.u_flush.set_q));
          NoneComesMeanwhile_A : assert (!busy_before_q || !flushed(line) || !line_comes);
          FirstCycleSweeps_A : assert (busy_before_q || (dut.u_flush.sweeping_q && dut.u_flush.set_q == '0));
        end
        SweepsWhileBusy_A : assert (!dut.u_flush.sweeping_q || flush_busy);
      end
    end
  end

  if (Claims == 3) begin : gen_watched
    always_comb if (rst_ni) begin
      if (dut.u_writes.used_q[0] && covers(dut.u_writes.extent_q[0], line)) FirstIsNotHeld_M : assume (!line_held && !line_comes);
      if (dut.u_writes.used_q[1] && covers(dut.u_writes.extent_q[1], line)) SecondIsNotHeld_M : assume (!line_held && !line_comes);
    end
    always_ff @(posedge clk_i) begin
      if (rst_ni) begin
        ExtentStays_A : assert (!stalled_q || dut.u_writes.extent == extent_before_q);
        ExtentIsOrdered_A : assert (!aw_valid_i || dut.u_writes.extent.first <= dut.u_writes.extent.last);
        if (watching_q && covers(extent_q, line)) NotHeldWhileWritten_A : assert (!line_held && !line_comes);
        if (watching_q) begin
          WatchedIsRemembered_A :
          assert (dut.u_writes.used_q[place_q] && dut.u_writes.extent_q[place_q] == extent_q && same_id[place_q]
                  && ahead_q == 2'(same_id[!place_q] && dut.u_writes.next_q == !place_q));
        end
        UnansweredAddUp_A : assert (unanswered_q == 2'(same_id[0]) + 2'(same_id[1]));
      end
    end
  end

  // How soon. Memory takes a request, and while it owes words or answers sends one, within so many cycles.
  localparam int unsigned L = Latency;
  /// Cycles to the next word of an answer, to the acceptance of a write, and that a sweep takes.
  localparam int unsigned ReadBound = 8 * 2 * Fetches * (L + 1) + L + Fetches * (L + 2) + (L + 1) + 2 + (L + 3);
  localparam int unsigned WriteBound = 2 * (MaxWrites * (L + 1) + L + (L + 1)) + 2 * 63 + 1;
  localparam int unsigned SweepBound = 2 * Sets + 1;

  logic [3:0] ar_wait_q, aw_wait_q, r_wait_q, b_wait_q;
  logic words_owed;
  assign words_owed = owed != '0 || (pass && !ar_valid);
  always_ff @(posedge clk_i) begin
    ar_wait_q <= rst_ni && ar_valid && !ar_ready_i ? ar_wait_q + 4'd1 : '0;
    aw_wait_q <= rst_ni && aw_valid && !aw_ready_i ? aw_wait_q + 4'd1 : '0;
    r_wait_q <= rst_ni && words_owed && !r_valid_i ? r_wait_q + 4'd1 : '0;
    b_wait_q <= rst_ni && unanswered != '0 && !b_valid_i ? b_wait_q + 4'd1 : '0;
  end

  logic have_is_true;
  always_comb begin
    have_is_true = 1'b1;
    for (int i = 0; i < int'(Fetches); i++) begin
      if (busy[i] && by[i] != 1'(i)) have_is_true = 1'b0;
      for (int w = 0; w < 8; w++) begin
        if ((open[i] || busy[i]) && !dut.u_fetches.have_q[i][w]
            && !(busy[by[i]] && 3'(3'(w) - dut.u_fetches.start_q[by[i]]) >= dut.u_fetches.count_q[by[i]])) begin
          have_is_true = 1'b0;
        end
      end
    end
  end

  // Cycles that reads and writes have waited, and what they may still have to wait for.
  logic [9:0] read_age_q, read_left, write_age_q, write_left, sweep_age_q, sweep_left;
  logic [5:0] lines_left;
  always_comb begin
    read_left = 10'(L) - 10'(r_wait_q);
    for (int i = 0; i < int'(Fetches); i++) begin
      if (busy[i]) read_left = read_left + (10'd8 - 10'(dut.u_fetches.count_q[i])) * 10'(L + 1);
      if (!open[i]) read_left = read_left + 10'(8 * (L + 1) + L + 2);
    end
    if (ar_valid) read_left = read_left + 10'(L + 1) - 10'(ar_wait_q);
    if (beats == '0) read_left = read_left + 10'd2;
    if (!pass) read_left = read_left + 10'(L + 3);
    lines_left = dut.u_writes.extent.last - dut.u_writes.at;
    // A sweep has every other turn; waiting for memory goes on meanwhile, and counts twice.
    write_left = 10'(L) - 10'(b_wait_q) + 10'(2'(dut.u_writes.used_q[0]) + 2'(dut.u_writes.used_q[1])) * 10'(L + 1);
    if (aw_valid) write_left = write_left + 10'(L + 1) - 10'(aw_wait_q);
    write_left = {write_left[8:0], 1'b0} + 10'({lines_left, 1'b0}) + 10'(!dut.u_flush.write_next_q);
    sweep_left = 10'(2 * Sets) - 10'({dut.u_flush.set_q, 1'b0}) + 10'(dut.u_flush.write_next_q);
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni || dut.pop || (pass && r_valid_i) || !(ar_valid_i || beats != '0 || pass)) read_age_q <= '0;
    else read_age_q <= read_age_q + 10'd1;
    if (!rst_ni || !aw_valid_i || aw_ready) write_age_q <= '0;
    else write_age_q <= write_age_q + 10'd1;
    if (!rst_ni || !dut.u_flush.sweeping_q) sweep_age_q <= '0;
    else sweep_age_q <= sweep_age_q + 10'd1;
  end

  if (Claims >= 4) begin : gen_soon
    always_comb begin
      if (ar_wait_q == 4'(L) && ar_valid) TakesReads_M : assume (ar_ready_i);
      if (aw_wait_q == 4'(L) && aw_valid) TakesWrites_M : assume (aw_ready_i);
      if (r_wait_q == 4'(L) && words_owed) SendsWords_M : assume (r_valid_i);
      if (b_wait_q == 4'(L) && unanswered != '0) Answers_M : assume (b_valid_i);
      if (stalled_q) ExtentStays_M : assume (dut.u_writes.extent == extent_before_q);
      if (aw_valid_i) ExtentIsOrdered_M : assume (dut.u_writes.extent.first <= dut.u_writes.extent.last);
    end
    always_ff @(posedge clk_i) begin
      if (rst_ni) begin
        WaitsAreBounded_A :
        assert (ar_wait_q <= 4'(L) && aw_wait_q <= 4'(L) && r_wait_q <= 4'(L) && b_wait_q <= 4'(L));
        WaitsAreOwed_A :
        assert ((r_wait_q == '0 || words_owed) && (b_wait_q == '0 || unanswered != '0));
        WaitsAreAsked_A : assert ((ar_wait_q == '0 || ar_valid) && (aw_wait_q == '0 || aw_valid));
      end
    end
  end

  if (Claims == 4) begin : gen_reads
    always_ff @(posedge clk_i) begin
      if (rst_ni) begin
        AnswersGoOn_A : assert (32'(read_age_q) <= ReadBound);
        // For induction.
        ReadAddsUp_A : assert (32'(read_age_q) + 32'(read_left) <= ReadBound);
        HaveIsTrue_A : assert (have_is_true);
      end
    end
  end

  if (Claims == 5) begin : gen_writes_and_sweeps
    always_ff @(posedge clk_i) begin
      if (rst_ni) begin
        WritesGoOn_A : assert (32'(write_age_q) <= WriteBound);
        SweepEnds_A : assert (32'(sweep_age_q) <= SweepBound);
        // For induction.
        if (aw_valid_i) WriteAddsUp_A : assert (32'(write_age_q) + 32'(write_left) <= WriteBound);
        if (dut.u_flush.sweeping_q) SweepAddsUp_A : assert (32'(sweep_age_q) + 32'(sweep_left) <= SweepBound);
        OnlyFlushesSweep_A : assert (flush_busy || (!dut.u_flush.sweeping_q && sweep_age_q == '0));
        NewestIsOffered_A : assert (!aw_valid || dut.u_writes.used_q[!dut.u_writes.next_q]);
        AtIsInside_A :
        assert (!dut.u_writes.begun_q
                || (aw_valid_i && dut.u_writes.at_q > dut.u_writes.extent.first
                    && dut.u_writes.at_q <= dut.u_writes.extent.last));
      end
    end
  end

endmodule
