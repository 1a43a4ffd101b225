// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
`include "clock_when.svh"

/// The port of a data cache: the request that is there, and one that waits, so that whether one is accepted comes from a register.
///
/// The one that waits is offered first. Atomic accesses always wait first: what only they carry is kept here until they end.
module gpu_dcache_port
  import gpu_pkg::*;
#(
  parameter int unsigned Threads = 4,
  parameter int unsigned TagWidth = 12,
  parameter int unsigned Banks = 4,
  parameter int unsigned PartWidth = 2
) (
  input  logic                     clk_i,
  /// Something here may change: a simulation looks at no clock without it.
  input  logic                     awake_i,
  /// Synchronous reset, active low.
  input  logic                     rst_ni,
  input  logic                     req_valid_i,
  output logic                     req_ready_o,
  input  logic                     req_store_i,
  input  logic                     req_fence_i,
  input  logic                     req_amo_i,
  input  logic [4:0]               req_amo_op_i,
  input  logic                     req_acquire_i,
  input  logic                     req_release_i,
  input  logic [31:0]              req_compare_i [Threads],
  input  logic [2:0]               req_size_i,
  input  logic [Threads-1:0]       req_mask_i,
  input  logic [TagWidth-1:0]      req_tag_i,
  input  logic [31:0]              req_addr_i [Threads],
  input  logic [31:0]              req_data_i [Threads],

  /// A request is offered; it is taken now. Of one that is not there the rest means nothing.
  output logic                     valid_o,
  input  logic                     take_i,
  output logic                     store_o,
  output logic                     fence_o,
  output logic                     amo_o,
  output logic [2:0]               size_o,
  output logic [Threads-1:0]       mask_o,
  output logic [TagWidth-1:0]      tag_o,
  output logic [Threads-1:0][31:0] addr_o,
  output logic [Threads-1:0][31:0] data_o,
  /// The line of its lowest lane, and of each bank the part where the lowest lane that wants something of the bank finds it.
  output logic [31:LineOffset]     line_o,
  output logic [Banks-1:0][PartWidth-1:0] parts_o,
  // Of the last atomic access
  output logic [4:0]               amo_op_o,
  output logic                     acquire_o,
  output logic                     release_o,
  output logic [31:0]              compare_o [Threads]
);

  typedef struct packed {
    logic                     store;
    logic                     fence;
    logic                     amo;
    logic [2:0]               size;
    logic [Threads-1:0]       mask;
    logic [TagWidth-1:0]      tag;
    logic [Threads-1:0][31:0] addr;
    logic [Threads-1:0][31:0] data;
  } request_t;

  localparam int unsigned LaneWidth = (Threads > 1) ? $clog2(Threads) : 1;

  request_t waiting_q, offered, request;
  logic waits_q;

  always_comb begin
    // Without a request it is anything: synthesis puts no gates in the way.
    offered = 'x;
    if (req_valid_i) begin
      offered.store = req_store_i;
      offered.fence = req_fence_i;
      offered.amo = req_amo_i;
      offered.size = req_size_i;
      offered.mask = req_mask_i;
      offered.tag = req_tag_i;
      for (int t = 0; t < int'(Threads); t++) begin
        offered.addr[t] = req_addr_i[t];
        offered.data[t] = req_data_i[t];
      end
    end
  end

  assign request = waits_q ? waiting_q : offered;
  assign req_ready_o = !waits_q;
  assign valid_o = waits_q || (req_valid_i && !req_amo_i);
  assign store_o = request.store;
  assign fence_o = request.fence;
  assign amo_o = request.amo;
  assign size_o = request.size;
  assign mask_o = request.mask;
  assign tag_o = request.tag;
  assign addr_o = request.addr;
  assign data_o = request.data;

  // The lane is known before the addresses.
  logic [LaneWidth-1:0] first;

  always_comb begin
    first = '0;
    line_o = 'x;
    parts_o = 'x;
    if (valid_o) begin
      for (int t = int'(Threads) - 1; t >= 0; t--) if (request.mask[t]) first = LaneWidth'(t);
      line_o = request.addr[first][31:LineOffset];
      for (int b = 0; b < int'(Banks); b++) begin
        parts_o[b] = '0;
        for (int t = int'(Threads) - 1; t >= 0; t--) begin
          if (request.mask[t] && gpu_lines_pkg::bank_of(request.addr[t][5:2], Banks) == 4'(b)) begin
            parts_o[b] = PartWidth'(gpu_lines_pkg::part_of(request.addr[t][5:2], Banks));
          end
        end
      end
    end
  end

  always_ff @(`EDDY_RISES(clk_i, awake_i)) begin
    if (!rst_ni) waits_q <= 1'b0;
    else if (waits_q ? take_i : req_valid_i) waits_q <= !waits_q && !take_i;
  end

  always_ff @(`EDDY_RISES(clk_i, awake_i)) begin
    if (req_valid_i && !waits_q && !take_i) waiting_q <= offered;
    if (req_valid_i && !waits_q && req_amo_i) begin
      amo_op_o <= req_amo_op_i;
      acquire_o <= req_acquire_i;
      release_o <= req_release_i;
      for (int t = 0; t < int'(Threads); t++) compare_o[t] <= req_compare_i[t];
    end
  end

`ifndef SYNTHESIS
  NobodyIsOvertaken_A : assert property (@(posedge clk_i) disable iff (!rst_ni) waits_q && !take_i |=> waits_q && $stable(waiting_q));
  AtomicAccessesWait_A : assert property (@(posedge clk_i) disable iff (!rst_ni) take_i && amo_o |-> waits_q);
`endif

endmodule
