// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The crossbar with its slots' channels flat, in packed arrays; a request is told by its address, id and user.
module mem_xbar_bench
  import eddy_pkg::*;
#(
  parameter int unsigned NumSlots = 3,
  parameter int unsigned MaxWrites = 8,
  parameter int unsigned MaxReads = 8,
  parameter int unsigned MaxBeats = 32,
  parameter int unsigned PageBeats = 8
) (
  input  logic                                    clk_i,
  input  logic                                    rst_ni,
  input  logic [NumSlots-1:0]                     slot_aw_valid_i,
  output logic [NumSlots-1:0]                     slot_aw_ready_o,
  input  logic [NumSlots-1:0][$bits(ax_t)-1:0]    slot_aw_i,
  input  logic [NumSlots-1:0]                     slot_w_valid_i,
  output logic [NumSlots-1:0]                     slot_w_ready_o,
  input  logic [NumSlots-1:0][$bits(w_t)-1:0]     slot_w_i,
  output logic [NumSlots-1:0]                     slot_b_valid_o,
  input  logic [NumSlots-1:0]                     slot_ar_valid_i,
  output logic [NumSlots-1:0]                     slot_ar_ready_o,
  input  logic [NumSlots-1:0][$bits(ax_t)-1:0]    slot_ar_i,
  output logic [NumSlots-1:0]                     slot_r_valid_o,
  output logic [$bits(ax_t)-1:0]                  aw_o,
  output logic [3:0]                              aw_slot_o,
  output logic                                    aw_valid_o,
  input  logic                                    aw_ready_i,
  output logic [$bits(w_t)-1:0]                   w_o,
  output logic                                    w_valid_o,
  input  logic                                    w_ready_i,
  input  logic [3:0]                              b_slot_i,
  input  logic                                    b_valid_i,
  output logic                                    b_ready_o,
  output logic [$bits(ax_t)-1:0]                  ar_o,
  output logic [3:0]                              ar_slot_o,
  output logic                                    ar_valid_o,
  input  logic                                    ar_ready_i,
  input  logic [3:0]                              r_slot_i,
  input  logic                                    r_valid_i,
  input  logic                                    r_last_i,
  output logic                                    r_ready_o
);

  ax_t slot_aw [NumSlots];
  ax_t slot_ar [NumSlots];
  w_t  slot_w [NumSlots];

  for (genvar i = 0; i < NumSlots; i++) begin : gen_slots
    assign slot_aw[i] = slot_aw_i[i];
    assign slot_ar[i] = slot_ar_i[i];
    assign slot_w[i] = slot_w_i[i];
  end

  mem_xbar #(
    .NumSlots,
    .MaxWrites,
    .MaxReads,
    .MaxBeats,
    .PageBeats
  ) u_mem_xbar (
    .clk_i,
    .rst_ni,
    .slot_aw_i(slot_aw),
    .slot_aw_valid_i,
    .slot_aw_ready_o,
    .slot_w_i(slot_w),
    .slot_w_valid_i,
    .slot_w_ready_o,
    .slot_b_valid_o,
    .slot_ar_i(slot_ar),
    .slot_ar_valid_i,
    .slot_ar_ready_o,
    .slot_r_valid_o,
    .aw_o,
    .aw_slot_o,
    .aw_valid_o,
    .aw_ready_i,
    .w_o,
    .w_valid_o,
    .w_ready_i,
    .b_slot_i,
    .b_valid_i,
    .b_ready_o,
    .ar_o,
    .ar_slot_o,
    .ar_valid_o,
    .ar_ready_i,
    .r_slot_i,
    .r_valid_i,
    .r_last_i,
    .r_ready_o
  );

endmodule
