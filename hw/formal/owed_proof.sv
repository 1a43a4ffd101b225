// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// What stands between the firewall and the shared memory keeps nothing to itself: once all that the firewall passed on has
/// been answered to it, and it offers nothing, nothing is offered to memory and memory owes no answer.
///
/// So `firewall.mem_drained_o` says it of the whole path: each block answers only what memory answered, and the claims of
/// `firewall_mem_proof` about its own outputs hold at memory's port. Assumed of memory: it answers only what it was asked.
/// Of the firewall, as proved there: no more than `MaxOutstanding` bursts, and write data only for bursts it offered.
/// Of the FIFO of read data, as its order: no more last beats come out than went in.
module owed_proof
  import eddy_pkg::*;
#(
  /// 0 regulator, 1 burst_buffer.
  parameter int unsigned Block = 0,
  parameter int unsigned MaxOutstanding = 8
) (
  input logic        clk_i,
  input logic        rst_ni,
  input logic        enable_i,
  input logic [23:0] rate_i,
  input logic [19:0] burst_i,
  input axi_req_t    up_req_i,
  input axi_rsp_t    down_rsp_i
);

  typedef logic [6:0] count_t;

  axi_rsp_t up_rsp;
  axi_req_t down;

  if (Block == 0) begin : gen_regulator
    regulator dut (
      .clk_i, .rst_ni, .enable_i, .rate_i, .burst_i,
      .req_i(up_req_i), .rsp_o(up_rsp), .req_o(down), .rsp_i(down_rsp_i),
      .admit_o(), .admit_write_o(), .admit_addr_o(), .admit_context_o(), .admit_bytes_o(),
      .read_stall_o(), .write_stall_o(), .token_stall_o(), .token_stall_write_o()
    );
  end else begin : gen_buffer
    burst_buffer #(.MaxOutstanding(MaxOutstanding)) dut (
      .clk_i, .rst_ni, .req_i(up_req_i), .rsp_o(up_rsp), .req_o(down), .rsp_i(down_rsp_i)
    );
  end

  logic started_q = 1'b0;
  always_ff @(posedge clk_i) started_q <= 1'b1;
  always_comb InReset_M : assume (rst_ni == started_q);

  // Accepted and not answered, on either side; and what the block has of each.
  count_t up_writes_q, up_reads_q, down_writes_q, down_reads_q, down_data_q;
  count_t kept_aw_q, kept_ar_q, kept_b_q, kept_last_q;
  logic up_aw, up_ar, up_b, up_last, down_aw, down_ar, down_b, down_last, down_w_last;

  assign up_aw = up_req_i.aw_valid && up_rsp.aw_ready;
  assign up_ar = up_req_i.ar_valid && up_rsp.ar_ready;
  assign up_b = up_rsp.b_valid && up_req_i.b_ready;
  assign up_last = up_rsp.r_valid && up_req_i.r_ready && up_rsp.r.last;
  assign down_aw = down.aw_valid && down_rsp_i.aw_ready;
  assign down_ar = down.ar_valid && down_rsp_i.ar_ready;
  assign down_w_last = down.w_valid && down_rsp_i.w_ready && down.w.last;
  assign down_b = down_rsp_i.b_valid && down.b_ready;
  assign down_last = down_rsp_i.r_valid && down.r_ready && down_rsp_i.r.last;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      up_writes_q <= '0;
      up_reads_q <= '0;
      down_writes_q <= '0;
      down_reads_q <= '0;
      down_data_q <= '0;
      kept_aw_q <= '0;
      kept_ar_q <= '0;
      kept_b_q <= '0;
      kept_last_q <= '0;
    end else begin
      up_writes_q <= up_writes_q + count_t'(up_aw) - count_t'(up_b);
      up_reads_q <= up_reads_q + count_t'(up_ar) - count_t'(up_last);
      down_writes_q <= down_writes_q + count_t'(down_aw) - count_t'(down_b);
      down_reads_q <= down_reads_q + count_t'(down_ar) - count_t'(down_last);
      // Asked for, and without all its data.
      down_data_q <= down_data_q + count_t'(down_aw) - count_t'(down_w_last);
      kept_aw_q <= kept_aw_q + count_t'(up_aw) - count_t'(down_aw);
      kept_ar_q <= kept_ar_q + count_t'(up_ar) - count_t'(down_ar);
      kept_b_q <= kept_b_q + count_t'(down_b) - count_t'(up_b);
      kept_last_q <= kept_last_q + count_t'(down_last) - count_t'(up_last);
    end
  end

  always_comb begin
    // Memory answers what was asked and complete.
    if (down_rsp_i.b_valid) AnswersWhatIsComplete_M : assume (down_writes_q > (Block == 0 ? count_t'(0) : down_data_q));
    if (down_rsp_i.r_valid) ReadsWhatIsAsked_M : assume (down_reads_q != '0);
    // What stands behind a burst buffer takes the last beat after the request.
    if (Block == 1 && down_data_q == '0) LastsFollowRequests_M : assume (!down_w_last);
    // The firewall.
    if (up_writes_q >= count_t'(MaxOutstanding)) AtMostWrites_M : assume (!up_req_i.aw_valid);
    if (up_reads_q >= count_t'(MaxOutstanding)) AtMostReads_M : assume (!up_req_i.ar_valid);
    if (up_req_i.w_valid) DataForOfferedBursts_M : assume (up_writes_q != '0 || up_req_i.aw_valid);
    // The FIFO.
    if (Block == 1 && up_last) LastsInOrder_M : assume (kept_last_q != '0);
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
    end
  end

  // For induction: where what is owed is kept.
  localparam count_t Most = count_t'(MaxOutstanding);
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      WritesAddUp_A : assert (up_writes_q == count_t'(kept_aw_q + down_writes_q + kept_b_q));
      ReadsAddUp_A : assert (up_reads_q == count_t'(kept_ar_q + down_reads_q + kept_last_q));
      Bounded_A : assert (up_writes_q <= Most && up_reads_q <= Most && kept_aw_q <= Most && kept_ar_q <= Most
                          && down_writes_q <= Most && down_reads_q <= Most && kept_b_q <= Most && kept_last_q <= Most
                          && (Block == 0 || down_data_q <= Most));
      OfferedIsKept_A : assert ((!down.aw_valid || kept_aw_q != '0) && (!down.ar_valid || kept_ar_q != '0));
    end
  end

  if (Block == 0) begin : gen_register
    always_ff @(posedge clk_i) begin
      if (rst_ni) begin
        HoldsOne_A : assert (kept_aw_q == count_t'(down.aw_valid) && kept_ar_q == count_t'(down.ar_valid));
        PassesAnswers_A : assert (kept_b_q == '0 && kept_last_q == '0);
      end
    end
  end else begin : gen_fifos
    // Words in the FIFOs' memories: differences of their pointers, of the pointers' width.
    logic [3:0] in_aw, in_ar;
    logic [4:0] in_b;
    assign in_aw = gen_buffer.dut.u_aw.write_q - gen_buffer.dut.u_aw.read_q;
    assign in_ar = gen_buffer.dut.u_ar.write_q - gen_buffer.dut.u_ar.read_q;
    assign in_b = gen_buffer.dut.u_b.write_q - gen_buffer.dut.u_b.read_q;

    logic first_q;
    always_ff @(posedge clk_i) first_q <= !rst_ni;
    always_ff @(posedge clk_i) begin
      if (rst_ni) begin
        AwFifoHolds_A :
        assert (kept_aw_q == {3'd0, in_aw} + count_t'(gen_buffer.dut.u_aw.valid_q));
        ArFifoHolds_A :
        assert (kept_ar_q == {3'd0, in_ar} + count_t'(gen_buffer.dut.u_ar.valid_q));
        AnswerFifoHolds_A :
        assert (kept_b_q == {2'd0, in_b} + count_t'(gen_buffer.dut.u_b.valid_q));
        AnswerFindsRoom_A : assert (gen_buffer.dut.u_b.ready_q || (first_q && down_writes_q == '0));
        DataIsSent_A : assert (down_data_q == count_t'(gen_buffer.dut.sent_q));
        DataOnlyForAsked_A : assert (down_data_q <= down_writes_q);
      end
    end
  end

endmodule
