// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// One channel through a pair of registers: every output is a flop, ready included, at full throughput.
///
/// Latency one cycle. In reset both handshakes are low, the payload out is zero, and what was inside is gone.
module skid #(
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

  // `data_q` is what the output shows, `spare_q` what arrived in the cycle in which the output stalled.
  logic valid_q, spare_valid_q, ready_q;
  logic [Width-1:0] data_q, spare_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      valid_q <= 1'b0;
      spare_valid_q <= 1'b0;
      ready_q <= 1'b0;
      data_q <= '0;
      spare_q <= '0;
    end else
`ifndef SYNTHESIS
    // Else nothing would change, as nothing waits behind an empty output: a simulation passes over a channel at rest. In gates
    // the condition would only stand in the way.
    if (valid_q || valid_i || !ready_q)
`endif
    begin
      automatic logic take, spare;
      take = valid_i && ready_q;
      spare = spare_valid_q;
      if (ready_i || !valid_q) begin
        if (spare) data_q <= spare_q;
        else if (take) data_q <= data_i;
        valid_q <= spare || take;
        spare_valid_q <= 1'b0;
        ready_q <= 1'b1;
      end else if (take) begin
        spare_q <= data_i;
        spare_valid_q <= 1'b1;
        ready_q <= 1'b0;
      end else begin
        ready_q <= !spare;
      end
    end
  end

  assign ready_o = ready_q;
  assign valid_o = valid_q;
  assign data_o = data_q;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      NothingTakenWhileFull_A :
      assert (!(spare_valid_q && ready_q))
      else $error("skid: ready while both registers are full");
      SpareOnlyBehindOutput_A :
      assert (!spare_valid_q || valid_q)
      else $error("skid: a word waits behind an empty output");
    end
  end
`endif

endmodule
