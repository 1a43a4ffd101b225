// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Resets the two sides of a clock crossing together, whatever the clocks do.
///
/// A pulse or level on `clear_i` holds this side's reset at once, then the other side's; this side's is released last,
/// once the other side has left its own. A stopped far clock only delays the release: this side stays in reset until
/// the far side has seen the request, so no crossing is ever reset on one side alone.
module reset_pair (
  input  logic clk_i,
  /// Synchronous reset, active low; resets both sides.
  input  logic rst_ni,
  /// Reset both sides; held in reset for as long as it is high.
  input  logic clear_i,
  /// Reset of this side, active low, synchronous to `clk_i`.
  output logic rst_no,

  input  logic far_clk_i,
  /// Reset of the far side, active low, synchronous to `far_clk_i`.
  output logic far_rst_no
);

  logic request_q, wanted_q, far_request, far_reset_q, acknowledge, reset_q;

  // Four phases: a request stands until it is acknowledged, and the next waits until the acknowledgement has gone.
  // Without the wait it would be taken back by the one before, and might reset the far side once this side runs.
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      request_q <= 1'b1;
      wanted_q <= 1'b0;
    end else if (request_q) request_q <= clear_i || !acknowledge;
    else begin
      request_q <= !acknowledge && (clear_i || wanted_q);
      wanted_q <= acknowledge && (clear_i || wanted_q);
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) reset_q <= 1'b1;
    else reset_q <= clear_i || wanted_q || request_q || acknowledge;
  end

  sync_bit u_request (
    .clk_i(far_clk_i),
    .d_i(request_q),
    .q_o(far_request)
  );

  always_ff @(posedge far_clk_i) far_reset_q <= far_request;

  sync_bit u_acknowledge (
    .clk_i,
    .d_i(far_reset_q),
    .q_o(acknowledge)
  );

  assign rst_no = !reset_q;
  assign far_rst_no = !far_reset_q;

endmodule
