// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The FIFO with the ports its neighbours use.
module sync_fifo_bench #(
  parameter int unsigned Width = 16,
  parameter int unsigned Depth = 8
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             valid_i,
  output logic             ready_o,
  input  logic [Width-1:0] data_i,
  output logic             valid_o,
  input  logic             ready_i,
  output logic [Width-1:0] data_o
);

  sync_fifo #(
    .Width,
    .Depth
  ) u_fifo (
    .clk_i,
    .rst_ni,
    .valid_i,
    .ready_o,
    .data_i,
    .valid_o,
    .ready_i,
    .data_o
  );

endmodule
