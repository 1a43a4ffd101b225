// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The two sides of a crossing are reset together, with both clocks at once, in any ratio and any phase, stopped or not: the
/// far side is in reset only while this one is, and neither leaves before the other has had an edge in reset.
///
/// That is what a FIFO between two clocks needs (`async_fifo_proof` assumes it). Assumed: flops begin at zero, as those of an
/// FPGA do, and `rst_ni` is low until this side has had an edge, and is not lowered again.
module reset_pair_proof (
  input logic clk_i,
  input logic rst_ni,
  input logic clear_i,
  input logic far_clk_i,
  /// Which reset is followed, of either side.
  input logic follow_near_i,
  input logic follow_far_i
);

  logic near_up, far_up;

  reset_pair dut (
    .clk_i, .rst_ni, .clear_i, .rst_no(near_up), .far_clk_i, .far_rst_no(far_up)
  );

  logic begun_q = 1'b0, up_q = 1'b0;
  always_ff @(posedge clk_i) begin
    begun_q <= 1'b1;
    up_q <= rst_ni;
  end

  // How a request goes around: to the far side, and back as its acknowledgement.
  logic [5:0] ring;
  logic [2:0] turns;
  assign ring = {dut.request_q, dut.u_request.sync_q[0], dut.u_request.sync_q[1], dut.far_reset_q,
                 dut.u_acknowledge.sync_q[0], dut.u_acknowledge.sync_q[1]};
  always_comb begin
    turns = '0;
    for (int k = 0; k < 5; k++) turns += 3'(ring[k] != ring[k+1]);
  end

  always_comb begin
    if (!begun_q) BeginsInReset_M : assume (!rst_ni && ring == '0);
    if (up_q) StaysUp_M : assume (rst_ni);
  end

  // One reset asked of this side, be it while the last one still goes around, and whether the far side has had an edge in
  // reset since; and one of the far side.
  logic near_q = 1'b0, far_saw_q = 1'b0, far_q = 1'b0, near_saw_q = 1'b0;

  always_ff @(posedge clk_i) begin
    if (rst_ni && clear_i && follow_near_i) near_q <= 1'b1;
    if (far_q && !near_up && !far_up) near_saw_q <= 1'b1;
  end

  always_ff @(posedge far_clk_i) begin
    if (far_up && dut.far_request && follow_far_i) far_q <= 1'b1;
    if (near_q && !near_up && !far_up) far_saw_q <= 1'b1;
  end

  always_comb begin
    if (begun_q) begin
      GoesAroundOnce_A : assert (turns <= 3'd1);
      if (!up_q) AsksInReset_A : assert (dut.request_q && !near_up);
      HeldWhileAsked_A : assert (ring == '0 || !near_up);
      FarOnlyWithNear_A : assert (far_up || !near_up);
      if (near_q && !far_saw_q) FarIsAsked_A : assert (dut.far_reset_q || dut.wanted_q || (dut.request_q && ring[1:0] == '0));
      if (near_q && near_up) FarWasReset_A : assert (far_saw_q);
      if (far_q && !near_saw_q) NearHasNotSeen_A : assert (ring == 6'b111100);
      if (far_q && far_up) NearWasReset_A : assert (near_saw_q);
    end else begin
      NothingYet_A : assert (!up_q && !near_q && !far_saw_q && !far_q && !near_saw_q);
    end
  end

endmodule
