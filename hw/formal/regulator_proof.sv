// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Over any window of cycles, wherever it begins, and whatever is asked: what the admitted bursts use of the memory port,
/// the port's bytes for each of their beats, reads and writes together, is at most burst + rate * cycles.
///
/// `most_q` is, of all windows that end here, the most that one has used beyond rate * cycles (in 1/65536 bytes), told from
/// the requests that pass, not from what the block charges: the promise is that it never exceeds burst. Settings stay.
module regulator_proof
  import eddy_pkg::*;
(
  input logic     clk_i,
  input logic     rst_ni,
  input logic [23:0] rate_i,
  input logic [19:0] burst_i,
  input axi_req_t req_i,
  input axi_rsp_t rsp_i
);

  localparam int unsigned Width = 38;
  /// What 256 beats use.
  localparam logic [19:0] Longest = 20'd256 << BeatBits;
  typedef logic [Width-1:0] amount_t;

  axi_req_t req;
  axi_rsp_t rsp;
  logic admit, admit_write;

  regulator dut (
    .clk_i, .rst_ni, .enable_i(1'b1), .rate_i, .burst_i, .req_i, .rsp_o(rsp), .req_o(req), .rsp_i, .admit_o(admit),
    .admit_write_o(admit_write), .admit_addr_o(), .admit_context_o(), .admit_bytes_o(), .read_stall_o(),
    .write_stall_o(), .token_stall_o(), .token_stall_write_o()
  );

  logic started_q = 1'b0;
  always_ff @(posedge clk_i) started_q <= 1'b1;
  always_comb InReset_M : assume (rst_ni == started_q);
  always_ff @(posedge clk_i) begin
    if (started_q) SettingsStay_M : assume ($stable(rate_i) && $stable(burst_i));
  end

  // What goes in by both request channels in this cycle.
  logic aw_in, ar_in;
  amount_t used, bucket;
  assign aw_in = req_i.aw_valid && rsp.aw_ready;
  assign ar_in = req_i.ar_valid && rsp.ar_ready;
  // Never both in one cycle, as is claimed below.
  assign used = aw_in || ar_in ? (amount_t'(aw_in ? req_i.aw.len : req_i.ar.len) + amount_t'(1)) << (16 + BeatBits) : '0;
  assign bucket = amount_t'(burst_i > Longest ? burst_i : Longest) << 16;

  // The worst window that ends with this cycle is the worst before, one cycle longer, or the empty one.
  amount_t most_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || most_q + used <= amount_t'(rate_i)) most_q <= '0;
    else most_q <= most_q + used - amount_t'(rate_i);
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      // The promise, and why it holds: the bucket has paid for all of it.
      EveryWindowKeepsThePromise_A : assert (most_q <= bucket);
      PortUseIsPaidFor_A : assert (most_q + amount_t'(dut.tokens_q) <= bucket);
      OneRequestACycle_A : assert (!(aw_in && ar_in) && admit == (aw_in || ar_in) && (!admit || admit_write == aw_in));
    end
  end

  // What was admitted is what goes on, unchanged: nothing is used that was not paid for.
  ax_t aw_before_q, ar_before_q;
  logic aw_owed_q, ar_owed_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      aw_owed_q <= 1'b0;
      ar_owed_q <= 1'b0;
    end else begin
      if (aw_in) aw_owed_q <= 1'b1;
      else if (rsp_i.aw_ready) aw_owed_q <= 1'b0;
      if (ar_in) ar_owed_q <= 1'b1;
      else if (rsp_i.ar_ready) ar_owed_q <= 1'b0;
    end
    if (aw_in) aw_before_q <= req_i.aw;
    if (ar_in) ar_before_q <= req_i.ar;
  end
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      WritesGoOnAsAdmitted_A : assert (req.aw_valid == aw_owed_q && (!aw_owed_q || req.aw == aw_before_q));
      ReadsGoOnAsAdmitted_A : assert (req.ar_valid == ar_owed_q && (!ar_owed_q || req.ar == ar_before_q));
    end
  end

endmodule
