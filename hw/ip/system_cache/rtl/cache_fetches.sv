// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The lines that answers are taken from, in the order of the answers, and the fetches that bring them.
///
/// A *visit* is a run of an answer's beats out of one line. It finds its line in the cache, joins a fetch under way, or
/// starts one: into the way of the cache it was given, or, where the line must not be kept, into a row of its own beside
/// the cache. Several fetches are under way at once and come in any order. No line is fetched twice at a time.
///
/// A line becomes valid only if it came whole and without error, and nothing was written to it, or flushed, from before
/// the fetch was asked for until its last word was here.
module cache_fetches
  import eddy_pkg::*;
  import system_cache_pkg::*;
#(
  /// Visits under way; a power of two, 2 to 16.
  parameter int unsigned Fetches = 8,
  parameter int unsigned Sets = 2,
  parameter int unsigned Ways = 2,
  localparam int unsigned IndexWidth = $clog2(Fetches),
  localparam int unsigned SetWidth = $clog2(Sets),
  localparam int unsigned WayWidth = $clog2(Ways)
) (
  input  logic                  clk_i,
  /// Synchronous reset, active low.
  input  logic                  rst_ni,

  /// Before a visit: what is known of its line, and the ways of its set that other visits still read from.
  input  logic                  lookup_i,
  input  line_t                 line_i,
  output logic                  room_o,
  /// Fetched already, by whom; whether whoever comes may join.
  output logic                  fetching_o,
  output logic                  joinable_o,
  output logic [Ways-1:0]       pinned_o,
  /// Which one the next visit is.
  output logic [IndexWidth-1:0] next_o,

  /// A visit starts, in one of three ways: `hit_i`, or `join_i`, or neither: a fetch.
  input  logic                  start_i,
  input  logic                  hit_i,
  input  logic                  join_i,
  /// Fetches: keep the line, in the way below.
  input  logic                  keep_i,
  input  word_t                 word_i,
  input  logic [WayWidth-1:0]   way_i,

  /// Words from memory, from the first one wanted on, going round.
  input  logic                  r_valid_i,
  input  logic [IndexWidth-1:0] r_index_i,
  input  logic [1:0]            r_resp_i,
  /// Where the word goes: a row beside the cache, or the cache.
  output logic                  r_aside_o,
  output word_t                 r_word_o,
  output logic [SetWidth-1:0]   r_set_o,
  output logic [WayWidth-1:0]   r_way_o,
  /// With the last word of a line: it is valid now.
  output logic                  filled_o,

  /// Lines that must not be kept: about to be written, or flushed.
  input  logic                  writing_i,
  input  extent_t               extent_i,
  input  logic                  flush_i,
  input  page_t                 first_page_i,
  input  page_t                 last_page_i,

  /// The oldest visit that is still answered: what is here, and where.
  output logic [7:0]            have_o,
  output logic [7:0][1:0]       resp_o,
  output logic                  aside_o,
  output logic [IndexWidth-1:0] row_o,
  output logic [SetWidth-1:0]   set_o,
  output logic [WayWidth-1:0]   way_o,
  /// Its last beat was taken.
  input  logic                  leave_i,
  /// No visit is under way.
  output logic                  idle_o
);

  typedef logic [IndexWidth-1:0] index_t;

  // `open`: not answered to the end. `busy`: being fetched. `keep`: will be valid.
  logic [Fetches-1:0] open_q, busy_q, keep_q, aside_q, used, spoiled, same;
  line_t line_q [Fetches];
  logic [WayWidth-1:0] way_q [Fetches];
  index_t by_q [Fetches];
  word_t start_q [Fetches];
  word_t count_q [Fetches];
  logic [7:0] have_q [Fetches];
  logic [7:0][1:0] resp_q [Fetches];
  index_t next_q, answer_q, same_index;

  logic last_word;
  logic [7:0] arrived;

  assign used = open_q | busy_q;

  // What is known of a line.
  always_comb begin
    same = '0;
    pinned_o = '0;
    same_index = '0;
    if (lookup_i) begin
      for (int i = 0; i < int'(Fetches); i++) begin
        same[i] = busy_q[i] && line_q[i] == line_i;
        if (same[i]) same_index = index_t'(i);
        if (used[i] && !aside_q[i] && line_q[i][SetWidth-1:0] == line_i[SetWidth-1:0]) pinned_o[way_q[i]] = 1'b1;
      end
    end
  end

  assign room_o = !used[next_q];
  assign fetching_o = same != '0;
  assign joinable_o = fetching_o && keep_q[same_index];
  assign next_o = next_q;

  // Lines that may no longer be kept.
  always_comb begin
    spoiled = '0;
    if (writing_i || flush_i) begin
      for (int i = 0; i < int'(Fetches); i++) begin
        spoiled[i] = (writing_i && covers(extent_i, line_q[i]))
            || (flush_i && line_q[i][$bits(line_t)-1-:PageWidth] inside {[first_page_i:last_page_i]});
      end
    end
  end

  // A word from memory.
  assign r_word_o = start_q[r_index_i] + count_q[r_index_i];
  assign r_aside_o = aside_q[r_index_i];
  assign r_set_o = line_q[r_index_i][SetWidth-1:0];
  assign r_way_o = way_q[r_index_i];
  assign last_word = r_valid_i && count_q[r_index_i] == '1;
  assign filled_o = last_word && keep_q[r_index_i] && !spoiled[r_index_i] && r_resp_i == RespOkay;

  always_comb begin
    arrived = '0;
    if (r_valid_i) arrived[r_word_o] = 1'b1;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      open_q <= '0;
      busy_q <= '0;
      keep_q <= '0;
      next_q <= '0;
      answer_q <= '0;
    end else begin
      keep_q <= keep_q & ~spoiled;
      if (r_valid_i && r_resp_i != RespOkay) keep_q[r_index_i] <= 1'b0;
      if (last_word) begin
        busy_q[r_index_i] <= 1'b0;
        keep_q[r_index_i] <= 1'b0;
      end
      if (leave_i) begin
        open_q[answer_q] <= 1'b0;
        answer_q <= answer_q + index_t'(1);
      end
      if (start_i) begin
        next_q <= next_q + index_t'(1);
        open_q[next_q] <= 1'b1;
        busy_q[next_q] <= !hit_i && !join_i;
        keep_q[next_q] <= !hit_i && !join_i && keep_i;
      end
    end
  end

  for (genvar i = 0; i < int'(Fetches); i++) begin : gen_visit
    logic [7:0] news;
    assign news = by_q[i] == r_index_i ? arrived & ~have_q[i] : '0;

    always_ff @(posedge clk_i) begin
      if (r_valid_i) begin
        have_q[i] <= have_q[i] | news;
        if (r_index_i == index_t'(i)) count_q[i] <= count_q[i] + word_t'(1);
        for (int w = 0; w < 8; w++) if (news[w]) resp_q[i][w] <= r_resp_i;
      end
      if (start_i && next_q == index_t'(i)) begin
        line_q[i] <= line_i;
        aside_q[i] <= !hit_i && !join_i && !keep_i;
        way_q[i] <= join_i ? way_q[same_index] : way_i;
        by_q[i] <= join_i ? same_index : index_t'(i);
        start_q[i] <= word_i;
        count_q[i] <= '0;
        have_q[i] <= hit_i ? '1 : '0;
        resp_q[i] <= '0;
        if (join_i) begin
          have_q[i] <= have_q[same_index] | (r_index_i == same_index ? arrived : '0);
          resp_q[i] <= resp_q[same_index];
          if (r_valid_i && r_index_i == same_index) resp_q[i][r_word_o] <= r_resp_i;
        end
      end
    end
  end

  assign have_o = open_q[answer_q] ? have_q[answer_q] : '0;
  assign resp_o = resp_q[answer_q];
  assign aside_o = aside_q[answer_q];
  assign row_o = answer_q;
  assign set_o = line_q[answer_q][SetWidth-1:0];
  assign way_o = way_q[answer_q];
  assign idle_o = used == '0;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      OneFetchOfALine_A :
      assert ($onehot0(same))
      else $error("cache_fetches: a line is fetched twice at a time");
      WordsAreOwed_A :
      assert (!r_valid_i || busy_q[r_index_i])
      else $error("cache_fetches: memory sent a word nobody asked for");
      StartsWithRoom_A :
      assert (!start_i || (room_o && !(hit_i && join_i)))
      else $error("cache_fetches: a visit started without room");
      OnlyFetchesAreKept_A :
      assert ((keep_q & ~busy_q) == '0)
      else $error("cache_fetches: a line that is not fetched would be kept");
    end
  end
`endif

endmodule
