// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The stages between a memory and what a port of it reads.
module xpm_memory_read #(
  parameter int Width = 32,
  parameter int Latency = 1,
  parameter string Mode = "no_change"
) (
  input  logic clk_i,
  input  logic en_i,
  /// The port writes in this cycle, where it is enabled.
  input  logic writes_i,
  input  logic [Width-1:0] old_i,
  input  logic [Width-1:0] new_i,
  input  logic rst_i,
  input  logic regce_i,
  output logic [Width-1:0] dout_o
);

  if (Latency == 0) begin : gen_at_once
    assign dout_o = old_i;
    logic unused;
    assign unused = ^{clk_i, en_i, writes_i, new_i, rst_i, regce_i};
  end else begin : gen_stages
    logic [Width-1:0] stages_q [Latency];

    always_ff @(posedge clk_i) begin
      if (en_i && !(writes_i && Mode == "no_change"))
        stages_q[0] <= writes_i && Mode == "write_first" ? new_i : old_i;
      for (int i = 1; i < Latency; i++) if (i < Latency - 1 || regce_i) stages_q[i] <= stages_q[i-1];
      if (rst_i) stages_q[Latency-1] <= '0;
    end
    assign dout_o = stages_q[Latency-1];

    logic unused;
    assign unused = regce_i;
  end

endmodule
