// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// A cluster's second-level cache holds nothing stale, whatever cores ask and in whatever order memory answers:
/// - from the cycle after a write to a line was looked at until memory has answered it, the line is neither held nor on its
///   way to be kept; so what is held was fetched after the last write to it had been answered;
/// - when the walk that forgets a memory context ends, no line of it is held or on its way to be kept, and none of its
///   reads went on meanwhile; so a new owner of the context sees nothing of the old one's.
///
/// Told of any one line and any one context. Assumed of the cores: whole lines, as many a reader as it may have; of memory:
/// it answers writes that it was sent. A line may have any number of beats. The smallest cache: two sets of two ways, one
/// reader, two lines and two writes under way.
module gpu_l2_proof
  import eddy_pkg::*;
  import gpu_pkg::*;
(
  input logic                    clk_i,
  input logic                    rst_ni,
  input axi_req_t                req_i,
  input axi_rsp_t                rsp_i,
  input logic [15:0]             forget_i,
  input logic                    flush_i,
  input logic [33:0]             flush_first_i,
  input logic [33:0]             flush_last_i,
  /// The line and the context that are followed.
  input logic [33:0]             line_i,
  input logic [ContextWidth-1:0] context_i
);

  localparam int unsigned Places = 2;

  axi_req_t req;
  axi_rsp_t rsp;

  gpu_l2 #(.Bytes(256), .Readers(1), .Lines(Places), .Each(Places), .Writes(2)) dut (
    .clk_i, .rst_ni, .req_i, .rsp_o(rsp), .req_o(req), .rsp_i, .forget_i, .flush_i, .flush_first_i, .flush_last_i,
    .flush_busy_o(), .hit_event_o(), .miss_event_o()
  );

  logic started_q = 1'b0;
  always_ff @(posedge clk_i) started_q <= 1'b1;
  always_comb begin
    InReset_M : assume (rst_ni == started_q);
    Readers_M : assume (req_i.ar.id == '0 && rsp_i.r.id == '0);
    if (rsp_i.b_valid) AnswersHaveAskers_M : assume (dut.u_writes.gone != '0);
    if (dut.read_miss || dut.park) NotMoreThanEach_M : assume (32'(dut.u_fills.waits_q[0]) < Places);
  end
  always_ff @(posedge clk_i) begin
    if (started_q) OneOfEach_M : assume ($stable(line_i) && $stable(context_i));
  end

  logic reads, writes, walks;
  assign reads = 2'(dut.state_q) == 2'd1 && 2'(dut.kind_q) == 2'd0;
  assign writes = 2'(dut.state_q) == 2'd1 && 2'(dut.kind_q) == 2'd1;
  assign walks = 2'(dut.state_q) == 2'd1 && 2'(dut.kind_q) == 2'd2;

  // The followed line: being written; held; on its way to be kept. The followed context's: held; on their way.
  logic written, held, coming, forgets;
  logic [1:0] owned;
  logic owned_coming;
  logic [Places-1:0] due;
  assign due = dut.u_fills.coming_q | dut.u_fills.whole_q;
  assign forgets = dut.u_walk.active_q && (dut.u_walk.now_q[context_i] || dut.u_walk.all_q);

  always_comb begin
    written = 1'b0;
    for (int s = 0; s < 2; s++) if (dut.u_writes.valid[s] && dut.u_writes.line_q[s] == line_i) written = 1'b1;
    held = dut.u_walk.all_q ? 1'b0
         : (dut.tag0_ram[line_i[0]].valid && dut.tag0_ram[line_i[0]].tag == line_i[33:1])
           || (dut.tag1_ram[line_i[0]].valid && dut.tag1_ram[line_i[0]].tag == line_i[33:1]);
    coming = 1'b0;
    owned_coming = 1'b0;
    for (int p = 0; p < int'(Places); p++) begin
      if (due[p] && dut.u_fills.good_q[p] && dut.u_fills.line_q[p] == line_i) coming = 1'b1;
      if (due[p] && dut.u_fills.good_q[p] && dut.u_fills.context_q[p] == context_i) owned_coming = 1'b1;
    end
    for (int s = 0; s < 2; s++) begin
      owned[s] = (dut.tag0_ram[s].valid && dut.tag0_ram[s].owner == context_i)
          || (dut.tag1_ram[s].valid && dut.tag1_ram[s].owner == context_i);
    end
  end

  logic ends_q;
  always_ff @(posedge clk_i) ends_q <= rst_ni && forgets && dut.walk_step && (&dut.u_walk.set_q);

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      // What is inside fits together.
      if (2'(dut.state_q) == 2'd1) begin
        TagsAreRead_A : assert (dut.entry0_q == dut.tag0_ram[dut.set_q] && dut.entry1_q == dut.tag1_ram[dut.set_q]);
        if (!walks) SetOfItsLine_A : assert (dut.set_q == dut.line[0]);
        else SetOfTheWalk_A : assert (dut.u_walk.active_q && dut.set_q == dut.u_walk.set_q);
      end
      if (reads) RoomIsLeft_A : assert (!dut.full);
      if (dut.u_fills.install_valid_q) StaysWhole_A : assert (dut.u_fills.whole_q[dut.u_fills.install_q]);
      // After reset the tags are anything, until the first walk has passed.
      if (dut.u_walk.all_q && dut.u_walk.active_q && dut.u_walk.set_q == 1'b1) begin
        FirstWalkDropsAll_A : assert (!dut.tag0_ram[0].valid && !dut.tag1_ram[0].valid);
      end
      NothingBeforeTheFirstWalk_A : assert (!dut.u_walk.all_q || (due == '0 && !reads));

      // A line that is written.
      if (reads && dut.line == line_i) NotReadWhileWritten_A : assert (!written);
      if (written && !(writes && dut.line == line_i)) NeitherHeldNorComing_A : assert (!held && !coming);

      // A context that is forgotten.
      if (reads && dut.ax_q.user == context_i) NotReadWhileForgotten_A : assert (!forgets);
      if (forgets) NoneComesBack_A : assert (!owned_coming && !(dut.u_walk.set_q == 1'b1 && owned[0]));
      if (ends_q) NothingIsLeft_A : assert (!owned_coming && owned == '0);
    end
  end

endmodule
