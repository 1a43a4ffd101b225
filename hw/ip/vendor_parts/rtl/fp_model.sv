// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// A model, for simulators, of what AMD's Floating-Point Operator computes and when (Ref: PG060): one operation, fully pipelined.
///
/// Numbers are IEEE 754 with `ExpWidth` and `FracWidth` bits (half 5 and 10, single 8 and 23, double 11 and 52), rounded to
/// nearest, ties to even; numbers below the least normal one are zero, in operands and results; NaN is the quiet one. What
/// is computed in double precision is rounded once more for the others, which for these operations changes nothing (Figueroa,
/// "When is double rounding innocuous?", 1995). `fma` is rounded once, in whole numbers. `exp` and `log` are those of the
/// simulator's library: the vendor promises its own within one unit of the last place, and so may differ in that bit.
/// Synthesizers find nothing here: on a board the vendor's own is used.
`ifndef SYNTHESIS
module fp_model #(
  /// add, sub, addsub, mul, div, sqrt, cmp, from_fixed (of whole numbers), resize, fma, exp, log, recip, rsqrt.
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
  /// Of fma: what is added to the product.
  input  logic [63:0] c_i,
  /// Of addsub and fma: bit 0 subtracts. Of cmp: what is asked, as the vendor codes it.
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

  function automatic logic [63:0] significand(logic [63:0] value);
    logic [63:0] exponent;
    exponent = (value >> FracWidth) & ((64'd1 << ExpWidth) - 64'd1);
    if (exponent == '0) return '0;
    return (value & ((64'd1 << FracWidth) - 64'd1)) | (64'd1 << FracWidth);
  endfunction

  // A number of this sign and magnitude, whose bit 0 weighs two to the power of `weight`, rounded.
  function automatic logic [63:0] rounded(logic sign, logic [383:0] magnitude, int weight);
    logic [383:0] cut, low, half;
    logic [63:0] most;
    int lead, dropped, exponent;
    most = (64'd1 << ToExpWidth) - 64'd1;
    lead = 383;
    while (!magnitude[lead]) lead = lead - 1;
    dropped = lead - ToFracWidth;
    cut = dropped > 0 ? magnitude >> dropped : magnitude << -dropped;
    if (dropped > 0) begin
      low = magnitude & ((384'd1 << dropped) - 384'd1);
      half = 384'd1 << (dropped - 1);
      if (low > half || (low == half && cut[0])) cut = cut + 384'd1;
    end
    exponent = weight + lead + int'(most >> 1);
    if (cut[ToFracWidth+1]) exponent = exponent + 1;
    if (exponent <= 0) return 64'(sign) << (ToExpWidth + ToFracWidth);
    if (exponent >= int'(most)) return (64'(sign) << (ToExpWidth + ToFracWidth)) | (most << ToFracWidth);
    return (64'(sign) << (ToExpWidth + ToFracWidth)) | (64'(exponent) << ToFracWidth)
        | (64'(cut) & ((64'd1 << ToFracWidth) - 64'd1));
  endfunction

  // The product and the addend are laid into one whole number. Where they are so far apart that neither touches the
  // other's last place, the lower one only says which side of it the sum is on, and is moved up to where there is room.
  function automatic logic [63:0] fused(logic [63:0] a, logic [63:0] b, logic [63:0] c);
    localparam int Room = 128, Apart = 120, Bias = (1 << (ExpWidth - 1)) - 1;
    logic [383:0] product, addend;
    logic product_sign, addend_sign;
    int product_weight, addend_weight, distance;
    product = 384'(significand(a)) * 384'(significand(b));
    addend = 384'(significand(c));
    product_sign = a[ExpWidth+FracWidth] ^ b[ExpWidth+FracWidth];
    addend_sign = c[ExpWidth+FracWidth];
    product_weight = exponent_of(a) + exponent_of(b) - 2 * (Bias + FracWidth);
    addend_weight = exponent_of(c) - Bias - FracWidth;
    if (product == '0 && addend == '0) return 64'(product_sign & addend_sign) << (ToExpWidth + ToFracWidth);
    if (product == '0) return c;
    if (addend == '0) return rounded(product_sign, product, product_weight);
    distance = addend_weight - product_weight;
    if (distance > Apart) distance = Apart;
    if (distance < -Apart) distance = -Apart;
    product_weight = distance == Apart ? addend_weight - Apart - Room : product_weight - Room;
    product = product << Room;
    addend = addend << (Room + distance);
    if (product_sign == addend_sign) return rounded(product_sign, product + addend, product_weight);
    if (product == addend) return '0;
    if (product > addend) return rounded(product_sign, product - addend, product_weight);
    return rounded(addend_sign, addend - product, product_weight);
  endfunction

  function automatic int exponent_of(logic [63:0] value);
    return int'((value >> FracWidth) & ((64'd1 << ExpWidth) - 64'd1));
  endfunction

  function automatic logic is_finite(logic [63:0] value);
    return exponent_of(value) != (1 << ExpWidth) - 1;
  endfunction

  // Zero less zero is plus zero; of a sum of two reals a simulator gives that by itself.
  function automatic logic [63:0] compute(logic [63:0] a, logic [63:0] b, logic [63:0] c, logic [5:0] asked);
    real x, y, z;
    longint whole;
    logic [63:0] cut, added;
    added = c ^ (64'(asked[0]) << (ExpWidth + FracWidth));
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
      "exp": z = $exp(x);
      "log": z = $ln(x);
      "recip": z = 1.0 / x;
      "rsqrt": z = 1.0 / $sqrt(x);
      // Of infinities and NaN rounding says nothing.
      "fma":
      if (is_finite(a) && is_finite(b) && is_finite(c)) return fused(a, b, added);
      else z = is_finite(a) && is_finite(b) ? to_real(added, ExpWidth, FracWidth)
          : x * y + (is_finite(c) ? 0.0 : to_real(added, ExpWidth, FracWidth));
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
    assign result_o = compute(a_i, b_i, c_i, operation_i[5:0]);
    assign valid_o = valid_i;
  end else begin : gen_pipeline
    logic [Latency-1:0][63:0] result_q;
    logic [Latency-1:0] valid_q;

    always_ff @(posedge clk_i) begin
      if (enable_i) begin
        result_q <= (Latency*64)'({result_q, compute(a_i, b_i, c_i, operation_i[5:0])});
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
