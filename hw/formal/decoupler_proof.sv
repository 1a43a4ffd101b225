// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Nothing crosses a closed gate: two decouplers see the same fabric and the same slot, but the second slot drives
/// garbage wherever a gate is closed. Nobody outside can tell them apart, now or later.
///
/// The claims about the idle outputs of a closed gate stand beside the RTL (`Closed..._A`) and are proved along.
module decoupler_proof
  import eddy_pkg::*;
(
  input logic      clk_i,
  input logic      rst_ni,
  input logic      ctrl_open_i,
  input logic      mem_open_i,
  input logic      irq_open_i,
  input lite_req_t ctrl_req_i,
  input axi_rsp_t  mem_rsp_i,
  input lite_rsp_t slot_ctrl_i,
  input axi_req_t  slot_mem_i,
  input logic      slot_irq_i,
  input lite_rsp_t garbage_ctrl_i,
  input axi_req_t  garbage_mem_i,
  input logic      garbage_irq_i
);

  logic ctrl_open[2], mem_open[2], irq_open[2], irq[2];
  lite_rsp_t ctrl_rsp[2], slot_ctrl[2];
  lite_req_t slot_ctrl_req[2];
  axi_rsp_t slot_mem_rsp[2];
  axi_req_t mem_req[2], slot_mem[2];
  logic slot_irq[2];

  assign slot_ctrl[0] = slot_ctrl_i;
  assign slot_mem[0] = slot_mem_i;
  assign slot_irq[0] = slot_irq_i;
  assign slot_ctrl[1] = ctrl_open[0] ? slot_ctrl_i : garbage_ctrl_i;
  assign slot_mem[1] = mem_open[0] ? slot_mem_i : garbage_mem_i;
  assign slot_irq[1] = a.irq_open ? slot_irq_i : garbage_irq_i;

  decoupler a (
    .clk_i, .rst_ni, .ctrl_open_i, .mem_open_i, .irq_open_i,
    .ctrl_open_o(ctrl_open[0]), .mem_open_o(mem_open[0]), .irq_open_o(irq_open[0]),
    .ctrl_req_i, .ctrl_rsp_o(ctrl_rsp[0]), .slot_ctrl_req_o(slot_ctrl_req[0]), .slot_ctrl_rsp_i(slot_ctrl[0]),
    .slot_mem_req_i(slot_mem[0]), .slot_mem_rsp_o(slot_mem_rsp[0]), .mem_req_o(mem_req[0]), .mem_rsp_i,
    .slot_irq_i(slot_irq[0]), .irq_o(irq[0])
  );

  decoupler b (
    .clk_i, .rst_ni, .ctrl_open_i, .mem_open_i, .irq_open_i,
    .ctrl_open_o(ctrl_open[1]), .mem_open_o(mem_open[1]), .irq_open_o(irq_open[1]),
    .ctrl_req_i, .ctrl_rsp_o(ctrl_rsp[1]), .slot_ctrl_req_o(slot_ctrl_req[1]), .slot_ctrl_rsp_i(slot_ctrl[1]),
    .slot_mem_req_i(slot_mem[1]), .slot_mem_rsp_o(slot_mem_rsp[1]), .mem_req_o(mem_req[1]), .mem_rsp_i,
    .slot_irq_i(slot_irq[1]), .irq_o(irq[1])
  );

  // Reset long enough for the synchronisers, which have none, to agree.
  logic [1:0] age_q = '0;
  always_ff @(posedge clk_i) if (age_q != 2'd3) age_q <= age_q + 2'd1;

  always_comb begin
    if (age_q != 2'd3) InReset_M : assume (!rst_ni);
  end

  always_ff @(posedge clk_i) begin
    if (age_q == 2'd3) begin
      // Each follows its own command, past the synchroniser and the gate's flop.
      ControlGateFollows_A : assert (ctrl_open[0] == ($past(rst_ni) && $past(ctrl_open_i, 3)));
      MemoryGateFollows_A : assert (mem_open[0] == ($past(rst_ni) && $past(mem_open_i, 3)));
      InterruptGateFollows_A : assert (irq_open[0] == ($past(rst_ni) && $past(irq_open_i, 3)));
      InterruptCrosses_A : assert (irq[0] == (irq_open[0] && $past(slot_irq_i)));
      ResetClosesGates_A : assert ($past(rst_ni) || !(ctrl_open[0] || mem_open[0] || irq_open[0]));
      GarbageDoesNotReachFabric_A :
      assert (ctrl_rsp[0] == ctrl_rsp[1] && mem_req[0] == mem_req[1] && irq[0] == irq[1]);
      GarbageDoesNotReachSlot_A :
      assert (slot_ctrl_req[0] == slot_ctrl_req[1] && slot_mem_rsp[0] == slot_mem_rsp[1]);
    end
  end

  // What induction needs to know: the registers inside agree.
`define SAME(channel) \
  (a.channel.valid_q == b.channel.valid_q && a.channel.spare_valid_q == b.channel.spare_valid_q \
   && a.channel.ready_q == b.channel.ready_q && a.channel.data_q == b.channel.data_q \
   && a.channel.spare_q == b.channel.spare_q)

`define SAME_STAGE(channel) \
  (a.channel.valid_q == b.channel.valid_q && a.channel.ready_q == b.channel.ready_q \
   && a.channel.data_q == b.channel.data_q)

  always_ff @(posedge clk_i) begin
    if (age_q >= 2'd2) begin
      GatesAgree_A :
      assert (a.u_ctrl_open.sync_q == b.u_ctrl_open.sync_q && a.u_mem_open.sync_q == b.u_mem_open.sync_q
              && a.u_irq_open.sync_q == b.u_irq_open.sync_q && ctrl_open[0] == ctrl_open[1]
              && mem_open[0] == mem_open[1] && irq_open[0] == irq_open[1]);
      ControlAgrees_A :
      assert (`SAME_STAGE(u_ctrl.u_aw) && `SAME_STAGE(u_ctrl.u_w) && `SAME_STAGE(u_ctrl.u_b)
              && `SAME_STAGE(u_ctrl.u_ar) && `SAME_STAGE(u_ctrl.u_r));
      MemoryAgrees_A :
      assert (`SAME(u_mem.u_aw) && `SAME(u_mem.u_w) && `SAME(u_mem.u_b) && `SAME(u_mem.u_ar) && `SAME(u_mem.u_r));
      InterruptAgrees_A : assert (irq[0] == irq[1]);
    end
  end

  // A closed gate's registers are empty.
`define EMPTY(channel) \
  (!a.channel.valid_q && !a.channel.spare_valid_q && !a.channel.ready_q && a.channel.data_q == '0)

`define EMPTY_STAGE(channel) (!a.channel.valid_q && !a.channel.ready_q && a.channel.data_q == '0)

  always_ff @(posedge clk_i) begin
    if (age_q >= 2'd2) begin
      if (!ctrl_open[0]) begin
        ClosedControlIsEmpty_A :
        assert (`EMPTY_STAGE(u_ctrl.u_aw) && `EMPTY_STAGE(u_ctrl.u_w) && `EMPTY_STAGE(u_ctrl.u_b)
                && `EMPTY_STAGE(u_ctrl.u_ar) && `EMPTY_STAGE(u_ctrl.u_r));
      end
      if (!mem_open[0]) begin
        ClosedMemoryIsEmpty_A :
        assert (`EMPTY(u_mem.u_aw) && `EMPTY(u_mem.u_w) && `EMPTY(u_mem.u_b) && `EMPTY(u_mem.u_ar)
                && `EMPTY(u_mem.u_r));
      end
    end
  end

endmodule
