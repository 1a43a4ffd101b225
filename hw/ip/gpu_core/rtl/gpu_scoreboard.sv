/// What the warps of a core have under way in memory and in units, and whose next instruction has to wait for it.
///
/// Up to `Entries` operations of a warp are under way at once. An instruction waits for those that write a register it reads
/// or writes. Besides,
///
/// - what changes memory waits for the loads of its warp, so that none of them sees it;
/// - a fence, an atomic access, thread control, an environment call, and a CSR that shows the flags of floating point wait for everything.
///
/// What ends in this cycle makes nobody wait: its register can be read in the next one.
module gpu_scoreboard
  import gpu_pkg::*;
#(
  parameter int unsigned Warps = 4
) (
  input  logic             clk_i,
  /// Synchronous reset, active low: nothing is under way.
  input  logic             rst_ni,

  /// Of each warp, what its next instruction needs, and whether it has to wait for that.
  input  needs_t           needs_i [Warps],
  output logic [Warps-1:0] wait_o,

  // One goes on in memory or a unit; the entry it shall name when it ends.
  input  logic             push_i,
  input  warp_t            push_warp_i,
  input  reg_t             push_rd_i,
  input  logic             push_we_i,
  input  logic             push_memory_i,
  output entry_t           push_entry_o,

  input  logic             done_i,
  input  tag_t             done_tag_i,

  // Of each warp: something is under way, and in memory.
  output logic [Warps-1:0] busy_o,
  output logic [Warps-1:0] memory_o
);

  localparam int unsigned WarpWidth = (Warps > 1) ? $clog2(Warps) : 1;

  typedef logic [WarpWidth-1:0] index_t;
  typedef logic [Entries-1:0] entries_t;

  entries_t [Warps-1:0] used_q, memory_q, writes_q;
  reg_t [Entries-1:0] rd_q [Warps];
  index_t push_warp, done_warp;
  entries_t done_bit;

  assign push_warp = index_t'(push_warp_i);
  assign done_warp = index_t'(done_tag_i.warp);
  assign done_bit = done_i ? entries_t'(1) << done_tag_i.entry : '0;

  always_comb begin
    push_entry_o = '0;
    for (int e = int'(Entries) - 1; e >= 0; e--) if (!used_q[push_warp][e]) push_entry_o = entry_t'(e);
  end

  always_comb begin
    for (int w = 0; w < int'(Warps); w++) begin
      automatic entries_t left, touched;
      left = used_q[w] & ~((done_warp == index_t'(w)) ? done_bit : '0);
      touched = '0;
      wait_o[w] = 1'b0;
      if (left != '0) begin
        for (int e = 0; e < int'(Entries); e++) begin
          touched[e] = writes_q[w][e] && (rd_q[w][e] == needs_i[w].reads.rs1 || rd_q[w][e] == needs_i[w].reads.rs2 ||
                                          rd_q[w][e] == needs_i[w].reads.rs3 || rd_q[w][e] == needs_i[w].rd);
          if (needs_i[w].after_all || (needs_i[w].after_loads && memory_q[w][e])) touched[e] = 1'b1;
        end
        wait_o[w] = (left & touched) != '0 || used_q[w] == '1;
      end
      busy_o[w] = used_q[w] != '0;
      memory_o[w] = (used_q[w] & memory_q[w]) != '0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      used_q <= '0;
    end else begin
      if (done_i) begin
        used_q[done_warp] <= used_q[done_warp] & ~done_bit;
      end
      if (push_i) used_q[push_warp][push_entry_o] <= 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (push_i) begin
      memory_q[push_warp][push_entry_o] <= push_memory_i;
      writes_q[push_warp][push_entry_o] <= push_we_i;
      rd_q[push_warp][push_entry_o] <= push_rd_i;
    end
  end

`ifndef SYNTHESIS
  OfThisCore_A : assert property (@(posedge clk_i) disable iff (!rst_ni)
    (push_i |-> push_warp_i == warp_t'(push_warp)) and
    (done_i |-> done_tag_i.warp == warp_t'(done_warp)));
  RoomForIt_A : assert property (@(posedge clk_i) disable iff (!rst_ni) push_i |-> used_q[push_warp] != '1);
  OnlyWhatIsUnderWayEnds_A : assert property (@(posedge clk_i) disable iff (!rst_ni)
    done_i |-> !done_tag_i.fence && !done_tag_i.fence_i && used_q[done_warp][done_tag_i.entry] &&
    done_tag_i.we == writes_q[done_warp][done_tag_i.entry] && done_tag_i.rd == rd_q[done_warp][done_tag_i.entry]);
`endif

endmodule
