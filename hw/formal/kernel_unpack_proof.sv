// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Toward a kernel, every byte of memory's words comes once, in its place, and nothing else does; TVALID and what it offers stay
/// until TREADY; TLAST comes with the last byte and never before.
///
/// Byte `number_i` of a run is watched, whichever it is: it must leave in the beat and in the lane in which it belongs, as it came.
module kernel_unpack_proof #(
  parameter int unsigned Bytes = 3
) (
  input logic        clk_i,
  input logic        rst_ni,
  input logic        start_i,
  input logic [31:0] bytes_i,
  input logic        stop_i,
  input logic [63:0] word_i,
  input logic        word_valid_i,
  input logic        tready_i,
  input logic [31:0] number_i
);

  localparam int unsigned Unit = Bytes % 8 == 0 ? 8 : Bytes % 4 == 0 ? 4 : Bytes % 2 == 0 ? 2 : 1;

  logic busy, word_ready, tlast, first, tvalid;
  logic [31:0] left;
  logic [8*Bytes-1:0] tdata;
  logic [Bytes-1:0] tkeep;

  kernel_unpack #(.Bytes(Bytes)) dut (
    .clk_i, .rst_ni, .start_i, .bytes_i, .stop_i, .busy_o(busy), .left_o(left), .word_i, .word_valid_i,
    .word_ready_o(word_ready), .tdata_o(tdata), .tkeep_o(tkeep), .tlast_o(tlast), .first_o(first), .tvalid_o(tvalid), .tready_i
  );

  logic started_q = 1'b0;
  always_ff @(posedge clk_i) started_q <= 1'b1;
  always_comb InReset_M : assume (rst_ni == started_q);

  // Of a run: its bytes, those that have come (whole words), those in beats that were made, and the watched one.
  logic [31:0] total_q = '0;
  logic [33:0] came_q = '0, sent_q = '0;
  logic [7:0] seen_q = '0;
  logic [31:0] number_q = '0;
  logic run_q = 1'b0;
  logic [7:0] lane;
  logic take, offered_q = 1'b0, tlast_q, first_q;
  logic [8*Bytes-1:0] tdata_q;
  logic [Bytes-1:0] tkeep_q;

  // A run's words come after its start, as many as hold its bytes; runs do not overlap, and have less than 2 GiB.
  assign take = word_valid_i && word_ready && !stop_i;
  always_comb begin
    NoWordBefore_M : assume (!word_valid_i || (run_q && came_q < 34'(total_q) && !start_i));
    RunsAreApart_M : assume (!start_i || (!busy && !stop_i));
    RunsAreShort_M : assume (!bytes_i[31] && !number_i[31]);
  end

  always_ff @(posedge clk_i) begin
    offered_q <= rst_ni && tvalid && !tready_i && !stop_i;
    tdata_q <= tdata;
    tkeep_q <= tkeep;
    tlast_q <= tlast;
    first_q <= first;
    if (!rst_ni) begin
      run_q <= 1'b0;
    end else if (start_i) begin
      run_q <= 1'b1;
      total_q <= bytes_i;
      came_q <= '0;
      sent_q <= '0;
      number_q <= number_i;
    end else if (stop_i) begin
      run_q <= 1'b0;
    end else begin
      if (take) came_q <= came_q + 34'd8;
      if (take && came_q[33:3] == 31'(number_q[31:3])) seen_q <= word_i[8*number_q[2:0]+:8];
      if (dut.send) sent_q <= 34'(total_q) < sent_q + 34'(Bytes) ? 34'(total_q) : sent_q + 34'(Bytes);
    end
  end

  // The beat that is offered ends where those that were made end.
  logic [33:0] begins;
  logic [7:0] count, index;
  logic above;
  always_comb begin
    above = 1'b0;
    for (int unsigned i = 0; i < dut.Units; i++) if (i >= 32'(dut.fill_q) && dut.held_q[i] != '0) above = 1'b1;
    count = '0;
    for (int unsigned i = 0; i < Bytes; i++) count += 8'(tkeep[i]);
    begins = sent_q - 34'(count);
    lane = 8'(34'(number_q) - begins);
    index = 8'(34'(number_q) - sent_q);
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni && run_q) begin
      // What holds between the counts, for the induction.
      LeftIsLeft_A : assert (34'(left) + sent_q == 34'(total_q));
      ComeIsWhole_A : assert (came_q[2:0] == '0 && came_q < 34'(total_q) + 34'd8 && sent_q <= 34'(total_q));
      if (left != '0) begin
        HeldIsBetween_A : assert (sent_q + 34'(dut.fill_q) * 34'(Unit) == came_q);
        SentWhole_A : assert (34'(32'(sent_q)) % 34'(Unit) == '0);
        if (sent_q <= 34'(number_q) && 34'(number_q) < came_q) begin
          HeldInPlace_A : assert (8'(dut.held_q >> (8 * 32'(index))) == seen_q);
        end
      end
      NothingAbove_A : assert (!above);
      RoomIsKept_A : assert (32'(dut.fill_q) <= dut.Units);
      FirstIsFirst_A : assert (dut.first_q == (sent_q == '0));
      if (tvalid) begin
        FromTheLowest_A : assert ((tkeep & (tkeep + Bytes'(1))) == '0);
        PartsAreLast_A : assert (count == 8'(Bytes) || (tlast && count != '0) || total_q == '0);
        LastIsLast_A : assert (tlast == (left == '0));
        NoMoreThanCame_A : assert (sent_q <= came_q && begins < 34'(total_q));
        FirstIsSaid_A : assert (first == (begins == '0));
        if (begins <= 34'(number_q) && 34'(number_q) < sent_q) begin
          InItsPlace_A : assert (8'(tdata >> (8 * 32'(lane))) == seen_q);
        end
      end
    end
    if (rst_ni && !run_q && started_q) NothingBetweenRuns_A : assert (!tvalid && left == '0);
    if (rst_ni && offered_q) begin
      OfferStays_A : assert (tvalid && tdata == tdata_q && tkeep == tkeep_q && tlast == tlast_q && first == first_q);
    end
  end

endmodule
