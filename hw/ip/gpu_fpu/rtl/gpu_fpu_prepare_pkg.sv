/// First-stage functions: what an operation's operands become before product and addend meet, and every answer that
/// needs no arithmetic.
package gpu_fpu_prepare_pkg;
  import gpu_fpu_pkg::*;

  // Functions take whole words, whichever bits of them they look at.
  /* verilator lint_off UNUSEDSIGNAL */

  localparam logic [31:0] One = 32'h3f80_0000;
  localparam logic [31:0] Infinity = 32'h7f80_0000;
  /// Biased exponent of 2**31, the top bit of an integer.
  localparam logic [8:0] IntExponent = 9'd158;

  function automatic logic is_nan(logic [31:0] x);
    return x[30:0] > Infinity[30:0];
  endfunction

  function automatic logic is_signalling(logic [31:0] x);
    return is_nan(x) && !x[22];
  endfunction

  function automatic logic is_inf(logic [31:0] x);
    return x[30:0] == Infinity[30:0];
  endfunction

  function automatic logic is_zero(logic [31:0] x);
    return x[30:0] == '0;
  endfunction

  /// Significand with its hidden bit.
  function automatic logic [23:0] significand(logic [31:0] x);
    return {x[30:23] != '0, x[22:0]};
  endfunction

  /// Biased exponent; subnormals and zeros have that of the smallest normal numbers.
  function automatic logic [7:0] exponent(logic [31:0] x);
    return x[30:23] == '0 ? 8'd1 : x[30:23];
  endfunction

  /// A shift beyond the frame is as good as one by 63: all that stays is that something was there.
  function automatic logic [5:0] clamp(logic [9:0] distance);
    return distance > 10'd63 ? 6'd63 : distance[5:0];
  endfunction

  function automatic special_t answer(logic [31:0] result, flags_t flags);
    return '{valid: 1'b1, flags: flags, result: result};
  endfunction

  function automatic flags_t invalid(logic nv);
    return '{nv: nv, default: 1'b0};
  endfunction

  /// The second factor: additions are a * 1 + b.
  function automatic logic [31:0] factor(op_e op, logic [31:0] b);
    return op == OpFadd || op == OpFsub ? One : b;
  endfunction

  /// The addend, sign applied. A product adds a zero of its own sign, which changes neither value nor sign.
  function automatic logic [31:0] addend(op_e op, logic [31:0] a, logic [31:0] b, logic [31:0] c);
    unique case (op)
      OpFadd: return b;
      OpFsub: return {!b[31], b[30:0]};
      OpFmul: return {a[31] ^ b[31], 31'b0};
      OpFmsub, OpFnmadd: return {!c[31], c[30:0]};
      default: return c;
    endcase
  endfunction

  /// Where product a * b (negated if `negate`) and addend `c` meet.
  ///
  /// The operand with the larger exponent stays at frame bit 62, the other moves right. Exponents are those of the
  /// formats, whatever leading zeros subnormal significands have; see docs/reference/blocks/gpu_fpu.md why it is exact.
  function automatic addend_t meet(logic negate, logic [31:0] a, logic [31:0] b, logic [31:0] c);
    logic product_sign, empty;
    logic [9:0] product_exponent, addend_exponent, factors, other, ahead, behind;
    addend_t m;
    product_sign = a[31] ^ b[31] ^ negate;
    empty = is_zero(a) || is_zero(b);
    product_exponent = {2'b0, exponent(a)} + {2'b0, exponent(b)} - 10'd126;
    addend_exponent = {2'b0, exponent(c)};
    // How far the product is ahead of the addend, and the other way round, both at once.
    factors = {2'b0, exponent(a)} + {2'b0, exponent(b)};
    other = addend_exponent + 10'd126;
    ahead = factors - other;
    behind = other - factors;
    m.no_product = 1'b0;
    m.top = !empty && !ahead[9];
    m.sub = product_sign ^ c[31];
    m.sign = m.top ? product_sign : c[31];
    m.exponent = m.top ? product_exponent[8:0] : addend_exponent[8:0];
    m.shift = clamp(ahead[9] ? behind : ahead);
    m.value = {significand(c), 8'b0};
    return m;
  endfunction

  /// NaNs and infinities of a * b + c.
  function automatic special_t fused_special(logic negate, logic [31:0] a, logic [31:0] b, logic [31:0] c);
    logic product_sign, product_inf, no_product, clash;
    special_t s;
    product_sign = a[31] ^ b[31] ^ negate;
    product_inf = is_inf(a) || is_inf(b);
    no_product = product_inf && (is_zero(a) || is_zero(b));
    clash = product_inf && is_inf(c) && product_sign != c[31] && !is_nan(a) && !is_nan(b);
    s = '0;
    if (is_nan(a) || is_nan(b) || is_nan(c) || no_product || clash) begin
      s = answer(CanonicalNan, invalid(
          is_signalling(a) || is_signalling(b) || is_signalling(c) || no_product || clash));
    end else if (product_inf) begin
      s = answer({product_sign, Infinity[30:0]}, '0);
    end else if (is_inf(c)) begin
      s = answer(c, '0);
    end
    return s;
  endfunction

  /// A float on its way to an integer: moved right until frame bit 31 is the unit.
  function automatic addend_t from_float(logic [31:0] a);
    return '{
      no_product: 1'b1,
      top: 1'b1,
      sub: 1'b0,
      sign: a[31],
      exponent: IntExponent,
      shift: clamp({2'b0, IntExponent[7:0] - exponent(a)}),
      value: {significand(a), 8'b0}
    };
  endfunction

  /// Floats that no 32-bit integer comes near.
  function automatic special_t to_int_special(logic is_signed, logic [31:0] a);
    logic negative;
    special_t s;
    s = '0;
    negative = a[31] && !is_nan(a);
    if (a[30:23] > IntExponent[7:0]) begin
      s = answer(is_signed ? {negative, {31{!negative}}} : {32{!negative}}, invalid(1'b1));
    end
    return s;
  endfunction

  /// An integer on its way to a float.
  function automatic addend_t from_int(logic is_signed, logic [31:0] a);
    logic negative;
    negative = is_signed && a[31];
    return '{
      no_product: 1'b1,
      top: 1'b1,
      sub: 1'b0,
      sign: negative,
      exponent: IntExponent,
      shift: '0,
      value: negative ? -a : a
    };
  endfunction

  /// The ten classes of RISC-V's fclass.
  function automatic logic [31:0] classify(logic [31:0] a);
    logic subnormal, normal;
    subnormal = a[30:23] == '0 && !is_zero(a);
    normal = a[30:23] != '0 && a[30:23] != 8'hff;
    return {
      22'b0,
      is_nan(a) && a[22], is_signalling(a),
      !a[31] && is_inf(a), !a[31] && normal, !a[31] && subnormal, !a[31] && is_zero(a),
      a[31] && is_zero(a), a[31] && subnormal, a[31] && normal, a[31] && is_inf(a)
    };
  endfunction

  /// a < b, -0 being below +0; neither is a NaN.
  function automatic logic below(logic [31:0] a, logic [31:0] b);
    if (a[31] != b[31]) return a[31];
    return a[31] ? a[30:0] > b[30:0] : a[30:0] < b[30:0];
  endfunction

  /// feq, flt, fle.
  function automatic special_t compare(op_e op, logic [31:0] a, logic [31:0] b);
    logic zeros, unordered, signalling, holds;
    zeros = is_zero(a) && is_zero(b);
    unordered = is_nan(a) || is_nan(b);
    signalling = is_signalling(a) || is_signalling(b);
    unique case (op)
      OpFeq: holds = a == b || zeros;
      OpFlt: holds = below(a, b) && !zeros;
      default: holds = !below(b, a) || zeros;
    endcase
    return answer({31'b0, holds && !unordered}, invalid(op == OpFeq ? signalling : unordered));
  endfunction

  /// fmin and fmax: a number wins over a NaN, -0 is below +0.
  function automatic special_t pick(logic is_max, logic [31:0] a, logic [31:0] b);
    logic [31:0] result;
    if (is_nan(a) && is_nan(b)) result = CanonicalNan;
    else if (is_nan(a)) result = b;
    else if (is_nan(b)) result = a;
    else result = below(a, b) ^ is_max ? a : b;
    return answer(result, invalid(is_signalling(a) || is_signalling(b)));
  endfunction

  /// Whether an operation needs the multiplier.
  function automatic logic is_fused(op_e op);
    return op <= OpFmul;
  endfunction

  function automatic logic negates_product(op_e op);
    return op == OpFnmsub || op == OpFnmadd;
  endfunction

  /// Answers that skip the arithmetic, of every operation but division and square root.
  function automatic special_t special_of(op_e op, logic [31:0] a, logic [31:0] b, logic [31:0] c);
    unique case (op)
      OpFsgnj: return answer({b[31], a[30:0]}, '0);
      OpFsgnjn: return answer({!b[31], a[30:0]}, '0);
      OpFsgnjx: return answer({a[31] ^ b[31], a[30:0]}, '0);
      OpFmin: return pick(1'b0, a, b);
      OpFmax: return pick(1'b1, a, b);
      OpFeq, OpFlt, OpFle: return compare(op, a, b);
      OpFclass: return answer(classify(a), '0);
      OpFcvtWS: return to_int_special(1'b1, a);
      OpFcvtWuS: return to_int_special(1'b0, a);
      OpFcvtSW, OpFcvtSWu: return '0;
      default: return fused_special(negates_product(op), a, factor(op, b), addend(op, a, b, c));
    endcase
  endfunction

  /// Product and addend of every operation that has them.
  function automatic addend_t addend_of(op_e op, logic [31:0] a, logic [31:0] b, logic [31:0] c);
    unique case (op)
      OpFcvtWS, OpFcvtWuS: return from_float(a);
      OpFcvtSW: return from_int(1'b1, a);
      OpFcvtSWu: return from_int(1'b0, a);
      default: return meet(negates_product(op), a, factor(op, b), addend(op, a, b, c));
    endcase
  endfunction

  /// Answers of division that need no quotient.
  function automatic special_t division_special(logic [31:0] a, logic [31:0] b);
    logic sign, none;
    special_t s;
    sign = a[31] ^ b[31];
    none = (is_inf(a) && is_inf(b)) || (is_zero(a) && is_zero(b));
    s = '0;
    if (is_nan(a) || is_nan(b) || none) begin
      s = answer(CanonicalNan, invalid(is_signalling(a) || is_signalling(b) || none));
    end else if (is_inf(a)) begin
      s = answer({sign, Infinity[30:0]}, '0);
    end else if (is_zero(b)) begin
      s = answer({sign, Infinity[30:0]}, '{dz: 1'b1, default: 1'b0});
    end else if (is_inf(b) || is_zero(a)) begin
      s = answer({sign, 31'b0}, '0);
    end
    return s;
  endfunction

  /// Answers of the square root that need no digits.
  function automatic special_t root_special(logic [31:0] a);
    special_t s;
    s = '0;
    if (is_nan(a) || (a[31] && !is_zero(a))) begin
      s = answer(CanonicalNan, invalid(is_signalling(a) || !is_nan(a)));
    end else if (is_inf(a) || is_zero(a)) begin
      s = answer(a, '0);
    end
    return s;
  endfunction

  /* verilator lint_on UNUSEDSIGNAL */

endpackage
