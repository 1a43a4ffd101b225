// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Writes words to the fabric's configuration port (ICAPE3), and says how it went.
///
/// A load opens the port when AVAIL is high, writes exactly the words it was told of, a word a cycle at most, and has ended
/// when PRDONE has fallen and risen again. Pauses are cycles without CSIB. RDWRB changes only while CSIB is high, except in
/// the abort sequence of UG570 ("SelectMAP ABORT"): RDWRB rises while CSIB is low, for four cycles, after which the device is
/// out of any packet and waits for a synchronisation word. It is what ends a load that did not go well. At rest CSIB and RDWRB
/// are high. Each byte's bits go the other way round (UG570, "Parallel Bus Bit Order"). All outputs to the port are flops.
///
/// After a load that went wrong PRDONE stays low and PRERROR high (UG570, "Pin Descriptions": until DESYNC, and until a command
/// RCRC, which every image has before its data). So PRERROR counts from where it was seen low since the port was opened: what
/// it said before belongs to another load.
///
/// AVAIL that falls during a load is an error: a word is on its way by then, and nothing says whether it was taken. What is
/// left to do is to close: the port is somebody else's. The next load then begins with an abort sequence, as it does where
/// the one before was cut off by a reset.
module icap_port
  import icap_pkg::*;
(
  input  logic        clk_i,
  /// Synchronous reset, active low.
  input  logic        rst_ni,

  /// Pulse: begin, where `rest_o`. Rehearse: take the words and leave the port alone.
  input  logic        start_i,
  input  logic        rehearse_i,
  /// What the device was given last may have ended in the middle of a packet: begin with an abort sequence.
  input  logic        open_i,
  input  logic [23:0] words_i,
  /// Pulse: end the load.
  input  logic        stop_i,

  input  logic [31:0] word_i,
  input  logic        word_valid_i,
  output logic        word_ready_o,

  output icape_in_t   icape_o,
  input  icape_out_t  icape_i,

  /// Nothing is under way.
  output logic        rest_o,
  /// Levels of a load: it waits for the port; for words; for the device's end; that was reached.
  output logic        waits_o,
  output logic        writes_o,
  output logic        settles_o,
  output logic        good_o,
  /// AVAIL fell; the device reports an error.
  output logic        lost_o,
  output logic        error_o,
  /// Words that were not written yet.
  output logic [23:0] left_o,
  /// Pulse: a word goes to the port; which.
  output logic        wrote_o,
  /// O[7:4] at the end of the last abort sequence.
  output logic [3:0]  said_o,
  /// As `open_i`, of this load; at rest.
  output logic        open_o,
  /// The port's lines, as flops of this clock.
  output icape_lines_t lines_o
);

  typedef enum logic [2:0] {Rest, Wait, Open, Write, Settle, Close, Abort} state_e;

  state_e state_q;
  logic rehearse_q, more_q, open_q, cleans_q, csib_q, rdwrb_q, fell_q, calm_q;
  icape_lines_t lines_q;
  logic [31:0] i_q;
  logic [23:0] left_q;
  logic [2:0] abort_q;
  logic [3:0] said_q;
  logic take, under_way;

  function automatic logic [31:0] swapped(input logic [31:0] word);
    for (int b = 0; b < 4; b++) for (int k = 0; k < 8; k++) swapped[8*b+k] = word[8*b+7-k];
  endfunction

  // Nothing more once AVAIL has fallen, whoever ends the load when.
  assign word_ready_o = state_q == Write && more_q && !stop_i && (rehearse_q || lines_q.avail);
  assign take = word_ready_o && word_valid_i;
  assign under_way = !rehearse_q && (state_q == Write || state_q == Settle);

  always_ff @(posedge clk_i) begin
    lines_q <= icape_i.lines;
    if (state_q == Rest || state_q == Wait) calm_q <= 1'b0;
    else if (!lines_q.prerror) calm_q <= 1'b1;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= Rest;
      csib_q <= 1'b1;
      rdwrb_q <= 1'b1;
      rehearse_q <= 1'b0;
      open_q <= 1'b0;
      cleans_q <= 1'b0;
      left_q <= '0;
      more_q <= 1'b0;
      abort_q <= '0;
      said_q <= '0;
      fell_q <= 1'b0;
    end else begin
      csib_q <= 1'b1;
      unique case (state_q)
        Rest: begin
          rdwrb_q <= 1'b1;
          if (start_i) begin
            rehearse_q <= rehearse_i;
            open_q <= open_i;
            left_q <= words_i;
            more_q <= words_i != '0;
            fell_q <= 1'b0;
            state_q <= rehearse_i ? Write : Wait;
          end
        end
        Wait: begin
          if (stop_i) state_q <= Rest;
          else if (lines_q.avail) state_q <= Open;
        end
        Open: begin
          rdwrb_q <= 1'b0;
          if (stop_i) state_q <= Close;
          else begin
            state_q <= open_q ? Abort : Write;
            cleans_q <= open_q;
            open_q <= 1'b1;
          end
        end
        Write: begin
          if (take) begin
            csib_q <= rehearse_q;
            left_q <= left_q - 24'd1;
            more_q <= left_q != 24'd1;
          end
          if (!lines_q.prdone) fell_q <= 1'b1;
          if (stop_i) state_q <= rehearse_q ? Rest : lines_q.avail ? Abort : Close;
          else if (!more_q) state_q <= Settle;
        end
        Settle: begin
          if (!lines_q.prdone) fell_q <= 1'b1;
          if (stop_i) begin
            state_q <= rehearse_q ? Rest : good_o || !lines_q.avail ? Close : Abort;
            if (good_o && !rehearse_q) open_q <= 1'b0;
          end
        end
        // CSIB is high in the cycle before RDWRB rises, and in that one.
        Close: begin
          rdwrb_q <= 1'b1;
          state_q <= Rest;
        end
        Abort: begin
          // First a cycle of CSIB low as in a write, of a word that means nothing (UG570: a dummy word); then RDWRB rises.
          csib_q <= abort_q == 3'd5;
          rdwrb_q <= abort_q != '0;
          abort_q <= abort_q + 3'd1;
          if (stop_i) cleans_q <= 1'b0;
          if (abort_q == 3'd5) begin
            abort_q <= '0;
            said_q <= icape_i.o[7:4];
            // The load itself comes after one that cleans.
            state_q <= cleans_q && !stop_i ? Wait : Rest;
            cleans_q <= 1'b0;
            open_q <= 1'b0;
          end
        end
        default: state_q <= Rest;
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (take) i_q <= swapped(word_i);
    else if (state_q == Abort) i_q <= '1;
  end

  assign icape_o = '{csib: csib_q, rdwrb: rdwrb_q, i: i_q};
  assign rest_o = state_q == Rest;
  assign waits_o = state_q == Wait;
  assign writes_o = state_q == Write;
  assign settles_o = state_q == Settle;
  assign good_o = state_q == Settle && (rehearse_q || (fell_q && lines_q.prdone && !lines_q.prerror));
  assign lost_o = under_way && !lines_q.avail;
  assign error_o = under_way && lines_q.prerror && calm_q;
  assign left_o = left_q;
  assign wrote_o = take;
  assign said_o = said_q;
  assign open_o = open_q;
  assign lines_o = lines_q;

  logic unused;
  assign unused = ^{icape_i.o[31:8], icape_i.o[3:0]};

`ifndef SYNTHESIS
  // A reset takes some cycles to come to this clock. In the device both flops are high until then, as their resets make them.
  logic was_reset_q, rdwrb_before_q, csib_before_q;
  logic [2:0] abort_before_q;
  always_ff @(posedge clk_i) begin
    rdwrb_before_q <= rdwrb_q;
    csib_before_q <= csib_q;
    abort_before_q <= abort_q;
    if (!rst_ni) was_reset_q <= 1'b1;
    else if (was_reset_q) begin
      DirectionChangesClosedOrToAbort_A :
      assert (rdwrb_q == rdwrb_before_q || (csib_q && csib_before_q) || abort_before_q != '0)
      else $error("icap_port: RDWRB changed while CSIB was low");
      RestIsClosed_A :
      assert (state_q != Wait || (csib_q && rdwrb_q))
      else $error("icap_port: a load begins at an open port");
    end
  end
`endif

endmodule
