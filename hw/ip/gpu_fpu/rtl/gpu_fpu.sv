// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
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

  // What all lanes share.
  typedef struct packed {
    tag_t   tag;
    mask_t  mask;
    round_e rounding;
  } shared_t;

  // By stage: 1 has the product, 2 the sum, 3 its magnitude, 4 that normalised, 5 the answer.
  logic [5:1] valid_q, stuck;
  // What goes on to the next stage.
  logic [4:1] go;
  shared_t shared1_q, shared2_q, shared3_q, shared4_q;
  rm_e rm1_q, rm2_q;
  tag_t tag5_q;
  mask_t mask5_q;

  logic ready1, accept, accept_div, inject;
  mask_t load, insert, add, measure, move, round;

  // A stage waits where the answer does and no stage between has room. Of an empty pipeline there is nothing to find.
  always_comb begin
    stuck = '0;
    go = '0;
    add = '0;
    measure = '0;
    move = '0;
    round = '0;
    if (valid_q != '0) begin
      if (valid_q[5] && !rsp_ready_i) stuck = {1'b1, valid_q[4], &valid_q[4:3], &valid_q[4:2], &valid_q[4:1]};
      go = valid_q[4:1] & ~stuck[5:2];
      if (go[1]) add = shared1_q.mask;
      if (go[2]) measure = shared2_q.mask;
      if (go[3]) move = shared3_q.mask;
      if (go[4]) round = shared4_q.mask;
    end
  end

  assign ready1 = !stuck[1];

  // The divider: Idle, Normalise (subnormal operands, a bit a cycle), Divide (13 cycles), Done (waiting for stage 1).
  typedef enum logic [1:0] { Idle, Normalise, Divide, Done } state_e;

  state_e state_q;
  logic sqrt_q, prepare, divide, normal_all, div_free_q;
  mask_t div_mask_q, normal, work;
  tag_t div_tag_q;
  rm_e div_rm_q;
  digit_t digit_q;

  assign prepare = state_q == Normalise;
  assign divide = state_q == Divide;
  assign inject = state_q == Done && ready1;
  assign accept = req_valid_i && ready1 && !inject && !is_iterative(req_op_i);
  assign accept_div = req_valid_i && div_free_q && is_iterative(req_op_i);
  assign req_ready_o = is_iterative(req_op_i) ? div_free_q : ready1 && !inject;
  assign div_ready_o = div_free_q;
  assign normal_all = &(normal | ~div_mask_q);

  assign load = accept ? req_mask_i : '0;
  assign insert = inject ? div_mask_q : '0;
  assign work = prepare || divide ? div_mask_q : accept_div ? req_mask_i : '0;

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
      valid_q <= (valid_q & stuck) | ({valid_q[4:1], accept || inject} & ~stuck);
    end
  end

  always_ff @(posedge clk_i) begin
    if (inject) begin
      shared1_q <= '{tag: div_tag_q, mask: div_mask_q, rounding: RoundFloat};
      rm1_q <= div_rm_q;
    end else if (accept) begin
      shared1_q <= '{tag: req_tag_i, mask: req_mask_i, rounding: rounding_of(req_op_i)};
      rm1_q <= req_rm_i;
    end
    if (go[1]) begin
      shared2_q <= shared1_q;
      rm2_q <= rm1_q;
    end
    if (go[2]) shared3_q <= shared2_q;
    if (go[3]) shared4_q <= shared3_q;
    if (go[4]) begin
      tag5_q <= shared4_q.tag;
      mask5_q <= shared4_q.mask;
    end
  end

  for (genvar l = 0; l < Lanes; l++) begin : gen_lane
    quotient_t quotient;
    logic [27:0] rem;
    special_t div_special;

    gpu_fpu_div_lane #(.Lanes(Lanes), .Lane(l)) u_div (
      .clk_i,
      .work_i     (work[l]),
      .op_i       (req_op_i),
      .a_i        (req_a_i),
      .b_i        (req_b_i),
      .prepare_i  (prepare),
      .go_i       (normal_all),
      .divide_i   (divide),
      .sqrt_i     (sqrt_q),
      .digit_i    (digit_q),
      .normal_o   (normal[l]),
      .quotient_o (quotient),
      .rem_o      (rem),
      .special_o  (div_special)
    );

    gpu_fpu_lane #(.Lanes(Lanes), .Lane(l)) u_lane (
      .clk_i,
      .load_i     (load[l]),
      .op_i       (req_op_i),
      .a_i        (req_a_i),
      .b_i        (req_b_i),
      .c_i        (req_c_i),
      .inject_i   (insert[l]),
      .quotient_i (quotient),
      .rem_i      (rem),
      .special_i  (div_special),
      .add_i      (add[l]),
      .measure_i  (measure[l]),
      .rm_i       (rm2_q),
      .move_i     (move[l]),
      .round_i    (round[l]),
      .rounding_i (shared4_q.rounding),
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
