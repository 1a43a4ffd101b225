/// Counts what one slot does to memory, per context and in all; 64-bit counters that a snapshot copies in one cycle.
///
/// Requests, bytes and rows are counted when a request is admitted; stalls in every cycle a request waits, for the
/// context of that request. A row hit is a request to the row its bank saw last from this slot: the slot's own
/// locality, whoever else uses the bank. Nothing changes in a cycle without an event.
///
/// Words of a snapshot, 64 bits each, low word first: cycles (shell time), read bytes, write bytes, read requests, write
/// requests, row hits, row misses, read stall cycles, write stall cycles, regulator stall cycles.
module monitor
  import eddy_pkg::*;
(
  input  logic                    clk_i,
  /// Synchronous reset, active low; clears every counter.
  input  logic                    rst_ni,

  /// DRAM geometry: a row is the address bits from `row_shift_i` up, its bank `bank_bits_i` bits from `bank_shift_i` up.
  input  logic [             5:0] bank_shift_i,
  input  logic [             2:0] bank_bits_i,
  input  logic [             5:0] row_shift_i,

  /// Pulse: a request is admitted; which.
  input  logic                    admit_i,
  input  logic                    admit_write_i,
  input  logic [   AddrWidth-1:0] admit_addr_i,
  input  logic [ContextWidth-1:0] admit_context_i,
  input  logic [            11:0] admit_bytes_i,
  /// In this cycle a request waits; of which context; and whether one waits for tokens.
  input  logic                    read_stall_i,
  input  logic [ContextWidth-1:0] read_context_i,
  input  logic                    write_stall_i,
  input  logic [ContextWidth-1:0] write_context_i,
  input  logic                    token_stall_i,
  input  logic [ContextWidth-1:0] token_context_i,

  /// Shell time.
  input  logic [            63:0] cycles_i,
  /// Pulse: copy the counters of a context, or of all (16).
  input  logic                    snapshot_i,
  input  logic [             4:0] snapshot_context_i,
  /// Pulse, with `snapshot_i` or later: then set every counter to zero, within 16 cycles.
  input  logic                    clear_i,
  /// Word of the snapshot to read.
  input  logic                    word_sel_i,
  input  logic [             4:0] word_i,
  output logic [            31:0] word_o
);

  localparam int unsigned NumContexts = 1 << ContextWidth;
  localparam int unsigned MaxBanks = 32;
  typedef logic [63:0] count_t;
  typedef logic [AddrWidth-1:0] row_t;

  typedef enum logic [3:0] {
    ReadBytes, WriteBytes, ReadRequests, WriteRequests, RowHits, RowMisses, ReadStalls, WriteStalls, TokenStalls
  } counter_e;
  localparam int unsigned NumCounters = 9;

  // What is added to each counter in this cycle, if anything, and of which context.
  logic [NumCounters-1:0] count;
  logic [11:0] amount [NumCounters];
  logic [ContextWidth-1:0] owner [NumCounters];
  count_t chosen [NumCounters];
  count_t snapshot_q [NumCounters + 1];

  row_t open_row_q [MaxBanks];
  logic [MaxBanks-1:0] open_q;
  row_t row;
  logic [4:0] bank;
  logic hit;
  logic clearing_q;
  logic [ContextWidth-1:0] clear_context_q;
  logic [3:0] word_counter;

  assign word_counter = word_i[4:1];

  always_comb begin
    row = '0;
    bank = '0;
    hit = 1'b0;
    if (admit_i) begin
      row = admit_addr_i >> row_shift_i;
      bank = 5'(admit_addr_i >> bank_shift_i) & ~(5'h1F << bank_bits_i);
      hit = open_q[bank] && open_row_q[bank] == row;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) open_q <= '0;
    else if (admit_i) open_q[bank] <= 1'b1;
  end

  always_ff @(posedge clk_i) begin
    if (admit_i) open_row_q[bank] <= row;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      clearing_q <= 1'b1;
      clear_context_q <= '0;
    end else if (clear_i) begin
      clearing_q <= 1'b1;
      clear_context_q <= '0;
    end else if (clearing_q) begin
      clear_context_q <= clear_context_q + ContextWidth'(1);
      if (clear_context_q == '1) clearing_q <= 1'b0;
    end
  end

  always_comb begin
    for (int i = 0; i < NumCounters; i++) begin
      amount[i] = 12'd1;
      owner[i] = admit_context_i;
    end
    amount[ReadBytes] = admit_bytes_i;
    amount[WriteBytes] = admit_bytes_i;
    owner[ReadStalls] = read_context_i;
    owner[WriteStalls] = write_context_i;
    owner[TokenStalls] = token_context_i;
    count = '0;
    count[ReadBytes] = admit_i && !admit_write_i;
    count[ReadRequests] = admit_i && !admit_write_i;
    count[WriteBytes] = admit_i && admit_write_i;
    count[WriteRequests] = admit_i && admit_write_i;
    count[RowHits] = admit_i && hit;
    count[RowMisses] = admit_i && !hit;
    count[ReadStalls] = read_stall_i;
    count[WriteStalls] = write_stall_i;
    count[TokenStalls] = token_stall_i;
  end

  // A counter's contexts are one memory, written at one address a cycle, so that it can be distributed RAM. Counting
  // pauses while the counters are cleared.
  for (genvar i = 0; i < NumCounters; i++) begin : gen_counters
    count_t counts_q [NumContexts];
    count_t total_q;

    always_ff @(posedge clk_i) begin
      if (clearing_q || count[i]) begin
        counts_q[clearing_q ? clear_context_q : owner[i]] <= clearing_q ? '0 : counts_q[owner[i]] + count_t'(amount[i]);
        total_q <= clearing_q ? '0 : total_q + count_t'(amount[i]);
      end
    end

    assign chosen[i] = snapshot_i ? (snapshot_context_i[4] ? total_q : counts_q[snapshot_context_i[3:0]]) : '0;
  end

  always_ff @(posedge clk_i) begin
    if (snapshot_i) begin
      snapshot_q[0] <= cycles_i;
      for (int i = 0; i < NumCounters; i++) snapshot_q[i+1] <= chosen[i];
    end
  end

  always_comb begin
    word_o = '0;
    if (word_sel_i && word_counter <= 4'(NumCounters)) begin
      word_o = word_i[0] ? snapshot_q[word_counter][63:32] : snapshot_q[word_counter][31:0];
    end
  end

endmodule
