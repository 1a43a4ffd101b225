// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
`include "clock_when.svh"

/// Gathers stores by line and sends each line out as one write.
///
/// Up to `Gather` lines take stores at once; one more, and the oldest leaves. A line leaves too when the oldest is
/// `MaxAge` cycles old, or when `flush_i` asks. Stores to the first `IoLines` lines are never gathered and wait for
/// nothing: console and exit register want every store. Lines leave in the order of their first store and share one AXI
/// id, so memory sees them in that order. Up to `Lines - 1` are here, and up to `Sent` more at memory, unanswered
/// (gpu_stores_sent).
///
/// Of a line that was taken with `wr_ready_i` the data is read at `wr_beat_i`, until the next is taken.
module gpu_store_buffer
  import gpu_pkg::*;
#(
  /// Words that one store may write, one a bank (`gpu_lines_pkg::bank_of`); a power of two from 2 to 16.
  parameter int unsigned Banks = 4,
  /// Cycles after which a line is sent even if nothing else happens, so that stores become visible.
  parameter int unsigned MaxAge = 64,
  /// Places of lines, one of which is that of the line that leaves; a power of two.
  parameter int unsigned Lines = 8,
  parameter int unsigned Gather = 4,
  /// Lines that memory may not have answered; a power of two.
  parameter int unsigned Sent = 64,
  /// Lines of I/O at address 0.
  parameter int unsigned IoLines = 4,
  localparam int unsigned Parts = LineBytes / 4 / Banks,
  localparam int unsigned PartWidth = (Parts > 1) ? $clog2(Parts) : 1
) (
  input  logic                     clk_i,
  /// Something here may change: a simulation looks at no clock without it.
  input  logic                     awake_i,
  /// Synchronous reset, active low: what is inside is lost.
  input  logic                     rst_ni,
  /// Forget what was answered, for as many cycles as gpu_stores_sent has buckets. Only where nothing is inside.
  input  logic                     clear_i,
  /// Whether a store to `probe_line_i` would be taken now, and that it is.
  output logic                     ready_o,
  input  logic                     push_i,
  /// Of each bank the part of the line that its word lies in, the word, and which of its bytes are stored.
  input  logic [Banks-1:0][PartWidth-1:0] parts_i,
  input  logic [Banks-1:0][31:0]   data_i,
  input  logic [Banks-1:0][3:0]    strb_i,
  input  logic                     flush_i,
  /// Nothing inside and nothing unanswered.
  output logic                     empty_o,
  /// Of `probe_line_i`, which is of a push its own line: a store to it is here; a store to it may not have landed.
  input  logic                     probe_i,
  input  logic [LineAddrWidth-1:0] probe_line_i,
  output logic                     waits_o,
  output logic                     conflict_o,
  /// `probe_line_i` is to be read: from the next cycle on, until every store to it has landed. Not where one is here.
  input  logic                     hold_i,
  output logic                     held_o,
  output logic                     wr_valid_o,
  input  logic                     wr_ready_i,
  output logic [LineAddrWidth-1:0] wr_line_o,
  /// Beats of the line that hold something.
  output logic [LineBytes/8-1:0]   wr_beats_o,
  input  logic [2:0]               wr_beat_i,
  /// Combinational; bytes that were not written are zero.
  output logic [63:0]              wr_data_o,
  output logic [7:0]               wr_strb_o,
  input  logic                     wr_done_i,
  input  logic                     wr_error_i,
  output logic                     error_o,
  output logic [31:0]              error_addr_o
);

  localparam int unsigned Beats = LineBytes / 8;
  localparam int unsigned IndexWidth = $clog2(Lines);
  localparam int unsigned AgeWidth = $clog2(MaxAge + 1);

  if ((Lines & (Lines - 1)) != 0 || Gather + 2 > Lines) begin : gen_check_lines
    $fatal(1, "gpu_store_buffer: Lines must be a power of two and two more than Gather at least");
  end

  typedef logic [IndexWidth-1:0] index_t;
  typedef logic [LineAddrWidth-1:0] line_t;

  // A ring: sent next, free next (tail). The place before the one that is sent next is that of the line that leaves.
  logic [Lines-1:0] used_q, same, open;
  // For comparison; and once more, to be read.
  line_t line_q [Lines];
  line_t line_ram [Lines];
  logic [Beats-1:0] beats_ram [Lines];
  index_t send_q, tail_q, reading, into;
  logic [AgeWidth-1:0] age_q;
  logic [IndexWidth-1:0] waiting_q;
  logic [IndexWidth-1:0] left;
  logic send, joins, io_push, io_q, leaves_q, room, none_sent, told;
  line_t oldest;

  assign io_push = probe_line_i < LineAddrWidth'(IoLines);
  assign send = wr_valid_o && wr_ready_i;
  assign wr_valid_o = leaves_q;
  assign left = waiting_q - IndexWidth'(send);
  assign wr_line_o = line_ram[send_q];
  assign wr_beats_o = beats_ram[send_q];
  assign reading = send_q - 1'b1;
  assign empty_o = waiting_q == '0 && none_sent;
  assign error_o = wr_done_i && wr_error_i;
  assign error_addr_o = {oldest, {LineOffset{1'b0}}};

  gpu_stores_sent #(.Lines(Sent)) u_sent (
    .clk_i, .awake_i, .rst_ni, .clear_i, .send_i(send), .line_i(wr_line_o), .done_i(wr_done_i), .room_o(room), .empty_o(none_sent),
    .oldest_o(oldest), .probe_i, .probe_line_i, .told_o(told), .hold_i, .held_o
  );

  always_comb begin
    same = '0;
    if (probe_i && waiting_q != '0) begin
      for (int e = 0; e < int'(Lines); e++) same[e] = used_q[e] && gpu_lines_pkg::same(30'(line_q[e]), 30'(probe_line_i));
    end
  end

  assign waits_o = same != '0;
  assign conflict_o = waits_o || told;

  // Where a store goes. A line in the act of leaving takes no more.
  always_comb begin
    open = same;
    if (leaves_q) open[send_q] = 1'b0;
    joins = open != '0 && !io_push;
    into = '0;
    for (int e = 0; e < int'(Lines); e++) if (open[e]) into = into | index_t'(e);
    if (!joins) into = tail_q;
  end

  assign ready_o = joins || waiting_q != '1;

  // The stores' bytes, bank by bank, and which of a line's bytes there are.
  localparam int unsigned PlaceWidth = IndexWidth + $clog2(Parts);
  localparam int unsigned BankWidth = $clog2(Banks);
  typedef logic [PlaceWidth-1:0] place_t;
  typedef logic [PartWidth-1:0] part_t;
  typedef logic [LineBytes-1:0] strobes_t;

  strobes_t strb_ram [Lines];
  strobes_t stored, strb_out;
  part_t out_part;
  logic [Banks-1:0][31:0] words_out;

  function automatic place_t place_of(index_t ring_place, part_t part);
    return (Parts > 1) ? place_t'((32'(ring_place) * Parts) | 32'(part)) : place_t'(ring_place);
  endfunction

  // Byte by byte what is stored, else what is there: synthesis makes byte enables of it.
  function automatic logic [31:0] merged(logic [31:0] old, logic [31:0] data, logic [3:0] strb);
    logic [31:0] now;
    for (int k = 0; k < 4; k++) now[8*k+:8] = strb[k] ? data[8*k+:8] : old[8*k+:8];
    return now;
  endfunction

  always_comb begin
    stored = '0;
    if (push_i) begin
      for (int w = 0; w < LineBytes / 4; w++) begin
        automatic logic [BankWidth-1:0] bank;
        bank = BankWidth'(gpu_lines_pkg::bank_of(4'(w), Banks));
        if (Parts == 1 || parts_i[bank] == part_t'(w / int'(Banks))) stored[4*w+:4] = strb_i[bank];
      end
    end
  end

  function automatic logic [Beats-1:0] beats_stored();
    logic [Beats-1:0] beats;
    for (int b = 0; b < int'(Beats); b++) beats[b] = stored[8*b+:8] != '0;
    return beats;
  endfunction

  for (genvar b = 0; b < int'(Banks); b++) begin : gen_bank
    logic [31:0] ram [Lines * Parts];
    place_t place;

    assign place = place_of(into, parts_i[b]);
    assign words_out[b] = ram[place_of(reading, out_part)];

    always_ff @(`EDDY_RISES(clk_i, awake_i)) if (push_i) ram[place] <= merged(ram[place], data_i[b], strb_i[b]);
  end

  always_ff @(`EDDY_RISES(clk_i, awake_i)) begin
    if (push_i) begin
      if (!joins) line_ram[tail_q] <= probe_line_i;
      strb_ram[into] <= (joins ? strb_ram[into] : '0) | stored;
      beats_ram[into] <= (joins ? beats_ram[into] : '0) | beats_stored();
    end
  end

  // What goes out: a beat of the line that was taken last.
  assign out_part = part_t'(gpu_lines_pkg::part_of({wr_beat_i, 1'b0}, Banks));
  assign strb_out = strb_ram[reading];

  always_comb begin
    automatic logic [63:0] out;
    wr_strb_o = strb_out[{wr_beat_i, 3'd0}+:8];
    out = {words_out[BankWidth'(gpu_lines_pkg::bank_of({wr_beat_i, 1'b1}, Banks))],
           words_out[BankWidth'(gpu_lines_pkg::bank_of({wr_beat_i, 1'b0}, Banks))]};
    wr_data_o = '0;
    for (int b = 0; b < 8; b++) if (wr_strb_o[b]) wr_data_o[8*b+:8] = out[8*b+:8];
  end

  always_ff @(`EDDY_RISES(clk_i, awake_i)) begin
    if (!rst_ni) begin
      used_q <= '0;
      io_q <= 1'b0;
      send_q <= '0;
      tail_q <= '0;
      age_q <= '0;
      waiting_q <= '0;
      leaves_q <= 1'b0;
    end else
