// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Which core may change a line of memory by an atomic access: one at a time, in the order in which they asked.
///
/// A core wants a line until it has done; it then lets go for a cycle at least. It is granted from the cycle on that follows
/// one in which nobody who asked before it wants the same line; of those that ask in one cycle the lowest comes first.
/// Lines are told apart by the page at which their quarter of the address space begins and by their place in a page of
/// 4 KiB. So slices of one kernel exclude each other, which have the same memory in contexts of their own; cores with
/// memory of their own never wait for each other; and two lines of a kernel may wait for each other without need.
///
/// Nothing is kept when nobody wants anything.
module gpu_line_locks #(
  parameter int unsigned Cores = 2
) (
  input  logic             clk_i,
  /// Synchronous reset, active low.
  input  logic             rst_ni,
  /// Physical page at which each quarter of a core's address space begins.
  input  logic [27:0]      base_i [Cores][4],
  input  logic [Cores-1:0] want_i,
  /// Quarter and place in its page; stable while wanted.
  input  logic [1:0]       quarter_i [Cores],
  input  logic [5:0]       line_i [Cores],
  output logic [Cores-1:0] grant_o
);

  // before_q[c][k]: k has wanted something since before c did.
  logic [Cores-1:0] waits_q, grant_q, grant_d;
  logic [Cores-1:0][Cores-1:0] before_q, before_d;

  // What a lock is known by.
  logic [Cores-1:0][33:0] name;

  always_comb begin
    for (int c = 0; c < int'(Cores); c++) name[c] = {base_i[c][quarter_i[c]], line_i[c]};
  end

  assign grant_o = grant_q & want_i;

  always_comb begin
    before_d = '0;
    grant_d = '0;
    if (want_i != '0) begin
      for (int c = 0; c < int'(Cores); c++) begin
        automatic logic held;
        held = 1'b0;
        for (int k = 0; k < int'(Cores); k++) begin
          if (want_i[c] && want_i[k] && k != c) begin
            before_d[c][k] = waits_q[c] ? before_q[c][k] : waits_q[k] || k < c;
            if (before_d[c][k] && name[c] == name[k]) held = 1'b1;
          end
        end
        grant_d[c] = want_i[c] && !held;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      waits_q <= '0;
      grant_q <= '0;
      before_q <= '0;
    end else
`ifndef SYNTHESIS
    // Else nobody wants anything, or did in the cycle before: a simulation passes over it. In gates it would only be a condition more.
    if ((want_i | waits_q) != '0)
`endif
    begin
      waits_q <= want_i;
      grant_q <= grant_d;
      before_q <= before_d;
    end
  end

`ifndef SYNTHESIS
  NothingMissedAtRest_A : assert property (@(posedge clk_i) disable iff (!rst_ni) waits_q == '0 |-> grant_q == '0 && before_q == '0);
  for (genvar c = 0; c < int'(Cores); c++) begin : gen_check
    KeptUntilDone_A : assert property (@(posedge clk_i) disable iff (!rst_ni) grant_o[c] |=> grant_o[c] || !want_i[c]);
    LineStable_A : assert property (@(posedge clk_i) disable iff (!rst_ni)
      waits_q[c] && want_i[c] |-> name[c] == $past(name[c]));
    for (genvar k = 0; k < c; k++) begin : gen_pair
      OneAtATime_A : assert property (@(posedge clk_i) disable iff (!rst_ni)
        grant_o[c] && grant_o[k] |-> name[c] != name[k]);
    end
  end
`endif

endmodule
