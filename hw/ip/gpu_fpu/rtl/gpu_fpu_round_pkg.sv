/// Second- and third-stage functions: the sum in its frame, and its rounding.
package gpu_fpu_round_pkg;
  import gpu_fpu_pkg::*;

  // Functions take whole words, whichever bits of them they look at.
  /* verilator lint_off UNUSEDSIGNAL */

  typedef struct packed {
    flags_t      flags;
    logic [31:0] result;
  } rounded_t;

  /// Moves right; what falls off stays visible as bit 0.
  function automatic logic [63:0] shift_right_jam(logic [63:0] x, logic [5:0] distance);
    logic [63:0] lost;
    lost = x & ~({64{1'b1}} << distance);
    return (x >> distance) | {63'b0, lost != '0};
  endfunction

  /// Product and addend, aligned and added: bit 63 is the carry, or the sign of a difference.
  function automatic logic [63:0] add(addend_t m, logic [47:0] product);
    logic [63:0] product_frame, addend_frame, stays, moves;
    product_frame = m.no_product ? '0 : {1'b0, product, 15'b0};
    addend_frame = {1'b0, m.value, 31'b0};
    stays = m.top ? product_frame : addend_frame;
    moves = shift_right_jam(m.top ? addend_frame : product_frame, m.shift);
    return m.sub ? stays - moves : stays + moves;
  endfunction

  /// Whether the magnitude grows, given the last bit kept and what is below it.
  function automatic logic grows(rm_e rm, logic sign, logic last, logic half, logic rest);
    unique case (rm)
      Rne: return half && (rest || last);
      Rdn: return sign && (half || rest);
      Rup: return !sign && (half || rest);
      Rmm: return half;
      default: return 1'b0;
    endcase
  endfunction

  function automatic logic [5:0] leading_zeros(logic [63:0] x);
    logic [5:0] n;
    logic [31:0] half;
    logic [15:0] quarter;
    logic [7:0] eighth;
    logic [3:1] nibble;
    n[5] = x[63:32] == '0;
    half = n[5] ? x[31:0] : x[63:32];
    n[4] = half[31:16] == '0;
    quarter = n[4] ? half[15:0] : half[31:16];
    n[3] = quarter[15:8] == '0;
    eighth = n[3] ? quarter[7:0] : quarter[15:8];
    n[2] = eighth[7:4] == '0;
    nibble = n[2] ? eighth[3:1] : eighth[7:5];
    n[1] = nibble[3:2] == '0;
    n[0] = n[1] ? !nibble[1] : !nibble[3];
    return n;
  endfunction

  /// The sum as binary32. `exponent`, 1 or more, is the biased exponent of bit 62; `sign` is that of the answer.
  ///
  /// Tininess is judged after rounding: a subnormal is not tiny if, rounded to 24 bits as if the exponent had no
  /// bound, it would become the smallest normal number.
  function automatic rounded_t to_float(logic [63:0] sum, logic [8:0] exponent, logic sign, rm_e rm);
    logic [5:0] zeros, distance;
    logic [63:0] n;
    logic [8:0] field;
    logic up, inexact, up_unbounded, tiny, over, to_inf;
    logic [31:0] r;
    zeros = leading_zeros(sum);
    distance = {3'b0, zeros} > exponent ? exponent[5:0] : zeros;
    n = sum << distance;
    field = n[63] ? exponent + 9'd1 - {3'b0, distance} : '0;
    inexact = n[39:0] != '0;
    up = grows(rm, sign, n[40], n[39], n[38:0] != '0);
    r = {field, n[62:40]} + {31'b0, up};
    up_unbounded = grows(rm, sign, n[39], n[38], n[37:0] != '0);
    tiny = !n[63] && !(n[62:39] == '1 && up_unbounded);
    over = r[31:23] >= 9'd255;
    to_inf = rm == Rne || rm == Rmm || (sign ? rm == Rdn : rm == Rup);
    if (over) r[30:0] = to_inf ? 31'h7f80_0000 : 31'h7f7f_ffff;
    return '{
      flags: '{nv: 1'b0, dz: 1'b0, of: over, uf: tiny && inexact, nx: over || inexact},
      result: {sign, r[30:0]}
    };
  endfunction

  /// The sum as an integer, bit 31 being the unit; what does not fit saturates.
  function automatic rounded_t to_int(logic is_signed, logic [63:0] sum, logic sign, rm_e rm);
    logic up, inexact, over;
    logic [32:0] magnitude;
    logic [31:0] limit, result;
    inexact = sum[30:0] != '0;
    up = grows(rm, sign, sum[31], sum[30], sum[29:0] != '0);
    magnitude = {1'b0, sum[62:31]} + {32'b0, up};
    if (is_signed) limit = {sign, {31{!sign}}};
    else limit = {32{!sign}};
    over = magnitude > {1'b0, limit};
    result = over ? limit : (sign ? -magnitude[31:0] : magnitude[31:0]);
    return '{flags: '{nv: over, nx: inexact && !over, default: 1'b0}, result: result};
  endfunction

  /* verilator lint_on UNUSEDSIGNAL */

endpackage
