// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The burst split keeps nothing to itself: once all that it took has been answered, and nothing is offered to it, it
/// offers nothing to memory, and memory owes it no answer.
///
/// It goes on from `owed_proof`, whose last block stands before this one. Assumed of memory: it answers only what it was
/// asked, and writes only when their data is whole.
module owed_split_proof
  import eddy_pkg::*;
(
  input logic     clk_i,
  input logic     rst_ni,
  input axi_req_t up_req_i,
  input axi_rsp_t down_rsp_i
);

  localparam int unsigned Parts = 8;
  typedef logic [6:0] count_t;

  axi_rsp_t up_rsp;
  axi_req_t down;

  burst_split #(.MaxParts(Parts)) dut (
    .clk_i, .rst_ni, .req_i(up_req_i), .rsp_o(up_rsp), .req_o(down), .rsp_i(down_rsp_i)
  );

  logic started_q = 1'b0;
  always_ff @(posedge clk_i) started_q <= 1'b1;
  always_comb InReset_M : assume (rst_ni == started_q);

  // Accepted and not answered, on either side; and parts asked for whose data is not whole.
  count_t up_writes_q, up_reads_q, down_writes_q, down_reads_q, down_data_q;
  logic down_aw, down_w_last;
  assign down_aw = down.aw_valid && down_rsp_i.aw_ready;
  assign down_w_last = down.w_valid && down_rsp_i.w_ready && down.w.last;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      up_writes_q <= '0;
      up_reads_q <= '0;
      down_writes_q <= '0;
      down_reads_q <= '0;
      down_data_q <= '0;
    end else begin
      up_writes_q <= up_writes_q + count_t'(up_req_i.aw_valid && up_rsp.aw_ready) - count_t'(up_rsp.b_valid);
      up_reads_q <= up_reads_q + count_t'(up_req_i.ar_valid && up_rsp.ar_ready)
          - count_t'(up_rsp.r_valid && up_rsp.r.last);
      down_writes_q <= down_writes_q + count_t'(down_aw) - count_t'(down_rsp_i.b_valid);
      down_reads_q <= down_reads_q + count_t'(down.ar_valid && down_rsp_i.ar_ready)
          - count_t'(down_rsp_i.r_valid && down_rsp_i.r.last);
      down_data_q <= down_data_q + count_t'(down_aw) - count_t'(down_w_last);
    end
  end

  // The burst buffer: a request stays until it is taken.
  logic aw_waits_q, ar_waits_q;
  ax_t aw_q, ar_q;
  always_ff @(posedge clk_i) begin
    aw_waits_q <= rst_ni && up_req_i.aw_valid && !up_rsp.aw_ready;
    ar_waits_q <= rst_ni && up_req_i.ar_valid && !up_rsp.ar_ready;
    aw_q <= up_req_i.aw;
    ar_q <= up_req_i.ar;
  end

  always_comb begin
    if (aw_waits_q) WritesStay_M : assume (up_req_i.aw_valid && up_req_i.aw == aw_q);
    if (ar_waits_q) ReadsStay_M : assume (up_req_i.ar_valid && up_req_i.ar == ar_q);
    AnswersAreTaken_M : assume (up_req_i.b_ready && up_req_i.r_ready);
    if (down_rsp_i.b_valid) AnswersWhatIsWhole_M : assume (down_writes_q > down_data_q);
    if (down_rsp_i.r_valid) AnswersWhatIsAsked_M : assume (down_reads_q != '0);
  end

  // What is inside: parts that memory owes, how many of them end a burst, and whether the newest does.
  count_t owed_b, owed_r, owed_w, ends_b, ends_r;
  logic newest_b, newest_r;
  assign owed_b = count_t'(4'(dut.u_b_parts.write_q - dut.u_b_parts.read_q));
  assign owed_r = count_t'(4'(dut.u_r_parts.write_q - dut.u_r_parts.read_q));
  assign owed_w = count_t'(4'(dut.u_w_lens.write_q - dut.u_w_lens.read_q));
  assign newest_b = dut.u_b_parts.mem_q[3'(dut.u_b_parts.write_q - 4'd1)][0];
  assign newest_r = dut.u_r_parts.mem_q[3'(dut.u_r_parts.write_q - 4'd1)][0];
  always_comb begin
    ends_b = '0;
    ends_r = '0;
    for (int i = 0; i < int'(Parts); i++) begin
      if (i < int'(owed_b)) ends_b += count_t'(dut.u_b_parts.mem_q[3'(dut.u_b_parts.read_q + 4'(i))][0]);
      if (i < int'(owed_r)) ends_r += count_t'(dut.u_r_parts.mem_q[3'(dut.u_r_parts.read_q + 4'(i))][0]);
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      if (up_writes_q == '0 && !up_req_i.aw_valid) begin
        NoWriteIsKept_A : assert (!down.aw_valid && !down.w_valid && down_writes_q == '0);
        NoAnswerIsKept_A : assert (!up_rsp.b_valid);
      end
      if (up_reads_q == '0 && !up_req_i.ar_valid) begin
        NoReadIsKept_A : assert (!down.ar_valid && down_reads_q == '0);
      end
      // For induction: where what is owed is kept.
      PartsAddUp_A : assert (owed_b == down_writes_q && owed_r == down_reads_q && owed_w == down_data_q);
      PartsFit_A : assert (owed_b <= count_t'(Parts) && owed_r <= count_t'(Parts) && owed_w <= owed_b);
      WritesEnd_A : assert (up_writes_q == ends_b);
      ReadsEnd_A : assert (up_reads_q == ends_r);
      PartedStay_A : assert ((!dut.u_aw_parts.more_q || aw_waits_q) && (!dut.u_ar_parts.more_q || ar_waits_q));
      NewestTells_A :
      assert ((owed_b == '0 || dut.u_aw_parts.more_q || newest_b) && (owed_r == '0 || dut.u_ar_parts.more_q || newest_r));
    end
  end

endmodule
