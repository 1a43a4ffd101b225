// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Adds a number to every word of a stream. Replace this by your arithmetic: take words from `in_*`, give words to
/// `out_*`, clear your state on `clear_i`. One word a cycle, latency one cycle.
module skeleton_core (
  input  logic clk_i,
  input  logic rst_ni,
  /// A run begins.
  input  logic        clear_i,
  input  logic [31:0] addend_i,

  input  logic        in_valid_i,
  output logic        in_ready_o,
  input  logic [63:0] in_data_i,
  output logic        out_valid_o,
  input  logic        out_ready_i,
  output logic [63:0] out_data_o
);

  assign in_ready_o = !out_valid_o || out_ready_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) out_valid_o <= 1'b0;
    else if (in_ready_o) out_valid_o <= in_valid_i;
  end

  always_ff @(posedge clk_i) begin
    if (in_ready_o) out_data_o <= in_data_i + 64'(addend_i);
  end

endmodule
