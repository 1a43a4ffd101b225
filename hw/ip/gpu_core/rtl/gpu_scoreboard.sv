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

  /// Answers of units: whose operation each names, whatever it is, and which of them ends it now; one a cycle at most.
  input  logic [2:0]       ends_i,
  input  warp_t            end_warp_i [3],
  input  entry_t           end_entry_i [3],

  // Of each warp: something is under way, and in memory.
  output logic [Warps-1:0] busy_o,
  output logic [Warps-1:0] memory_o,

  /// What an instruction needs that issues now, for assertions.
  input  logic             issue_i,
  input  warp_t            issue_warp_i,
  input  needs_t           issue_needs_i
);

  typedef logic [WarpWidth-1:0] index_t;
  typedef logic [Entries-1:0] entries_t;
  typedef struct packed {
    logic memory;
    logic we;
    reg_t rd;
  } operation_t;

  entries_t [Warps-1:0] used_q, memory_q, awaited_q;
  logic [Warps-1:0] looked_q, unseen;
  operation_t [Entries-1:0] known;
  operation_t executes;
  index_t push_warp, look_warp;
  entries_t awaited;
  logic look;

  assign push_warp = index_t'(execute_warp_i);
  assign executes = '{memory: execute_memory_i, we: execute_we_i, rd: execute_rd_i};

  always_comb begin
    push_entry_o = '0;
    for (int e = int'(Entries) - 1; e >= 0; e--) if (!used_q[push_warp][e]) push_entry_o = entry_t'(e);
  end

  // What each answer would end, of each warp; and what ends.
  typedef entries_t [Warps-1:0] all_t;
  all_t named [3];
  all_t ended;

  always_comb begin
    ended = '0;
    for (int u = 0; u < 3; u++) begin
      named[u] = all_t'(1) << {end_warp_i[u], end_entry_i[u]};
      if (ends_i[u]) ended |= named[u];
    end
  end

  // Whether what ends is all that the next instruction waits for is known before who of the units ends.
  always_comb begin
    for (int w = 0; w < int'(Warps); w++) begin
      automatic entries_t left;
      automatic logic last;
      left = used_q[w] & awaited_q[w];
      last = left == '0;
      for (int u = 0; u < 3; u++) if (ends_i[u] && left == named[u][w]) last = 1'b1;
      wait_o[w] = !last || used_q[w] == '1;
      busy_o[w] = used_q[w] != '0;
      memory_o[w] = (used_q[w] & memory_q[w]) != '0;
    end
  end

  // ---- What the next instruction of a warp will wait for

  for (genvar e = 0; e < int'(Entries); e++) begin : gen_entry
    operation_t ram [Warps];

    always_ff @(posedge clk_i) begin
      if (push_i && push_entry_o == entry_t'(e)) ram[push_warp] <= executes;
    end

    assign known[e] = ram[look_warp];
  end

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

  // An entry that is not in use, but for that of the instruction in the execute stage, stays so until the next one has issued.
  always_comb begin
    awaited = '0;
    if (look) begin
      for (int e = 0; e < int'(Entries); e++) begin
        awaited[e] = touches(needs_i, (look_warp == push_warp && execute_i && push_entry_o == entry_t'(e)) ? executes : known[e]);
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      looked_q <= '0;
      awaited_q <= '1;
    end else begin
      for (int w = 0; w < int'(Warps); w++) begin
        if (forget_i[w]) begin
          looked_q[w] <= 1'b0;
          awaited_q[w] <= '1;
        end else if (look && look_warp == index_t'(w)) begin
          looked_q[w] <= 1'b1;
          awaited_q[w] <= awaited;
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      used_q <= '0;
    end else begin
      for (int w = 0; w < int'(Warps); w++) used_q[w] <= used_q[w] & ~ended[w];
      if (push_i) used_q[push_warp][push_entry_o] <= 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (push_i) memory_q[push_warp][push_entry_o] <= execute_memory_i;
  end

`ifndef SYNTHESIS
  // All of each warp's operations, for what is asserted.
  operation_t [Entries-1:0] all_q [Warps];

  always_ff @(posedge clk_i) if (push_i) all_q[push_warp][push_entry_o] <= executes;

  logic conflict;
  always_comb begin
    conflict = 1'b0;
    for (int e = 0; e < int'(Entries); e++) begin
      if (used_q[index_t'(issue_warp_i)][e] && !ended[index_t'(issue_warp_i)][e] &&
          touches(issue_needs_i, all_q[index_t'(issue_warp_i)][e])) conflict = issue_i;
    end
  end
  NobodyOvertakesWhatItNeeds_A : assert property (@(posedge clk_i) disable iff (!rst_ni) !conflict);
  OfThisCore_A : assert property (@(posedge clk_i) disable iff (!rst_ni)
    (execute_i |-> execute_warp_i == warp_t'(push_warp)) and (issue_i |-> issue_warp_i == warp_t'(index_t'(issue_warp_i))));
  PushedFromTheExecuteStage_A : assert property (@(posedge clk_i) disable iff (!rst_ni) push_i |-> execute_i);
  RoomForIt_A : assert property (@(posedge clk_i) disable iff (!rst_ni) push_i |-> used_q[push_warp] != '1);
  OnlyWhatIsUnderWayEnds_A : assert property (@(posedge clk_i) disable iff (!rst_ni)
    (ended & ~used_q) == '0 && $onehot0(ended));
  OneEnds_A : assert property (@(posedge clk_i) disable iff (!rst_ni) $onehot0(ends_i));
`else
  logic unused;
  assign unused = ^{issue_i, issue_warp_i, issue_needs_i};
`endif

endmodule
