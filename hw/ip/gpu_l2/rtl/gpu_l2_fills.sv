// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The lines that readers wait for: on their way from memory, or here and parked behind an older one of the same reader.
///
/// A reader's lines are answered in the order in which they were asked for, several of them being under way. Memory
/// keeps that order among the lines it is asked for; a line that was found here waits until all older ones of its reader
/// have been answered, in its way, which no other line takes meanwhile. What memory brings for a reader whose turn is a
/// parked line is to wait (`beat_wait_o`).
///
/// A line that was written, or that a walk may have dropped, while it was on its way is passed on but not kept.
module gpu_l2_fills
  import eddy_pkg::*;
#(
  /// Ids that read.
  parameter int unsigned Readers = 2,
  /// Lines that may be waited for, all readers together.
  parameter int unsigned Lines = 8,
  /// Lines that a reader waits for at most; a power of two, at least two.
  parameter int unsigned Each = 4,
  parameter int unsigned LineWidth = 34,
  parameter int unsigned SetWidth = 1,
  localparam int unsigned ReaderWidth = (Readers > 1) ? $clog2(Readers) : 1
) (
  input  logic                    clk_i,
  /// Synchronous reset, active low.
  input  logic                    rst_ni,
  /// No line more can be waited for.
  output logic                    full_o,
  /// A read: whose it is, and whether older ones of its reader are unanswered.
  input  logic [ReaderWidth-1:0]  start_id_i,
  output logic                    start_behind_o,
  /// It goes to memory; or it was found here, and waits.
  input  logic                    start_i,
  input  logic                    park_i,
  input  logic [LineWidth-1:0]    start_line_i,
  input  logic [ContextWidth-1:0] start_context_i,
  /// There is a way for it; without, it is passed on and not kept. Of a parked one true: it is in that way.
  input  logic                    start_keep_i,
  input  logic                    start_way_i,
  /// A beat from memory that is shown; whether it has to wait; that it is taken, and where it is kept.
  input  logic [ReaderWidth-1:0]  beat_id_i,
  output logic                    beat_wait_o,
  input  logic                    beat_i,
  input  logic                    beat_last_i,
  input  logic                    beat_error_i,
  output logic                    beat_keep_o,
  output logic                    beat_way_o,
  output logic [SetWidth-1:0]     beat_set_o,
  output logic [2:0]              beat_number_o,
  /// A parked line whose turn it is: forgotten here with `play_i`, as its answer begins. Until that has ended, no beat of
  /// its reader may be taken, and no other line may be put in its way.
  output logic                    play_valid_o,
  output logic [ReaderWidth-1:0]  play_id_o,
  output logic                    play_way_o,
  output logic [SetWidth-1:0]     play_set_o,
  input  logic                    play_i,
  /// A line that has come whole: to be kept if `install_good_o`, and forgotten here with `install_i`.
  output logic                    install_valid_o,
  output logic                    install_good_o,
  output logic                    install_way_o,
  output logic [LineWidth-1:0]    install_line_o,
  output logic [ContextWidth-1:0] install_context_o,
  input  logic                    install_i,
  /// This line is being written: what is on its way is not to be kept.
  input  logic                    spoil_i,
  input  logic [LineWidth-1:0]    spoil_line_i,
  /// No line that is on its way is to be kept.
  input  logic                    spoil_all_i,
  /// Whether a read may not start: its line is on its way.
  input  logic                    probe_i,
  input  logic [LineWidth-1:0]    probe_line_i,
  output logic                    conflict_o,
  /// Ways of a set that wait for a line, or keep one that is parked.
  input  logic [SetWidth-1:0]     set_i,
  output logic [1:0]              taken_o
);

  localparam int unsigned PlaceWidth = $clog2(Lines);
  localparam int unsigned AheadWidth = $clog2(Each);

  typedef logic [ReaderWidth-1:0] reader_t;
  typedef logic [PlaceWidth-1:0] place_t;

  // Of a place: a line is on its way; it is all there and not installed yet; a parked one is there.
  logic [Lines-1:0] coming_q, whole_q, parked_q;
  logic [Lines-1:0] keep_q, way_q, good_q;
  reader_t id_q [Lines];
  logic [LineWidth-1:0] line_q [Lines];
  logic [ContextWidth-1:0] context_q [Lines];
  // Older lines of its reader that are unanswered.
  logic [AheadWidth-1:0] ahead_q [Lines];
  // Of a reader: its unanswered lines, and how much of the one that comes is there.
  logic [AheadWidth:0] waits_q [Readers];
  logic [2:0] beat_q [Readers];

  // The parked line whose turn it is was found in the cycle before: its turn does not pass until it is played. Likewise the whole one
  // to be installed.
  place_t free, install_q, next_install, play_q, next_play;
  logic [Lines-1:0] busy, brings;
  logic ends, play_valid_q, next_play_valid, install_valid_q, next_install_valid;

  assign busy = coming_q | whole_q | parked_q;
  assign full_o = &busy;
  assign ends = beat_i && beat_last_i;
  assign start_behind_o = waits_q[start_id_i] != '0;

  always_comb begin
    free = '0;
    next_install = '0;
    next_install_valid = 1'b0;
    next_play = '0;
    next_play_valid = 1'b0;
    for (int p = int'(Lines) - 1; p >= 0; p--) begin
      if (!busy[p]) free = place_t'(p);
      if (whole_q[p] && !(install_i && place_t'(p) == install_q)) begin
        next_install = place_t'(p);
        next_install_valid = 1'b1;
      end
      if (parked_q[p] && ahead_q[p] == '0 && !(play_i && place_t'(p) == play_q)) begin
        next_play = place_t'(p);
        next_play_valid = 1'b1;
      end
    end
  end

  // Of a reader, now.
  function automatic logic oldest_leaves(reader_t reader);
    return (play_i && play_id_o == reader) || (ends && beat_id_i == reader);
  endfunction

  assign play_valid_o = play_valid_q;
  assign play_id_o = id_q[play_q];
  assign play_way_o = way_q[play_q];
  assign play_set_o = line_q[play_q][SetWidth-1:0];
  assign install_valid_o = install_valid_q;
  assign install_good_o = good_q[install_q] && keep_q[install_q];
  assign install_way_o = way_q[install_q];
  assign install_line_o = line_q[install_q];
  assign install_context_o = context_q[install_q];

  // The one place that a beat belongs to: the reader's oldest line, if memory brings it.
  always_comb begin
    beat_keep_o = 1'b0;
    beat_way_o = 1'b0;
    beat_set_o = '0;
    for (int p = 0; p < int'(Lines); p++) begin
      brings[p] = coming_q[p] && id_q[p] == beat_id_i && ahead_q[p] == '0;
      if (brings[p]) begin
        beat_keep_o |= keep_q[p];
        beat_way_o |= way_q[p];
        beat_set_o |= line_q[p][SetWidth-1:0];
      end
    end
  end
  assign beat_wait_o = brings == '0;
  assign beat_number_o = beat_q[beat_id_i];

  always_comb begin
    conflict_o = 1'b0;
    if (probe_i) begin
      for (int p = 0; p < int'(Lines); p++) begin
        if ((coming_q[p] || whole_q[p]) && line_q[p] == probe_line_i) conflict_o = 1'b1;
      end
    end
  end

  always_comb begin
    taken_o = '0;
    for (int p = 0; p < int'(Lines); p++) begin
      if (busy[p] && keep_q[p] && line_q[p][SetWidth-1:0] == set_i) taken_o[way_q[p]] = 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      coming_q <= '0;
      whole_q <= '0;
      parked_q <= '0;
      keep_q <= '0;
      way_q <= '0;
      good_q <= '0;
      play_q <= '0;
      play_valid_q <= 1'b0;
      install_q <= '0;
      install_valid_q <= 1'b0;
      for (int r = 0; r < int'(Readers); r++) begin
        waits_q[r] <= '0;
        beat_q[r] <= '0;
      end
    end else begin
      if (start_i || park_i) begin
        coming_q[free] <= start_i;
        parked_q[free] <= park_i;
        keep_q[free] <= start_keep_i;
        way_q[free] <= start_way_i;
        good_q[free] <= 1'b1;
        id_q[free] <= start_id_i;
        line_q[free] <= start_line_i;
        context_q[free] <= start_context_i;
      end
      for (int p = 0; p < int'(Lines); p++) begin
        if (oldest_leaves(id_q[p])) ahead_q[p] <= ahead_q[p] - 1'b1;
        if ((start_i || park_i) && place_t'(p) == free) begin
          ahead_q[p] <= AheadWidth'(waits_q[start_id_i] - (AheadWidth + 1)'(oldest_leaves(start_id_i)));
        end
        if (beat_i && brings[p]) begin
          if (beat_error_i) good_q[p] <= 1'b0;
          if (beat_last_i) begin
            coming_q[p] <= 1'b0;
            whole_q[p] <= 1'b1;
          end
        end
        if (spoil_all_i || (spoil_i && line_q[p] == spoil_line_i)) good_q[p] <= 1'b0;
      end
      for (int r = 0; r < int'(Readers); r++) begin
        waits_q[r] <= waits_q[r] + (AheadWidth + 1)'((start_i || park_i) && start_id_i == reader_t'(r)) -
                      (AheadWidth + 1)'(oldest_leaves(reader_t'(r)));
        if (beat_i && beat_id_i == reader_t'(r)) beat_q[r] <= beat_q[r] + 3'd1;
      end
      if (play_i) parked_q[play_q] <= 1'b0;
      play_q <= next_play;
      play_valid_q <= next_play_valid;
      install_q <= next_install;
      install_valid_q <= next_install_valid;
      if (install_i) whole_q[install_q] <= 1'b0;
    end
  end

`ifndef SYNTHESIS
  StaysWhole_A : assert property (@(posedge clk_i) disable iff (!rst_ni) install_valid_q |-> whole_q[install_q]);
  StaysParked_A : assert property (@(posedge clk_i) disable iff (!rst_ni) play_valid_q |-> parked_q[play_q] && ahead_q[play_q] == '0);
  BeatsHaveAskers_A : assert property (@(posedge clk_i) disable iff (!rst_ni) beat_i |-> $onehot(brings));
  NotMoreThanEach_A : assert property (@(posedge clk_i) disable iff (!rst_ni)
    start_i || park_i |-> waits_q[start_id_i] < (AheadWidth + 1)'(Each) && !full_o);
  OneAnswerAtATime_A : assert property (@(posedge clk_i) disable iff (!rst_ni)
    !(play_i && beat_i && beat_id_i == play_id_o));
  ParkedBehindAnother_A : assert property (@(posedge clk_i) disable iff (!rst_ni)
    park_i |-> start_behind_o && start_keep_i);
  WholeLines_A : assert property (@(posedge clk_i) disable iff (!rst_ni)
    beat_i |-> beat_last_i == (beat_q[beat_id_i] == 3'd7));
`endif

endmodule
