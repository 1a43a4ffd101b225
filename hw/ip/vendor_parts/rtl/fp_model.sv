// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// A model, for simulators, of what AMD's Floating-Point Operator computes and when (Ref: PG060): one operation, fully pipelined.
///
/// Numbers are IEEE 754 with `ExpWidth` and `FracWidth` bits (half 5 and 10, single 8 and 23, double 11 and 52), rounded to
/// nearest, ties to even; numbers below the least normal one are zero, in operands and results; NaN is the quiet one. What
/// is computed in double precision is rounded once more for the others, which for these operations changes nothing (Figueroa,
/// "When is double rounding innocuous?", 1995). Synthesizers find nothing here: on a board the vendor's own is used.
`ifndef SYNTHESIS
module fp_model #(
  /// add, sub, addsub, mul, div, sqrt, cmp, from_fixed (of whole numbers), resize.
  parameter string Operation = "add",
  parameter int Latency = 0,
  /// Of the operands; of `from_fixed`, `FromWidth` bits, signed or not.
  parameter int ExpWidth = 8,
  parameter int FracWidth = 23,
  parameter int FromWidth = 32,
  parameter bit FromSigned = 1'b1,
  /// Of the result.
  parameter int ToExpWidth = ExpWidth,
  parameter int ToFracWidth = FracWidth
) (
  input  logic clk_i,
  input  logic enable_i,
  input  logic valid_i,
  input  logic [63:0] a_i,
  input  logic [63:0] b_i,
  /// Of addsub: bit 0 subtracts. Of cmp: what is asked, as the vendor codes it.
  input  logic [7:0] operation_i,
  output logic valid_o,
  output logic [63:0] result_o
);

  function automatic real to_real(logic [63:0] value, int exp_width, int frac_width);
    logic sign;
    logic [63:0] exponent, fraction, most;
    most = (64'd1 << exp_width) - 64'd1;
    sign = value[exp_width+frac_width];
    exponent = (value >> frac_width) & most;
    fraction = value & ((64'd1 << frac_width) - 64'd1);
    if (exponent == '0) return $bitstoreal({sign, 63'd0});
    exponent = exponent == most ? 64'd2047 : exponent - (most >> 1) + 64'd1023;
    return $bitstoreal({sign, exponent[10:0], 52'(fraction << (52 - frac_width))});
  endfunction

  function automatic logic [63:0] from_real(real value, int exp_width, int frac_width);
    logic [63:0] bits, most, fraction, low, half;
    int exponent, dropped;
    bits = $realtobits(value);
    most = (64'd1 << exp_width) - 64'd1;
    exponent = int'(bits[62:52]) - 1023 + int'(most >> 1);
    if (bits[62:52] == 11'd2047)
      return bits[51:0] != '0 ? (most << frac_width) | (64'd1 << (frac_width - 1))
          : (64'(bits[63]) << (exp_width + frac_width)) | (most << frac_width);
    if (bits[62:52] == '0) return 64'(bits[63]) << (exp_width + frac_width);
    dropped = 52 - frac_width;
    fraction = {11'd0, 1'b1, bits[51:0]};
    if (dropped > 0) begin
      low = fraction & ((64'd1 << dropped) - 64'd1);
      half = 64'd1 << (dropped - 1);
      fraction = fraction >> dropped;
      if (low > half || (low == half && fraction[0])) fraction = fraction + 64'd1;
      if (fraction[frac_width+1]) begin
        fraction = fraction >> 1;
        exponent = exponent + 1;
      end
    end
    fraction = fraction & ((64'd1 << frac_width) - 64'd1);
    if (exponent <= 0) return 64'(bits[63]) << (exp_width + frac_width);
    if (exponent >= int'(most)) return (64'(bits[63]) << (exp_width + frac_width)) | (most << frac_width);
    return (64'(bits[63]) << (exp_width + frac_width)) | (64'(exponent) << frac_width) | fraction;
  endfunction

  // Asked of its bits: that a number differs from itself is folded away.
  function automatic logic is_nan(real value);
    logic [62:0] bits;
    bits = 63'($realtobits(value));
    return bits[62:52] == 11'd2047 && bits[51:0] != '0;
  endfunction

  function automatic logic compare(real a, real b, logic [5:0] asked);
    logic unordered;
    unordered = is_nan(a) || is_nan(b);
    unique case (asked)
      6'b000100: return unordered;
      6'b001100: return !unordered && a < b;
      6'b010100: return !unordered && a == b;
      6'b011100: return !unordered && a <= b;
      6'b100100: return !unordered && a > b;
      6'b101100: return unordered || a != b;
      6'b110100: return !unordered && a >= b;
      default: return 1'b0;
    endcase
  endfunction

  // Zero less zero is plus zero; of a sum of two reals a simulator gives that by itself.
  function automatic logic [63:0] compute(logic [63:0] a, logic [63:0] b, logic [5:0] asked);
    real x, y, z;
    longint whole;
    logic [63:0] cut;
    x = to_real(a, ExpWidth, FracWidth);
    y = to_real(b, ExpWidth, FracWidth);
    z = 0.0;
    case (Operation)
      "add": z = x + y;
      "sub": z = x - y;
      "addsub": z = asked[0] ? x - y : x + y;
      "mul": z = x * y;
      "div": z = x / y;
      "sqrt": z = $sqrt(x);
      "resize": z = x;
      "cmp": return 64'(compare(x, y, asked));
      "from_fixed": begin
        cut = a & (FromWidth == 64 ? '1 : (64'd1 << FromWidth) - 64'd1);
        if (FromSigned && FromWidth < 64 && cut[FromWidth-1]) cut = cut | ('1 << FromWidth);
        whole = longint'(cut);
        z = real'(whole);
      end
      default: ;
    endcase
    return from_real(z, ToExpWidth, ToFracWidth);
  endfunction

  if (Latency == 0) begin : gen_comb
    assign result_o = compute(a_i, b_i, operation_i[5:0]);
    assign valid_o = valid_i;
  end else begin : gen_pipeline
    logic [Latency-1:0][63:0] result_q;
    logic [Latency-1:0] valid_q;

    always_ff @(posedge clk_i) begin
      if (enable_i) begin
        result_q <= (Latency*64)'({result_q, compute(a_i, b_i, operation_i[5:0])});
        valid_q <= Latency'({valid_q, valid_i});
      end
    end
    assign result_o = result_q[Latency-1];
    assign valid_o = valid_q[Latency-1];
  end

  logic unused;
  assign unused = ^{clk_i, enable_i, operation_i[7:6]};

endmodule
`endif
