// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Deficit round-robin arbiter: each slot may spend the same credit in a round, and keeps its turn while it requests and has
/// credit.
///
/// The cost of a request is given in beats. A round gives every slot `Quantum`; it ends when no requesting slot has credit.
/// Overspending is deducted in the next round; unused credit is lost.
///
/// Guarantee: while a slot requests, another is granted at most 4 `Quantum` more than it (`hw/formal/fair_turns_proof.sv`);
/// one of the requesting slots is always chosen.
module fair_turns #(
  parameter int unsigned NumSlots = 4,
  /// What a slot may spend in a round, and the most a request may cost; a power of two.
  parameter int unsigned Quantum = 16
) (
  input  logic                                      clk_i,
  /// Synchronous reset, active low.
  input  logic                                      rst_ni,
  input  logic [NumSlots-1:0]                       ask_i,
  /// Cost of each request: 1 to `Quantum`.
  input  logic [NumSlots-1:0][$clog2(Quantum):0]    cost_i,
  /// The request chosen is taken in this cycle.
  input  logic                                      take_i,
  output logic [(NumSlots > 1 ? $clog2(NumSlots) : 1)-1:0] slot_o,
  /// The same, one bit a slot; zero without a request.
  output logic [NumSlots-1:0]                       chosen_o
);

  if (Quantum < 2 || (Quantum & (Quantum - 1)) != 0) begin : gen_check_quantum
    $fatal(1, "fair_turns: Quantum must be a power of two, 2 or more");
  end

  localparam int unsigned SlotWidth = NumSlots > 1 ? $clog2(NumSlots) : 1;
  typedef logic [SlotWidth-1:0] slot_t;
  typedef logic [NumSlots-1:0] mask_t;
  /// From 1 - Quantum to Quantum.
  typedef logic signed [$clog2(Quantum)+1:0] credit_t;

  credit_t credit_q [NumSlots];
  // Slots with credit; the slot that was granted last, and all after it.
  mask_t able_q, from_q;
  mask_t rich, chosen;
  logic new_round;

  // The slot granted last keeps its turn if it can; else the next one in cyclic order. Whether a new round begins is decided
  // in parallel.
  always_comb begin
    rich = ask_i & able_q;
    new_round = rich == '0;
    chosen = '0;
`ifndef SYNTHESIS
    // Skipped without requests, to save simulation time.
    if (ask_i != '0)
`endif
    chosen = new_round ? first(ask_i, from_q) : first(rich, from_q);
  end

  // Two copies, the first without those before the last one, are one number: its lowest bit comes by a carry chain.
  function automatic mask_t first(mask_t mask, mask_t from);
    logic [2*NumSlots-1:0] twice, lowest;
    twice = {mask, mask & from};
    lowest = twice & -twice;
    return lowest[2*NumSlots-1:NumSlots] | lowest[NumSlots-1:0];
  endfunction

  // What a slot has left after a request; looked at only where one is taken.
  function automatic credit_t left(credit_t credit, logic able, logic spends, logic [$clog2(Quantum):0] cost);
    left = credit;
    if (new_round) left = able ? credit_t'(Quantum) : credit + credit_t'(Quantum);
    if (spends) left = left - credit_t'({1'b0, cost});
  endfunction

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      from_q <= '1;
      able_q <= '0;
      for (int i = 0; i < int'(NumSlots); i++) credit_q[i] <= '0;
    end else if (take_i) begin
      from_q <= -chosen;
      for (int i = 0; i < int'(NumSlots); i++) begin
        credit_q[i] <= left(credit_q[i], able_q[i], chosen[i], cost_i[i]);
        able_q[i] <= left(credit_q[i], able_q[i], chosen[i], cost_i[i]) > 0;
      end
    end
  end

  always_comb begin
    slot_o = '0;
    for (int i = 0; i < int'(NumSlots); i++) if (chosen[i]) slot_o |= slot_t'(i);
  end

  assign chosen_o = chosen;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && take_i) begin
      OneWhoAsks_A :
      assert ((ask_i & chosen) != '0 && (chosen & (chosen - mask_t'(1))) == '0)
      else $error("fair_turns: someone who does not ask was chosen, or more than one");
      CostIsBounded_A :
      assert (cost_i[slot_o] != '0 && int'(cost_i[slot_o]) <= int'(Quantum))
      else $error("fair_turns: a request costs nothing, or more than a round gives");
    end
  end
`endif

endmodule
