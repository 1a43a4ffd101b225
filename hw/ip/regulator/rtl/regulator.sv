// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Lets a slot's bursts go to memory no faster than its tokens allow.
///
/// What a burst uses of the memory port is its beats of the port's width, 8 or 16 bytes, however few bytes of each it moves
/// (AxSIZE, strobes) and wherever they lie (FIXED, WRAP, unaligned). Promise: what the bursts admitted in any W consecutive
/// cycles use, reads and writes together, is at most burst + rate * W, where burst is the larger of `burst_i` and what 256
/// beats use, and rate is
/// `rate_i` / 65536 bytes a cycle (proved: `hw/formal/regulator_proof.sv`). A burst counts in full when its request is
/// admitted; one request is admitted a cycle, and a read and a write waiting together take turns, so neither starves the
/// other. Disabled, everything is admitted. Requests are registered once (latency one cycle); data and answers pass.
///
/// The bucket fills while it is not full, and is still when it is.
module regulator
  import eddy_pkg::*;
(
  input  logic            clk_i,
  /// Synchronous reset, active low; the bucket is then empty.
  input  logic            rst_ni,
  input  logic            enable_i,
  input  logic     [23:0] rate_i,
  input  logic     [19:0] burst_i,

  /// From the firewall.
  input  axi_req_t        req_i,
  output axi_rsp_t        rsp_o,
  /// Toward memory.
  output axi_req_t        req_o,
  input  axi_rsp_t        rsp_i,

  /// Pulse: a request is admitted; which.
  output logic            admit_o,
  output logic            admit_write_o,
  output logic     [AddrWidth-1:0] admit_addr_o,
  output logic     [ContextWidth-1:0] admit_context_o,
  /// The bytes it moves, which are fewer than it uses where its beats are narrow.
  output logic     [BurstBytesWidth-1:0] admit_bytes_o,
  /// In this cycle a request waits, and whether it waits for tokens.
  output logic            read_stall_o,
  output logic            write_stall_o,
  output logic            token_stall_o,
  output logic            token_stall_write_o
);

  localparam int unsigned FractionBits = 16;
  localparam int unsigned WholeWidth = 20;
  localparam int unsigned TokenWidth = WholeWidth + FractionBits;
  /// The longest burst, 256 beats, is a power of two of bytes.
  localparam int unsigned LeastBits = 8 + BeatBits;

  typedef logic [TokenWidth-1:0] tokens_t;
  typedef logic [WholeWidth-1:0] whole_t;
  /// Tokens that pay for a beat.
  typedef logic [WholeWidth-BeatBits-1:0] beats_t;

  tokens_t tokens_q, tokens_d;
  logic [TokenWidth:0] filled;
  whole_t full;
  beats_t beats_held;
  logic [BurstBytesWidth-1:0] bytes;
  logic aw_valid_q, ar_valid_q, write_turn_q, over;
  ax_t aw_q, ar_q, ax;
  logic aw_can, ar_can, aw_paid, ar_paid, write, enough, admit;

  // The larger of the two, without a comparison.
  always_comb begin
    full = burst_i;
    if (burst_i[WholeWidth-1:LeastBits] == '0) full = whole_t'(1) << LeastBits;
  end

  assign aw_can = req_i.aw_valid && (!aw_valid_q || rsp_i.aw_ready);
  assign ar_can = req_i.ar_valid && (!ar_valid_q || rsp_i.ar_ready);

  always_comb begin
    write = 1'b0;
    admit = 1'b0;
    enough = 1'b0;
    aw_paid = 1'b0;
    ar_paid = 1'b0;
    bytes = '0;
    ax = '0;
    if (aw_can || ar_can) begin
      write = aw_can && (write_turn_q || !ar_can);
      ax = write ? req_i.aw : req_i.ar;
      bytes = (BurstBytesWidth'(ax.len) + BurstBytesWidth'(1)) << ax.size;
      // Beats are one more than `len`; parts of a beat pay for nothing. Both are compared while it is found whose turn it is.
      aw_paid = !enable_i || beats_held > beats_t'(req_i.aw.len);
      ar_paid = !enable_i || beats_held > beats_t'(req_i.ar.len);
      enough = write ? aw_paid : ar_paid;
      admit = enough;
    end
  end

  assign beats_held = tokens_q[TokenWidth-1:FractionBits+BeatBits];

  always_comb begin
    filled = {1'b0, tokens_q} + (TokenWidth + 1)'(rate_i);
    // Full to the byte is full, whatever fraction is beside it.
    over = !enable_i || filled[TokenWidth:FractionBits] >= (WholeWidth + 1)'(full);
    tokens_d = over ? {full, {FractionBits{1'b0}}} : filled[TokenWidth-1:0];
    // What was admitted was there before the refill, so this does not go below zero.
    if (admit && enable_i) begin
      tokens_d[TokenWidth-1:FractionBits+BeatBits] -= (beats_t'(ax.len) + beats_t'(1));
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) tokens_q <= '0;
    else tokens_q <= tokens_d;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      aw_valid_q <= 1'b0;
      ar_valid_q <= 1'b0;
      write_turn_q <= 1'b0;
    end else begin
      if (rsp_i.aw_ready) aw_valid_q <= 1'b0;
      if (rsp_i.ar_ready) ar_valid_q <= 1'b0;
      if (admit) begin
        write_turn_q <= !write;
        if (write) aw_valid_q <= 1'b1;
        else ar_valid_q <= 1'b1;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (admit && write) aw_q <= ax;
    if (admit && !write) ar_q <= ax;
  end

  // Field by field: a simulator then need not assemble the whole bus in every cycle.
  assign req_o.aw = aw_q;
  assign req_o.aw_valid = aw_valid_q;
  assign req_o.w = req_i.w;
  assign req_o.w_valid = req_i.w_valid;
  assign req_o.b_ready = req_i.b_ready;
  assign req_o.ar = ar_q;
  assign req_o.ar_valid = ar_valid_q;
  assign req_o.r_ready = req_i.r_ready;
  assign rsp_o.aw_ready = admit && write;
  assign rsp_o.w_ready = rsp_i.w_ready;
  assign rsp_o.b = rsp_i.b;
  assign rsp_o.b_valid = rsp_i.b_valid;
  assign rsp_o.ar_ready = admit && !write;
  assign rsp_o.r = rsp_i.r;
  assign rsp_o.r_valid = rsp_i.r_valid;

  assign admit_o = admit;
  assign admit_write_o = write;
  assign admit_addr_o = ax.addr;
  assign admit_context_o = ax.user;
  assign admit_bytes_o = bytes;
  assign read_stall_o = req_i.ar_valid && !(admit && !write);
  assign write_stall_o = req_i.aw_valid && !(admit && write);
  assign token_stall_o = (aw_can || ar_can) && !enough;
  assign token_stall_write_o = write;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      AdmittedWithinTokens_A :
      assert (!admit || !enable_i || beats_held > beats_t'(ax.len))
      else $error("regulator: a burst was admitted without tokens");
    end
  end
`endif

endmodule
