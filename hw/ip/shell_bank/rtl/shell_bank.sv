/// The shell's own bank: identity, the board's time, bad accesses, and the state of the configuration port.
///
/// `cycles_q` is the one register of the shell that changes in an idle cycle; a simulator that skips idle cycles adds
/// their number to it.
module shell_bank #(
  parameter int unsigned NumSlots = 1,
  /// Hash of sources and toolchain.
  parameter logic [63:0] BuildHash = '0
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
  /// Pulse: an access met nothing; where.
  input  logic        miss_i,
  input  logic [23:0] miss_addr_i,

  /// Cycles since reset.
  output logic [63:0] cycles_o,

  /// From the configuration port, of any clock (ICAPE3: AVAIL, PRDONE, PRERROR).
  input  logic        cfg_avail_i,
  input  logic        cfg_prdone_i,
  input  logic        cfg_prerror_i,
  output logic        cfg_irq_o
);

  logic [63:0] cycles_q  /*verilator public_flat_rw*/;
  logic [31:0] cycles_high_q;
  logic [23:0] bad_offset_q;
  logic avail, prdone, prerror, prdone_q, prerror_q;
  logic done_seen, error_seen, irq_done, irq_error, cycles_read, bad_seen;

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
    .bad_address_offset_i(bad_offset_q)
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

  assign cycles_o = cycles_q;
  assign cfg_irq_o = (done_seen && irq_done) || (error_seen && irq_error);

endmodule
