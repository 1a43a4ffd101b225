// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Fetch and decode: instructions of each warp ahead of its turn, and the register of the execute stage.
///
/// A warp's instructions are fetched one after the other, up to two ahead, until the one that goes elsewhere has been
/// executed (`flush_i`). What is ahead may never be executed; so it asks for no line of instructions: that waits until its
/// warp has nothing else to do. In the cycle after it is fetched an instruction is decoded, and in the next one it may issue.
module gpu_front
  import gpu_pkg::*;
#(
  parameter int unsigned IcacheBytes = 4096,
  parameter int unsigned Warps = 4,
  parameter bit Fpu = 1'b1,
  localparam int unsigned WarpWidth = (Warps > 1) ? $clog2(Warps) : 1
) (
  input  logic                     clk_i,
  /// Synchronous reset, active low; of the buffers alone.
  input  logic                     rst_ni,
  input  logic                     buffers_rst_ni,
  /// The cache forgets all lines.
  input  logic                     forget_i,
  /// Nothing is fetched.
  input  logic                     halt_i,

  // Where the warps are
  /// Warps whose next instruction is known.
  input  logic [Warps-1:0]         placed_i,
  /// Warps go on at an address.
  input  logic [Warps-1:0]         place_i,
  input  logic [31:0]              place_pc_i,
  /// The first instructions of warps have taken effect; a warp jumps; another goes on elsewhere, where it is placed now or later.
  input  logic [Warps-1:0]         pop_i,
  input  logic                     jump_i,
  input  logic [WarpWidth-1:0]     jump_warp_i,
  input  logic [31:0]              jump_pc_i,
  input  logic                     flush_i,
  input  logic [WarpWidth-1:0]     flush_warp_i,

  // Issue
  output logic [Warps-1:0]         valid_o,
  /// Warps that have one behind it.
  output logic [Warps-1:0]         behind_o,
  /// What the first of a warp, or the one behind it, needs.
  input  logic [WarpWidth-1:0]     look_warp_i,
  input  logic                     look_behind_i,
  output needs_t                   look_needs_o,
  /// A warp waits for instructions alone.
  output logic                     wait_o,
  input  logic                     issue_i,
  input  warp_t                    issue_warp_i,
  input  lanes_t                   issue_mask_i,
  input  depth_t                   issue_depth_i,
  output reads_t                   issue_reads_o,
  /// For assertions.
  output needs_t                   issue_needs_o,
  // Execute
  output logic                     execute_valid_o,
  output execute_t                 execute_o,

  /// An instruction is being decoded, or a line is on its way.
  output logic                     busy_o,
  output logic                     error_o,
  output logic [31:0]              error_addr_o,
  // Lines of instructions
  output logic                     rd_valid_o,
  input  logic                     rd_ready_i,
  output logic [LineAddrWidth-1:0] rd_line_o,
  input  logic                     rd_beat_i,
  input  logic [63:0]              rd_data_i,
  input  logic                     rd_last_i,
  input  logic                     rd_error_i
);

  typedef logic [WarpWidth-1:0] index_t;

  // ---- Fetch

  // Bits 1:0 are zero: words of 32 bits are found at once.
  logic [Warps-1:0][31:0] pc_q;
  // Warps that wait for a line; that found none ahead of their turn.
  logic [Warps-1:0] line_q, later_q;
  logic [Warps-1:0] full, coming, able;
  logic fetch, decode_q, hit, miss, push, line_busy;
  index_t fetch_warp, decode_warp_q, issue_warp;
  logic [29:0] fetch_pc, decode_pc_q;
  logic [31:0] instr;
  logic [Warps-1:0] flushed;

  always_comb begin
    flushed = '0;
    if (jump_i) flushed |= Warps'(1) << jump_warp_i;
    if (flush_i) flushed |= Warps'(1) << flush_warp_i;
  end

  always_comb begin
    coming = decode_q ? Warps'(1) << decode_warp_q : '0;
    able = placed_i & ~(line_q | full | (coming & valid_o) | (later_q & valid_o));
  end

  gpu_warp_select #(.Warps(Warps)) u_fetch (
    .clk_i, .rst_ni(buffers_rst_ni), .ready_i(able), .hold_i(halt_i), .issue_o(fetch), .warp_o(fetch_warp)
  );

  assign fetch_pc = pc_q[fetch_warp][31:2];

  gpu_icache #(.Bytes(IcacheBytes)) u_icache (
    .clk_i, .rst_ni, .flush_i(forget_i),
    .read_i(fetch), .pc_i({fetch_pc, 2'b00}), .hit_o(hit), .instr_o(instr),
    .miss_i(miss && !valid_o[decode_warp_q] && !halt_i), .busy_o(line_busy), .error_o, .error_addr_o,
    .rd_valid_o, .rd_ready_i, .rd_line_o, .rd_beat_i, .rd_data_i, .rd_last_i, .rd_error_i
  );

  // Where its warp goes elsewhere in this cycle, what was fetched is not what comes next. The buffers drop it, the counter is
  // overwritten, and a line is not asked for because the instruction that goes elsewhere is still there.
  assign miss = decode_q && !hit;
  assign push = decode_q && hit;
  assign busy_o = decode_q || line_busy;
  assign wait_o = (line_q & placed_i & ~valid_o) != '0;

  always_ff @(posedge clk_i) begin
    if (!buffers_rst_ni) begin
      decode_q <= 1'b0;
      line_q <= '0;
      later_q <= '0;
    end else begin
      // What misses is fetched again, and what is behind it.
      decode_q <= 1'b0;
      if (fetch) begin
        decode_q <= !flushed[fetch_warp];
        if (miss) if (fetch_warp == decode_warp_q) decode_q <= 1'b0;
      end
      if (!line_busy) line_q <= '0;
      later_q <= later_q & valid_o;
      if (miss) begin
        if (valid_o[decode_warp_q]) later_q[decode_warp_q] <= 1'b1;
        else line_q[decode_warp_q] <= 1'b1;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (fetch) begin
      decode_warp_q <= fetch_warp;
      decode_pc_q <= fetch_pc;
    end
  end

  // Where each warp is fetched from next: behind what is fetched now, or there once more; where it jumps, or is placed. It is told
  // by a number, so that one gate makes a bit.
  always_ff @(posedge clk_i) begin
    automatic logic [Warps-1:0] again, jumped, moves, high, low;
    automatic logic [29:0] place_pc;
    place_pc = 'x;
    if (place_i != '0) place_pc = place_pc_i[31:2];
    moves = place_i;
    if (fetch) moves |= Warps'(1) << fetch_warp;
    again = '0;
    if (miss) again = Warps'(1) << decode_warp_q;
    jumped = '0;
    if (jump_i) jumped = Warps'(1) << jump_warp_i;
    moves |= again | jumped;
    high = place_i | jumped;
    low = place_i | (again & ~jumped);
    for (int w = 0; w < int'(Warps); w++) begin
      if (moves[w]) begin
        unique case ({high[w], low[w]})
          2'd0:    pc_q[w] <= {fetch_pc + 30'd1, 2'b00};
          2'd1:    pc_q[w] <= {decode_pc_q, 2'b00};
          2'd2:    pc_q[w] <= {jump_pc_i[31:2], 2'b00};
          default: pc_q[w] <= {place_pc, 2'b00};
        endcase
      end
    end
  end

  logic unused;
  assign unused = ^{place_pc_i[1:0], jump_pc_i[1:0]};

  // ---- Decode

  decoded_t op;
  needs_t needs;
  ready_t decoded, first;

  gpu_decode #(.Fpu(Fpu)) u_decode (.valid_i(push), .instr_i(instr), .op_o(op), .needs_o(needs));

  assign decoded = '{op: op, instr: instr, pc: {decode_pc_q, 2'b00}};

  gpu_buffers #(.Warps(Warps)) u_buffers (
    .clk_i, .rst_ni(buffers_rst_ni),
    .push_i(push), .push_warp_i(decode_warp_q), .push_needs_i(needs),
    .push_ready_i(decoded),
    .pop_i, .flush_i(flushed),
    .valid_o, .full_o(full), .look_warp_i, .look_behind_i, .look_needs_o,
    .read_warp_i(issue_warp), .first_o(first), .reads_o(issue_reads_o), .needs_o(issue_needs_o)
  );

  assign behind_o = full;

  // ---- To the execute stage

  assign issue_warp = index_t'(issue_warp_i);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) execute_valid_o <= 1'b0;
    else execute_valid_o <= issue_i;
  end

  always_ff @(posedge clk_i) begin
    if (issue_i) begin
      execute_o <= '{
        from: '{depth: issue_depth_i, warp: issue_warp_i, mask: issue_mask_i},
        op: first.op, pc: first.pc, instr: first.instr
      };
    end
  end

`ifndef SYNTHESIS
  NoLineForWhatIsDropped_A : assert property (@(posedge clk_i) disable iff (!buffers_rst_ni)
    miss && flushed[decode_warp_q] |-> valid_o[decode_warp_q]);
  OfThisCore_A : assert property (@(posedge clk_i) disable iff (!rst_ni) issue_i |-> issue_warp_i == warp_t'(issue_warp));
  IssuesWhatIsThere_A : assert property (@(posedge clk_i) disable iff (!rst_ni) issue_i |-> valid_o[issue_warp]);
  SomeLaneExecutes_A : assert property (@(posedge clk_i) disable iff (!rst_ni)
    execute_valid_o |-> execute_o.from.mask != '0);
`endif

endmodule
