// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Every burst that is asked of memory lies in the window as it was when the burst was made, within one page, and there is
/// room for all that memory owes; and no more beats come out than were asked for, with one at most that says that the next
/// burst would leave the window, and none behind it. Whatever is asked for, and whatever memory does.
module icap_reader_proof
  import eddy_pkg::*;
  import icap_pkg::*;
(
  input logic        clk_i,
  input logic        rst_ni,
  input logic        start_i,
  input logic [31:0] place_i,
  input logic [23:0] words_i,
  input logic        stop_i,
  input logic [27:0] first_page_i,
  input logic [27:0] last_page_i,
  input logic        ar_ready_i,
  input r_t          r_i,
  input logic        r_valid_i,
  input logic        beat_ready_i
);

  ax_t ar;
  logic ar_valid, beat_valid, idle;
  beat_t beat;

  icap_reader dut (
    .clk_i, .rst_ni, .start_i, .place_i, .words_i, .stop_i, .first_page_i, .last_page_i, .ar_o(ar),
    .ar_valid_o(ar_valid), .ar_ready_i, .r_i, .r_valid_i, .beat_o(beat), .beat_valid_o(beat_valid), .beat_ready_i,
    .idle_o(idle)
  );

  logic started_q = 1'b0;
  always_ff @(posedge clk_i) started_q <= 1'b1;
  always_comb InReset_M : assume (rst_ni == started_q);

  // The window in the cycle in which the request on offer was made.
  logic [27:0] first_q, last_q;
  logic held_q;
  ax_t ar_q;
  always_ff @(posedge clk_i) begin
    if (!ar_valid || ar_ready_i) begin
      first_q <= first_page_i;
      last_q <= last_page_i;
    end
    held_q <= rst_ni && ar_valid && !ar_ready_i;
    ar_q <= ar;
  end

  // Beats, told from what passes; and whether one said that the window ends.
  logic [24:0] given_q, wanted_q;
  logic outside_q, begins, gives;
  assign begins = start_i && idle && !dut.run_q;
  assign gives = beat_valid && beat_ready_i;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      given_q <= '0;
      wanted_q <= '0;
      outside_q <= 1'b0;
    end else if (begins) begin
      given_q <= '0;
      wanted_q <= 25'(words_i) + 25'd1 >> 1;
      outside_q <= 1'b0;
    end else if (gives) begin
      if (beat.kind == BeatOutside) outside_q <= 1'b1;
      else given_q <= given_q + 25'd1;
    end
  end

  logic [39:0] last_byte;
  assign last_byte = ar.addr + {29'd0, ar.len, 3'b111};

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      ReadsLieInTheWindow_A :
      assert (!ar_valid || (ar.addr[39:12] >= first_q && last_byte[39:12] <= last_q));
      ReadsStayInAPage_A : assert (!ar_valid || ar.addr[39:12] == last_byte[39:12]);
      RequestsStay_A : assert (!held_q || (ar_valid && ar == ar_q));
      ThereIsRoom_A : assert (!dut.run_q || dut.reserved_q <= 7'd64);
      OwedHasRoom_A : assert (dut.owed_q <= 7'd64);
      RoomIsForWhatIsThereAndOwed_A : assert (!dut.run_q || 8'(dut.reserved_q) == 8'(dut.held_q) + 8'(dut.owed_q));
      NeverMoreBeatsThanAskedFor_A : assert (given_q <= wanted_q);
      BeatsAddUp_A :
      assert (!dut.run_q || wanted_q == given_q + 25'(dut.ask_q) + 25'(dut.owed_q) + 25'(dut.held_q));
      NothingBehindTheWindowsEnd_A : assert (!outside_q || (!beat_valid && !dut.run_q));
      BeatsAreOfThisSide_A : assert (!beat_valid || beat.kind != BeatEnd);
    end
  end

endmodule
