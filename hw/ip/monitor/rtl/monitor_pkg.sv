// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Types that the parts of the monitor share.
package monitor_pkg;

  import eddy_pkg::*;

  /// Counters of a context, in the order of their words; 0 is the shell's time.
  typedef enum logic [3:0] {
    ReadBytes = 4'd1,
    WriteBytes,
    ReadRequests,
    WriteRequests,
    RowHits,
    RowMisses,
    ReadStalls,
    WriteStalls,
    TokenStalls
  } counter_e;

  /// Cycles with an event after which the recent counts are added to the totals. A walk is under way for 577 cycles at
  /// most, so that recent counts never hold more than a few cycles above this.
  localparam int unsigned DrainAfter = 896;
  localparam int unsigned RecentWidth = 10;
  /// The same before what was kept is collected once more, which takes 290 cycles at most.
  localparam int unsigned KeepBelow = 640;
  /// A request moves at most 256 beats, a power of two of bytes.
  localparam int unsigned RecentBytesWidth = RecentWidth + BurstBytesWidth - 1;

  typedef logic [ContextWidth-1:0] context_t;
  typedef logic [RecentWidth-1:0] recent_t;

  /// Counted in one cycle: a request, if `admit`, and the waits.
  typedef struct packed {
    logic            admit;
    logic            write;
    context_t        owner;
    logic [BurstBytesWidth-1:0] bytes;
    logic     [ 2:0] stalls;
    context_t [ 2:0] stall_owners;
  } monitor_event_t;

  /// Recent counts of the requests of one context.
  typedef struct packed {
    logic [RecentBytesWidth-1:0] read_bytes;
    logic [RecentBytesWidth-1:0] write_bytes;
    recent_t read_requests;
    recent_t write_requests;
    recent_t row_hits;
  } recent_requests_t;

endpackage
