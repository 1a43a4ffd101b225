/// The answers: beats that wait for their data, the data of the cache, and that of lines beside it.
///
/// Beats are answered in the order in which they came, each once its word is here: from the cache, or from a row beside
/// it. While `pass_i` is set, what memory answers goes out as it is, and no beat waits. Latency from the word that was
/// waited for, or from memory's answer in passing, to the answer is one cycle.
module cache_answers
  import eddy_pkg::*;
  import system_cache_pkg::*;
#(
  /// Visits under way; a power of two, 2 to 16.
  parameter int unsigned Fetches = 8,
  parameter int unsigned Sets = 2,
  parameter int unsigned Ways = 2,
  /// Beats that wait for their data; a power of two.
  parameter int unsigned MaxBeats = 64,
  localparam int unsigned IndexWidth = $clog2(Fetches),
  localparam int unsigned SetWidth = $clog2(Sets),
  localparam int unsigned WayWidth = $clog2(Ways)
) (
  input  logic                  clk_i,
  /// Synchronous reset, active low.
  input  logic                  rst_ni,

  /// A beat comes, where there is room.
  input  logic                  push_i,
  input  beat_t                 beat_i,
  output logic                  room_o,
  /// Some beat waits.
  output logic                  waits_o,

  /// A word from memory, and where it goes: the row of its fetch beside the cache, or the cache.
  input  r_t                    r_i,
  input  logic [ 3:0]           r_slot_i,
  input  logic                  r_valid_i,
  input  logic                  pass_i,
  input  logic                  fill_aside_i,
  input  word_t                 fill_word_i,
  input  logic [SetWidth-1:0]   fill_set_i,
  input  logic [WayWidth-1:0]   fill_way_i,

  /// The line that is answered from: what of it is here, and where.
  input  logic [7:0]            have_i,
  input  logic [7:0][1:0]       resp_i,
  input  logic                  aside_i,
  input  logic [IndexWidth-1:0] row_i,
  input  logic [SetWidth-1:0]   set_i,
  input  logic [WayWidth-1:0]   way_i,
  /// Its last beat is taken.
  output logic                  leave_o,

  output r_t                    r_o,
  output logic [ 3:0]           r_slot_o,
  output logic                  r_valid_o
);

  localparam int unsigned BeatWidth = $clog2(MaxBeats);
  typedef logic [BeatWidth:0] ptr_t;

  // Beats that wait for their data.
  beat_t beats_q [MaxBeats];
  ptr_t beat_in_q, beat_out_q;
  beat_t beat;
  logic pop;

  assign room_o = beat_in_q - beat_out_q != ptr_t'(MaxBeats);
  assign waits_o = beat_in_q != beat_out_q;
  assign beat = beats_q[beat_out_q[BeatWidth-1:0]];
  assign pop = waits_o && have_i[beat.word];
  assign leave_o = pop && beat.leaves;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      beat_in_q <= '0;
      beat_out_q <= '0;
    end else begin
      if (push_i) beat_in_q <= beat_in_q + ptr_t'(1);
      if (pop) beat_out_q <= beat_out_q + ptr_t'(1);
    end
  end

  always_ff @(posedge clk_i) begin
    if (push_i) beats_q[beat_in_q[BeatWidth-1:0]] <= beat_i;
  end

  // Data: the cache, and a row for each visit beside it.
  logic [63:0] data_ram [Sets * Ways * 8];
  logic [63:0] aside_ram [Fetches * 8];
  logic [63:0] data_q, other_q;
  logic [SetWidth+WayWidth+2:0] fill_at, answer_at;
  logic fill;

  assign fill = r_valid_i && !pass_i;
  assign fill_at = {fill_set_i, fill_way_i, fill_word_i};
  assign answer_at = {set_i, way_i, beat.word};

  always_ff @(posedge clk_i) begin
    if (fill && !fill_aside_i) data_ram[fill_at] <= r_i.data;
    if (pop && !aside_i) data_q <= data_ram[answer_at];
  end

  always_ff @(posedge clk_i) begin
    if (fill && fill_aside_i) aside_ram[{r_i.id[IndexWidth-1:0], fill_word_i}] <= r_i.data;
    if (pass_i) begin
      if (r_valid_i) other_q <= r_i.data;
    end else if (pop && aside_i) other_q <= aside_ram[{row_i, beat.word}];
  end

  // Answers.
  logic r_valid_q, r_last_q, r_other_q;
  logic [7:0] r_id_q;
  logic [1:0] r_resp_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) r_valid_q <= 1'b0;
    else r_valid_q <= pop || (pass_i && r_valid_i);
  end

  always_ff @(posedge clk_i) begin
    if (pass_i && r_valid_i) begin
      r_id_q <= {r_slot_i, r_i.id};
      r_resp_q <= r_i.resp;
      r_last_q <= r_i.last;
      r_other_q <= 1'b1;
    end else if (pop) begin
      r_id_q <= beat.id;
      r_resp_q <= resp_i[beat.word];
      r_last_q <= beat.last;
      r_other_q <= aside_i;
    end
  end

  assign r_o = '{id: r_id_q[3:0], data: r_other_q ? other_q : data_q, resp: r_resp_q, last: r_last_q};
  assign r_slot_o = r_id_q[7:4];
  assign r_valid_o = r_valid_q;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      BeatsHaveRoom_A :
      assert (!push_i || room_o)
      else $error("cache_answers: a beat came where there was no room");
      NoBeatInPassing_A :
      assert (!pass_i || !waits_o)
      else $error("cache_answers: a beat waits while a read passes");
    end
  end
`endif

endmodule
