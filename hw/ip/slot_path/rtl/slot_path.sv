// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Everything between one slot and the shared parts of the shell: its control bank and its two paths.
///
/// From the slot outwards: decoupler and clock crossing on the slot's clock, reset together with their shell's side;
/// firewall, regulator, monitor, burst buffer and burst split on the shell's.
module slot_path
  import eddy_pkg::*;
  import firewall_pkg::*;
#(
  /// Bursts of the slot that may be under way in each direction: a power of two.
  parameter int unsigned MaxOutstanding = 8
) (
  input  logic         clk_i,
  /// Synchronous reset, active low.
  input  logic         rst_ni,
  input  logic  [63:0] cycles_i,

  /// Register accesses: to the control bank, and to the module.
  input  logic         bank_sel_i,
  input  logic         module_sel_i,
  input  logic         write_i,
  input  logic  [15:0] addr_i,
  input  logic  [ 2:0] prot_i,
  input  logic  [31:0] wdata_i,
  input  logic  [ 3:0] wstrb_i,
  output logic         bank_ack_o,
  output logic         bank_err_o,
  output logic  [31:0] bank_rdata_o,
  output logic         module_ack_o,
  output logic         module_fail_o,
  output logic  [31:0] module_rdata_o,

  /// Levels for the interrupt controller.
  output logic         irq_o,
  output logic         fault_irq_o,

  /// Toward memory; never stalled by the slot.
  output axi_req_t     mem_req_o,
  input  axi_rsp_t     mem_rsp_i,

  /// The slot.
  input  logic         slot_clk_i,
  output logic         slot_rst_no,
  output lite_req_t    slot_ctrl_req_o,
  input  lite_rsp_t    slot_ctrl_rsp_i,
  input  axi_req_t     slot_mem_req_i,
  output axi_rsp_t     slot_mem_rsp_o,
  input  logic         slot_irq_i,

  /// For a simulator; not to be used in hardware. Where an edge of each clock has changed nothing, further edges change
  /// nothing while this is low and the slot's inputs stay as they are, whatever the other inputs do.
  output logic         wake_o
);

  /// Non-secure data, unprivileged: AxPROT of whatever a slot asks of memory.
  localparam logic [2:0] ProtData = 3'b010;

  // Settings and reports of the control bank.
  logic run, open_control, open_memory, open_interrupt, fence, quiesce, revoke, slverr, fault_clear, regulate;
  logic [15:0] control_timeout, memory_timeout;
  logic windows_ready, window_sel;
  logic [3:0] window_index;
  logic [1:0] window_word;
  logic [31:0] window_rdata;
  logic [23:0] rate;
  logic [19:0] burst;
  logic control_idle, memory_idle, memory_drained, isolated;
  fault_t fault;
  logic path_rst_n, far_rst_n, slot_rst_q;

  // States of the decoupler's gates, synchronised to the shell's clock.
  logic far_control_open, far_memory_open, control_open, memory_open, far_irq, irq;

  // Monitor.
  logic [5:0] bank_shift, row_shift;
  logic [2:0] bank_bits;
  logic bank_held;
  logic [4:0][27:0] bank_hash;
  logic snapshot, snapshot_clear, snapshot_keep, counter_sel, monitor_busy;
  logic [4:0] snapshot_context, counter_word;
  logic [31:0] counter_rdata;
  logic admit, admit_write, read_stall, write_stall, token_stall, token_stall_write;
  logic [AddrWidth-1:0] admit_addr;
  logic [ContextWidth-1:0] admit_context;
  logic [BurstBytesWidth-1:0] admit_bytes;

  // Control path: bridge, firewall, crossing, decoupler. Memory path the other way.
  lite_req_t cpu_req, guarded_req, crossed_req;
  lite_rsp_t cpu_rsp, guarded_rsp, crossed_rsp;
  axi_req_t plain_req, gate_req, shell_req, checked_req, regulated_req, ready_req;
  axi_rsp_t gate_rsp, shell_rsp, checked_rsp, regulated_rsp, ready_rsp;

  slot_ctrl u_slot_ctrl (
    .clk_i,
    .rst_ni,
    .sel_i(bank_sel_i),
    .write_i,
    .addr_i,
    .wdata_i,
    .wstrb_i,
    .ack_o(bank_ack_o),
    .err_o(bank_err_o),
    .rdata_o(bank_rdata_o),
    .held_o(bank_held),
    .run_o(run),
    .open_control_o(open_control),
    .open_memory_o(open_memory),
    .open_interrupt_o(open_interrupt),
    .fence_o(fence),
    .quiesce_o(quiesce),
    .revoke_o(revoke),
    .slverr_o(slverr),
    .fault_clear_o(fault_clear),
    .control_timeout_o(control_timeout),
    .memory_timeout_o(memory_timeout),
    .windows_ready_i(windows_ready),
    .window_sel_o(window_sel),
    .window_index_o(window_index),
    .window_word_o(window_word),
    .window_rdata_i(window_rdata),
    .regulate_o(regulate),
    .rate_o(rate),
    .burst_o(burst),
    .control_open_i(control_open),
    .memory_open_i(memory_open),
    .path_rst_ni(path_rst_n),
    .control_idle_i(control_idle),
    .memory_idle_i(memory_idle),
    .memory_drained_i(memory_drained),
    .isolated_i(isolated),
    .interrupt_i(irq_o),
    .fault_i(fault),
    .slot_clk_i,
    .fault_irq_o,
    .bank_shift_o(bank_shift),
    .bank_bits_o(bank_bits),
    .row_shift_o(row_shift),
    .bank_hash_o(bank_hash),
    .snapshot_o(snapshot),
    .snapshot_context_o(snapshot_context),
    .snapshot_clear_o(snapshot_clear),
    .snapshot_keep_o(snapshot_keep),
    .counter_word_o(counter_word),
    .counter_sel_o(counter_sel),
    .counter_rdata_i(counter_rdata),
    .monitor_busy_i(monitor_busy)
  );

  // The module's reset is the path's own on the slot's clock, so neither ever runs without the other.
  reset_pair u_reset (
    .clk_i,
    .rst_ni,
    .clear_i(!run),
    .rst_no(path_rst_n),
    .far_clk_i(slot_clk_i),
    .far_rst_no(far_rst_n)
  );

  always_ff @(posedge slot_clk_i) slot_rst_q <= far_rst_n;

  assign slot_rst_no = slot_rst_q;

  ctrl_bridge u_bridge (
    .clk_i,
    .rst_ni,
    .fence_i(fence),
    .slverr_i(slverr),
    .sel_i(module_sel_i),
    .write_i,
    .addr_i,
    .prot_i,
    .wdata_i,
    .wstrb_i,
    .ack_o(module_ack_o),
    .fail_o(module_fail_o),
    .rdata_o(module_rdata_o),
    .req_o(cpu_req),
    .rsp_i(cpu_rsp)
  );

  firewall #(
    .MaxOutstanding(MaxOutstanding)
  ) u_firewall (
    .clk_i,
    .rst_ni,
    .path_rst_ni(path_rst_n),
    .ctrl_open_i(open_control),
    .mem_open_i(open_memory),
    .quiesce_i(quiesce),
    .slverr_i(slverr),
    .clear_i(fault_clear),
    .ctrl_timeout_i(control_timeout),
    .mem_timeout_i(memory_timeout),
    .windows_ready_o(windows_ready),
    .window_sel_i(window_sel),
    .window_write_i(write_i),
    .window_index_i(window_index),
    .window_word_i(window_word),
    .window_wdata_i(wdata_i),
    .window_rdata_o(window_rdata),
    .revoke_i(revoke),
    .ctrl_idle_o(control_idle),
    .mem_idle_o(memory_idle),
    .mem_drained_o(memory_drained),
    .isolated_o(isolated),
    .fault_o(fault),
    .cpu_req_i(cpu_req),
    .cpu_rsp_o(cpu_rsp),
    .slot_ctrl_req_o(guarded_req),
    .slot_ctrl_rsp_i(guarded_rsp),
    .slot_mem_req_i(shell_req),
    .slot_mem_rsp_o(shell_rsp),
    .mem_req_o(checked_req),
    .mem_rsp_i(checked_rsp)
  );

  // One access of each direction is under way at a time.
  axil_cdc #(
    .Depth(1)
  ) u_ctrl_cdc (
    .src_clk_i(clk_i),
    .src_rst_ni(path_rst_n),
    .src_req_i(guarded_req),
    .src_rsp_o(guarded_rsp),
    .dst_clk_i(slot_clk_i),
    .dst_rst_ni(far_rst_n),
    .dst_req_o(crossed_req),
    .dst_rsp_i(crossed_rsp)
  );

  axi_cdc u_mem_cdc (
    .src_clk_i(slot_clk_i),
    .src_rst_ni(far_rst_n),
    .src_req_i(gate_req),
    .src_rsp_o(gate_rsp),
    .dst_clk_i(clk_i),
    .dst_rst_ni(path_rst_n),
    .dst_req_o(shell_req),
    .dst_rsp_i(shell_rsp)
  );

  // AxPROT, AxCACHE and AxQOS of a module do not pass.
  always_comb begin
    plain_req = slot_mem_req_i;
    plain_req.aw.prot = ProtData;
    plain_req.aw.qos = '0;
    plain_req.ar.prot = ProtData;
    plain_req.ar.qos = '0;
  end

  decoupler u_decoupler (
    .clk_i(slot_clk_i),
    .rst_ni(far_rst_n),
    .ctrl_open_i(open_control),
    .mem_open_i(open_memory),
    .irq_open_i(open_interrupt),
    .ctrl_open_o(far_control_open),
    .mem_open_o(far_memory_open),
    // Software cannot act on it: the interrupt is gated on this side as well.
    .irq_open_o(),
    .ctrl_req_i(crossed_req),
    .ctrl_rsp_o(crossed_rsp),
    .slot_ctrl_req_o,
    .slot_ctrl_rsp_i,
    .slot_mem_req_i(plain_req),
    .slot_mem_rsp_o,
    .mem_req_o(gate_req),
    .mem_rsp_i(gate_rsp),
    .slot_irq_i,
    .irq_o(far_irq)
  );

  sync_bit u_control_open (
    .clk_i,
    .d_i(far_control_open),
    .q_o(control_open)
  );

  sync_bit u_memory_open (
    .clk_i,
    .d_i(far_memory_open),
    .q_o(memory_open)
  );

  sync_bit u_irq (
    .clk_i,
    .d_i(far_irq),
    .q_o(irq)
  );

  assign wake_o = !rst_ni || bank_sel_i || bank_held || module_sel_i || mem_req_o.aw_valid || mem_req_o.w_valid || mem_req_o.ar_valid
      || mem_rsp_i.b_valid || mem_rsp_i.r_valid;

  // A slot whose clock stopped cannot lower its interrupt; software can.
  assign irq_o = irq && open_interrupt && path_rst_n;

  regulator u_regulator (
    .clk_i,
    .rst_ni,
    .enable_i(regulate),
    .rate_i(rate),
    .burst_i(burst),
    .req_i(checked_req),
    .rsp_o(checked_rsp),
    .req_o(regulated_req),
    .rsp_i(regulated_rsp),
    .admit_o(admit),
    .admit_write_o(admit_write),
    .admit_addr_o(admit_addr),
    .admit_context_o(admit_context),
    .admit_bytes_o(admit_bytes),
    .read_stall_o(read_stall),
    .write_stall_o(write_stall),
    .token_stall_o(token_stall),
    .token_stall_write_o(token_stall_write)
  );

  monitor u_monitor (
    .clk_i,
    .rst_ni,
    .bank_shift_i(bank_shift),
    .bank_bits_i(bank_bits),
    .row_shift_i(row_shift),
    .bank_hash_i(bank_hash),
    .admit_i(admit),
    .admit_write_i(admit_write),
    .admit_addr_i(admit_addr),
    .admit_context_i(admit_context),
    .admit_bytes_i(admit_bytes),
    .read_stall_i(read_stall),
    .read_context_i(checked_req.ar.user),
    .write_stall_i(write_stall),
    .write_context_i(checked_req.aw.user),
    .token_stall_i(token_stall),
    .token_context_i(token_stall_write ? checked_req.aw.user : checked_req.ar.user),
    .cycles_i,
    .snapshot_i(snapshot),
    .snapshot_context_i(snapshot_context),
    .clear_i(snapshot_clear),
    .keep_i(snapshot_keep),
    .busy_o(monitor_busy),
    .word_sel_i(counter_sel),
    .word_i(counter_word),
    .word_o(counter_rdata)
  );

  burst_buffer #(
    .MaxOutstanding(MaxOutstanding)
  ) u_buffer (
    .clk_i,
    .rst_ni,
    .req_i(regulated_req),
    .rsp_o(regulated_rsp),
    .req_o(ready_req),
    .rsp_i(ready_rsp)
  );

  burst_split u_split (
    .clk_i,
    .rst_ni,
    .req_i(ready_req),
    .rsp_o(ready_rsp),
    .req_o(mem_req_o),
    .rsp_i(mem_rsp_i)
  );

endmodule
