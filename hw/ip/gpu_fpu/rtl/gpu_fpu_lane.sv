/// One lane of the pipeline: product and addend, sum, rounding. Each stage does nothing unless told.
///
/// The sum is formed in a frame of 64 bits. Bit 62 is the top of whichever of product and addend has the larger
/// exponent; the other moves right, what falls off staying visible as bit 0. Why no more bits are needed is in
/// docs/reference/blocks/gpu_fpu.md.
module gpu_fpu_lane
  import gpu_fpu_pkg::*;
  import gpu_fpu_prepare_pkg::*;
  import gpu_fpu_round_pkg::*;
(
  input  logic        clk_i,

  /// Stage 1 takes a request.
  input  logic        load_i,
  input  op_e         op_i,
  input  logic [31:0] a_i,
  input  logic [31:0] b_i,
  input  logic [31:0] c_i,
  /// Stage 1 takes a quotient.
  input  logic        inject_i,
  input  addend_t     quotient_i,
  input  special_t    special_i,

  /// Stage 2 takes the sum of stage 1.
  input  logic        add_i,
  /// Stage 3 takes the rounded sum of stage 2.
  input  logic        round_i,
  input  rm_e         rm_i,
  input  round_e      rounding_i,

  output logic [31:0] result_o,
  output flags_t      flags_o
);

  // Stage 1.
  logic [47:0] product_q;
  addend_t meet_q;
  special_t special1_q;

  always_ff @(posedge clk_i) begin
    if (load_i) begin
      special1_q <= special_of(op_i, a_i, b_i, c_i);
      meet_q <= addend_of(op_i, a_i, b_i, c_i);
    end else if (inject_i) begin
      special1_q <= special_i;
      meet_q <= quotient_i;
    end
  end

  // Apart from the rest, so that the flops are those of the multiplier block.
  always_ff @(posedge clk_i) begin
    if (load_i) product_q <= {24'b0, significand(a_i)} * {24'b0, significand(factor(op_i, b_i))};
  end

  // Stage 2.
  logic [63:0] sum_q;
  logic [8:0] exponent_q;
  logic sign_q, sub_q;
  special_t special2_q;
  logic [63:0] sum;

  always_comb begin
    sum = '0;
    if (add_i) sum = add(meet_q, product_q);
  end

  always_ff @(posedge clk_i) begin
    if (add_i) begin
      special2_q <= special1_q;
      sum_q <= meet_q.sub && sum[63] ? -sum : sum;
      sign_q <= meet_q.sign ^ (meet_q.sub && sum[63]);
      sub_q <= meet_q.sub;
      exponent_q <= meet_q.exponent;
    end
  end

  // Stage 3.
  rounded_t rounded;

  /// A difference of nothing is +0, and -0 when rounding down.
  function automatic rounded_t round(logic sign);
    unique case (rounding_i)
      RoundInt: return to_int(1'b1, sum_q, sign, rm_i);
      RoundUint: return to_int(1'b0, sum_q, sign, rm_i);
      default: return to_float(sum_q, exponent_q, sub_q && sum_q == '0 ? rm_i == Rdn : sign, rm_i);
    endcase
  endfunction

  always_comb begin
    rounded = '0;
    if (round_i) begin
      if (special2_q.valid) rounded = '{flags: special2_q.flags, result: special2_q.result};
      else rounded = round(sign_q);
    end
  end

  always_ff @(posedge clk_i) begin
    if (round_i) begin
      result_o <= rounded.result;
      flags_o <= rounded.flags;
    end
  end

endmodule
