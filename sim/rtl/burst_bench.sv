// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The burst buffer or the burst split with its channels flat: each payload one vector, as the package lays it out.
module burst_bench
  import eddy_pkg::*;
#(
  /// The split; else the buffer.
  parameter bit          Split = 1'b0,
  parameter int unsigned MaxOutstanding = 8,
  parameter int unsigned Beats = 512,
  parameter int unsigned MaxParts = 8
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  logic [$bits(ax_t)-1:0] aw_i,
  input  logic                   aw_valid_i,
  output logic                   aw_ready_o,
  input  logic [$bits(w_t)-1:0]  w_i,
  input  logic                   w_valid_i,
  output logic                   w_ready_o,
  output logic [$bits(b_t)-1:0]  b_o,
  output logic                   b_valid_o,
  input  logic                   b_ready_i,
  input  logic [$bits(ax_t)-1:0] ar_i,
  input  logic                   ar_valid_i,
  output logic                   ar_ready_o,
  output logic [$bits(r_t)-1:0]  r_o,
  output logic                   r_valid_o,
  input  logic                   r_ready_i,
  output logic [$bits(ax_t)-1:0] mem_aw_o,
  output logic                   mem_aw_valid_o,
  input  logic                   mem_aw_ready_i,
  output logic [$bits(w_t)-1:0]  mem_w_o,
  output logic                   mem_w_valid_o,
  input  logic                   mem_w_ready_i,
  input  logic [$bits(b_t)-1:0]  mem_b_i,
  input  logic                   mem_b_valid_i,
  output logic                   mem_b_ready_o,
  output logic [$bits(ax_t)-1:0] mem_ar_o,
  output logic                   mem_ar_valid_o,
  input  logic                   mem_ar_ready_i,
  input  logic [$bits(r_t)-1:0]  mem_r_i,
  input  logic                   mem_r_valid_i,
  output logic                   mem_r_ready_o
);

  axi_req_t req_in, req_out;
  axi_rsp_t rsp_in, rsp_out;

  always_comb begin
    req_in.aw = aw_i;
    req_in.aw_valid = aw_valid_i;
    req_in.w = w_i;
    req_in.w_valid = w_valid_i;
    req_in.b_ready = b_ready_i;
    req_in.ar = ar_i;
    req_in.ar_valid = ar_valid_i;
    req_in.r_ready = r_ready_i;
    rsp_in.aw_ready = mem_aw_ready_i;
    rsp_in.w_ready = mem_w_ready_i;
    rsp_in.b = mem_b_i;
    rsp_in.b_valid = mem_b_valid_i;
    rsp_in.ar_ready = mem_ar_ready_i;
    rsp_in.r = mem_r_i;
    rsp_in.r_valid = mem_r_valid_i;
  end

  if (Split) begin : gen_split
    burst_split #(
      .MaxParts
    ) u_split (
      .clk_i,
      .rst_ni,
      .req_i(req_in),
      .rsp_o(rsp_out),
      .req_o(req_out),
      .rsp_i(rsp_in)
    );
  end else begin : gen_buffer
    burst_buffer #(
      .MaxOutstanding,
      .Beats
    ) u_buffer (
      .clk_i,
      .rst_ni,
      .req_i(req_in),
      .rsp_o(rsp_out),
      .req_o(req_out),
      .rsp_i(rsp_in)
    );
  end

  assign aw_ready_o = rsp_out.aw_ready;
  assign w_ready_o = rsp_out.w_ready;
  assign b_o = rsp_out.b;
  assign b_valid_o = rsp_out.b_valid;
  assign ar_ready_o = rsp_out.ar_ready;
  assign r_o = rsp_out.r;
  assign r_valid_o = rsp_out.r_valid;
  assign mem_aw_o = req_out.aw;
  assign mem_aw_valid_o = req_out.aw_valid;
  assign mem_w_o = req_out.w;
  assign mem_w_valid_o = req_out.w_valid;
  assign mem_b_ready_o = req_out.b_ready;
  assign mem_ar_o = req_out.ar;
  assign mem_ar_valid_o = req_out.ar_valid;
  assign mem_r_ready_o = req_out.r_ready;

endmodule
