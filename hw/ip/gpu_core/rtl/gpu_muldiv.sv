// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Integer multiplication and division of one warp.
///
/// One operation at a time. All lanes multiply at once, and a product is ready in the cycle after next. They divide one after
/// the other, two bits a cycle, bytes of leading zeros of the dividend left out: a lane takes 6, 10, 14 or 18 cycles for a dividend
/// of one to four bytes, 18 where the divisor is zero, none where it is not in the mask. Division by zero and overflow give what
/// RISC-V says ("M" extension, table of semantics).
module gpu_muldiv #(
  parameter int unsigned Threads = 4,
  parameter int unsigned TagWidth = 12
) (
  input  logic                clk_i,
  /// Synchronous reset, active low: what was in flight is forgotten.
  input  logic                rst_ni,
  input  logic                req_valid_i,
  output logic                req_ready_o,
  /// funct3 of the instruction.
  input  logic [2:0]          req_op_i,
  input  logic [Threads-1:0]  req_mask_i,
  input  logic [TagWidth-1:0] req_tag_i,
  input  logic [31:0]         req_a_i [Threads],
  input  logic [31:0]         req_b_i [Threads],
  output logic                rsp_valid_o,
  input  logic                rsp_ready_i,
  output logic [Threads-1:0]  rsp_mask_o,
  output logic [TagWidth-1:0] rsp_tag_o,
  output logic [31:0]         rsp_data_o [Threads]
);

  typedef enum logic [2:0] { Idle, Multiply, Load, Divide, Store, Done } state_e;

  localparam int unsigned LaneWidth = (Threads > 1) ? $clog2(Threads) : 1;

  state_e state_q;
  logic [1:0] op_q;
  logic [Threads-1:0] mask_q;
  logic [TagWidth-1:0] tag_q;
  logic [Threads-1:0][31:0] a_q;  // multiplicand or dividend, then the result
  logic [Threads-1:0][31:0] b_q;

  // Factors that are negative, as the operation takes them.
  logic [Threads-1:0] a_below_q, b_below_q;

  // Of factors in parts of 26 and 7, and of 17 and 16 bits, as multiplier blocks take them. The lowest product ends where the highest
  // begins, so two sums are enough.
  function automatic logic [31:0] product(logic [1:0] op, logic [31:0] a, logic [31:0] b, logic a_below, logic b_below);
    logic [42:0] lowest;
    logic signed [46:0] middle, other;
    logic signed [20:0] highest;
    logic [63:0] wide;
    lowest = a[25:0] * b[16:0];
    middle = signed'({1'b0, a[25:0]}) * signed'({b_below, b[31:17]});
    other = signed'({a_below, a[31:26]}) * signed'({1'b0, b[16:0]});
    highest = signed'({a_below, a[31:26]}) * signed'({b_below, b[31:17]});
    middle = middle + (other <<< 9);
    wide = {highest, lowest} + {middle, 17'd0};
    return op == '0 ? wide[31:0] : wide[63:32];
  endfunction

  assign req_ready_o = state_q == Idle;
  assign rsp_valid_o = state_q == Done;
  assign rsp_mask_o = mask_q;
  assign rsp_tag_o = tag_q;

  // Of other lanes it means nothing.
  always_comb begin
    for (int t = 0; t < int'(Threads); t++) rsp_data_o[t] = 'x;
    if (state_q == Done) begin
      for (int t = 0; t < int'(Threads); t++) if (mask_q[t]) rsp_data_o[t] = a_q[t];
    end
  end

  // ---- Division, of the lowest lane that is left

  logic [Threads-1:0] left_q;
  logic [LaneWidth-1:0] lane;
  logic [3:0] steps_q;  // those after this one
  logic [31:0] number_q;  // what is left of the dividend above, digits of the quotient below
  logic [31:0] rest_q;
  logic [31:0] divisor_q;
  logic below_q, negate_q;  // the divisor is negative; the result will be

  logic [31:0] a, b, from, signed_as_told, aligned;
  logic [1:0] spare;  // bytes of leading zeros that are left out
  logic negate_a, flips;

  // One negation serves the dividend and the result. Where there is neither, they mean nothing.
  always_comb begin
    lane = '0;
    a = 'x;
    b = 'x;
    from = 'x;
    negate_a = 'x;
    flips = 'x;
    signed_as_told = 'x;
    spare = 'x;
    aligned = 'x;
    if (state_q == Load || state_q == Store) begin
      spare = 2'd0;
      for (int t = int'(Threads) - 1; t >= 0; t--) if (left_q[t]) lane = LaneWidth'(t);
      a = a_q[lane];
      b = b_q[lane];
      negate_a = !op_q[0] && a[31];
      from = (state_q == Load) ? a : op_q[1] ? rest_q : number_q;
      flips = (state_q == Load) ? negate_a : negate_q;
      signed_as_told = (from ^ {32{flips}}) + 32'(flips);
      // By zero every digit is one, and no digit may be left out.
      if (b != '0) begin
        if (signed_as_told[31:8] == '0) spare = 2'd3;
        else if (signed_as_told[31:16] == '0) spare = 2'd2;
        else if (signed_as_told[31:24] == '0) spare = 2'd1;
      end
      unique case (spare)
        2'd1:    aligned = {signed_as_told[23:0], 8'd0};
        2'd2:    aligned = {signed_as_told[15:0], 16'd0};
        2'd3:    aligned = {signed_as_told[7:0], 24'd0};
        default: aligned = signed_as_told;
      endcase
    end
  end

  typedef struct packed {
    logic        digit;
    logic [31:0] rest;
  } step_t;

  // The divisor's magnitude is taken away: added where it is negative.
  function automatic step_t step(logic [31:0] rest, logic next, logic [31:0] divisor, logic below);
    logic [32:0] shifted, reduced;
    shifted = {rest, next};
    reduced = shifted + ({below, divisor} ^ {33{!below}}) + 33'(!below);
    return reduced[32] ? '{digit: 1'b0, rest: shifted[31:0]} : '{digit: 1'b1, rest: reduced[31:0]};
  endfunction

  step_t first, second;

  always_comb begin
    first = 'x;
    second = 'x;
    if (state_q == Divide) begin
      first = step(rest_q, number_q[31], divisor_q, below_q);
      second = step(first.rest, number_q[30], divisor_q, below_q);
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= Idle;
    end else if (state_q != Idle || req_valid_i) begin
      automatic logic [Threads-1:0][31:0] next;
      for (int t = 0; t < int'(Threads); t++) next[t] = req_a_i[t];
      unique case (state_q)
        Idle: begin
          state_q <= req_op_i[2] ? Load : Multiply;
          op_q <= req_op_i[1:0];
          mask_q <= req_mask_i;
          left_q <= req_mask_i;
          tag_q <= req_tag_i;
          a_q <= next;
          for (int t = 0; t < int'(Threads); t++) begin
            b_q[t] <= req_b_i[t];
            a_below_q[t] <= req_a_i[t][31] && req_op_i[1:0] != 2'd3;
            b_below_q[t] <= req_b_i[t][31] && !req_op_i[1];
          end
        end
        Multiply: begin
          state_q <= Done;
          for (int t = 0; t < int'(Threads); t++) next[t] = product(op_q, a_q[t], b_q[t], a_below_q[t], b_below_q[t]);
          a_q <= next;
        end
        Load: begin
          state_q <= Divide;
          number_q <= aligned;
          rest_q <= '0;
          divisor_q <= b;
          below_q <= !op_q[0] && b[31];
          steps_q <= {~spare, 2'b11};
          // The remainder has the dividend's sign; dividing by zero gives all ones, whatever the signs.
          negate_q <= op_q[1] ? negate_a : negate_a != (!op_q[0] && b[31]) && b != '0;
        end
        Divide: begin
          if (steps_q == '0) state_q <= Store;
          number_q <= {number_q[29:0], first.digit, second.digit};
          rest_q <= second.rest;
          steps_q <= steps_q - 4'd1;
        end
        Store: begin
          state_q <= ((left_q & (left_q - 1'b1)) == '0) ? Done : Load;
          left_q[lane] <= 1'b0;
          a_q[lane] <= signed_as_told;
        end
        default: if (rsp_ready_i) state_q <= Idle;
      endcase
    end
  end

`ifndef SYNTHESIS
  SomebodyAsks_A : assert property (@(posedge clk_i) disable iff (!rst_ni) req_valid_i |-> req_mask_i != '0);
`endif

endmodule
