// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Whoever asks, whatever it costs, from any moment on: while one slot keeps asking, another is granted at most 62 more
/// than it (for a quantum of 16); and one of those who ask is always chosen.
///
/// Both slots are of the solver's choice. `ahead_q` is, of all windows that end here and in which mine asked all the time,
/// the most that the other was granted beyond mine.
module fair_turns_proof #(
  parameter int unsigned NumSlots = 4
) (
  input logic                     clk_i,
  input logic                     rst_ni,
  input logic [NumSlots-1:0]      ask_i,
  input logic [NumSlots-1:0][4:0] cost_i,
  input logic                     take_i
);

  localparam int signed Quantum = 16;
  localparam int unsigned SlotWidth = NumSlots > 1 ? $clog2(NumSlots) : 1;
  typedef logic signed [11:0] amount_t;

  logic [SlotWidth-1:0] slot, mine, other;
  logic [NumSlots-1:0] chosen;

  fair_turns #(.NumSlots(NumSlots), .Quantum(16)) dut (
    .clk_i, .rst_ni, .ask_i, .cost_i, .take_i, .slot_o(slot), .chosen_o(chosen)
  );

  logic started_q = 1'b0;
  always_ff @(posedge clk_i) begin
    started_q <= 1'b1;
    mine <= mine;
    other <= other;
  end
  always_comb begin
    InReset_M : assume (rst_ni == started_q);
    TwoSlots_M : assume (int'(mine) < int'(NumSlots) && int'(other) < int'(NumSlots) && mine != other);
    TakenWhereAsked_M : assume (!take_i || ask_i != '0);
  end

  amount_t credit [NumSlots];
  for (genvar i = 0; i < NumSlots; i++) begin : gen_slots
    assign credit[i] = amount_t'(dut.credit_q[i]);
    always_comb CostIsBounded_M : assume (!ask_i[i] || (cost_i[i] >= 5'd1 && cost_i[i] <= 5'd16));
    always_ff @(posedge clk_i) begin
      if (rst_ni) begin
        CreditIsBounded_A : assert (credit[i] > -Quantum && credit[i] <= Quantum);
        AbleIsCredit_A : assert (dut.able_q[i] == (credit[i] > 0));
        if (i > 0) FromTheLastOn_A : assert (dut.from_q[i] || !dut.from_q[i > 0 ? i - 1 : 0]);
      end
    end
  end

  amount_t ahead_q, granted_mine, granted_other;
  assign granted_mine = take_i && slot == mine ? amount_t'({1'b0, cost_i[mine]}) : amount_t'(0);
  assign granted_other = take_i && slot == other ? amount_t'({1'b0, cost_i[other]}) : amount_t'(0);
  always_ff @(posedge clk_i) begin
    if (!rst_ni || !ask_i[mine] || ahead_q + granted_other <= granted_mine) ahead_q <= '0;
    else ahead_q <= ahead_q + granted_other - granted_mine;
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      LastExists_A : assert (dut.from_q[NumSlots-1]);
      AheadIsCounted_A : assert (ahead_q >= 0);
      // Credits say who is ahead; a round gives mine no less than the other.
      CreditsTell_A : assert (ahead_q + credit[other] - credit[mine] <= 2 * Quantum - 1);
      NoneIsFarAhead_A : assert (ahead_q <= 4 * Quantum - 2);
      if (take_i) OneWhoAsksIsChosen_A : assert (ask_i[slot] && chosen == NumSlots'(1) << slot);
    end
  end

endmodule
