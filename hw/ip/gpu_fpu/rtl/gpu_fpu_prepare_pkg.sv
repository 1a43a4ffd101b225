// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// First-stage functions: what an operation's operands become before product and addend meet, and every answer that
/// needs no arithmetic.
package gpu_fpu_prepare_pkg;
  import gpu_fpu_pkg::*;

  localparam logic [31:0] One = 32'h3f80_0000;
  /// Biased exponent of 2**31, the top bit of an integer.
  localparam logic [7:0] IntExponent = 8'd158;

  /// What an operand is. Exponent and fraction are looked at once.
  typedef struct packed {
    logic nan;
    logic signalling;
    logic inf;
    logic zero;
    logic subnormal;
  } class_t;

  localparam class_t Normal = '0;
  localparam class_t Zero = '{zero: 1'b1, default: 1'b0};

  function automatic class_t class_of(logic [31:0] x);
    logic ones, none, fraction;
    ones = &x[30:23];
    none = !(|x[30:23]);
    fraction = |x[22:0];
    return '{
      nan: ones && fraction,
      signalling: ones && fraction && !x[22],
      inf: ones && !fraction,
      zero: none && !fraction,
      subnormal: none && fraction
    };
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

  /// Where product a * b and addend meet, of every operation that has them; integers and floats on their way to the other
  /// are addends alone.
  ///
  /// The operand with the larger exponent has its top at frame bit 50, the other moves right. Exponents are those of the
  /// formats, whatever leading zeros subnormal significands have; see docs/reference/blocks/gpu_fpu.md why it is exact.
  function automatic addend_t addend_of(op_e op, logic [31:0] a, logic [31:0] b, logic [31:0] c);
    logic [31:0] f, d;
    logic product_sign, empty;
    logic [9:0] ahead;
    addend_t m;
    // Of what nothing is left to choose here, synthesis makes what costs least.
    m = 'x;
    m.whole = 1'b0;
    unique case (op)
      OpFcvtWS, OpFcvtWuS: begin
        // Right until frame bit 19 is the unit.
        m.product = 1'b0;
        m.lead = 1'b0;
        m.sub = 1'b0;
        m.sign = a[31];
        m.exponent = '0;
        m.shift = clamp({2'b0, IntExponent - exponent(a)});
        m.whole = !m.shift[5];
        m.value = {significand(a), 8'b0};
      end
      OpFcvtSW, OpFcvtSWu: begin
        m.product = 1'b0;
        m.lead = 1'b0;
        m.sub = op == OpFcvtSW && a[31];
        m.sign = m.sub;
        m.exponent = {1'b0, IntExponent};
        m.shift = '0;
        m.value = a;
      end
      default: begin
        f = factor(op, b);
        d = addend(op, a, b, c);
        product_sign = a[31] ^ f[31] ^ negates_product(op);
        empty = a[30:0] == '0 || f[30:0] == '0;
        ahead = {2'b0, exponent(a)} + {2'b0, exponent(f)} - {2'b0, exponent(d)} - 10'd126;
        m.product = 1'b1;
        m.lead = !empty && !ahead[9];
        m.sub = product_sign ^ d[31];
        m.sign = m.lead ? product_sign : d[31];
        m.exponent = {1'b0, exponent(d)};
        m.ahead = ahead;
        // Where the product moves, one more than this: -x - 1 is ~x.
        m.shift = clamp(ahead ^ {10{ahead[9]}});
        m.value = {significand(d), 8'b0};
      end
    endcase
    return m;
  endfunction

  function automatic logic negates_product(op_e op);
    return op == OpFnmsub || op == OpFnmadd;
  endfunction

  /// A quotient as an addend alone. Below exponent 1 it is subnormal: it moves right as an addend does.
  function automatic addend_t addend_of_quotient(quotient_t q, logic rest);
    logic low;
    low = q.exponent[9] || q.exponent == '0;
    return '{
      product: 1'b0,
      lead: 1'b0,
      sub: 1'b0,
      sign: q.sign,
      whole: 1'b0,
      exponent: low ? 9'd1 : q.exponent[8:0],
      ahead: '0,
      shift: low ? clamp(10'd1 - q.exponent) : '0,
      value: {q.digits, rest, 5'b0}
    };
  endfunction

  /// Whether an operation's answer skips the arithmetic. Of sums and products that is so with a NaN or an infinity, of
  /// conversions where no 32-bit integer comes near.
  function automatic logic is_special(op_e op, logic [31:0] a, logic [31:0] b, logic [31:0] c);
    if (op <= OpFmul) return &a[30:23] || &b[30:23] || (op <= OpFnmadd && &c[30:23]);
    unique case (op)
      OpFcvtWS, OpFcvtWuS: return a[30:23] > IntExponent;
      OpFcvtSW, OpFcvtSWu: return 1'b0;
      default: return 1'b1;
    endcase
  endfunction

  /// Answers that skip the arithmetic, of every operation but division and square root.
  function automatic special_t special_of(op_e op, logic [31:0] a, logic [31:0] b, logic [31:0] c);
    special_t s;
    s = '{valid: 1'b0, flags: 'x, result: 'x};
    // Else nobody looks at the rest.
    if (is_special(op, a, b, c)) s = answer_of(op, a, b, c);
    return s;
  endfunction

  /// Such an answer.
  ///
  /// fmin, fmax: a number wins over a NaN, -0 is below +0. Floats that no 32-bit integer comes near saturate.
  function automatic special_t answer_of(op_e op, logic [31:0] a, logic [31:0] b, logic [31:0] c);
    class_t ca, cb, cf, cd;
    logic less, equal, below, same, zeros, unordered, signalling, holds;
    logic product_sign, product_inf, clash, nan;
    // What the answer is made of: an operand's bits, or a pattern.
    logic take_a, take_b, sign, exponents, quiet, fill;
    logic [9:0] low;
    logic [31:0] d;
    special_t s;
    ca = class_of(a);
    cb = class_of(b);
    cf = op == OpFadd || op == OpFsub ? Normal : cb;
    cd = op == OpFmul ? Zero : op == OpFadd || op == OpFsub ? cb : class_of(c);
    d = addend(op, a, b, c);

    less = a[30:0] < b[30:0];
    equal = a[30:0] == b[30:0];
    below = a[31] != b[31] ? a[31] : a[31] ? !less && !equal : less;
    same = equal && a[31] == b[31];
    zeros = ca.zero && cb.zero;
    unordered = ca.nan || cb.nan;
    signalling = ca.signalling || cb.signalling;
    holds = (op != OpFlt && (same || zeros)) || (op != OpFeq && below && !zeros);

    product_sign = a[31] ^ factor(op, b)[31] ^ negates_product(op);
    product_inf = ca.inf || cf.inf;
    clash = product_inf && (ca.zero || cf.zero || (cd.inf && product_sign != d[31])) && !ca.nan && !cf.nan;
    nan = ca.nan || cf.nan || cd.nan || clash;

    s = '0;
    s.valid = 1'b1;
    take_a = 1'b0;
    take_b = 1'b0;
    sign = 1'b0;
    exponents = 1'b0;
    quiet = 1'b0;
    fill = 1'b0;
    low = '0;
    unique case (op)
      OpFsgnj, OpFsgnjn, OpFsgnjx: begin
        take_a = 1'b1;
        sign = b[31] ^ (op == OpFsgnjn) ^ (op == OpFsgnjx && a[31]);
      end
      OpFmin, OpFmax: begin
        take_b = !cb.nan && (ca.nan || !(below ^ (op == OpFmax)));
        take_a = !ca.nan && !take_b;
        sign = (take_a && a[31]) || (take_b && b[31]);
        exponents = 1'b1;
        quiet = 1'b1;
        s.flags.nv = signalling;
      end
      OpFeq, OpFlt, OpFle: begin
        low[0] = holds && !unordered;
        s.flags.nv = op == OpFeq ? signalling : unordered;
      end
      OpFclass: low = class_bits(a[31], ca);
      OpFcvtWS, OpFcvtWuS: begin
        fill = !a[31] || ca.nan;
        exponents = fill;
        quiet = fill;
        low = {10{fill}};
        sign = op == OpFcvtWS ? !fill : fill;
        s.flags.nv = 1'b1;
      end
      default: begin
        exponents = 1'b1;
        quiet = nan;
        sign = !nan && (product_inf ? product_sign : d[31]);
        s.flags.nv = ca.signalling || cf.signalling || cd.signalling || clash;
      end
    endcase
    s.result = {sign, {8{exponents}}, quiet, {12{fill}}, low};
    if (take_a) s.result[30:0] = a[30:0];
    if (take_b) s.result[30:0] = b[30:0];
    return s;
  endfunction

  /// The ten classes of RISC-V's fclass.
  function automatic logic [9:0] class_bits(logic sign, class_t x);
    logic normal;
    normal = !(x.nan || x.inf || x.zero || x.subnormal);
    return {
      x.nan && !x.signalling, x.signalling,
      !sign && x.inf, !sign && normal, !sign && x.subnormal, !sign && x.zero,
      sign && x.zero, sign && x.subnormal, sign && normal, sign && x.inf
    };
  endfunction

  /// Answers of division that need no quotient.
  function automatic special_t division_special(logic [31:0] a, logic [31:0] b);
    class_t ca, cb;
    logic none, nan;
    special_t s;
    ca = class_of(a);
    cb = class_of(b);
    none = (ca.inf && cb.inf) || (ca.zero && cb.zero);
    nan = ca.nan || cb.nan || none;
    s = '0;
    s.valid = ca.nan || cb.nan || ca.inf || cb.zero || cb.inf || ca.zero;
    s.result = {!nan && (a[31] ^ b[31]), {8{nan || ca.inf || cb.zero}}, nan, 22'b0};
    s.flags.nv = ca.signalling || cb.signalling || none;
    s.flags.dz = cb.zero && !(ca.nan || ca.inf || ca.zero);
    return s;
  endfunction

  /// Answers of the square root that need no digits.
  function automatic special_t root_special(logic [31:0] a);
    class_t ca;
    logic nan;
    special_t s;
    ca = class_of(a);
    nan = ca.nan || (a[31] && !ca.zero);
    s = '0;
    s.valid = ca.nan || ca.inf || ca.zero || a[31];
    s.result = {!nan && a[31], {8{nan || ca.inf}}, nan, 22'b0};
    s.flags.nv = nan && (!ca.nan || ca.signalling);
    return s;
  endfunction

endpackage
