// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The units beside memory that take their time: multiplication and division, and floating point where there is some.
///
/// A request is taken where its `ready` is up; which instruction asks does not change that. Answers carry the request's tag and
/// wait until they are taken.
module gpu_units
  import gpu_pkg::*;
#(
  parameter int unsigned Threads = 4,
  parameter bit Fpu = 1'b0
) (
  input  logic               clk_i,
  /// Synchronous reset, active low: what was in flight is forgotten.
  input  logic               rst_ni,

  input  logic               muldiv_i,
  output logic               muldiv_ready_o,
  input  logic               fpu_i,
  output logic               fpu_ready_o,
  /// Of a multiplication or division; of the floating-point unit.
  input  logic [2:0]         sub_i,
  input  logic [4:0]         fp_op_i,
  input  logic [2:0]         rounding_i,
  input  tag_t               tag_i,
  input  lanes_t             mask_i,
  input  logic [31:0]        rs1_i [Threads],
  input  logic [31:0]        rs2_i [Threads],
  input  logic [31:0]        rs3_i [Threads],

  output logic               muldiv_valid_o,
  input  logic               muldiv_take_i,
  output tag_t               muldiv_tag_o,
  output logic [Threads-1:0] muldiv_mask_o,
  output logic [31:0]        muldiv_data_o [Threads],

  output logic               fpu_valid_o,
  input  logic               fpu_take_i,
  output tag_t               fpu_tag_o,
  output logic [Threads-1:0] fpu_mask_o,
  output logic [31:0]        fpu_data_o [Threads],
  /// Of all its lanes.
  output logic [4:0]         fpu_flags_o
);

  typedef logic [Threads-1:0] mask_t;

  gpu_muldiv #(.Threads(Threads), .TagWidth(UnitTagWidth)) u_muldiv (
    .clk_i, .rst_ni,
    .req_valid_i(muldiv_i), .req_ready_o(muldiv_ready_o), .req_op_i(sub_i), .req_mask_i(mask_t'(mask_i)),
    .req_tag_i(tag_i), .req_a_i(rs1_i), .req_b_i(rs2_i),
    .rsp_valid_o(muldiv_valid_o), .rsp_ready_i(muldiv_take_i), .rsp_mask_o(muldiv_mask_o), .rsp_tag_o(muldiv_tag_o),
    .rsp_data_o(muldiv_data_o)
  );

  if (Fpu) begin : gen_fpu
    gpu_fpu_pkg::flags_t flags [Threads];
    logic req_ready, div_ready;

    // One line for all operations: an operation of the other kind waits a cycle too, but nothing depends on what is
    // in the execute stage.
    assign fpu_ready_o = req_ready && div_ready;

    gpu_fpu #(.Lanes(Threads), .TagWidth(UnitTagWidth)) u_fpu (
      .clk_i, .rst_ni,
      .req_valid_i(fpu_i && fpu_ready_o), .req_ready_o(req_ready), .req_op_i(gpu_fpu_pkg::op_e'(fp_op_i)),
      .req_rm_i(gpu_fpu_pkg::rm_e'(rounding_i)), .req_mask_i(mask_t'(mask_i)), .req_tag_i(tag_i),
      .req_a_i(rs1_i), .req_b_i(rs2_i), .req_c_i(rs3_i), .div_ready_o(div_ready),
      .rsp_valid_o(fpu_valid_o), .rsp_ready_i(fpu_take_i), .rsp_tag_o(fpu_tag_o), .rsp_mask_o(fpu_mask_o),
      .rsp_result_o(fpu_data_o), .rsp_flags_o(flags)
    );

    always_comb begin
      fpu_flags_o = '0;
      if (fpu_valid_o) for (int t = 0; t < int'(Threads); t++) if (fpu_mask_o[t]) fpu_flags_o |= flags[t];
    end
  end else begin : gen_no_fpu
    assign fpu_ready_o = 1'b1;
    assign fpu_valid_o = 1'b0;
    assign fpu_tag_o = '0;
    assign fpu_mask_o = '0;
    assign fpu_flags_o = '0;
    always_comb for (int t = 0; t < int'(Threads); t++) fpu_data_o[t] = '0;
    logic unused_fp;
    always_comb begin
      unused_fp = ^{fpu_i, fpu_take_i, fp_op_i, rounding_i};
      for (int t = 0; t < int'(Threads); t++) unused_fp ^= ^rs3_i[t];
    end
  end

`ifndef SYNTHESIS
  LanesExist_A : assert property (@(posedge clk_i) disable iff (!rst_ni)
    muldiv_i || fpu_i |-> mask_i == lanes_t'(mask_t'(mask_i)));
`endif

endmodule
