// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Reads so many words from memory, in order, two in a beat: bursts of up to 128 bytes, four of them under way at most.
///
/// A burst is asked for where there is room for all of it, so memory's answers are always taken. None is asked for that
/// does not lie in the window as it is in that cycle; the first that would not ends the reading, and a beat says so behind
/// those that were asked for. So does a beat in the place of one that memory answered with an error. After `stop_i` nothing
/// more is asked for and what still comes is thrown away; `idle_o` says when all of it has come.
///
/// Bursts begin at multiples of 128 bytes and end within them, so none crosses a page.
module icap_reader
  import eddy_pkg::*;
  import icap_pkg::*;
(
  input  logic        clk_i,
  /// Synchronous reset, active low.
  input  logic        rst_ni,

  /// Pulse: begin; heard where nothing is read and `idle_o`. The place is in units of 128 bytes.
  input  logic        start_i,
  input  logic [31:0] place_i,
  input  logic [23:0] words_i,
  /// Pulse: end. Also given after the last beat.
  input  logic        stop_i,
  /// Pages of 4 KiB that may be read, both included.
  input  logic [27:0] first_page_i,
  input  logic [27:0] last_page_i,

  output ax_t         ar_o,
  output logic        ar_valid_o,
  input  logic        ar_ready_i,
  input  r_t          r_i,
  input  logic        r_valid_i,

  output beat_t       beat_o,
  output logic        beat_valid_o,
  input  logic        beat_ready_i,
  output logic        idle_o
);

  localparam int unsigned BurstBeats = 16;
  localparam int unsigned Beats = 64;
  localparam int unsigned IndexBits = $clog2(Beats);
  typedef logic [IndexBits:0] count_t;
  typedef logic [IndexBits-1:0] index_t;
  /// Beats of a whole source.
  typedef logic [23:0] beats_t;

  logic run_q, outside_q, ar_valid_q;
  logic [31:0] place_q, ar_place_q;
  logic [3:0] ar_len_q;
  beats_t ask_q;
  // Beats that have a place in the memory, beats that memory still owes, beats that are there.
  count_t reserved_q, owed_q, held_q;
  index_t put_q, take_q;
  /// With each beat, whether it came with an error.
  logic [64:0] beats_ram [Beats];
  logic [63:0] words;

  logic begins, in_window, may_ask, room, ask, arrives, keep, free, wrong;
  logic [4:0] length;
  logic [27:0] page;

  assign begins = start_i && idle_o && !run_q;
  assign page = {1'b0, place_q[31:5]};
  assign in_window = page >= first_page_i && page <= last_page_i;
  assign room = reserved_q <= count_t'(Beats - BurstBeats);
  assign length = ask_q >= beats_t'(BurstBeats) ? 5'(BurstBeats) : {1'b0, ask_q[3:0]};
  assign may_ask = run_q && !outside_q && ask_q != '0 && room && !stop_i && (!ar_valid_q || ar_ready_i);
  assign ask = may_ask && in_window;

  // Beats of 64 bits: on a wider port each lies where its address says.
  if (DataWidth == 64) begin : gen_narrow
    assign words = r_i.data;
  end else begin : gen_wide
    assign words = r_i.data[64*32'(put_q[0])+:64];
  end

  // A response without a request is ignored.
  assign arrives = r_valid_i && owed_q != '0;
  assign keep = arrives && run_q && !stop_i;

  always_comb begin
    {wrong, beat_o.data} = beats_ram[take_q];
    beat_o.kind = wrong ? BeatError : BeatData;
    if (held_q == '0) beat_o.kind = BeatOutside;
  end

  // Behind the last requested beat: a beat that says that the next was not requested.
  assign beat_valid_o = run_q && (held_q != '0 || (outside_q && owed_q == '0));
  assign free = beat_ready_i && run_q && held_q != '0;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      run_q <= 1'b0;
      outside_q <= 1'b0;
      ar_valid_q <= 1'b0;
      owed_q <= '0;
      reserved_q <= '0;
      held_q <= '0;
      ask_q <= '0;
    end else begin
      if (ar_ready_i) ar_valid_q <= 1'b0;
      if (ask) ar_valid_q <= 1'b1;
      owed_q <= owed_q + (ask ? count_t'(length) : '0) - count_t'(arrives);
      if (begins) begin
        run_q <= 1'b1;
        outside_q <= 1'b0;
        reserved_q <= '0;
        held_q <= '0;
        ask_q <= beats_t'((25'(words_i) + 25'd1) >> 1);
      end else begin
        if (stop_i || (beat_valid_o && beat_ready_i && held_q == '0)) run_q <= 1'b0;
        if (may_ask && !in_window) outside_q <= 1'b1;
        reserved_q <= reserved_q + (ask ? count_t'(length) : '0) - count_t'(free);
        held_q <= held_q + count_t'(keep) - count_t'(free);
        if (ask) ask_q <= ask_q - beats_t'(length);
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (begins) begin
      place_q <= place_i;
      put_q <= '0;
      take_q <= '0;
    end else begin
      if (ask) place_q <= place_q + 32'd1;
      if (keep) put_q <= put_q + 1'b1;
      if (free) take_q <= take_q + 1'b1;
    end
    if (ask) begin
      ar_place_q <= place_q;
      ar_len_q <= 4'(length - 5'd1);
    end
    if (keep) beats_ram[put_q] <= {r_i.resp[1], words};
  end

  always_comb begin
    ar_o = '0;
    ar_o.addr = AddrWidth'({ar_place_q, 7'd0});
    ar_o.len = 8'(ar_len_q);
    ar_o.size = 3'd3;
    ar_o.burst = BurstIncr;
    ar_o.cache = 4'b0011;
    ar_o.prot = 3'b010;
  end

  assign ar_valid_o = ar_valid_q;
  assign idle_o = owed_q == '0 && !ar_valid_q;

  logic unused;
  assign unused = ^{r_i.id, r_i.last, r_i.resp[0]};

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      ThereIsRoomForAnswers_A :
      assert (!run_q || (reserved_q <= count_t'(Beats) && held_q <= reserved_q))
      else $error("icap_reader: more was asked for than there is room for");
    end
  end
`endif

endmodule
