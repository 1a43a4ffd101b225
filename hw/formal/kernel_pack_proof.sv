// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Whatever a kernel sends, and wherever a run is stopped: of the bytes that are kept, each lies once in the words that leave, in
/// its place and with its strobe; no strobe is set beyond them; and they are never more than there is room for.
///
/// Byte `number_i` of those that are kept is watched, whichever it is.
module kernel_pack_proof #(
  parameter int unsigned Bytes = 3
) (
  input logic               clk_i,
  input logic               rst_ni,
  input logic               start_i,
  input logic [31:0]        bytes_i,
  input logic               by_length_i,
  input logic               stop_i,
  input logic [8*Bytes-1:0] tdata_i,
  input logic [Bytes-1:0]   tkeep_i,
  input logic               tlast_i,
  input logic               tvalid_i,
  input logic               word_ready_i,
  input logic [31:0]        number_i
);

  localparam int unsigned Unit = Bytes % 8 == 0 ? 8 : Bytes % 4 == 0 ? 4 : Bytes % 2 == 0 ? 2 : 1;

  logic open, done, overlong, ragged, tready, word_valid;
  logic [31:0] moved;
  logic [63:0] word;
  logic [7:0] strb;

  kernel_pack #(.Bytes(Bytes)) dut (
    .clk_i, .rst_ni, .start_i, .bytes_i, .by_length_i, .stop_i, .open_o(open), .done_o(done), .moved_o(moved),
    .overlong_o(overlong), .ragged_o(ragged), .tdata_i, .tkeep_i, .tlast_i, .tvalid_i, .tready_o(tready), .word_o(word),
    .strb_o(strb), .word_valid_o(word_valid), .word_ready_i
  );

  logic started_q = 1'b0;
  always_ff @(posedge clk_i) started_q <= 1'b1;
  always_comb begin
    InReset_M : assume (rst_ni == started_q);
    RunsAreApart_M : assume (!start_i || (done && !stop_i));
    RunsAreShort_M : assume (!bytes_i[31] && !number_i[31]);
  end

  // Of a run: its room, words that left, and the watched byte as its beat had it.
  logic run_q = 1'b0;
  logic [31:0] room_q = '0, packed_q = '0, number_q = '0;
  logic [7:0] seen_q = '0;
  logic pop, stalled_q = 1'b0;
  logic [63:0] word_q;
  logic [7:0] strb_q;

  assign pop = word_valid && word_ready_i;

  always_ff @(posedge clk_i) begin
    stalled_q <= rst_ni && word_valid && !word_ready_i && !start_i && dut.full_up;
    word_q <= word;
    strb_q <= strb;
    if (!rst_ni) begin
      run_q <= 1'b0;
    end else if (start_i) begin
      run_q <= 1'b1;
      room_q <= bytes_i;
      packed_q <= '0;
      number_q <= number_i;
    end else begin
      if (pop) packed_q <= packed_q + 32'd1;
      if (dut.beat_go && moved <= number_q && number_q < moved + 32'(dut.kept)) begin
        seen_q <= 8'(dut.data_q >> (8 * 8'(number_q - moved)));
      end
    end
  end

  logic [31:0] held, whole_words, begins;
  logic [7:0] index;
  logic above, wrong_strobes;
  always_comb begin
    held = 32'(dut.fill_q) * 32'(Unit);
    whole_words = (moved + 32'd7) >> 3;
    begins = packed_q << 3;
    index = 8'(number_q - begins);
    above = 1'b0;
    for (int unsigned i = 0; i < dut.Units; i++) if (i >= 32'(dut.fill_q) && dut.held_q[i] != '0) above = 1'b1;
    wrong_strobes = 1'b0;
    for (int unsigned i = 0; i < 8; i++) if (strb[i] != (begins + i < moved)) wrong_strobes = 1'b1;
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni && started_q && !run_q) begin
      NothingBeforeRuns_A : assert (!open && dut.fill_q == '0 && !tready && done);
    end
    if (rst_ni && run_q) begin
      RoomIsLeft_A : assert (moved <= room_q && dut.room_q == room_q - moved && !room_q[31] && !number_q[31]);
      HeldIsKept_A : assert (dut.fill_q == '0 ? packed_q == whole_words
          : begins + held >= moved && begins + held < moved + 32'(Unit) && packed_q < whole_words);
      WholeUnits_A : assert (dut.full_up || moved % 32'(Unit) == '0);
      NoRestIsLost_A : assert (dut.full_up || begins + held == moved);
      UnitsFit_A : assert (32'(dut.fill_q) <= dut.Units);
      if (!dut.full_up) NothingAbove_A : assert (!above);
      AmountIsOfABeat_A : assert (!dut.beat_q || (32'(dut.amount_q) <= Bytes && dut.full_q == (32'(dut.amount_q) == Bytes)));
      if (begins <= number_q && number_q < moved) HeldInPlace_A : assert (8'(dut.held_q >> (8 * 32'(index))) == seen_q);
      if (word_valid) begin
        StrobesAreOfKeptBytes_A : assert (!wrong_strobes);
        if (begins <= number_q && number_q < begins + 32'd8 && number_q < moved) begin
          InItsPlace_A : assert (8'(word >> (8 * 32'(index))) == seen_q);
        end
      end
      if (done) AllHasLeft_A : assert (packed_q == whole_words && !open && !word_valid);
    end
    if (rst_ni && stalled_q) OfferStays_A : assert (word_valid && word == word_q && strb == strb_q);
  end

  logic unused;
  assign unused = ^{overlong, ragged};

endmodule
