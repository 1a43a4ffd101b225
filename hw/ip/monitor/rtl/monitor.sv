// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Counts one slot's memory traffic, per context and in total; a snapshot takes all 64-bit counters at one instant.
///
/// Requests, bytes and rows are counted when a request is admitted; stalls in every cycle a request waits, for the
/// context of that request. A row hit is a request to the row its bank saw last from this slot: the slot's own
/// locality, whoever else uses the bank. Nothing changes in a cycle without an event, once a walk has ended.
///
/// Events are counted in narrow recent counts, of two halves (`monitor_recent`). A walk swaps the halves and adds what
/// stands still to the totals, which lie in one block RAM; that takes 288 cycles and happens after 896 cycles with an
/// event, and for a snapshot, which keeps every total beside the totals; another walk collects from there. So a snapshot
/// is what was counted before one cycle, whose number is its first word: at most 290 cycles after it was asked for; and
/// further contexts can be collected of the same cycle.
///
/// Words of a snapshot, 64 bits each, low word first: cycles (shell time), read bytes, write bytes, read requests, write
/// requests, row hits, row misses, read stall cycles, write stall cycles, regulator stall cycles.
module monitor
  import eddy_pkg::*;
  import monitor_pkg::*;
(
  input  logic                    clk_i,
  /// Synchronous reset, active low; clears every counter. That takes 288 cycles, in which events count.
  input  logic                    rst_ni,

  /// DRAM geometry: a row is the address bits from `row_shift_i` up, its bank `bank_bits_i` bits from `bank_shift_i` up.
  input  logic [             5:0] bank_shift_i,
  input  logic [             2:0] bank_bits_i,
  input  logic [             5:0] row_shift_i,
  /// Of each bit of the bank: the address bits, from bit 12 up, whose parity is added to it.
  input  logic [       4:0][27:0] bank_hash_i,

  /// Pulse: a request is admitted; which.
  input  logic                    admit_i,
  input  logic                    admit_write_i,
  input  logic [   AddrWidth-1:0] admit_addr_i,
  input  logic [ContextWidth-1:0] admit_context_i,
  input  logic [BurstBytesWidth-1:0] admit_bytes_i,
  /// A request waits in this cycle; its context; whether one waits for tokens of the regulator.
  input  logic                    read_stall_i,
  input  logic [ContextWidth-1:0] read_context_i,
  input  logic                    write_stall_i,
  input  logic [ContextWidth-1:0] write_context_i,
  input  logic                    token_stall_i,
  input  logic [ContextWidth-1:0] token_context_i,

  /// Shell time.
  input  logic [            63:0] cycles_i,
  /// Pulse, while `busy_o` is low: take every context's counters, and collect those of one, or of all (16).
  input  logic                    snapshot_i,
  input  logic [             4:0] snapshot_context_i,
  /// With `snapshot_i`: take nothing, collect from what was taken last; `clear_i` does nothing then.
  input  logic                    keep_i,
  /// With `snapshot_i`: every counter starts at zero at the snapshot's instant.
  input  logic                    clear_i,
  /// A snapshot has been asked for and is not there yet; at most 870 cycles.
  output logic                    busy_o,
  /// Word of the snapshot to read, while `busy_o` is low.
  input  logic                    word_sel_i,
  input  logic [             4:0] word_i,
  output logic [            31:0] word_o
);

  localparam logic [3:0] FirstCounter = ReadBytes;
  localparam logic [3:0] LastCounter = TokenStalls;

  typedef enum logic [1:0] {
    Idle,
    /// The halves are being swapped.
    Swap,
    /// Walk over all totals: recent counts are added.
    Drain,
    /// Walk over the kept totals of one context or of all: they are summed into the snapshot. The totals are zeroed if
    /// requested.
    Collect
  } state_e;

  /// A word of the totals.
  typedef struct packed {
    logic [3:0] counter;
    context_t   owner;
    logic       high;
  } place_t;

  state_e state_q, state_d;
  logic start, again, full, walking, last;
  place_t walk_q, walk_d, done_q;
  logic initial_walk, whole, wanted_q, keep_wanted_q, taking_q, clear_wanted_q, clearing_q;
  logic [4:0] wanted_context_q, context_q;
  recent_t pressure_q;
  logic eventful;

  monitor_event_t seen_q, looked_q, counted_q;
  logic [AddrWidth-1:0] addr_q;
  logic swap_q;
  logic hit, hit_q;
  recent_requests_t requests;
  recent_t [2:0] stalls;

  logic [RecentBytesWidth-1:0] delta_d, delta_q;
  logic [31:0] totals_q [512];
  logic [31:0] kept_q [512];
  logic [31:0] total_q, kept_total_q, addend;
  logic [32:0] sum;
  logic add_q, collect_q, zero_q, keep_q, fresh_q, carry_q;

  logic [63:0] cycles_q;
  logic [31:0] snapshot_q [32];
  logic [31:0] found;
  logic [4:0] snapshot_word;

  // Events are counted three cycles later: in between their rows are looked up.
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      seen_q.admit <= 1'b0;
      seen_q.stalls <= '0;
      looked_q.admit <= 1'b0;
      looked_q.stalls <= '0;
      counted_q.admit <= 1'b0;
      counted_q.stalls <= '0;
    end else begin
      seen_q.admit <= admit_i;
      seen_q.stalls <= {token_stall_i, write_stall_i, read_stall_i};
      looked_q.admit <= seen_q.admit;
      looked_q.stalls <= seen_q.stalls;
      counted_q.admit <= looked_q.admit;
      counted_q.stalls <= looked_q.stalls;
    end
  end

  always_ff @(posedge clk_i) begin
    if (admit_i) begin
      seen_q.write <= admit_write_i;
      seen_q.owner <= admit_context_i;
      seen_q.bytes <= admit_bytes_i;
      addr_q <= admit_addr_i;
    end
    if (seen_q.admit) begin
      looked_q.write <= seen_q.write;
      looked_q.owner <= seen_q.owner;
      looked_q.bytes <= seen_q.bytes;
    end
    if (looked_q.admit) begin
      counted_q.write <= looked_q.write;
      counted_q.owner <= looked_q.owner;
      counted_q.bytes <= looked_q.bytes;
      hit_q <= hit;
    end
  end

  always_ff @(posedge clk_i) begin
    if (read_stall_i) seen_q.stall_owners[0] <= read_context_i;
    if (write_stall_i) seen_q.stall_owners[1] <= write_context_i;
    if (token_stall_i) seen_q.stall_owners[2] <= token_context_i;
    for (int i = 0; i < 3; i++) begin
      if (seen_q.stalls[i]) looked_q.stall_owners[i] <= seen_q.stall_owners[i];
      if (looked_q.stalls[i]) counted_q.stall_owners[i] <= looked_q.stall_owners[i];
    end
  end

  monitor_rows u_rows (
    .clk_i,
    .rst_ni,
    .bank_shift_i,
    .bank_bits_i,
    .row_shift_i,
    .bank_hash_i,
    .clear_i(initial_walk),
    .clear_bank_i({walk_q.owner, walk_q.high}),
    .admit_i(seen_q.admit),
    .addr_i(addr_q),
    .hit_o(hit)
  );

  // The swap comes when the last event before it has been counted, so that an instant is one cycle of the inputs.
  monitor_recent u_recent (
    .clk_i,
    .rst_ni,
    .event_i(counted_q),
    .hit_i(hit_q),
    .swap_i(swap_q),
    .context_i(walk_q.owner),
    .requests_o(requests),
    .stalls_o(stalls)
  );

  assign eventful = counted_q.admit || counted_q.stalls != '0;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || swap_q) pressure_q <= '0;
    else if (eventful) pressure_q <= pressure_q + recent_t'(1);
  end

  // What was taken last is collected again between two walks that add, if the recent counts hold that long.
  assign full = pressure_q >= recent_t'(wanted_q && keep_wanted_q ? KeepBelow : DrainAfter);
  assign start = state_q == Idle && (full || (wanted_q && !keep_wanted_q));
  assign again = state_q == Idle && !start && wanted_q;
  assign walking = state_q inside {Drain, Collect};
  // Out of reset: a walk that clears; its snapshot is not used.
  assign initial_walk = state_q == Collect && !taking_q;
  assign whole = state_q == Drain || clearing_q || context_q[4];

  always_comb begin
    walk_d = walk_q;
    last = 1'b0;
    if (walking) begin
      walk_d.high = !walk_q.high;
      if (walk_q.high) begin
        if (whole) walk_d.owner = walk_q.owner + context_t'(1);
        if (!whole || walk_q.owner == '1) begin
          walk_d.counter = walk_q.counter + 4'd1;
          last = walk_q.counter == LastCounter;
        end
      end
    end
    if (last || start || again) walk_d = '{counter: FirstCounter, owner: '0, high: 1'b0};
    // The next walk may be over one context.
    if (last && taking_q && !clearing_q && !context_q[4]) walk_d.owner = context_q[3:0];
    if (again && !wanted_context_q[4]) walk_d.owner = wanted_context_q[3:0];
  end

  always_comb begin
    unique case (state_q)
      Idle: state_d = start ? Swap : again ? Collect : Idle;
      Swap: state_d = swap_q ? Drain : Swap;
      Drain: state_d = !last ? Drain : taking_q ? Collect : Idle;
      default: state_d = last ? Idle : Collect;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= Collect;
      walk_q <= '{counter: FirstCounter, owner: '0, high: 1'b0};
      swap_q <= 1'b0;
    end else begin
      state_q <= state_d;
      walk_q <= walk_d;
      swap_q <= state_q == Swap && !swap_q;
    end
  end

  // The requested operation, and the current one.
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      wanted_q <= 1'b0;
      keep_wanted_q <= 1'b0;
      clear_wanted_q <= 1'b0;
      taking_q <= 1'b0;
      clearing_q <= 1'b1;
    end else begin
      if (snapshot_i) begin
        wanted_q <= 1'b1;
        keep_wanted_q <= keep_i;
        clear_wanted_q <= clear_i && !keep_i;
      end else if (again || (start && !keep_wanted_q)) begin
        wanted_q <= 1'b0;
      end
      if (start) begin
        taking_q <= wanted_q && !keep_wanted_q;
        clearing_q <= wanted_q && clear_wanted_q;
      end else if (again) begin
        taking_q <= 1'b1;
        clearing_q <= 1'b0;
      end else if (state_q == Collect && last) begin
        taking_q <= 1'b0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (snapshot_i) wanted_context_q <= snapshot_context_i;
    if (again || (start && wanted_q && !keep_wanted_q)) context_q <= wanted_context_q;
    if (start && wanted_q && !keep_wanted_q) cycles_q <= cycles_i;
  end

  // The last word is written one cycle after the walk.
  assign busy_o = wanted_q || taking_q || collect_q;

  // A walk's first cycle at a place: its total is read, and what is to be added chosen.
  always_comb begin
    unique case (counter_e'(walk_q.counter))
      ReadBytes: delta_d = requests.read_bytes;
      WriteBytes: delta_d = requests.write_bytes;
      ReadRequests: delta_d = RecentBytesWidth'(requests.read_requests);
      WriteRequests: delta_d = RecentBytesWidth'(requests.write_requests);
      RowHits: delta_d = RecentBytesWidth'(requests.row_hits);
      RowMisses:
      delta_d = RecentBytesWidth'(recent_t'(requests.read_requests + requests.write_requests - requests.row_hits));
      ReadStalls: delta_d = RecentBytesWidth'(stalls[0]);
      WriteStalls: delta_d = RecentBytesWidth'(stalls[1]);
      default: delta_d = RecentBytesWidth'(stalls[2]);
    endcase
    if (walk_q.high) delta_d = '0;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      add_q <= 1'b0;
      collect_q <= 1'b0;
      zero_q <= 1'b0;
      keep_q <= 1'b0;
    end else begin
      add_q <= state_q == Drain;
      keep_q <= (state_q == Drain && taking_q) || initial_walk;
      collect_q <= state_q == Collect && taking_q && (context_q[4] || walk_q.owner == context_q[3:0]);
      zero_q <= state_q == Collect && clearing_q;
    end
  end

  always_ff @(posedge clk_i) begin
    if (walking) begin
      done_q <= walk_q;
      delta_q <= delta_d;
      fresh_q <= walk_q.owner == '0 || !context_q[4];
    end
  end

  always_ff @(posedge clk_i) begin
    if (state_q == Drain) total_q <= totals_q[walk_q];
    if (state_q == Collect) kept_total_q <= kept_q[walk_q];
  end

  // And the second: the sum is written back, or into the snapshot.
  always_comb begin
    addend = '0;
    if (add_q) addend = 32'(delta_q);
    else if (collect_q && !fresh_q) addend = found;
    sum = {1'b0, add_q ? total_q : kept_total_q} + {1'b0, addend} + 33'(done_q.high && carry_q);
  end

  always_ff @(posedge clk_i) begin
    if (add_q || collect_q) carry_q <= sum[32];
  end

  always_ff @(posedge clk_i) begin
    if (add_q || zero_q) totals_q[done_q] <= zero_q ? '0 : sum[31:0];
    if (keep_q) kept_q[done_q] <= zero_q ? '0 : sum[31:0];
  end

  assign snapshot_word = collect_q ? {done_q.counter, done_q.high} : word_i;
  assign found = snapshot_q[snapshot_word];

  always_ff @(posedge clk_i) begin
    if (collect_q) snapshot_q[snapshot_word] <= sum[31:0];
  end

  always_comb begin
    word_o = '0;
    if (word_sel_i && word_i[4:1] <= LastCounter) begin
      if (word_i[4:1] == '0) word_o = word_i[0] ? cycles_q[63:32] : cycles_q[31:0];
      else word_o = found;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      RecentCountsHold_A :
      assert (pressure_q != '1)
      else $error("monitor: the recent counts are full");
      OneSnapshotAtATime_A :
      assert (!snapshot_i || !busy_o)
      else $error("monitor: a snapshot was asked for while one is taken");
    end
  end
`endif

endmodule
