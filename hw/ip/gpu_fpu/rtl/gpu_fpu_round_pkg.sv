/// Functions of the stages behind the first: the sum in its frame, its leading zeros, its rounding.
package gpu_fpu_round_pkg;
  import gpu_fpu_pkg::*;

  // Functions take whole words, whichever bits of them they look at.
  /* verilator lint_off UNUSEDSIGNAL */

  typedef struct packed {
    flags_t      flags;
    logic [31:0] result;
  } rounded_t;

  /// The lowest `count` of 64 bits: bit by bit, so that each is one look at the count.
  function automatic logic [63:0] low_bits(logic [5:0] count);
    logic [63:0] mask;
    for (int b = 0; b < 64; b++) mask[b] = 6'(b) < count;
    return mask;
  endfunction

  /// Moves right; what falls off stays visible as bit 0.
  function automatic logic [63:0] shift_right_jam(logic [63:0] x, logic [5:0] distance);
    logic lost;
    lost = (x & low_bits(distance)) != '0;
    return (x >> distance) | {63'b0, lost};
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

  /// What rounding does to a magnitude: nothing, to the nearest (a tie to even, or away from zero), or away from zero.
  typedef enum logic [1:0] { Truncate, NearestEven, NearestAway, Away } direction_e;

  function automatic direction_e direction_of(rm_e rm, logic sign);
    unique case (rm)
      Rne: return NearestEven;
      Rdn: return sign ? Away : Truncate;
      Rup: return sign ? Truncate : Away;
      Rmm: return NearestAway;
      default: return Truncate;
    endcase
  endfunction

  /// Whether the magnitude grows, given the last bit kept, the next, and whether anything is below that.
  function automatic logic grows(direction_e direction, logic last, logic half, logic rest);
    unique case (direction)
      NearestEven: return half && (rest || last);
      NearestAway: return half;
      Away: return half || rest;
      default: return 1'b0;
    endcase
  endfunction

  /// Nibbles side by side: which are empty, then the first that is not.
  function automatic logic [5:0] leading_zeros(logic [63:0] x);
    logic [15:0] empty;
    logic [15:0][1:0] first;
    logic [3:0] quarter_empty, empty_here;
    logic [3:0][1:0] first_here;
    logic [5:0] n;
    for (int i = 0; i < 16; i++) begin
      empty[i] = x[63-4*i-:4] == '0;
      first[i] = x[63-4*i] ? 2'd0 : x[62-4*i] ? 2'd1 : x[61-4*i] ? 2'd2 : 2'd3;
    end
    for (int q = 0; q < 4; q++) quarter_empty[q] = empty[4*q+:4] == '1;
    n[5:4] = !quarter_empty[0] ? 2'd0 : !quarter_empty[1] ? 2'd1 : !quarter_empty[2] ? 2'd2 : 2'd3;
    for (int i = 0; i < 4; i++) begin
      empty_here[i] = empty[{n[5:4], 2'(i)}];
      first_here[i] = first[{n[5:4], 2'(i)}];
    end
    n[3:2] = !empty_here[0] ? 2'd0 : !empty_here[1] ? 2'd1 : !empty_here[2] ? 2'd2 : 2'd3;
    n[1:0] = first_here[n[3:2]];
    return n;
  endfunction

  /// How far a sum moves left: until its top is at bit 63, or it is subnormal.
  function automatic logic [5:0] normal_distance(logic [63:0] sum, logic [8:0] exponent);
    logic [5:0] zeros;
    zeros = leading_zeros(sum);
    return {3'b0, zeros} > exponent ? exponent[5:0] : zeros;
  endfunction

  /// The sum as binary32, moved left by `distance`. `exponent`, 1 or more, is the biased exponent of bit 62; `sign` is that
  /// of the answer.
  ///
  /// Tininess is judged after rounding: a subnormal is not tiny if, rounded to 24 bits as if the exponent had no
  /// bound, it would become the smallest normal number.
  function automatic rounded_t to_float(
    logic [63:0] sum, logic [5:0] distance, logic [8:0] exponent, logic sign, direction_e direction
  );
    logic [63:0] n;
    logic [8:0] field;
    logic up, rest, inexact, up_unbounded, tiny, over;
    logic [31:0] r;
    n = sum << distance;
    // n[37:0] != 0, without waiting for n.
    rest = distance < 6'd38 && (sum & low_bits(6'd38 - distance)) != '0;
    field = n[63] ? exponent + 9'd1 - {3'b0, distance} : '0;
    inexact = n[39] || n[38] || rest;
    up = grows(direction, n[40], n[39], n[38] || rest);
    r = {field, n[62:40]} + {31'b0, up};
    up_unbounded = grows(direction, n[39], n[38], rest);
    tiny = !n[63] && !(n[62:39] == '1 && up_unbounded);
    over = r[31:23] >= 9'd255;
    if (over) r[30:0] = direction == Truncate ? 31'h7f7f_ffff : 31'h7f80_0000;
    return '{
      flags: '{nv: 1'b0, dz: 1'b0, of: over, uf: tiny && inexact, nx: over || inexact},
      result: {sign, r[30:0]}
    };
  endfunction

  /// The sum as an integer, bit 31 being the unit; what does not fit saturates.
  function automatic rounded_t to_int(logic is_signed, logic [63:0] sum, logic sign, direction_e direction);
    logic up, inexact, over;
    logic [31:0] kept, limit, result;
    kept = sum[62:31];
    inexact = sum[30:0] != '0;
    up = grows(direction, sum[31], sum[30], sum[29:0] != '0);
    if (is_signed) begin
      limit = {sign, {31{!sign}}};
      over = sign ? kept[31] && (kept[30:0] != '0 || up) : kept[31] || (kept[30:0] == '1 && up);
    end else begin
      limit = {32{!sign}};
      over = sign ? kept != '0 || up : kept == '1 && up;
    end
    // -(kept + up) is ~kept + !up.
    result = over ? limit : (kept ^ {32{sign}}) + {31'b0, sign ^ up};
    return '{flags: '{nv: over, nx: inexact && !over, default: 1'b0}, result: result};
  endfunction

  /* verilator lint_on UNUSEDSIGNAL */

endpackage
