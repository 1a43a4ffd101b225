// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The beats of an AXI4-Stream of 1 to 64 bytes into words of 64 bits, the lowest byte first.
///
/// A run ends with TLAST, or, where `by_length_i` is set, with its `bytes_i`-th byte, TLAST saying nothing then. No beat is taken
/// after that, and none between runs. More than `bytes_i` bytes are never kept: those of a packet beyond are thrown away up to its
/// TLAST, with a pulse of `overlong_o`. All beats are full but the one that ends the run, whose bytes TKEEP says from the lowest
/// on; one without any is passed over. Any other beat is thrown away, with a pulse of `ragged_o`.
module kernel_pack #(
  /// Bytes of a beat, 1 to 64.
  parameter int unsigned Bytes = 8
) (
  input  logic clk_i,
  /// Synchronous reset, active low.
  input  logic rst_ni,

  /// Pulse: begin a run.
  input  logic        start_i,
  input  logic [31:0] bytes_i,
  input  logic        by_length_i,
  /// Level: the run ends here.
  input  logic        stop_i,
  /// The run has not ended: beats are taken.
  output logic        open_o,
  /// The run has ended and all its words have gone.
  output logic        done_o,
  /// Bytes that were kept.
  output logic [31:0] moved_o,
  output logic        overlong_o,
  output logic        ragged_o,

  input  logic [8*Bytes-1:0] tdata_i,
  input  logic [Bytes-1:0]   tkeep_i,
  input  logic               tlast_i,
  input  logic               tvalid_i,
  output logic               tready_o,

  output logic [63:0] word_o,
  output logic [7:0]  strb_o,
  output logic        word_valid_o,
  input  logic        word_ready_i
);

  if (Bytes < 1 || Bytes > 64) begin : gen_check_bytes
    $fatal(1, "kernel_pack: Bytes must be 1 to 64");
  end

  localparam int unsigned Unit = Bytes % 8 == 0 ? 8 : Bytes % 4 == 0 ? 4 : Bytes % 2 == 0 ? 2 : 1;
  localparam int unsigned BeatUnits = Bytes / Unit, WordUnits = 8 / Unit;
  localparam int unsigned Few = Bytes % 8 == 0 || 8 % Bytes == 0 ? WordUnits : 2 * WordUnits;
  localparam int unsigned Units = Few + BeatUnits;
  localparam int unsigned FillWidth = $clog2(Units + 1);
  localparam int unsigned AmountWidth = $clog2(Bytes + 1);
  typedef logic [FillWidth-1:0] fill_t;
  typedef logic [AmountWidth-1:0] amount_t;
  typedef logic [Units-1:0][8*Unit-1:0] held_t;

  // A beat, as it came, with what its TKEEP says.
  logic open_q, beat_q, last_q, full_q, gaps_q, beat_go, end_go;
  logic [8*Bytes-1:0] data_q;
  amount_t amount_q, amount;
  logic [Bytes:0] above;

  assign tready_o = open_q && (!beat_q || (beat_go && !end_go));
  assign above = {1'b0, tkeep_i} + (Bytes + 1)'(1);

  always_comb begin
    amount = '0;
    for (int unsigned i = 0; i < Bytes; i++) amount += amount_t'(tkeep_i[i]);
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni || start_i || stop_i || (beat_go && end_go)) beat_q <= 1'b0;
    else if (tvalid_i && tready_o) beat_q <= 1'b1;
    else if (beat_go) beat_q <= 1'b0;
  end

  always_ff @(posedge clk_i) begin
    if (tvalid_i && tready_o) begin
      data_q <= tdata_i;
      last_q <= tlast_i;
      amount_q <= amount;
      full_q <= &tkeep_i;
      gaps_q <= ({1'b0, tkeep_i} & above) != '0;
    end
  end

  // What of it is kept: as much as there is room for, where it may be one.
  logic by_length_q, fits, bad, ends;
  logic [31:0] room_q, moved_q;
  amount_t kept;
  fill_t fill_q, rest_fill, kept_units;
  held_t held_q, rest;
  logic pop;

  assign fits = 32'(amount_q) <= room_q;
  assign ends = by_length_q ? 32'(amount_q) >= room_q : last_q;
  assign bad = gaps_q || (!full_q && amount_q != '0 && !ends);
  assign kept = bad ? '0 : fits ? amount_q : amount_t'(room_q);
  assign kept_units = fill_t'((32'(kept) + 32'(Unit) - 1) / 32'(Unit));
  assign beat_go = beat_q && open_q && fill_q <= fill_t'(Few) && !stop_i;
  assign end_go = ends && !(by_length_q && bad);
  assign overlong_o = beat_go && !bad && !by_length_q && !fits;
  assign ragged_o = beat_go && bad;
  assign open_o = open_q;
  assign moved_o = moved_q;
  assign done_o = !open_q && fill_q == '0;

  // Words: full ones, and the one that holds the rest where nothing more is kept.
  logic full_up;
  assign full_up = !open_q || room_q == '0;
  assign word_valid_o = fill_q >= fill_t'(WordUnits) || (full_up && fill_q != '0);
  assign word_o = 64'(held_q[WordUnits-1:0]);
  assign pop = word_valid_o && word_ready_i;

  always_comb begin
    strb_o = '1;
    if (full_up && fill_q <= fill_t'(WordUnits) && moved_q[2:0] != '0) strb_o = ~(8'hFF << moved_q[2:0]);
    rest = held_q;
    rest_fill = fill_q;
    if (pop) begin
      rest = held_q >> 64;
      rest_fill = fill_q >= fill_t'(WordUnits) ? fill_q - fill_t'(WordUnits) : '0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni || start_i) begin
      open_q <= rst_ni && start_i && !(by_length_i && bytes_i == '0);
      by_length_q <= by_length_i;
      room_q <= rst_ni ? bytes_i : '0;
      moved_q <= '0;
      fill_q <= '0;
      held_q <= '0;
    end else begin
      fill_q <= rest_fill;
      held_q <= rest;
      if (beat_go) begin
        if (kept != '0) begin
          held_q <= rest | (held_t'(data_q) << (32'(rest_fill) * 8 * Unit));
          fill_q <= rest_fill + kept_units;
        end
        room_q <= room_q - 32'(kept);
        moved_q <= moved_q + 32'(kept);
      end
      if (stop_i || (beat_go && end_go)) open_q <= 1'b0;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      NeverOverfull_A :
      assert (32'(fill_q) <= Units)
      else $error("kernel_pack: more units than there is room for");
      PartsEndRuns_A :
      assert (!beat_go || kept == '0 || kept == amount_t'(Bytes) || end_go || room_q == 32'(kept))
      else $error("kernel_pack: a part of a beat in the middle of a run");
    end
  end
`endif

endmodule
