// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The engine's side on the configuration port's clock: takes beats, writes words, and finds out how the load went.
///
/// One load at a time, from an order to the report that nothing is left of it. Whatever comes in the way from memory to the
/// device is looked at here, so that what was found first counts: beats say what memory and the window were, and the rest is
/// known on this clock. A load that has ended is told; beats are thrown away until the one that says that none follows.
///
/// Orders are taken at once, whatever is under way. The report is renewed as long as a load runs.
module icap_writer
  import icap_engine_regs_pkg::*;
  import icap_pkg::*;
(
  /// ICAPE3's CLK.
  input  logic        clk_i,
  /// Synchronous reset, active low.
  input  logic        rst_ni,

  input  order_t      order_i,
  input  logic        order_valid_i,
  output logic        order_ready_o,

  input  beat_t       beat_i,
  input  logic        beat_valid_i,
  output logic        beat_ready_o,

  output report_t     report_o,
  output logic        report_valid_o,
  input  logic        report_ready_i,

  /// ICAPE3, and its lines as flops of this clock.
  output icape_in_t    icape_o,
  input  icape_out_t   icape_i,
  output icape_lines_t lines_o
);

  typedef enum logic [2:0] {
    Idle,
    Run,
    /// The load has ended; the port closes.
    Close,
    /// Remaining beats are discarded.
    Drain,
    /// Nothing is left.
    Tell
  } state_e;

  state_e state_q;
  cause_e cause_q, cause;
  logic ends, stop_q, start, stop;

  // The source: a beat, of which the low word was given or not; words that are still to be taken: one, or none.
  beat_t beat_q;
  logic beat_valid_q, half_q, last_q, dry_q, whole;
  logic [23:0] words_q;
  logic [31:0] source;
  logic source_valid, source_ready;

  logic [31:0] word, crc, crc_wanted_q;
  logic word_valid, word_ready, malformed, rest, waits, writes, settles, good, lost, device_error, wrote, open, crc_right_q;
  logic [23:0] left, timeout_q, waited_q;
  logic [3:0] said;
  logic late;

  assign start = state_q == Idle && order_valid_i && !order_i.stop;
  assign order_ready_o = 1'b1;

  // Words of a beat, low half first.
  assign source = half_q ? beat_q.data[63:32] : beat_q.data[31:0];
  assign source_valid = state_q == Run && beat_valid_q && beat_q.kind == BeatData && !dry_q;
  assign whole = source_ready && (half_q || last_q);
  assign beat_ready_o = (state_q == Run && (!beat_valid_q || whole)) || state_q == Drain;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      beat_valid_q <= 1'b0;
      half_q <= 1'b0;
      words_q <= '0;
      last_q <= 1'b0;
      dry_q <= 1'b1;
    end else if (start) begin
      beat_valid_q <= 1'b0;
      half_q <= 1'b0;
      words_q <= order_i.source_words;
      last_q <= order_i.source_words == 24'd1;
      dry_q <= 1'b0;
    end else begin
      if (beat_ready_o) beat_valid_q <= beat_valid_i;
      if (source_ready) begin
        half_q <= !half_q;
        words_q <= words_q - 24'd1;
        last_q <= words_q == 24'd2;
        dry_q <= last_q;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (beat_ready_o && beat_valid_i) beat_q <= beat_i;
  end

  icap_expander u_expander (
    .clk_i,
    .rst_ni,
    .start_i(start),
    .compressed_i(order_i.compressed),
    .words_i(order_i.image_words),
    .source_i(source),
    .source_valid_i(source_valid),
    .source_ready_o(source_ready),
    .source_dry_i(dry_q),
    .word_o(word),
    .word_valid_o(word_valid),
    .word_ready_i(word_ready),
    .malformed_o(malformed)
  );

  icap_port u_port (
    .clk_i,
    .rst_ni,
    .start_i(start),
    .rehearse_i(order_i.rehearse),
    .open_i(order_i.open),
    .words_i(order_i.image_words),
    .stop_i(stop),
    .word_i(word),
    .word_valid_i(word_valid),
    .word_ready_o(word_ready),
    .icape_o,
    .icape_i,
    .rest_o(rest),
    .waits_o(waits),
    .writes_o(writes),
    .settles_o(settles),
    .good_o(good),
    .lost_o(lost),
    .error_o(device_error),
    .left_o(left),
    .wrote_o(wrote),
    .said_o(said),
    .open_o(open),
    .lines_o
  );

  icap_crc u_crc (
    .clk_i,
    .clear_i(start),
    .take_i(wrote),
    .word_i(word),
    .crc_o(crc)
  );

  // Why a load that runs ends. What was found first in the way from memory to the device counts.
  always_comb begin
    ends = 1'b1;
    cause = CauseNone;
    if (order_valid_i && order_i.stop) cause = CauseAborted;
    else if (beat_valid_q && beat_q.kind == BeatError) cause = CauseMemoryError;
    else if (beat_valid_q && beat_q.kind == BeatOutside) cause = CauseOutsideWindow;
    else if (malformed) cause = CauseMalformed;
    else if (lost) cause = CausePortLost;
    else if (device_error) cause = CausePortError;
    else if (good && dry_q) cause = crc_right_q ? CauseNone : CauseWrongCrc;
    else if (late && waits) cause = CausePortTimeout;
    else if (late && settles) cause = CauseNotDone;
    else if (late) cause = CauseMemoryTimeout;
    else ends = 1'b0;
  end

  // Passed to the port in the next cycle, by a flop.
  assign stop = stop_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= Idle;
      cause_q <= CauseNone;
      stop_q <= 1'b0;
    end else begin
      stop_q <= state_q == Run && ends;
      unique case (state_q)
        Idle: if (start) begin
          state_q <= Run;
          cause_q <= CauseNone;
        end
        Run: if (ends) begin
          state_q <= Close;
          cause_q <= cause;
        end
        Close: if (rest && !stop_q && report_ready_i) state_q <= Drain;
        Drain: if (beat_valid_q && beat_q.kind == BeatEnd) state_q <= Tell;
        Tell: if (report_ready_i) state_q <= Idle;
        default: state_q <= Idle;
      endcase
    end
  end

  always_comb begin
    report_o = '{stage: StageRuns, cause: cause_q, left: left, crc: crc, said: said, open: open};
    if (state_q == Close) report_o.stage = StageEnded;
    if (state_q == Tell) report_o.stage = StageRests;
  end

  assign report_valid_o = state_q == Run || (state_q == Close && rest && !stop_q) || state_q == Tell;

  // Down to 0 since the last word, or since the port's state changed. At rest nothing counts.
  logic waits_q, writes_q;
  assign late = waited_q == '0;
  always_ff @(posedge clk_i) begin
    waits_q <= waits;
    writes_q <= writes;
    if (start) begin
      timeout_q <= order_i.timeout;
      crc_wanted_q <= order_i.crc;
      waited_q <= order_i.timeout;
    end else if (wrote || waits != waits_q || writes != writes_q) waited_q <= timeout_q;
    else if (!late && state_q == Run) waited_q <= waited_q - 24'd1;
    crc_right_q <= crc == crc_wanted_q;
  end

`ifndef SYNTHESIS
  // A reset takes some cycles to come to this clock, and in the last of them FIFOs may look as they will after it: what
  // comes in that cycle alone changes nothing.
  logic was_reset_q, order_q, end_q;
  always_ff @(posedge clk_i) begin
    order_q <= rst_ni && order_valid_i && !order_i.stop && state_q != Idle;
    end_q <= rst_ni && state_q == Run && beat_valid_q && beat_q.kind == BeatEnd;
    if (!rst_ni) was_reset_q <= 1'b1;
    else begin
      NothingIsWrittenAtRest_A :
      assert (!was_reset_q || state_q != Idle || (icape_o.csib && (icape_o.rdwrb || !rest)))
      else $error("icap_writer: the port is open and no load is under way");
      OneOrderAtATime_A :
      assert (!order_q)
      else $error("icap_writer: a load was ordered while one is under way");
      EndsAreTheLast_A :
      assert (!end_q)
      else $error("icap_writer: a load that runs was told that nothing comes");
    end
  end
`endif

endmodule
