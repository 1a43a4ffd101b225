// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Recent counts of each context, narrow, in distributed RAM of two halves: one counts, the other stands still.
///
/// Each cycle's events are added to the half that counts. A pulse on `swap_i` changes the halves: from the next cycle on
/// counting starts at zero in the other one, and what was counted up to then stands still until the next swap.
module monitor_recent
  import eddy_pkg::*;
  import monitor_pkg::*;
(
  input  logic             clk_i,
  /// Synchronous reset, active low.
  input  logic             rst_ni,
  input  monitor_event_t   event_i,
  /// The request hits the row that was open.
  input  logic             hit_i,
  input  logic             swap_i,
  /// Counts of a context in the half at rest: its requests, and its waits.
  input  context_t         context_i,
  output recent_requests_t requests_o,
  output recent_t [2:0]    stalls_o
);

  localparam int unsigned NumContexts = 1 << ContextWidth;
  typedef logic [NumContexts-1:0] contexts_t;

  logic half_q;
  // Contexts that have counted since the last swap, and before it: what the memories hold of others is stale.
  contexts_t admitted_q, admitted_before_q, admitting;
  contexts_t [2:0] stalled_q, stalled_before_q, stalling;

  recent_requests_t requests_q [2*NumContexts];
  recent_requests_t old, sum;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) half_q <= 1'b0;
    else if (swap_i) half_q <= !half_q;
  end

  assign admitting = event_i.admit ? contexts_t'(1) << event_i.owner : '0;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      admitted_q <= '0;
      admitted_before_q <= '0;
    end else if (swap_i) begin
      admitted_q <= '0;
      admitted_before_q <= admitted_q | admitting;
    end else begin
      admitted_q <= admitted_q | admitting;
    end
  end

  always_comb begin
    old = 'x;
    sum = 'x;
    if (event_i.admit) begin
      old = admitted_q[event_i.owner] ? requests_q[{half_q, event_i.owner}] : '0;
      sum.read_bytes = old.read_bytes + (event_i.write ? '0 : RecentBytesWidth'(event_i.bytes));
      sum.write_bytes = old.write_bytes + (event_i.write ? RecentBytesWidth'(event_i.bytes) : '0);
      sum.read_requests = old.read_requests + recent_t'(!event_i.write);
      sum.write_requests = old.write_requests + recent_t'(event_i.write);
      sum.row_hits = old.row_hits + recent_t'(hit_i);
    end
  end

  always_ff @(posedge clk_i) begin
    if (event_i.admit) requests_q[{half_q, event_i.owner}] <= sum;
  end

  assign requests_o = admitted_before_q[context_i] ? requests_q[{!half_q, context_i}] : '0;

  for (genvar i = 0; i < 3; i++) begin : gen_stalls
    recent_t stalls_q [2*NumContexts];
    context_t owner;

    assign owner = event_i.stall_owners[i];
    assign stalling[i] = event_i.stalls[i] ? contexts_t'(1) << owner : '0;

    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        stalled_q[i] <= '0;
        stalled_before_q[i] <= '0;
      end else if (swap_i) begin
        stalled_q[i] <= '0;
        stalled_before_q[i] <= stalled_q[i] | stalling[i];
      end else begin
        stalled_q[i] <= stalled_q[i] | stalling[i];
      end
    end

    always_ff @(posedge clk_i) begin
      if (event_i.stalls[i]) begin
        stalls_q[{half_q, owner}] <= (stalled_q[i][owner] ? stalls_q[{half_q, owner}] : '0) + recent_t'(1);
      end
    end

    assign stalls_o[i] = stalled_before_q[i][context_i] ? stalls_q[{!half_q, context_i}] : '0;
  end

endmodule
