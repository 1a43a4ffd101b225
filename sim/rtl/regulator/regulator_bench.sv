// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The regulator with its two request channels flat; data and answers are wires and left out.
module regulator_bench
  import eddy_pkg::*;
(
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  logic                   enable_i,
  input  logic [           23:0] rate_i,
  input  logic [           19:0] burst_i,
  input  logic                   aw_valid_i,
  output logic                   aw_ready_o,
  input  logic [$bits(ax_t)-1:0] aw_i,
  input  logic                   ar_valid_i,
  output logic                   ar_ready_o,
  input  logic [$bits(ax_t)-1:0] ar_i,
  output logic                   aw_valid_o,
  input  logic                   aw_ready_i,
  output logic [$bits(ax_t)-1:0] aw_o,
  output logic                   ar_valid_o,
  input  logic                   ar_ready_i,
  output logic [$bits(ax_t)-1:0] ar_o,
  output logic                   admit_o,
  output logic                   admit_write_o,
  output logic [           39:0] admit_addr_o,
  output logic [            3:0] admit_context_o,
  output logic [           11:0] admit_bytes_o,
  output logic                   read_stall_o,
  output logic                   write_stall_o,
  output logic                   token_stall_o,
  output logic                   token_stall_write_o
);

  axi_req_t req_in, req_out;
  axi_rsp_t rsp_in, rsp_out;

  always_comb begin
    req_in = '0;
    req_in.aw_valid = aw_valid_i;
    req_in.aw = aw_i;
    req_in.ar_valid = ar_valid_i;
    req_in.ar = ar_i;
    rsp_in = '0;
    rsp_in.aw_ready = aw_ready_i;
    rsp_in.ar_ready = ar_ready_i;
  end

  assign aw_ready_o = rsp_out.aw_ready;
  assign ar_ready_o = rsp_out.ar_ready;
  assign aw_valid_o = req_out.aw_valid;
  assign aw_o = req_out.aw;
  assign ar_valid_o = req_out.ar_valid;
  assign ar_o = req_out.ar;

  regulator u_regulator (
    .clk_i,
    .rst_ni,
    .enable_i,
    .rate_i,
    .burst_i,
    .req_i(req_in),
    .rsp_o(rsp_out),
    .req_o(req_out),
    .rsp_i(rsp_in),
    .admit_o,
    .admit_write_o,
    .admit_addr_o,
    .admit_context_o,
    .admit_bytes_o,
    .read_stall_o,
    .write_stall_o,
    .token_stall_o,
    .token_stall_write_o
  );

endmodule
