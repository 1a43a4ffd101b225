// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The last thing between the static region and a slot: three gates on the slot's clock, closed out of reset.
///
/// A gate (control path, memory path, interrupt) follows its `_open_i` after the synchroniser, two to three cycles late.
/// While it is closed nothing from the slot crosses: no valid, no ready, no interrupt, whatever the slot drives; and the
/// slot sees an idle bus: every valid and ready low, every payload zero. Toward the slot and toward the fabric every
/// output is a flop. A channel of the control path takes a word every other cycle at most.
///
/// Traffic in flight when a gate closes: words inside the decoupler are dropped, handshakes already done stay done, and
/// nothing tells either side. So a gate is closed once the firewall reports the path idle, or by force, and then the
/// firewall answers the CPU and finishes the bursts toward memory, and the path is reset before it opens again.
/// Requests of the CPU that arrive at a closed gate wait in front of it.
module decoupler
  import eddy_pkg::*;
(
  /// The slot's clock.
  input logic clk_i,
  /// Synchronous reset, active low; closes all gates. The path's reset on the slot's clock (see `reset_pair`).
  input logic rst_ni,

  /// Levels from flops of any clock.
  input  logic ctrl_open_i,
  input  logic mem_open_i,
  input  logic irq_open_i,
  /// What the gates are, flops on `clk_i`.
  output logic ctrl_open_o,
  output logic mem_open_o,
  output logic irq_open_o,

  /// Control path, from the fabric.
  input  lite_req_t ctrl_req_i,
  output lite_rsp_t ctrl_rsp_o,
  /// Control path, to the slot.
  output lite_req_t slot_ctrl_req_o,
  input  lite_rsp_t slot_ctrl_rsp_i,

  /// Memory path, from the slot.
  input  axi_req_t slot_mem_req_i,
  output axi_rsp_t slot_mem_rsp_o,
  /// Memory path, to the fabric.
  output axi_req_t mem_req_o,
  input  axi_rsp_t mem_rsp_i,

  input  logic slot_irq_i,
  output logic irq_o
);

  logic ctrl_open, mem_open, irq_open;
  logic ctrl_open_q, mem_open_q, irq_open_q, irq_q;

  sync_bit u_ctrl_open (
    .clk_i,
    .d_i(ctrl_open_i),
    .q_o(ctrl_open)
  );

  sync_bit u_mem_open (
    .clk_i,
    .d_i(mem_open_i),
    .q_o(mem_open)
  );

  sync_bit u_irq_open (
    .clk_i,
    .d_i(irq_open_i),
    .q_o(irq_open)
  );

  // A closed gate is a channel register held in reset, so there is no second mechanism that could disagree with the
  // first. The gate's own flop falls in the same cycle as the registers behind it.
  always_ff @(posedge clk_i) begin
    ctrl_open_q <= ctrl_open && rst_ni;
    mem_open_q <= mem_open && rst_ni;
    irq_open_q <= irq_open && rst_ni;
    irq_q <= slot_irq_i && irq_open && rst_ni;
  end

  axil_stage u_ctrl (
    .clk_i,
    .rst_ni(ctrl_open && rst_ni),
    .req_i(ctrl_req_i),
    .rsp_o(ctrl_rsp_o),
    .req_o(slot_ctrl_req_o),
    .rsp_i(slot_ctrl_rsp_i)
  );

  axi_skid u_mem (
    .clk_i,
    .rst_ni(mem_open && rst_ni),
    .req_i(slot_mem_req_i),
    .rsp_o(slot_mem_rsp_o),
    .req_o(mem_req_o),
    .rsp_i(mem_rsp_i)
  );

  assign ctrl_open_o = ctrl_open_q;
  assign mem_open_o = mem_open_q;
  assign irq_open_o = irq_open_q;
  assign irq_o = irq_q;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && !ctrl_open_q) begin
      ClosedControlIsIdle_A :
      assert (slot_ctrl_req_o == '0 && ctrl_rsp_o == '0)
      else $error("decoupler: something crosses the closed control gate");
    end
    if (rst_ni && !mem_open_q) begin
      ClosedMemoryIsIdle_A :
      assert (mem_req_o == '0 && slot_mem_rsp_o == '0)
      else $error("decoupler: something crosses the closed memory gate");
    end
    if (rst_ni && !irq_open_q) begin
      ClosedInterruptIsLow_A :
      assert (!irq_o)
      else $error("decoupler: an interrupt crosses the closed gate");
    end
  end
`endif

endmodule
