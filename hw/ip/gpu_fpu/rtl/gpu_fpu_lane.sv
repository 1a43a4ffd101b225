/// One lane of the pipeline: product and addend, sum, magnitude and its leading zeros, rounding. Each stage does nothing unless told.
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

  /// Stages 1 to 3 hold something; only then is anything computed.
  input  logic [3:1]  holds_i,
  /// Stage 2 takes the sum of stage 1.
  input  logic        add_i,
  /// Stage 3 takes the magnitude of the sum of stage 2, and what rounds it.
  input  logic        measure_i,
  input  rm_e         rm_i,
  /// Stage 4 takes the rounded magnitude of stage 3.
  input  logic        round_i,
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
    if (holds_i[1]) sum = add(meet_q, product_q);
  end

  always_ff @(posedge clk_i) begin
    if (add_i) begin
      special2_q <= special1_q;
      sum_q <= sum;
      sign_q <= meet_q.sign;
      sub_q <= meet_q.sub;
      exponent_q <= meet_q.exponent;
    end
  end

  // Stage 3.
  logic [63:0] magnitude_q, magnitude;
  logic [8:0] exponent3_q;
  logic [5:0] distance_q;
  logic sign3_q;
  direction_e direction_q;
  special_t special3_q;
  logic flips, zero;

  // A difference of nothing is +0, and -0 when rounding down.
  always_comb begin
    magnitude = '0;
    flips = 1'b0;
    zero = 1'b0;
    if (holds_i[2]) begin
      flips = sub_q && sum_q[63];
      magnitude = (sum_q ^ {64{flips}}) + 64'(flips);
      zero = sub_q && sum_q == '0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (measure_i) begin
      special3_q <= special2_q;
      magnitude_q <= magnitude;
      sign3_q <= zero ? rm_i == Rdn : sign_q ^ flips;
      direction_q <= direction_of(rm_i, sign_q ^ flips);
      exponent3_q <= exponent_q;
      distance_q <= normal_distance(magnitude, exponent_q);
    end
  end

  // Stage 4.
  rounded_t rounded;

  function automatic rounded_t round();
    unique case (rounding_i)
      RoundInt: return to_int(1'b1, magnitude_q, sign3_q, direction_q);
      RoundUint: return to_int(1'b0, magnitude_q, sign3_q, direction_q);
      default: return to_float(magnitude_q, distance_q, exponent3_q, sign3_q, direction_q);
    endcase
  endfunction

  always_comb begin
    rounded = '0;
    if (holds_i[3]) begin
      if (special3_q.valid) rounded = '{flags: special3_q.flags, result: special3_q.result};
      else rounded = round();
    end
  end

  always_ff @(posedge clk_i) begin
    if (round_i) begin
      result_o <= rounded.result;
      flags_o <= rounded.flags;
    end
  end

endmodule
