// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Lets slots take turns at memory every 16 beats: long bursts go in parts, and their answers come back as one.
///
/// A part is at most 16 beats, which AXI4 allows for every kind of burst (A4.3.2). All parts go with id 0, so memory
/// answers them in order; ids are given back with the answers. A write's answer is the worst of its parts' answers.
///
/// Stands behind a `burst_buffer`: write data is there when its request is, and answers are taken at once. A request is
/// taken with its last part; data is taken for parts that memory was asked for.
module burst_split
  import eddy_pkg::*;
#(
  /// Parts that memory was asked for and has not answered, in each direction; a power of two.
  parameter int unsigned MaxParts = 8
) (
  input  logic     clk_i,
  /// Synchronous reset, active low.
  input  logic     rst_ni,
  /// From the slot's side.
  input  axi_req_t req_i,
  output axi_rsp_t rsp_o,
  /// Toward memory.
  output axi_req_t req_o,
  input  axi_rsp_t rsp_i
);

  localparam int unsigned PartWidth = IdWidth + 1;

  // Writes: how many beats the data of each part has, and whose answer each part's is.
  ax_t aw, ar;
  logic aw_valid, aw_last, aw_go, aw_full, aw_empty, w_go, w_full, w_empty, w_last, b_last;
  logic [IdWidth-1:0] b_id, r_id;
  logic [3:0] w_len, beat_q;
  logic [1:0] b_worst, b_worst_q;

  burst_parts u_aw_parts (
    .clk_i,
    .rst_ni,
    .valid_i(req_i.aw_valid),
    .ready_o(rsp_o.aw_ready),
    .ax_i(req_i.aw),
    .valid_o(aw_valid),
    .ready_i(aw_go),
    .ax_o(aw),
    .last_o(aw_last)
  );

  part_queue #(
    .Width(4),
    .Depth(MaxParts)
  ) u_w_lens (
    .clk_i,
    .rst_ni,
    .put_i(aw_go),
    .data_i(aw.len[3:0]),
    .full_o(w_full),
    .take_i(w_go && w_last),
    .data_o(w_len),
    .empty_o(w_empty)
  );

  part_queue #(
    .Width(PartWidth),
    .Depth(MaxParts)
  ) u_b_parts (
    .clk_i,
    .rst_ni,
    .put_i(aw_go),
    .data_i({aw.id, aw_last}),
    .full_o(aw_full),
    .take_i(rsp_i.b_valid),
    .data_o({b_id, b_last}),
    .empty_o(aw_empty)
  );

  always_comb begin
    req_o.aw = aw;
    req_o.aw.id = '0;
  end

  assign req_o.aw_valid = aw_valid && !aw_full && !w_full;
  assign aw_go = req_o.aw_valid && rsp_i.aw_ready;
  assign w_last = beat_q == w_len;
  assign req_o.w.data = req_i.w.data;
  assign req_o.w.strb = req_i.w.strb;
  assign req_o.w.last = w_last;
  assign req_o.w_valid = req_i.w_valid && !w_empty;
  assign w_go = req_o.w_valid && rsp_i.w_ready;
  assign rsp_o.w_ready = rsp_i.w_ready && !w_empty;
  assign req_o.b_ready = req_i.b_ready;
  assign b_worst = rsp_i.b.resp > b_worst_q ? rsp_i.b.resp : b_worst_q;
  assign rsp_o.b = {b_id, b_worst};
  assign rsp_o.b_valid = rsp_i.b_valid && b_last;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      beat_q <= '0;
      b_worst_q <= '0;
    end else begin
      if (w_go) beat_q <= w_last ? '0 : beat_q + 4'd1;
      if (rsp_i.b_valid) b_worst_q <= b_last ? '0 : b_worst;
    end
  end

  // Reads.
  logic ar_valid, ar_last, ar_go, ar_full, ar_empty, r_last;

  burst_parts u_ar_parts (
    .clk_i,
    .rst_ni,
    .valid_i(req_i.ar_valid),
    .ready_o(rsp_o.ar_ready),
    .ax_i(req_i.ar),
    .valid_o(ar_valid),
    .ready_i(ar_go),
    .ax_o(ar),
    .last_o(ar_last)
  );

  part_queue #(
    .Width(PartWidth),
    .Depth(MaxParts)
  ) u_r_parts (
    .clk_i,
    .rst_ni,
    .put_i(ar_go),
    .data_i({ar.id, ar_last}),
    .full_o(ar_full),
    .take_i(rsp_i.r_valid && rsp_i.r.last),
    .data_o({r_id, r_last}),
    .empty_o(ar_empty)
  );

  always_comb begin
    req_o.ar = ar;
    req_o.ar.id = '0;
  end

  assign req_o.ar_valid = ar_valid && !ar_full;
  assign ar_go = req_o.ar_valid && rsp_i.ar_ready;
  assign req_o.r_ready = req_i.r_ready;
  assign rsp_o.r = {r_id, rsp_i.r.data, rsp_i.r.resp, rsp_i.r.last && r_last};
  assign rsp_o.r_valid = rsp_i.r_valid;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      AnswersWereAsked_A :
      assert (!(rsp_i.b_valid && aw_empty) && !(rsp_i.r_valid && ar_empty))
      else $error("burst_split: memory answers what it was not asked");
      AnswersAreTaken_A :
      assert (req_i.b_ready && req_i.r_ready)
      else $error("burst_split: an answer is not taken at once");
      PartsAreShort_A :
      assert ((!aw_valid || aw.len < 8'd16) && (!ar_valid || ar.len < 8'd16))
      else $error("burst_split: a FIXED or WRAP burst of more than 16 beats");
      BurstsEndWithTheirParts_A :
      assert (!w_go || !req_i.w.last || w_last)
      else $error("burst_split: write data ends in the middle of a part");
    end
  end
`else
  logic unused;
  assign unused = &{aw_empty, ar_empty, req_i.w.last, rsp_i.b.id, rsp_i.r.id};
`endif

endmodule
