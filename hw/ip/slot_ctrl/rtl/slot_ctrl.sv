// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// One slot's control bank: settings by software, and status of the slot.
///
/// Out of reset everything is closed and the path is held in reset. The cause register keeps the first fault of the
/// firewall, and a lost clock beside it; which came first is in FIRST_FAULT. An access to the monitor's snapshot waits until
/// the one asked for before it is there, one to the windows until all were closed out of reset.
module slot_ctrl
  import firewall_pkg::*;
(
  input  logic                  clk_i,
  /// Synchronous reset, active low.
  input  logic                  rst_ni,

  input  logic                  sel_i,
  input  logic                  write_i,
  input  logic    [       15:0] addr_i,
  input  logic    [       31:0] wdata_i,
  input  logic    [        3:0] wstrb_i,
  output logic                  ack_o,
  output logic                  err_o,
  output logic    [       31:0] rdata_o,
  /// An access waits.
  output logic                  held_o,

  /// Settings of the path.
  output logic                  run_o,
  output logic                  open_control_o,
  output logic                  open_memory_o,
  output logic                  open_interrupt_o,
  output logic                  fence_o,
  output logic                  quiesce_o,
  output logic                  revoke_o,
  output logic                  slverr_o,
  output logic                  fault_clear_o,
  output logic    [       15:0] control_timeout_o,
  output logic    [       15:0] memory_timeout_o,
  /// The firewall's table of windows: an access; write and data are those of the bus.
  input  logic                  windows_ready_i,
  output logic                  window_sel_o,
  output logic    [        3:0] window_index_o,
  output logic    [        1:0] window_word_o,
  input  logic    [       31:0] window_rdata_i,
  output logic                  regulate_o,
  output logic    [       23:0] rate_o,
  output logic    [       19:0] burst_o,

  /// What the path reports.
  input  logic                  control_open_i,
  input  logic                  memory_open_i,
  input  logic                  path_rst_ni,
  input  logic                  control_idle_i,
  input  logic                  memory_idle_i,
  input  logic                  memory_drained_i,
  input  logic                  isolated_i,
  input  logic                  interrupt_i,
  input  fault_t                fault_i,
  /// The slot's clock, to see whether it runs.
  input  logic                  slot_clk_i,
  /// Level: a cause is set.
  output logic                  fault_irq_o,

  /// Monitor.
  output logic    [        5:0] bank_shift_o,
  output logic    [        2:0] bank_bits_o,
  output logic    [        5:0] row_shift_o,
  output logic    [  4:0][27:0] bank_hash_o,
  output logic                  snapshot_o,
  output logic    [        4:0] snapshot_context_o,
  output logic                  snapshot_clear_o,
  output logic                  snapshot_keep_o,
  output logic    [        4:0] counter_word_o,
  output logic                  counter_sel_o,
  input  logic    [       31:0] counter_rdata_i,
  input  logic                  monitor_busy_i
);

  if (int'(slot_ctrl_regs_pkg::CauseClockLost) != int'(CauseClockLost)
      || int'(slot_ctrl_regs_pkg::CauseControlTimeout) != int'(CauseControlTimeout)
      || int'(slot_ctrl_regs_pkg::CauseIllegalBurst) != int'(CauseIllegalBurst)) begin : gen_check_causes
    $fatal(1, "slot_ctrl: slot_ctrl.rdl and firewall_pkg number the causes differently");
  end

  logic sel, held_q;
  logic clock_check, clock_busy, clock_alive, clock_lost, clock_told_q, clock_lost_q, clock_first_q;
  logic [15:0] clock_timeout;
  logic [8:1] causes;
  cause_e first_cause;

  // The bus holds a request until it is answered.
  always_comb begin
    sel = sel_i || held_q;
    if (monitor_busy_i && (addr_i == slot_ctrl_regs_pkg::MonitorSnapshotOffset
                           || addr_i[15:9] == slot_ctrl_regs_pkg::CounterLoOffset[15:9])) sel = 1'b0;
    if (!windows_ready_i && addr_i[15:8] == slot_ctrl_regs_pkg::WindowBaseOffset[15:8]) sel = 1'b0;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) held_q <= 1'b0;
    else held_q <= (sel_i || held_q) && !sel;
  end

  assign held_o = held_q;

  slot_ctrl_regs u_regs (
    .clk_i,
    .rst_ni,
    .sel_i(sel),
    .write_i,
    .addr_i,
    .wdata_i,
    .wstrb_i,
    .ack_o,
    .err_o,
    .rdata_o,
    // `window_rdata_i` and `counter_rdata_i` follow the address alone, so the selects are not needed.
    .window_sel_o(),
    .window_rdata_i(window_rdata_i),
    .counter_sel_o(),
    .counter_rdata_i,
    .control_open_control_o(open_control_o),
    .control_open_memory_o(open_memory_o),
    .control_open_interrupt_o(open_interrupt_o),
    .control_run_o(run_o),
    .control_fence_o(fence_o),
    .control_quiesce_o(quiesce_o),
    .control_slverr_o(slverr_o),
    .control_revoke_o(revoke_o),
    .status_control_closed_i(!control_open_i),
    .status_memory_closed_i(!memory_open_i),
    .status_in_reset_i(!path_rst_ni),
    .status_memory_idle_i(memory_idle_i),
    .status_control_idle_i(control_idle_i),
    .status_clock_alive_i(clock_alive),
    .status_clock_busy_i(clock_busy),
    .status_interrupt_i(interrupt_i),
    .status_isolated_i(isolated_i),
    .status_memory_drained_i(memory_drained_i),
    .clock_check_start_o(clock_check),
    .control_timeout_cycles_o(control_timeout_o),
    .memory_timeout_cycles_o(memory_timeout_o),
    .clock_timeout_cycles_o(clock_timeout),
    .fault_clear_clear_o(fault_clear_o),
    .cause_control_timeout_i(causes[CauseControlTimeout]),
    .cause_control_refused_i(causes[CauseControlRefused]),
    .cause_read_outside_window_i(causes[CauseReadOutsideWindow]),
    .cause_write_outside_window_i(causes[CauseWriteOutsideWindow]),
    .cause_illegal_burst_i(causes[CauseIllegalBurst]),
    .cause_write_stalled_i(causes[CauseWriteStalled]),
    .cause_response_stalled_i(causes[CauseResponseStalled]),
    .cause_clock_lost_i(causes[CauseClockLost]),
    .first_fault_cause_i(first_cause),
    .first_fault_memory_context_i(clock_first_q ? '0 : fault_i.context_id),
    .fault_address_lo_address_i(clock_first_q ? '0 : fault_i.addr[31:0]),
    .fault_address_hi_address_i(clock_first_q ? '0 : fault_i.addr[39:32]),
    .regulator_rate_rate_o(rate_o),
    .regulator_rate_enable_o(regulate_o),
    .regulator_burst_bytes_o(burst_o),
    .monitor_geometry_bank_shift_o(bank_shift_o),
    .monitor_geometry_bank_bits_o(bank_bits_o),
    .monitor_geometry_row_shift_o(row_shift_o),
    .monitor_snapshot_memory_context_o(snapshot_context_o),
    .monitor_snapshot_memory_context_swmod_o(snapshot_o),
    .monitor_snapshot_clear_o(snapshot_clear_o),
    .monitor_snapshot_keep_o(snapshot_keep_o),
    .monitor_hash0_address_o(bank_hash_o[0]),
    .monitor_hash1_address_o(bank_hash_o[1]),
    .monitor_hash2_address_o(bank_hash_o[2]),
    .monitor_hash3_address_o(bank_hash_o[3]),
    .monitor_hash4_address_o(bank_hash_o[4])
  );

  assign counter_word_o = 5'(addr_i[6:2]);

  // Windows: 16 bytes each; a word is written whole.
  assign window_sel_o = (sel_i || held_q) && windows_ready_i
      && addr_i[15:8] == slot_ctrl_regs_pkg::WindowBaseOffset[15:8];
  assign counter_sel_o = (sel_i || held_q) && !monitor_busy_i
      && addr_i[15:9] == slot_ctrl_regs_pkg::CounterLoOffset[15:9];
  assign window_index_o = addr_i[7:4];
  assign window_word_o = addr_i[3:2];

  clock_watch u_clock (
    .clk_i,
    .rst_ni,
    .far_clk_i(slot_clk_i),
    .start_i(clock_check),
    .busy_i(run_o && !(control_idle_i && memory_idle_i)),
    .timeout_i(clock_timeout),
    .checking_o(clock_busy),
    .alive_o(clock_alive),
    .lost_o(clock_lost)
  );

  // One cycle later, as the firewall's faults, so that the order of both is known.
  always_ff @(posedge clk_i) begin
    if (!rst_ni || fault_clear_o) clock_told_q <= 1'b0;
    else clock_told_q <= clock_lost;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni || fault_clear_o) begin
      clock_lost_q <= 1'b0;
      clock_first_q <= 1'b0;
    end else if (clock_told_q && !clock_lost_q) begin
      clock_lost_q <= 1'b1;
      clock_first_q <= fault_i.cause == CauseNone;
    end
  end

  assign first_cause = clock_first_q ? CauseClockLost : fault_i.cause;

  always_comb begin
    causes = '0;
    if (fault_i.cause != CauseNone) causes[fault_i.cause] = 1'b1;
    if (clock_lost_q) causes[CauseClockLost] = 1'b1;
  end

  assign fault_irq_o = causes != '0;

endmodule
