// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The stream link with its channels flat: each payload of a slot one vector, as the package lays it out.
module stream_link_bench
  import eddy_pkg::*;
#(
  parameter int unsigned NumSlots = 3,
  parameter int unsigned Depth = 16
) (
  input  logic                                 clk_i,
  input  logic                                 rst_ni,
  input  logic                                 sel_i,
  input  logic                                 write_i,
  input  logic [15:0]                          addr_i,
  input  logic [31:0]                          wdata_i,
  output logic                                 ack_o,
  output logic                                 err_o,
  output logic [31:0]                          rdata_o,
  input  logic [NumSlots-1:0][$bits(ax_t)-1:0] aw_i,
  input  logic [NumSlots-1:0]                  aw_valid_i,
  output logic [NumSlots-1:0]                  aw_ready_o,
  input  logic [NumSlots-1:0][$bits(w_t)-1:0]  w_i,
  input  logic [NumSlots-1:0]                  w_valid_i,
  output logic [NumSlots-1:0]                  w_ready_o,
  output logic [NumSlots-1:0][$bits(b_t)-1:0]  b_o,
  output logic [NumSlots-1:0]                  b_valid_o,
  input  logic [NumSlots-1:0][$bits(ax_t)-1:0] ar_i,
  input  logic [NumSlots-1:0]                  ar_valid_i,
  output logic [NumSlots-1:0]                  ar_ready_o,
  output logic [NumSlots-1:0][$bits(r_t)-1:0]  r_o,
  output logic [NumSlots-1:0]                  r_valid_o,
  output logic [NumSlots-1:0]                  wake_o,
  output logic [NumSlots-1:0][$bits(ax_t)-1:0] mem_aw_o,
  output logic [NumSlots-1:0]                  mem_aw_valid_o,
  input  logic [NumSlots-1:0]                  mem_aw_ready_i,
  output logic [NumSlots-1:0][$bits(w_t)-1:0]  mem_w_o,
  output logic [NumSlots-1:0]                  mem_w_valid_o,
  input  logic [NumSlots-1:0]                  mem_w_ready_i,
  input  logic [NumSlots-1:0][$bits(b_t)-1:0]  mem_b_i,
  input  logic [NumSlots-1:0]                  mem_b_valid_i,
  output logic [NumSlots-1:0][$bits(ax_t)-1:0] mem_ar_o,
  output logic [NumSlots-1:0]                  mem_ar_valid_o,
  input  logic [NumSlots-1:0]                  mem_ar_ready_i,
  input  logic [NumSlots-1:0][$bits(r_t)-1:0]  mem_r_i,
  input  logic [NumSlots-1:0]                  mem_r_valid_i
);

  axi_req_t req_in [NumSlots];
  axi_rsp_t rsp_in [NumSlots];
  axi_req_t req_out [NumSlots];
  axi_rsp_t rsp_out [NumSlots];

  for (genvar k = 0; k < int'(NumSlots); k++) begin : gen_slot
    assign req_in[k] = '{
      aw: aw_i[k], aw_valid: aw_valid_i[k], w: w_i[k], w_valid: w_valid_i[k], b_ready: 1'b1, ar: ar_i[k],
      ar_valid: ar_valid_i[k], r_ready: 1'b1
    };
    assign aw_ready_o[k] = rsp_out[k].aw_ready;
    assign w_ready_o[k] = rsp_out[k].w_ready;
    assign b_o[k] = rsp_out[k].b;
    assign b_valid_o[k] = rsp_out[k].b_valid;
    assign ar_ready_o[k] = rsp_out[k].ar_ready;
    assign r_o[k] = rsp_out[k].r;
    assign r_valid_o[k] = rsp_out[k].r_valid;
    assign mem_aw_o[k] = req_out[k].aw;
    assign mem_aw_valid_o[k] = req_out[k].aw_valid;
    assign mem_w_o[k] = req_out[k].w;
    assign mem_w_valid_o[k] = req_out[k].w_valid;
    assign mem_ar_o[k] = req_out[k].ar;
    assign mem_ar_valid_o[k] = req_out[k].ar_valid;
    assign rsp_in[k] = '{
      aw_ready: mem_aw_ready_i[k], w_ready: mem_w_ready_i[k], b: mem_b_i[k], b_valid: mem_b_valid_i[k],
      ar_ready: mem_ar_ready_i[k], r: mem_r_i[k], r_valid: mem_r_valid_i[k]
    };
  end

  stream_link #(
    .NumSlots(NumSlots),
    .Depth(Depth)
  ) u_link (
    .clk_i,
    .rst_ni,
    .sel_i,
    .write_i,
    .addr_i,
    .wdata_i,
    .wstrb_i(4'hF),
    .ack_o,
    .err_o,
    .rdata_o,
    .req_i(req_in),
    .rsp_o(rsp_out),
    .wake_o,
    .req_o(req_out),
    .rsp_i(rsp_in)
  );

endmodule
