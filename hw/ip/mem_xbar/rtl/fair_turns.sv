/// Whose request goes next: everyone may spend as much in a round, and goes on while it asks and has something left.
///
/// What a request costs is told in beats. A round gives every slot `Quantum`; it ends when nobody who asks has anything
/// left. What was spent too much is owed to the next round; what was left over is lost.
///
/// Promise: while a slot asks, another is granted at most 4 `Quantum` more than it (`hw/formal/fair_turns_proof.sv`); one of
/// those who ask is always chosen.
module fair_turns #(
  parameter int unsigned NumSlots = 4,
  /// What a slot may spend in a round, and the most a request may cost; a power of two.
  parameter int unsigned Quantum = 16
) (
  input  logic                                      clk_i,
  /// Synchronous reset, active low.
  input  logic                                      rst_ni,
  input  logic [NumSlots-1:0]                       ask_i,
  /// Of those who ask: 1 to `Quantum`.
  input  logic [NumSlots-1:0][$clog2(Quantum):0]    cost_i,
  /// The request chosen is taken in this cycle.
  input  logic                                      take_i,
  output logic [(NumSlots > 1 ? $clog2(NumSlots) : 1)-1:0] slot_o
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
  credit_t credit_d [NumSlots];
  slot_t last_q, chosen;
  mask_t rich;
  logic new_round;

  always_comb begin
    rich = '0;
    for (int i = 0; i < int'(NumSlots); i++) rich[i] = ask_i[i] && credit_q[i] > 0;
    new_round = rich == '0;
    if (new_round) rich = ask_i;
    // The first after the one who went last, going round; but that one goes on where it can.
    chosen = last_q;
    for (int i = int'(NumSlots) - 1; i >= 0; i--) if (rich[i]) chosen = slot_t'(i);
    for (int i = int'(NumSlots) - 1; i >= 0; i--) if (rich[i] && slot_t'(i) > last_q) chosen = slot_t'(i);
    if (rich[last_q]) chosen = last_q;
  end

  always_comb begin
    for (int i = 0; i < int'(NumSlots); i++) begin
      credit_d[i] = credit_q[i];
      if (new_round) credit_d[i] = credit_q[i] > 0 ? credit_t'(Quantum) : credit_q[i] + credit_t'(Quantum);
      if (slot_t'(i) == chosen) credit_d[i] = credit_d[i] - credit_t'({1'b0, cost_i[i]});
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      last_q <= '0;
      for (int i = 0; i < int'(NumSlots); i++) credit_q[i] <= '0;
    end else if (take_i) begin
      last_q <= chosen;
      credit_q <= credit_d;
    end
  end

  assign slot_o = chosen;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && take_i) begin
      OneWhoAsks_A :
      assert (ask_i[chosen])
      else $error("fair_turns: someone who does not ask was chosen");
      CostIsBounded_A :
      assert (cost_i[chosen] != '0 && int'(cost_i[chosen]) <= int'(Quantum))
      else $error("fair_turns: a request costs nothing, or more than a round gives");
    end
  end
`endif

endmodule
