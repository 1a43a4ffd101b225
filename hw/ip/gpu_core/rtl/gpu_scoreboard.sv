// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// What the warps of a core have under way in memory and in units, and whose next instruction has to wait for it.
///
/// Up to `Entries` operations of a warp are under way at once. An instruction waits for those that write a register it reads
/// or writes. Besides,
///
/// - what changes memory waits for the loads of its warp, so that none of them sees it;
/// - a fence, an atomic access, thread control, an environment call, and a CSR that shows the flags of floating point wait for everything.
///
/// One instruction a cycle is compared with its warp's operations, mostly while the one before it executes: what it will wait for is
/// kept until it issues. One that has not been looked at waits for everything. What ends in this cycle makes nobody wait: its
/// register can be read in the next one.
module gpu_scoreboard
  import gpu_pkg::*;
#(
  parameter int unsigned Warps = 4,
  localparam int unsigned WarpWidth = (Warps > 1) ? $clog2(Warps) : 1
) (
  input  logic             clk_i,
  /// Synchronous reset, active low: nothing is under way.
  input  logic             rst_ni,

  /// Warps whose next instruction to issue is there; the one that is looked at, and what it needs.
  input  logic [Warps-1:0] next_i,
  output logic [WarpWidth-1:0] look_warp_o,
  input  needs_t           needs_i,
  /// Warps whose next instruction is another from the next cycle on.
  input  logic [Warps-1:0] forget_i,
  /// Whose next instruction has to wait.
  output logic [Warps-1:0] wait_o,

  // The instruction in the execute stage; it may go on in memory or a unit
  input  logic             execute_i,
  input  warp_t            execute_warp_i,
  input  reg_t             execute_rd_i,
  input  logic             execute_we_i,
  input  logic             execute_memory_i,
  /// It does; the entry it shall name when it ends.
  input  logic             push_i,
  output entry_t           push_entry_o,

  /// Answers of memory, floating point, and multiplication or division: whose operation each names, whatever it is, and which of
  /// them ends it now; one a cycle at most.
  input  logic [2:0]       ends_i,
  input  tag_t             memory_tag_i,
  input  tag_t             fpu_tag_i,
  input  tag_t             muldiv_tag_i,

  // Of each warp: something is under way, and in memory.
  output logic [Warps-1:0] busy_o,
  output logic [Warps-1:0] memory_o,

  /// What an instruction needs that issues now, for assertions.
  input  logic             issue_i,
  input  warp_t            issue_warp_i,
  input  needs_t           issue_needs_i
);

  typedef logic [WarpWidth-1:0] index_t;
  typedef logic [Warps-1:0] warps_t;
  typedef logic [Entries-1:0] entries_t;
  // Of each entry one bit a warp, so that all warps are asked the same at once.
  typedef warps_t [Entries-1:0] all_t;
  typedef struct packed {
    logic memory;
    logic we;
    reg_t rd;
  } operation_t;

  all_t used_q, memory_q, awaited_q;
  warps_t looked_q, unseen;
  operation_t executes;
  index_t push_warp, look_warp;
  logic look;

  assign push_warp = index_t'(execute_warp_i);
  assign executes = '{memory: execute_memory_i, we: execute_we_i, rd: execute_rd_i};

  function automatic warps_t any(all_t all);
    for (int n = int'(Entries) / 2; n > 0; n /= 2) all |= all >> (n * int'(Warps));
    any = all[0];
  endfunction

  function automatic all_t bit_of(entry_t number, index_t warp);
    bit_of = '0;
    bit_of[number][warp] = 1'b1;
  endfunction

  always_comb begin
    automatic all_t used;
    used = used_q >> push_warp;
    push_entry_o = '0;
    for (int e = int'(Entries) - 1; e >= 0; e--) if (!used[e][0]) push_entry_o = entry_t'(e);
  end

  // ---- Who waits

  // What is awaited but for what a unit's answer ends is known before who of the units ends.
  all_t ended;
  warps_t waits, full;

  always_comb begin
    automatic all_t left, named;
    left = used_q & awaited_q;
    waits = any(left);
    ended = '0;
    if (ends_i[0]) begin
      named = bit_of(memory_tag_i.entry, index_t'(memory_tag_i.warp));
      ended = named;
      waits &= any(left & ~named);
    end
    if (ends_i[1]) begin
      named = bit_of(fpu_tag_i.entry, index_t'(fpu_tag_i.warp));
      ended |= named;
      waits &= any(left & ~named);
    end
    if (ends_i[2]) begin
      named = bit_of(muldiv_tag_i.entry, index_t'(muldiv_tag_i.warp));
      ended |= named;
      waits &= any(left & ~named);
    end
  end

  assign full = ~any(~used_q);
  assign wait_o = waits | full;
  assign busy_o = any(used_q);
  assign memory_o = any(used_q & memory_q);

  // ---- What the next instruction of a warp will wait for

  operation_t ram [Entries << WarpWidth];

  always_ff @(posedge clk_i) if (push_i) ram[{push_entry_o, push_warp}] <= executes;

  // That behind the instruction in the execute stage first: it may issue in the next cycle.
  always_comb begin
    unseen = next_i & ~looked_q;
    look = unseen != '0;
    look_warp = push_warp;
    if (!(execute_i && unseen[push_warp])) begin
      for (int w = int'(Warps) - 1; w >= 0; w--) if (unseen[w]) look_warp = index_t'(w);
    end
  end
  assign look_warp_o = look_warp;

  function automatic logic touches(needs_t needs, operation_t operation);
    return needs.after_all || (needs.after_loads && operation.memory) || (operation.we && (
      operation.rd == needs.reads.rs1 || operation.rd == needs.reads.rs2 || operation.rd == needs.reads.rs3 ||
      operation.rd == needs.rd
    ));
  endfunction

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      looked_q <= '0;
      awaited_q <= '1;
    end else begin
      if (look) begin
        automatic all_t counts;
        automatic entries_t awaited;
        automatic logic executing;
        automatic needs_t needs;
        automatic operation_t operation;
        needs = needs_i;
        executing = look_warp == push_warp && execute_i;
        // An entry that is not in use, but for that of an instruction that goes on in a unit now, stays so until the next one has issued.
        counts = used_q >> look_warp;
        if (executing && push_i) counts[push_entry_o][0] = 1'b1;
        for (int e = 0; e < int'(Entries); e++) begin
          awaited[e] = 'x;
          if (counts[e][0]) begin
            operation = (executing && push_entry_o == entry_t'(e)) ? executes : ram[{entry_t'(e), look_warp}];
            awaited[e] = touches(needs, operation);
          end
        end
        for (int w = 0; w < int'(Warps); w++) begin
          if (look_warp == index_t'(w)) for (int e = 0; e < int'(Entries); e++) awaited_q[e][w] <= awaited[e];
        end
        looked_q[look_warp] <= 1'b1;
      end
      for (int w = 0; w < int'(Warps); w++) begin
        if (forget_i[w]) begin
          looked_q[w] <= 1'b0;
          for (int e = 0; e < int'(Entries); e++) awaited_q[e][w] <= 1'b1;
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      used_q <= '0;
    end else if (push_i) begin
      used_q <= (used_q & ~ended) | bit_of(push_entry_o, push_warp);
    end else begin
      used_q <= used_q & ~ended;
    end
  end

  always_ff @(posedge clk_i) begin
    if (push_i) memory_q[push_entry_o][push_warp] <= execute_memory_i;
  end

`ifndef SYNTHESIS
  // All of each warp's operations, for what is asserted.
  operation_t [Entries-1:0] all_q [Warps];

  always_ff @(posedge clk_i) if (push_i) all_q[push_warp][push_entry_o] <= executes;

  logic conflict;
  always_comb begin
    conflict = 1'b0;
    for (int e = 0; e < int'(Entries); e++) begin
      if (used_q[e][index_t'(issue_warp_i)] && !ended[e][index_t'(issue_warp_i)] &&
          touches(issue_needs_i, all_q[index_t'(issue_warp_i)][e])) conflict = issue_i;
    end
  end
  NobodyOvertakesWhatItNeeds_A : assert property (@(posedge clk_i) disable iff (!rst_ni) !conflict);
  OfThisCore_A : assert property (@(posedge clk_i) disable iff (!rst_ni)
    (execute_i |-> execute_warp_i == warp_t'(push_warp)) and (issue_i |-> issue_warp_i == warp_t'(index_t'(issue_warp_i))));
  PushedFromTheExecuteStage_A : assert property (@(posedge clk_i) disable iff (!rst_ni) push_i |-> execute_i);
  RoomForIt_A : assert property (@(posedge clk_i) disable iff (!rst_ni) push_i |-> !full[push_warp]);
  OnlyWhatIsUnderWayEnds_A : assert property (@(posedge clk_i) disable iff (!rst_ni)
    (ended & ~used_q) == '0 && $onehot0(ended));
  OneEnds_A : assert property (@(posedge clk_i) disable iff (!rst_ni) $onehot0(ends_i));
`else
  logic unused;
  assign unused = ^{issue_i, issue_warp_i, issue_needs_i};
`endif

endmodule
