// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// One channel through one register: every output is a flop, ready included; a word every other cycle at most.
///
/// Latency one cycle. In reset both handshakes are low, the payload out is zero, and what was inside is gone.
module stage #(
  /// Bits of the payload.
  parameter int unsigned Width = 8
) (
  input  logic             clk_i,
  /// Synchronous reset, active low.
  input  logic             rst_ni,
  input  logic             valid_i,
  output logic             ready_o,
  input  logic [Width-1:0] data_i,
  output logic             valid_o,
  input  logic             ready_i,
  output logic [Width-1:0] data_o
);

  logic valid_q, ready_q;
  logic [Width-1:0] data_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      valid_q <= 1'b0;
      ready_q <= 1'b0;
      data_q <= '0;
    end else if (valid_i && ready_q) begin
      valid_q <= 1'b1;
      ready_q <= 1'b0;
      data_q <= data_i;
    end else if (ready_i || !valid_q) begin
      valid_q <= 1'b0;
      ready_q <= 1'b1;
    end
  end

  assign ready_o = ready_q;
  assign valid_o = valid_q;
  assign data_o = data_q;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      NothingTakenWhileFull_A :
      assert (!(valid_q && ready_q))
      else $error("stage: ready while the register is full");
    end
  end
`endif

endmodule
