// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// No store is lost: a byte of any one store stays in the store buffer, and is told of, until memory has answered the write
/// that carried it; what goes out is the value that was stored last before the line left. `empty_o` and `conflict_o` are
/// what a fence, and a load of that line, wait for: while the store has not landed, the first is low and the second tells
/// of its line. What a fence flushes is offered a cycle later, where memory has not too much to answer; lines leave in the order
/// of their first store, and one that memory refuses is told of.
///
/// Assumed of the data cache: a push is of the line that is probed, while there is room, and stores something; a clear finds
/// nothing inside. Of memory: it answers what was sent. Four places are the smallest buffer that gathers; four lines at memory
/// are enough for three in one bucket.
module gpu_store_buffer_proof
  import gpu_pkg::*;
#(
  parameter int unsigned Lines = 4,
  parameter int unsigned Gather = 1,
  parameter int unsigned Sent = 4
) (
  input logic                     clk_i,
  input logic                     rst_ni,
  input logic                     clear_i,
  input logic                     push_i,
  input logic [1:0][2:0]          parts_i,
  input logic [1:0][31:0]         data_i,
  input logic [1:0][3:0]          strb_i,
  input logic                     flush_i,
  input logic                     probe_i,
  input logic [LineAddrWidth-1:0] probe_line_i,
  input logic                     wr_ready_i,
  input logic [2:0]               wr_beat_i,
  input logic                     wr_done_i,
  input logic                     wr_error_i,
  /// Which store is followed, of all, and which byte of its line.
  input logic                     follow_i,
  input logic [5:0]               byte_i
);

  localparam int unsigned Banks = 2, IndexWidth = $clog2(Lines);
  typedef logic [IndexWidth-1:0] index_t;
  typedef logic [LineAddrWidth-1:0] line_t;

  logic ready, empty, waits, conflict, wr_valid, error;
  line_t wr_line;
  logic [7:0] wr_beats, wr_strb;
  logic [63:0] wr_data;
  logic [31:0] error_addr;

  gpu_store_buffer #(.Banks(Banks), .MaxAge(2), .Lines(Lines), .Gather(Gather), .Sent(Sent), .IoLines(1)) dut (
    .clk_i, .awake_i(1'b1), .rst_ni, .clear_i, .ready_o(ready), .push_i, .parts_i, .data_i, .strb_i, .flush_i, .empty_o(empty),
    .probe_i, .probe_line_i, .waits_o(waits), .conflict_o(conflict), .hold_i(1'b0), .held_o(), .wr_valid_o(wr_valid), .wr_ready_i, .wr_line_o(wr_line),
    .wr_beats_o(wr_beats), .wr_beat_i, .wr_data_o(wr_data), .wr_strb_o(wr_strb), .wr_done_i, .wr_error_i,
    .error_o(error), .error_addr_o(error_addr)
  );

  logic started_q = 1'b0;
  always_ff @(posedge clk_i) started_q <= 1'b1;
  always_comb begin
    InReset_M : assume (rst_ni == started_q);
    if (push_i) PushesAreStores_M : assume (ready && probe_i && strb_i != '0);
    if (wr_done_i) AnswersHaveAskers_M : assume (!dut.none_sent);
    if (clear_i) ClearedAtRest_M : assume (empty && !push_i);
    if (!rst_ni) NothingInReset_M : assume (!push_i && !wr_done_i && !clear_i);
  end
  always_ff @(posedge clk_i) begin
    if (started_q) OneByte_M : assume ($stable(byte_i));
  end

  // Whether a store has the byte, and what it puts there.
  logic [3:0] word;
  logic bank, has_it;
  logic [7:0] value;
  assign word = byte_i[5:2];
  assign bank = 1'(gpu_lines_pkg::bank_of(word, Banks));
  assign has_it = push_i && strb_i[bank][byte_i[1:0]] && parts_i[bank] == 3'(gpu_lines_pkg::part_of(word, Banks));
  assign value = data_i[bank][8*byte_i[1:0]+:8];

  // The one store that is followed: its line, where it lies, what its byte is to be when it leaves; then the number it was sent as.
  typedef logic [$clog2(Sent)+1:0] number_t;
  logic followed_q, sent_q;
  index_t place_q;
  line_t line_q;
  logic [7:0] value_q;
  number_t number_q;
  logic begins, again, goes, lands, flushed_q;

  assign begins = has_it && follow_i && !followed_q;
  assign again = followed_q && !sent_q && has_it && dut.into == place_q && dut.joins;
  assign goes = followed_q && !sent_q && wr_valid && wr_ready_i && dut.send_q == place_q;
  assign lands = followed_q && sent_q && wr_done_i && dut.u_sent.oldest_q == number_q;

  always_ff @(posedge clk_i) begin
    flushed_q <= rst_ni && flush_i && followed_q && !sent_q && !goes && dut.room;
    if (!rst_ni) begin
      followed_q <= 1'b0;
      sent_q <= 1'b0;
    end else begin
      if (begins) begin
        followed_q <= 1'b1;
        sent_q <= 1'b0;
        place_q <= dut.into;
        line_q <= probe_line_i;
        value_q <= value;
      end
      if (again) value_q <= value;
      if (goes) begin
        sent_q <= 1'b1;
        number_q <= dut.u_sent.next_q;
      end
      if (lands) followed_q <= 1'b0;
    end
  end

  for (genvar e = 0; e < int'(Lines); e++) begin : gen_ring
    logic [IndexWidth-1:0] behind;
    logic alone;
    assign behind = index_t'(e) - dut.send_q;

    // Stores to a line have one place to go to; where there are two, one is leaving.
    always_comb begin
      alone = 1'b1;
      for (int o = 0; o < e; o++) begin
        if (dut.used_q[e] && dut.used_q[o] && dut.line_q[e] == dut.line_q[o] && dut.line_q[e] != '0) begin
          alone = alone && dut.leaves_q && (dut.send_q == index_t'(e) || dut.send_q == index_t'(o));
        end
      end
    end

    always_ff @(posedge clk_i) begin
      if (rst_ni) begin
        InARow_A : assert (dut.used_q[e] == (behind < dut.waiting_q));
        if (dut.used_q[e]) OneLineTwice_A : assert (dut.line_q[e] == dut.line_ram[e]);
        OneGathers_A : assert (alone);
      end
    end
  end

  logic [7:0] held;
  assign held = bank ? dut.gen_bank[1].ram[dut.place_of(place_q, 3'(word >> 1))][8*byte_i[1:0]+:8]
                     : dut.gen_bank[0].ram[dut.place_of(place_q, 3'(word >> 1))][8*byte_i[1:0]+:8];

  // What is at memory: numbers from the oldest on; and what the bucket of the followed line says.
  number_t num_sent, behind_oldest, behind_it;
  logic bucket_many, bucket_marked, last_sent;
  assign num_sent = dut.u_sent.next_q - dut.u_sent.oldest_q;
  assign behind_oldest = number_q - dut.u_sent.oldest_q;
  assign behind_it = dut.u_sent.bucket_ram[dut.u_sent.bucket_of(line_q)].number - number_q;
  assign bucket_many = dut.u_sent.bucket_ram[dut.u_sent.bucket_of(line_q)].many;
  assign bucket_marked = dut.u_sent.bucket_ram[dut.u_sent.bucket_of(line_q)].mark == dut.u_sent.mark_of(line_q);
  assign last_sent = sent_q && number_q == dut.u_sent.next_q - 1'b1;

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      RingFits_A : assert (dut.tail_q == dut.send_q + dut.waiting_q && (!dut.leaves_q || dut.waiting_q != '0));
      SentFits_A : assert (num_sent == number_t'(dut.u_sent.count_q) && num_sent <= number_t'(Sent));
      RoomForWhatLeaves_A : assert (!dut.leaves_q || num_sent < number_t'(Sent));
      if (probe_line_i != '0) OnePlaceForALine_A : assert ((dut.open & (dut.open - Lines'(1))) == '0);
      if (flushed_q) FlushedIsOffered_A : assert (wr_valid);
      if (followed_q) begin
        NotEmpty_A : assert (!empty);
        if (!sent_q) StaysUntilSent_A : assert (dut.used_q[place_q] && dut.line_q[place_q] == line_q);
        if (sent_q) begin
          StaysUntilAnswered_A : assert (behind_oldest < num_sent);
          BucketKnows_A : assert (behind_it < number_t'(dut.u_sent.next_q - number_q) && (bucket_many || bucket_marked));
          ItsLineIsKept_A : assert (dut.u_sent.line_ram[number_q[$clog2(Sent)-1:0]] == line_q);
        end
        if (!sent_q || last_sent) begin
          KeptAsStored_A : assert (held == value_q && dut.strb_ram[place_q][byte_i] && dut.beats_ram[place_q][byte_i[5:3]]);
        end
        if (last_sent) LeavesFromItsPlace_A : assert (dut.reading == place_q);
        if (probe_i && probe_line_i == line_q) IsToldOf_A : assert (conflict && (sent_q ? dut.told : waits));
        if (goes) GoesWithItsBeat_A : assert (wr_line == line_q && wr_beats[byte_i[5:3]]);
        if (last_sent && wr_beat_i == byte_i[5:3]) begin
          GoesOutAsStored_A : assert (wr_strb[byte_i[2:0]] && wr_data[8*byte_i[2:0]+:8] == value_q);
        end
        if (lands && wr_error_i) RefusedIsTold_A : assert (error && error_addr == {line_q, {LineOffset{1'b0}}});
      end
    end
  end

endmodule