`ifndef SYNTHESIS
    // Else nothing waits or comes: a simulation passes over it. In gates it would only be a condition more.
    if (waiting_q != '0 || push_i || io_q)
`endif
    begin
      leaves_q <= left != '0 && ((leaves_q && !wr_ready_i) || (room && (flush_i || io_q || left > IndexWidth'(Gather) ||
                                                                        (age_q == AgeWidth'(MaxAge) && !send))));
      if (waiting_q != '0 && age_q != AgeWidth'(MaxAge)) age_q <= age_q + 1'b1;
      if (waiting_q == '0) io_q <= 1'b0;
      if (send) begin
        age_q <= '0;
        used_q[send_q] <= 1'b0;
        send_q <= send_q + 1'b1;
      end
      waiting_q <= waiting_q + IndexWidth'(push_i && !joins) - IndexWidth'(send);
      if (push_i) begin
        if (io_push) io_q <= 1'b1;
        if (!joins) begin
          used_q[tail_q] <= 1'b1;
          line_q[tail_q] <= probe_line_i;
          tail_q <= tail_q + 1'b1;
        end
      end
    end
  end

`ifndef SYNTHESIS
  NothingMissedAtRest_A : assert property (@(posedge clk_i) disable iff (!rst_ni)
    waiting_q == '0 |-> used_q == '0 && !leaves_q);
  OnlyWhatFits_A : assert property (@(posedge clk_i) disable iff (!rst_ni) push_i |-> ready_o && strb_i != '0);
  OneGathers_A : assert property (@(posedge clk_i) disable iff (!rst_ni) push_i && !io_push |-> $onehot0(open));
  LeavesWhole_A : assert property (@(posedge clk_i) disable iff (!rst_ni)
    wr_valid_o && !wr_ready_i |=> wr_valid_o && $stable(wr_line_o) && $stable(wr_beats_o));
`endif

endmodule
