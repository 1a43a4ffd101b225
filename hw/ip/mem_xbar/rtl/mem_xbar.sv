// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Arbitrates the slots' bursts to one memory port, and routes responses back to the requesting slot.
///
/// Requests: `fair_turns` over the requesting slots, reads and writes separately, one a cycle. A request costs its beats, and
/// at least `PageBeats` if it leaves the 4 KiB page of the slot's last request in that direction: the DRAM bank may take as
/// long. No more requests are outstanding than keep memory busy, so a new request of any slot waits behind few others. The slot
/// goes into the upper id and user bits. Write data follows in the order of the requests.
///
/// Slots stand behind `burst_split`s: a request has 16 beats at most, its write data is ready, and there is room for its
/// answer, so no slot can hold up another here. Every output is a flop.
module mem_xbar
  import eddy_pkg::*;
#(
  parameter int unsigned NumSlots = 1,
  /// Writes that memory has not answered; a power of two.
  parameter int unsigned MaxWrites = 8,
  /// Reads that memory has not answered.
  parameter int unsigned MaxReads = 8,
  /// In each direction, a request goes while fewer beats than these are under way.
  parameter int unsigned MaxBeats = 32,
  /// Least cost of a request to another page, in beats: 46 ns of a DDR4 bank (tRC) at 8 bytes and 100 MHz, twice a cycle.
  parameter int unsigned PageBeats = 8
) (
  input  logic           clk_i,
  /// Synchronous reset, active low.
  input  logic           rst_ni,

  /// From the slots; answers go to all of them, valid for one.
  input  ax_t            slot_aw_i [NumSlots],
  input  logic [NumSlots-1:0] slot_aw_valid_i,
  output logic [NumSlots-1:0] slot_aw_ready_o,
  input  w_t             slot_w_i [NumSlots],
  input  logic [NumSlots-1:0] slot_w_valid_i,
  output logic [NumSlots-1:0] slot_w_ready_o,
  output logic [NumSlots-1:0] slot_b_valid_o,
  input  ax_t            slot_ar_i [NumSlots],
  input  logic [NumSlots-1:0] slot_ar_valid_i,
  output logic [NumSlots-1:0] slot_ar_ready_o,
  output logic [NumSlots-1:0] slot_r_valid_o,

  output ax_t            aw_o,
  output logic     [3:0] aw_slot_o,
  output logic           aw_valid_o,
  input  logic           aw_ready_i,
  output w_t             w_o,
  output logic           w_valid_o,
  input  logic           w_ready_i,
  input  logic     [3:0] b_slot_i,
  input  logic           b_valid_i,
  output logic           b_ready_o,
  output ax_t            ar_o,
  output logic     [3:0] ar_slot_o,
  output logic           ar_valid_o,
  input  logic           ar_ready_i,
  input  logic     [3:0] r_slot_i,
  input  logic           r_valid_i,
  input  logic           r_last_i,
  output logic           r_ready_o
);

  if (PageBeats < 1 || PageBeats > 16) begin : gen_check_page
    $fatal(1, "mem_xbar: PageBeats must be 1 to 16");
  end

  localparam int unsigned IndexWidth = $clog2(MaxWrites);
  localparam int unsigned SlotWidth = NumSlots > 1 ? $clog2(NumSlots) : 1;
  typedef logic [SlotWidth-1:0] slot_t;

  /// The longest request, in beats; what a slot may ask for in a round.
  localparam int unsigned Quantum = 16;
  localparam int unsigned BeatsWidth = $clog2(MaxBeats + Quantum);
  localparam int unsigned ReadsWidth = $clog2(MaxReads + 1);
  typedef logic [$clog2(Quantum):0] cost_t;
  typedef logic [AddrWidth-13:0] page_t;
  typedef logic [BeatsWidth-1:0] beats_t;
  typedef logic [ReadsWidth-1:0] reads_t;

  typedef cost_t [1:0][15:0] costs_t;

  /// What a request costs, by whether it leaves the page, and its length: a table, so that synthesis finds one LUT a bit.
  function automatic costs_t costs();
    for (int len = 0; len < 16; len++) begin
      costs[0][len] = cost_t'(len + 2 > int'(Quantum) ? int'(Quantum) : len + 2);
      costs[1][len] = cost_t'(len + 1 + int'(PageBeats) > int'(Quantum) ? int'(Quantum) : len + 1 + int'(PageBeats));
    end
  endfunction

  localparam costs_t Costs = costs();

  // Requests.
  ax_t aw_q, ar_q;
  slot_t aw_slot_q, ar_slot_q, aw_next, ar_next;
  logic aw_valid_q, ar_valid_q, aw_take, ar_take;
  logic [NumSlots-1:0] aw_chosen, ar_chosen;
  cost_t [NumSlots-1:0] aw_cost, ar_cost;
  page_t aw_page [NumSlots];
  page_t ar_page [NumSlots];
  page_t aw_page_q [NumSlots];
  page_t ar_page_q [NumSlots];

  // Outstanding responses of memory.
  logic [IndexWidth:0] writes_q;
  reads_t reads_q;
  beats_t read_beats_q, write_beats_q;
  logic b_take, r_take;

  // How long the writes are that memory has not answered: it answers each slot's in order.
  logic [3:0] write_len_q [(1 << SlotWidth) * MaxWrites];
  logic [IndexWidth-1:0] len_in_q [NumSlots];
  logic [IndexWidth-1:0] len_out_q [NumSlots];
  slot_t b_slot;
  beats_t aw_beats, b_beats, ar_beats;

  // Whose write data comes, oldest first.
  slot_t order_q [MaxWrites];
  logic [IndexWidth:0] order_in_q, order_out_q;
  slot_t w_slot;
  logic w_open, w_take, w_last, w_valid_q;
  w_t w_q;

  assign w_open = order_in_q != order_out_q;

  for (genvar i = 0; i < NumSlots; i++) begin : gen_costs
    assign aw_page[i] = slot_aw_i[i].addr[AddrWidth-1:12];
    assign aw_cost[i] = slot_aw_valid_i[i] ? Costs[aw_page[i] != aw_page_q[i]][slot_aw_i[i].len[3:0]] : '0;
    assign ar_page[i] = slot_ar_i[i].addr[AddrWidth-1:12];
    assign ar_cost[i] = slot_ar_valid_i[i] ? Costs[ar_page[i] != ar_page_q[i]][slot_ar_i[i].len[3:0]] : '0;
  end

  fair_turns #(
    .NumSlots(NumSlots),
    .Quantum(Quantum)
  ) u_aw_turns (
    .clk_i,
    .rst_ni,
    .ask_i(slot_aw_valid_i),
    .cost_i(aw_cost),
    .take_i(aw_take),
    .slot_o(aw_next),
    .chosen_o(aw_chosen)
  );

  fair_turns #(
    .NumSlots(NumSlots),
    .Quantum(Quantum)
  ) u_ar_turns (
    .clk_i,
    .rst_ni,
    .ask_i(slot_ar_valid_i),
    .cost_i(ar_cost),
    .take_i(ar_take),
    .slot_o(ar_next),
    .chosen_o(ar_chosen)
  );

  assign aw_take = slot_aw_valid_i != '0 && (!aw_valid_q || aw_ready_i) && writes_q != (IndexWidth + 1)'(MaxWrites)
      && write_beats_q < beats_t'(MaxBeats);
  assign ar_take = slot_ar_valid_i != '0 && (!ar_valid_q || ar_ready_i) && reads_q != reads_t'(MaxReads)
      && read_beats_q < beats_t'(MaxBeats);
  assign b_take = b_valid_i && b_ready_o;
  assign r_take = r_valid_i && r_ready_o;
  assign b_slot = slot_t'(b_slot_i);
  // Of a length, beats are one more: those that go and those that come each add one as they are taken together.
  assign b_beats = b_take ? beats_t'(write_len_q[{b_slot, len_out_q[b_slot]}]) + beats_t'(1) : '0;

  // By a bit a slot, not by its number, which would come later.
  always_comb begin
    aw_beats = '0;
    ar_beats = '0;
    if (aw_take) begin
      for (int i = 0; i < NumSlots; i++) if (aw_chosen[i]) aw_beats |= beats_t'(slot_aw_i[i].len[3:0]);
    end
    if (ar_take) begin
      for (int i = 0; i < NumSlots; i++) if (ar_chosen[i]) ar_beats |= beats_t'(slot_ar_i[i].len[3:0]);
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      writes_q <= '0;
      reads_q <= '0;
      read_beats_q <= '0;
      write_beats_q <= '0;
      for (int i = 0; i < NumSlots; i++) begin
        len_in_q[i] <= '0;
        len_out_q[i] <= '0;
        aw_page_q[i] <= '0;
        ar_page_q[i] <= '0;
      end
    end else begin
      if (aw_take != b_take) writes_q <= aw_take ? writes_q + (IndexWidth + 1)'(1) : writes_q - (IndexWidth + 1)'(1);
      if (ar_take != (r_take && r_last_i)) reads_q <= ar_take ? reads_q + reads_t'(1) : reads_q - reads_t'(1);
      if (ar_take || r_take) read_beats_q <= (read_beats_q + beats_t'(ar_take) - beats_t'(r_take)) + ar_beats;
      if (aw_take || b_take) write_beats_q <= (write_beats_q + beats_t'(aw_take) - b_beats) + aw_beats;
      if (aw_take) begin
        for (int i = 0; i < NumSlots; i++) begin
          if (aw_chosen[i]) begin
            aw_page_q[i] <= aw_page[i];
            len_in_q[i] <= len_in_q[i] + IndexWidth'(1);
          end
        end
      end
      if (ar_take) begin
        for (int i = 0; i < NumSlots; i++) if (ar_chosen[i]) ar_page_q[i] <= ar_page[i];
      end
      if (b_take) len_out_q[b_slot] <= len_out_q[b_slot] + IndexWidth'(1);
    end
  end

  always_ff @(posedge clk_i) begin
    if (aw_take) write_len_q[{aw_next, len_in_q[aw_next]}] <= slot_aw_i[aw_next].len[3:0];
  end

  always_comb begin
    w_slot = '0;
    w_take = 1'b0;
    w_last = 1'b0;
    if (w_open && (!w_valid_q || w_ready_i)) begin
      w_slot = order_q[order_out_q[IndexWidth-1:0]];
      w_take = slot_w_valid_i[w_slot];
      w_last = slot_w_i[w_slot].last;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      aw_valid_q <= 1'b0;
      ar_valid_q <= 1'b0;
      w_valid_q <= 1'b0;
      aw_slot_q <= '0;
      ar_slot_q <= '0;
      order_in_q <= '0;
      order_out_q <= '0;
      b_ready_o <= 1'b0;
      r_ready_o <= 1'b0;
    end else begin
      b_ready_o <= 1'b1;
      r_ready_o <= 1'b1;
      if (aw_take) begin
        aw_valid_q <= 1'b1;
        aw_slot_q <= aw_next;
        order_in_q <= order_in_q + (IndexWidth + 1)'(1);
      end else if (aw_ready_i) aw_valid_q <= 1'b0;
      if (ar_take) begin
        ar_valid_q <= 1'b1;
        ar_slot_q <= ar_next;
      end else if (ar_ready_i) ar_valid_q <= 1'b0;
      if (w_take) w_valid_q <= 1'b1;
      else if (w_ready_i) w_valid_q <= 1'b0;
      if (w_take && w_last) order_out_q <= order_out_q + (IndexWidth + 1)'(1);
    end
  end

  always_ff @(posedge clk_i) begin
    if (aw_take) begin
      aw_q <= slot_aw_i[aw_next];
      order_q[order_in_q[IndexWidth-1:0]] <= aw_next;
    end
    if (ar_take) ar_q <= slot_ar_i[ar_next];
    if (w_take) w_q <= slot_w_i[w_slot];
  end

  for (genvar i = 0; i < NumSlots; i++) begin : gen_answers
    assign slot_aw_ready_o[i] = aw_take && aw_chosen[i];
    assign slot_ar_ready_o[i] = ar_take && ar_chosen[i];
    assign slot_w_ready_o[i] = w_take && w_slot == slot_t'(i);
    assign slot_b_valid_o[i] = b_valid_i && b_ready_o && b_slot_i == 4'(i);
    assign slot_r_valid_o[i] = r_valid_i && r_ready_o && r_slot_i == 4'(i);
  end

  assign aw_o = aw_q;
  assign aw_slot_o = 4'(aw_slot_q);
  assign aw_valid_o = aw_valid_q;
  assign ar_o = ar_q;
  assign ar_slot_o = 4'(ar_slot_q);
  assign ar_valid_o = ar_valid_q;
  assign w_o = w_q;
  assign w_valid_o = w_valid_q;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      RequestsAreParts_A :
      assert (!(aw_take && slot_aw_i[aw_next].len > 8'd15) && !(ar_take && slot_ar_i[ar_next].len > 8'd15))
      else $error("mem_xbar: a request of more than 16 beats");
      AnswersAreOwed_A :
      assert (!(b_take && writes_q == '0) && !(r_take && (reads_q == '0 || read_beats_q == '0)))
      else $error("mem_xbar: memory answered what it was not asked");
    end
    if (rst_ni) begin
      AnswersForKnownSlots_A :
      assert ((!b_valid_i || int'(b_slot_i) < NumSlots) && (!r_valid_i || int'(r_slot_i) < NumSlots))
      else $error("mem_xbar: memory answered a slot that does not exist");
    end
  end
`endif

endmodule
