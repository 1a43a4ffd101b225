// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Keeps the first fault until it is cleared; of two in one cycle, `first_i`.
module firewall_fault
  import firewall_pkg::*;
(
  input  logic   clk_i,
  /// Synchronous reset, active low.
  input  logic   rst_ni,
  /// Clear the fault. One that happens in the same cycle, and is reported in the next, is kept: it counts as later.
  input  logic   clear_i,
  /// A fault, one cycle after it happens; else with `cause` `CauseNone`.
  input  fault_t first_i,
  input  fault_t second_i,
  output fault_t fault_o
);

  fault_t fault_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) fault_q <= '{cause: CauseNone, addr: '0, context_id: '0};
    else if (fault_q.cause == CauseNone) begin
      fault_q <= first_i.cause != CauseNone ? first_i : second_i;
    end
  end

  assign fault_o = fault_q;

endmodule
