// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The shell's own bank: identity, the board's time, bad accesses, the state of the configuration port, the shared cache.
///
/// `cycles_q` is the one register of the shell that changes in an idle cycle; a simulator that skips idle cycles adds
/// their number to it.
module shell_bank #(
  parameter int unsigned NumSlots = 1,
  /// Hash of sources and toolchain.
  parameter logic [63:0] BuildHash = '0,
  /// Bytes of the shared cache, 0 for none, and its ways.
  parameter int unsigned CacheBytes = 0,
  parameter int unsigned CacheWays = 0
) (
  input  logic        clk_i,
  /// Synchronous reset, active low.
  input  logic        rst_ni,

  input  logic        sel_i,
  input  logic        write_i,
  input  logic [15:0] addr_i,
  input  logic [31:0] wdata_i,
  input  logic [ 3:0] wstrb_i,
  output logic        ack_o,
  output logic        err_o,
  output logic [31:0] rdata_o,

  /// Answer bad accesses SLVERR.
  output logic        slverr_o,
  /// Pulse: no bank at the address of an access; that address.
  input  logic        miss_i,
  input  logic [23:0] miss_addr_i,

  /// Cycles since reset.
  output logic [63:0] cycles_o,

  /// From the configuration port, of any clock (ICAPE3: AVAIL, PRDONE, PRERROR).
  input  logic        cfg_avail_i,
  input  logic        cfg_prdone_i,
  input  logic        cfg_prerror_i,
  output logic        cfg_irq_o,

  /// The shared cache: slots kept unasked; pulse: flush these pages; whose counters are shown, and what they are.
  output logic [15:0] cache_force_o,
  output logic        cache_flush_o,
  output logic [27:0] cache_flush_first_o,
  output logic [27:0] cache_flush_last_o,
  input  logic        cache_flush_busy_i,
  output logic [ 3:0] cache_slot_o,
  input  logic [63:0] cache_hits_i,
  input  logic [63:0] cache_misses_i
);

  logic [63:0] cycles_q  /*verilator public_flat_rw*/;
  logic [31:0] cycles_high_q, hits_high_q, misses_high_q, flushes_q;
  logic [23:0] bad_offset_q;
  logic avail, prdone, prerror, prdone_q, prerror_q;
  logic done_seen, error_seen, irq_done, irq_error, cycles_read, bad_seen, hits_read, misses_read;

  sync_bit u_avail (
    .clk_i,
    .d_i(cfg_avail_i),
    .q_o(avail)
  );

  sync_bit u_prdone (
    .clk_i,
    .d_i(cfg_prdone_i),
    .q_o(prdone)
  );

  sync_bit u_prerror (
    .clk_i,
    .d_i(cfg_prerror_i),
    .q_o(prerror)
  );

  shell_regs u_regs (
    .clk_i,
    .rst_ni,
    .sel_i,
    .write_i,
    .addr_i,
    .wdata_i,
    .wstrb_i,
    .ack_o,
    .err_o,
    .rdata_o,
    .config_slots_i(8'(NumSlots)),
    .build_lo_hash_i(BuildHash[31:0]),
    .build_hi_hash_i(BuildHash[63:32]),
    .cycles_lo_cycles_i(cycles_q[31:0]),
    .cycles_lo_cycles_swacc_o(cycles_read),
    .cycles_hi_cycles_i(cycles_high_q),
    .cfg_status_avail_i(avail),
    .cfg_status_prdone_i(prdone),
    .cfg_status_prerror_i(prerror),
    .cfg_status_done_seen_set_i(prdone && !prdone_q),
    .cfg_status_done_seen_o(done_seen),
    .cfg_status_error_seen_set_i(prerror && !prerror_q),
    .cfg_status_error_seen_o(error_seen),
    .cfg_irq_done_o(irq_done),
    .cfg_irq_error_o(irq_error),
    .bad_access_seen_set_i(miss_i),
    .bad_access_seen_o(bad_seen),
    .bad_access_slverr_o(slverr_o),
    .bad_address_offset_i(bad_offset_q),
    .cache_log2_bytes_i(CacheBytes == 0 ? 8'd0 : 8'($clog2(CacheBytes))),
    .cache_ways_i(CacheBytes == 0 ? 8'd0 : 8'(CacheWays)),
    .cache_force_slots_o(cache_force_o),
    .cache_flush_first_page_o(cache_flush_first_o),
    .cache_flush_last_page_o(cache_flush_last_o),
    .cache_flush_start_o(cache_flush_o),
    .cache_flush_busy_i,
    .cache_count_slot_o(cache_slot_o),
    .cache_hits_lo_lines_i(cache_hits_i[31:0]),
    .cache_hits_lo_lines_swacc_o(hits_read),
    .cache_hits_hi_lines_i(hits_high_q),
    .cache_misses_lo_lines_i(cache_misses_i[31:0]),
    .cache_misses_lo_lines_swacc_o(misses_read),
    .cache_misses_hi_lines_i(misses_high_q),
    .cache_flushes_flushes_i(flushes_q)
  );

  always_ff @(posedge clk_i) begin
    if (!rst_ni) cycles_q <= '0;
    else cycles_q <= cycles_q + 64'd1;
  end

  // Out of reset the port counts as done, so that a level that was there before is no event.
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      cycles_high_q <= '0;
      bad_offset_q <= '0;
      prdone_q <= 1'b1;
      prerror_q <= 1'b1;
    end else begin
      if (cycles_read) cycles_high_q <= cycles_q[63:32];
      if (miss_i && !bad_seen) bad_offset_q <= miss_addr_i;
      prdone_q <= prdone;
      prerror_q <= prerror;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni || CacheBytes == 0) begin
      hits_high_q <= '0;
      misses_high_q <= '0;
      flushes_q <= '0;
    end else begin
      if (hits_read) hits_high_q <= cache_hits_i[63:32];
      if (misses_read) misses_high_q <= cache_misses_i[63:32];
      if (cache_flush_o && !cache_flush_busy_i) flushes_q <= flushes_q + 32'd1;
    end
  end

  assign cycles_o = cycles_q;
  assign cfg_irq_o = (done_seen && irq_done) || (error_seen && irq_error);

endmodule
