// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Whatever words come and whatever the device does: never more of them are written than the load was told of; RDWRB changes
/// only while CSIB is high, or in an abort sequence of exactly four cycles; and a load that was stopped ends with a closed
/// port within eight cycles.
module icap_port_proof (
  input logic        clk_i,
  input logic        rst_ni,
  input logic        start_i,
  input logic        rehearse_i,
  input logic        open_i,
  input logic [23:0] words_i,
  input logic        stop_i,
  input logic [31:0] word_i,
  input logic        word_valid_i,
  input logic [31:0] o_i,
  input logic        avail_i,
  input logic        prdone_i,
  input logic        prerror_i
);

  // The block's states.
  localparam logic [2:0] Open = 3'd2, Write = 3'd3, Settle = 3'd4, Close = 3'd5, Abort = 3'd6;

  icap_pkg::icape_in_t icape;
  logic csib, rdwrb, rest, waits, writes, settles;
  logic [31:0] data;

  icap_port dut (
    .clk_i, .rst_ni, .start_i, .rehearse_i, .open_i, .words_i, .stop_i, .word_i, .word_valid_i, .word_ready_o(), .icape_o(icape),
    .icape_i('{lines: '{avail: avail_i, prdone: prdone_i, prerror: prerror_i}, o: o_i}), .rest_o(rest), .waits_o(waits),
    .writes_o(writes), .settles_o(settles), .good_o(), .lost_o(), .error_o(), .left_o(), .wrote_o(), .said_o(), .open_o(),
    .lines_o()
  );

  assign {csib, rdwrb, data} = {icape.csib, icape.rdwrb, icape.i};

  logic started_q = 1'b0;
  always_ff @(posedge clk_i) started_q <= 1'b1;
  always_comb InReset_M : assume (rst_ni == started_q);

  // What the device sees: words of this load, and whether a load was stopped.
  logic [24:0] written_q, asked_q;
  logic rehearsal_q, csib_q, rdwrb_q, stopped_q;
  logic [3:0] since_q, reading_q;
  logic [31:0] word_q;
  logic begins;
  assign begins = rest && start_i;
  always_ff @(posedge clk_i) begin
    csib_q <= csib || !rst_ni;
    rdwrb_q <= rdwrb || !rst_ni;
    word_q <= word_i;
    if (!rst_ni) begin
      written_q <= '0;
      asked_q <= '0;
      rehearsal_q <= 1'b0;
      stopped_q <= 1'b0;
      since_q <= '0;
      reading_q <= '0;
    end else begin
      if (begins) begin
        written_q <= '0;
        asked_q <= 25'(words_i);
        rehearsal_q <= rehearse_i;
        stopped_q <= 1'b0;
        since_q <= '0;
      end else begin
        // Not counted: the word of ones that an abort sequence begins with.
        if (!csib && !rdwrb && !(dut.state_q == Abort && dut.abort_q == 3'd1)) written_q <= written_q + 25'd1;
        if (stop_i && !rest) stopped_q <= 1'b1;
        if ((stopped_q || stop_i) && !rest && since_q != '1) since_q <= since_q + 4'd1;
      end
      reading_q <= !csib && rdwrb ? reading_q + 4'd1 : '0;
    end
  end

  logic swaps;
  always_comb begin
    swaps = 1'b1;
    for (int b = 0; b < 4; b++) for (int k = 0; k < 8; k++) if (data[8*b+k] != word_q[8*b+7-k]) swaps = 1'b0;
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      NeverMoreWordsThanAsked_A : assert (written_q + 25'(!csib && !rdwrb && dut.state_q == Write) <= asked_q);
      WordsAreCounted_A :
      assert (rehearsal_q || written_q + 25'(dut.left_q) + 25'(!csib && !rdwrb && !(dut.state_q == Abort && dut.abort_q == 3'd1)) == asked_q);
      RehearsalIsRemembered_A : assert (rest || rehearsal_q == dut.rehearse_q);
      ARehearsalLeavesThePortAlone_A : assert (rest || !rehearsal_q || (csib && rdwrb && !waits));
      RestIsClosed_A : assert (!(rest || waits) || csib);
      DirectionChangesClosedOrToAbort_A : assert (rdwrb == rdwrb_q || (csib && csib_q) || (rdwrb && dut.state_q == Abort));
      AnAbortIsFourCycles_A : assert (reading_q <= 4'd4 && (csib || !rdwrb || dut.state_q == Abort));
      AStopEndsWithinEightCycles_A : assert (since_q <= 4'd8);
      BitsGoTheOtherWayRound_A : assert (csib || rdwrb || dut.state_q == Abort || swaps);
      // Why that holds.
      SinceBeginsWithAStop_A : assert (stopped_q || since_q == '0);
      SinceFollowsTheStates_A :
      assert (!stopped_q || rest || (dut.state_q == Close && since_q <= 4'd2) || (dut.state_q == Abort && since_q <= 4'd1 + 4'(dut.abort_q)));
      MoreIsToldAhead_A : assert (dut.more_q == (dut.left_q != '0));
      OnlyWhatBeginsCleans_A : assert (!dut.cleans_q || (dut.state_q == Abort && !stopped_q));
      OpenIsTold_A : assert (rehearsal_q || dut.open_q || (dut.state_q != Write && dut.state_q != Settle));
      AbortCounts_A : assert (dut.abort_q == '0 || (dut.state_q == Abort && dut.abort_q <= 3'd5));
      AbortBeginsOpen_A : assert ((dut.state_q != Write && dut.state_q != Settle && dut.state_q != Close) || rehearsal_q || !rdwrb);
      AbortReads_A : assert (dut.state_q != Abort || (dut.abort_q < 3'd2 && !rdwrb && reading_q == '0) || (dut.abort_q >= 3'd2 && rdwrb && !csib && reading_q == 4'(dut.abort_q) - 4'd2));
      OpenBegins_A : assert (dut.state_q != Open || csib);
      ClosedIsClosed_A : assert (dut.state_q != Close || (csib && (csib_q || written_q != '0)));
    end
  end

endmodule
