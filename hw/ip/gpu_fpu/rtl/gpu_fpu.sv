/// IEEE-754 binary32 for one warp: one operation on all lanes at a time, bit for bit as RISC-V's F extension wants it.
///
/// Every operation but division and square root goes down one pipeline of five stages (product, sum, magnitude,
/// normalised magnitude, rounding): one warp a cycle, the answer five cycles after the request; a stage with room ahead
/// of it moves on, so bubbles close while the answer waits. fdiv and fsqrt run in an iterative divider, all lanes at once, two digits a cycle: 15 cycles,
/// and one more for every leading zero of the most subnormal operand (at most 23); then the quotient joins the pipeline
/// to be rounded. So a division may be overtaken: answers carry the tag of their request; requests that stay in the
/// pipeline, and divisions among themselves, keep their order.
///
/// Lanes outside the mask are not computed; their results and flags mean nothing. `rsp_*` comes straight from flops.
module gpu_fpu
  import gpu_fpu_pkg::*;
#(
  /// Lanes of a warp, 1 to 16.
  parameter int unsigned Lanes = 4,
  /// Bits of a tag, 1 or more.
  parameter int unsigned TagWidth = 8
) (
  input  logic                clk_i,
  /// Synchronous reset, active low: what was in flight is forgotten.
  input  logic                rst_ni,

  input  logic                req_valid_i,
  /// Depends on `req_op_i`, never on `req_valid_i`.
  output logic                req_ready_o,
  input  op_e                 req_op_i,
  input  rm_e                 req_rm_i,
  input  logic [Lanes-1:0]    req_mask_i,
  input  logic [TagWidth-1:0] req_tag_i,
  input  logic [31:0]         req_a_i [Lanes],
  /// Not read by operations of one operand.
  input  logic [31:0]         req_b_i [Lanes],
  /// Read by the four fused operations only.
  input  logic [31:0]         req_c_i [Lanes],
  /// The divider is free: fdiv and fsqrt would be accepted. A flop.
  output logic                div_ready_o,

  output logic                rsp_valid_o,
  input  logic                rsp_ready_i,
  output logic [TagWidth-1:0] rsp_tag_o,
  output logic [Lanes-1:0]    rsp_mask_o,
  output logic [31:0]         rsp_result_o [Lanes],
  output flags_t              rsp_flags_o [Lanes]
);

  if (Lanes < 1 || Lanes > 16) begin : gen_check_lanes
    $fatal(1, "gpu_fpu: Lanes must be 1 to 16");
  end
  if (TagWidth < 1) begin : gen_check_tag
    $fatal(1, "gpu_fpu: TagWidth must be 1 or more");
  end

  typedef logic [TagWidth-1:0] tag_t;
  typedef logic [Lanes-1:0] mask_t;

  // What all lanes share, by stage: 1 has the product, 2 the sum, 3 its magnitude, 4 that normalised, 5 the answer.
  logic [5:1] valid_q;
  tag_t tag1_q, tag2_q, tag3_q, tag4_q, tag5_q;
  mask_t mask1_q, mask2_q, mask3_q, mask4_q, mask5_q;
  rm_e rm1_q, rm2_q;
  round_e round1_q, round2_q, round3_q, round4_q;

  logic ready1, ready2, ready3, ready4, ready5;
  logic accept, accept_div, inject;
  mask_t start, load;

  assign ready5 = !valid_q[5] || rsp_ready_i;
  assign ready4 = !valid_q[4] || ready5;
  assign ready3 = !valid_q[3] || ready4;
  assign ready2 = !valid_q[2] || ready3;
  assign ready1 = !valid_q[1] || ready2;

  // The divider: Idle, Normalise (subnormal operands, a bit a cycle), Divide (13 cycles), Done (waiting for stage 1).
  typedef enum logic [1:0] { Idle, Normalise, Divide, Done } state_e;

  state_e state_q;
  logic sqrt_q, normal_all, div_free_q;
  mask_t div_mask_q, normal;
  tag_t div_tag_q;
  rm_e div_rm_q;
  digit_t digit_q;

  assign inject = state_q == Done && ready1;
  assign accept = req_valid_i && ready1 && !inject && !is_iterative(req_op_i);
  assign accept_div = req_valid_i && div_free_q && is_iterative(req_op_i);
  assign req_ready_o = is_iterative(req_op_i) ? div_free_q : ready1 && !inject;
  assign div_ready_o = div_free_q;
  assign normal_all = &(normal | ~div_mask_q);

  assign load = accept ? req_mask_i : '0;
  assign start = accept_div ? req_mask_i : '0;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= Idle;
      div_free_q <= 1'b1;
    end else begin
      unique case (state_q)
        Idle: if (accept_div) begin
          state_q <= Normalise;
          div_free_q <= 1'b0;
        end
        Normalise: if (normal_all) state_q <= Divide;
        Divide: if (digit_q[1]) state_q <= Done;
        Done: if (ready1) begin
          state_q <= Idle;
          div_free_q <= 1'b1;
        end
        default: state_q <= Idle;
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (accept_div) begin
      sqrt_q <= req_op_i == OpFsqrt;
      div_mask_q <= req_mask_i;
      div_tag_q <= req_tag_i;
      div_rm_q <= req_rm_i;
    end
    if (state_q == Normalise) digit_q <= FirstDigit;
    else if (state_q == Divide) digit_q <= digit_q >> 2;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      valid_q <= '0;
    end else begin
      if (ready1) valid_q[1] <= accept || inject;
      if (ready2) valid_q[2] <= valid_q[1];
      if (ready3) valid_q[3] <= valid_q[2];
      if (ready4) valid_q[4] <= valid_q[3];
      if (ready5) valid_q[5] <= valid_q[4];
    end
  end

  always_ff @(posedge clk_i) begin
    if (inject) begin
      tag1_q <= div_tag_q;
      mask1_q <= div_mask_q;
      rm1_q <= div_rm_q;
      round1_q <= RoundFloat;
    end else if (accept) begin
      tag1_q <= req_tag_i;
      mask1_q <= req_mask_i;
      rm1_q <= req_rm_i;
      round1_q <= rounding_of(req_op_i);
    end
    if (valid_q[1] && ready2) begin
      tag2_q <= tag1_q;
      mask2_q <= mask1_q;
      rm2_q <= rm1_q;
      round2_q <= round1_q;
    end
    if (valid_q[2] && ready3) begin
      tag3_q <= tag2_q;
      mask3_q <= mask2_q;
      round3_q <= round2_q;
    end
    if (valid_q[3] && ready4) begin
      tag4_q <= tag3_q;
      mask4_q <= mask3_q;
      round4_q <= round3_q;
    end
    if (valid_q[4] && ready5) begin
      tag5_q <= tag4_q;
      mask5_q <= mask4_q;
    end
  end

  for (genvar l = 0; l < Lanes; l++) begin : gen_lane
    addend_t quotient;
    special_t div_special;

    gpu_fpu_div_lane u_div (
      .clk_i,
      .start_i    (start[l]),
      .op_i       (req_op_i),
      .a_i        (req_a_i[l]),
      .b_i        (req_b_i[l]),
      .prepare_i  (state_q == Normalise && div_mask_q[l]),
      .go_i       (normal_all),
      .divide_i   (state_q == Divide && div_mask_q[l]),
      .sqrt_i     (sqrt_q),
      .digit_i    (digit_q),
      .normal_o   (normal[l]),
      .quotient_o (quotient),
      .special_o  (div_special)
    );

    gpu_fpu_lane u_lane (
      .clk_i,
      .load_i     (load[l]),
      .op_i       (req_op_i),
      .a_i        (req_a_i[l]),
      .b_i        (req_b_i[l]),
      .c_i        (req_c_i[l]),
      .inject_i   (inject && div_mask_q[l]),
      .quotient_i (quotient),
      .special_i  (div_special),
      .add_i      (valid_q[1] && ready2 && mask1_q[l]),
      .measure_i  (valid_q[2] && ready3 && mask2_q[l]),
      .rm_i       (rm2_q),
      .move_i     (valid_q[3] && ready4 && mask3_q[l]),
      .round_i    (valid_q[4] && ready5 && mask4_q[l]),
      .rounding_i (round4_q),
      .result_o   (rsp_result_o[l]),
      .flags_o    (rsp_flags_o[l])
    );
  end

  assign rsp_valid_o = valid_q[5];
  assign rsp_tag_o = tag5_q;
  assign rsp_mask_o = mask5_q;

`ifndef SYNTHESIS
  AnswersWaitUntilTaken_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
    valid_q[5] && !rsp_ready_i |=> valid_q[5] && $stable(tag5_q) && $stable(mask5_q));
  RoundingModeIsDefined_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
    req_valid_i |-> req_rm_i <= Rmm);
  OperationIsDefined_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
    req_valid_i |-> req_op_i <= OpFcvtSWu);
  DividerIsFreeOnlyWhenIdle_A: assert property (@(posedge clk_i) disable iff (!rst_ni)
    div_free_q == (state_q == Idle));
`endif

endmodule
