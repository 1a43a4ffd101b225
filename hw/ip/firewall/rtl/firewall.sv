// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Guards one slot, on the shell's clock: the CPU against a module that does not answer, memory against a module that
/// reaches where it may not, breaks the protocol, or stops halfway.
///
/// Promises, for whatever the slot drives:
/// - every request of the CPU is answered, at most `ctrl_timeout_i` + 6 cycles after it is complete;
/// - no byte outside an enabled window of the request's context is read or written;
/// - every burst given to memory is finished: write data that does not come is made up with strobes low, responses that
///   are not taken are dropped; the slot can hold one burst up for `mem_timeout_i` cycles in all.
/// The first thing that goes wrong is kept in `fault_o`, from the second cycle after it on, until `clear_i`.
///
/// See `firewall_ctrl` and `firewall_mem` for what happens in each case. Settings are levels from flops on `clk_i`;
/// timeouts may change while the path they belong to is idle, windows at any time: what was admitted goes on.
module firewall
  import eddy_pkg::*;
  import firewall_pkg::*;
#(
  /// Windows of the slot, shared by its contexts.
  parameter int unsigned NumWindows = 16,
  /// Bursts in flight toward memory, for reads and for writes each; a power of two.
  parameter int unsigned MaxOutstanding = 8,
  /// Bits of the two timeouts.
  parameter int unsigned TimeoutWidth = 16
) (
  input logic clk_i,
  /// Synchronous reset, active low.
  input logic rst_ni,
  /// Reset of the path to the slot, on this clock (`reset_pair`): nothing comes from the slot any more.
  input logic path_rst_ni,

  /// The control path is open: requests go to the slot. Closed: answered at once.
  input logic                         ctrl_open_i,
  /// The memory path is open. Closed: what is in flight is finished without the slot, new requests wait.
  input logic                         mem_open_i,
  /// New requests of the slot wait; what is in flight goes on.
  input logic                         quiesce_i,
  /// Answer failed register accesses SLVERR; else OKAY, since a bus error stops an ARM core.
  input logic                         slverr_i,
  /// Forget the fault and end the isolation. Pulse it while the path is in reset: the slot's streams are out of step.
  input logic                         clear_i,
  /// Cycles a register access may take, and cycles the slot may hold up one burst; 0 counts as 1.
  input logic    [  TimeoutWidth-1:0] ctrl_timeout_i,
  input logic    [  TimeoutWidth-1:0] mem_timeout_i,
  /// The table of windows: software's access, while it is ready (`firewall_windows`).
  output logic                        windows_ready_o,
  input  logic                        window_sel_i,
  input  logic                        window_write_i,
  input  logic [$clog2(NumWindows)-1:0] window_index_i,
  input  logic [                 1:0] window_word_i,
  input  logic [                31:0] window_wdata_i,
  output logic [                31:0] window_rdata_o,
  /// Refuse every new burst, whatever the windows say.
  input logic                         revoke_i,

  /// No register access is under way, late answers included.
  output logic   ctrl_idle_o,
  /// No burst is under way.
  output logic   mem_idle_o,
  /// No burst that went to memory is under way. Seen with `revoke_i` set or every window closed, it stays so.
  output logic   mem_drained_o,
  /// The memory path is blocked after a fault that leaves the slot's streams out of step.
  output logic   isolated_o,
  /// The first fault; `cause` is `CauseNone` where there was none.
  output fault_t fault_o,

  /// Control path, from the CPU.
  input  lite_req_t cpu_req_i,
  output lite_rsp_t cpu_rsp_o,
  /// Control path, to the slot.
  output lite_req_t slot_ctrl_req_o,
  input  lite_rsp_t slot_ctrl_rsp_i,

  /// Memory path, from the slot.
  input  axi_req_t slot_mem_req_i,
  output axi_rsp_t slot_mem_rsp_o,
  /// Memory path, to memory.
  output axi_req_t mem_req_o,
  input  axi_rsp_t mem_rsp_i
);

  fault_t ctrl_fault, mem_fault;
  lookup_req_t read_lookup_req, write_lookup_req;
  lookup_rsp_t read_lookup_rsp, write_lookup_rsp;

  firewall_ctrl #(
    .TimeoutWidth(TimeoutWidth)
  ) u_ctrl (
    .clk_i,
    .rst_ni,
    .path_rst_ni,
    .open_i(ctrl_open_i),
    .slverr_i,
    .timeout_i(ctrl_timeout_i),
    .idle_o(ctrl_idle_o),
    .fault_o(ctrl_fault),
    .cpu_req_i,
    .cpu_rsp_o,
    .slot_req_o(slot_ctrl_req_o),
    .slot_rsp_i(slot_ctrl_rsp_i)
  );

  firewall_windows #(
    .NumWindows(NumWindows)
  ) u_windows (
    .clk_i,
    .rst_ni,
    .ready_o(windows_ready_o),
    .sel_i(window_sel_i),
    .write_i(window_write_i),
    .index_i(window_index_i),
    .word_i(window_word_i),
    .wdata_i(window_wdata_i),
    .rdata_o(window_rdata_o),
    .read_req_i(read_lookup_req),
    .read_rsp_o(read_lookup_rsp),
    .write_req_i(write_lookup_req),
    .write_rsp_o(write_lookup_rsp)
  );

  firewall_mem #(
    .MaxOutstanding(MaxOutstanding),
    .TimeoutWidth(TimeoutWidth)
  ) u_mem (
    .clk_i,
    .rst_ni,
    .path_rst_ni,
    .open_i(mem_open_i),
    .quiesce_i,
    .clear_i,
    .timeout_i(mem_timeout_i),
    .read_lookup_o(read_lookup_req),
    .read_lookup_i(read_lookup_rsp),
    .write_lookup_o(write_lookup_req),
    .write_lookup_i(write_lookup_rsp),
    .revoke_i,
    .idle_o(mem_idle_o),
    .drained_o(mem_drained_o),
    .isolated_o,
    .fault_o(mem_fault),
    .slot_req_i(slot_mem_req_i),
    .slot_rsp_o(slot_mem_rsp_o),
    .mem_req_o,
    .mem_rsp_i
  );

  firewall_fault u_fault (
    .clk_i,
    .rst_ni,
    .clear_i,
    .first_i(mem_fault),
    .second_i(ctrl_fault),
    .fault_o
  );

endmodule
