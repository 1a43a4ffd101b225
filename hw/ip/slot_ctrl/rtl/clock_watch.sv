// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Detects whether a clock runs, by a level that crosses to it and back.
///
/// A check starts on `start_i`, and again and again while `busy_i`; it ends `timeout_i` cycles later with `alive_o`
/// telling whether the level came back, and `lost_o` pulsing if not. Nothing toggles without a check. The bound should
/// be at least eight periods of the slowest clock it may meet.
module clock_watch (
  input  logic        clk_i,
  /// Synchronous reset, active low.
  input  logic        rst_ni,
  /// The clock in question.
  input  logic        far_clk_i,
  /// Pulse: check once.
  input  logic        start_i,
  /// A transaction is outstanding on that clock: keep checking.
  input  logic        busy_i,
  /// Cycles a check takes; 0 counts as 1.
  input  logic [15:0] timeout_i,
  output logic        checking_o,
  /// Outcome of the last check; low until the first.
  output logic        alive_o,
  output logic        lost_o
);

  logic ask_q, answer, checking_q, alive_q, lost_q, far_q;
  logic [15:0] left_q;

  logic far_ask;

  sync_bit u_ask (
    .clk_i(far_clk_i),
    .d_i(ask_q),
    .q_o(far_ask)
  );

  always_ff @(posedge far_clk_i) far_q <= far_ask;

  sync_bit u_answer (
    .clk_i,
    .d_i(far_q),
    .q_o(answer)
  );

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      ask_q <= 1'b0;
      checking_q <= 1'b0;
      alive_q <= 1'b0;
      lost_q <= 1'b0;
      left_q <= '0;
    end else begin
      lost_q <= 1'b0;
      if (checking_q) begin
        left_q <= left_q - 16'd1;
        if (left_q <= 16'd1) begin
          checking_q <= 1'b0;
          alive_q <= answer == ask_q;
          lost_q <= answer != ask_q;
        end
      end else if (start_i || busy_i) begin
        // After a lost check the level may still arrive: repeat the same level, or its late arrival would count as an answer.
        if (answer == ask_q) ask_q <= !ask_q;
        checking_q <= 1'b1;
        left_q <= timeout_i;
      end
    end
  end

  assign checking_o = checking_q;
  assign alive_o = alive_q;
  assign lost_o = lost_q;

endmodule
