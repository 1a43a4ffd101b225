/// Functions of the stages behind the first: the sum in its frame, its way to the left, its rounding.
package gpu_fpu_round_pkg;
  import gpu_fpu_pkg::*;

  // Functions take whole words, whichever bits of them they look at.
  /* verilator lint_off UNUSEDSIGNAL */

  /// The frame: bit 50 is the top of what has the larger exponent, bit 51 the carry, bit 0 whether anything is below.
  localparam int unsigned FrameWidth = 52;
  typedef logic [FrameWidth-1:0] frame_t;

  typedef struct packed {
    flags_t      flags;
    logic [31:0] result;
  } rounded_t;

  /// Moves right, by two bits of the distance at a time; what falls off stays visible as bit 0.
  function automatic frame_t shift_right_jam(frame_t x, logic [5:0] distance);
    frame_t far, near, last;
    logic lost;
    far = x >> {distance[5:4], 4'b0};
    near = far >> {distance[3:2], 2'b0};
    last = near >> distance[1:0];
    lost = (distance[5:4] != 2'd0 && x[15:0] != '0) || (distance[5] && x[31:16] != '0) ||
           (distance[5:4] == 2'd3 && x[47:32] != '0) ||
           (distance[3:2] != 2'd0 && far[3:0] != '0) || (distance[3] && far[7:4] != '0) ||
           (distance[3:2] == 2'd3 && far[11:8] != '0) ||
           (distance[1:0] != 2'd0 && near[0]) || (distance[1] && near[1]) || (distance[1:0] == 2'd3 && near[2]);
    return {last[FrameWidth-1:1], last[0] || lost};
  endfunction

  /// Product and addend, aligned: what moves plus what stays; of a difference what moves less what stays, less 1.
  ///
  /// So a difference that is not negative is the complement, and needs no second sum.
  function automatic frame_t add(addend_t m, logic [47:0] product);
    frame_t stays, moves;
    moves = m.product && !m.lead ? {2'b0, product, 2'b0} : {m.sub && !m.product && m.value[31], m.value, 19'b0};
    stays = !m.product ? '0 : m.lead ? {1'b0, product, 3'b0} : {1'b0, m.value, 19'b0};
    return shift_right_jam(moves, m.shift) + (stays ^ {FrameWidth{m.sub}});
  endfunction

  /// Product and addend added: their sum, or their difference less 1 (see `add`).
  typedef struct packed {
    logic       sub;
    logic       sign;
    logic       whole;     ///< of a float on its way to an integer: it is 1 or more
    logic [8:0] exponent;  ///< biased, of bit 50
    frame_t     value;
  } sum_t;

  function automatic sum_t sum_of(addend_t m, logic [47:0] product);
    return '{
      sub: m.sub, sign: m.sign, whole: m.whole, exponent: m.exponent + (m.product && m.lead ? m.ahead[8:0] : 9'd0),
      value: add(m, product)
    };
  endfunction

  /// A difference came as one too few, or as its complement.
  function automatic frame_t magnitude_of(sum_t s);
    if (!s.sub) return s.value;
    return s.value[FrameWidth-1] ? ~s.value : s.value + FrameWidth'(1);
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

  /// What is known of an answer beside its magnitude.
  typedef struct packed {
    logic       sign;
    logic       whole;
    direction_e direction;
  } manner_t;

  /// A difference of nothing is +0, and -0 when rounding down.
  function automatic manner_t manner_of(sum_t s, rm_e rm);
    logic sign;
    sign = s.sign ^ (s.sub && !s.value[FrameWidth-1]);
    return '{
      sign: s.sub && s.value == '1 ? rm == Rdn : sign,
      whole: s.whole,
      direction: direction_of(rm, sign)
    };
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

  /// The first of three that is there, else 3.
  function automatic logic [1:0] first_of(logic zeroth, logic first, logic second);
    return zeroth ? 2'd0 : first ? 2'd1 : second ? 2'd2 : 2'd3;
  endfunction

  /// A digit of the way to the left: two bits of what it would be, and of the bound, which is reached as a whole.
  function automatic logic [1:0] digit_of(bound_e bound, logic [1:0] wanted, logic [1:0] most);
    return bound == Bound || (bound == Even && most < wanted) ? most : wanted;
  endfunction

  function automatic bound_e bound_after(bound_e bound, logic [1:0] wanted, logic [1:0] most);
    return bound != Even || most == wanted ? bound : most < wanted ? Bound : Free;
  endfunction

  /// What a magnitude becomes on its way to the left: until its top is at bit 51, but by no more than its exponent.
  typedef struct packed {
    bound_e     bound;
    logic [8:0] exponent;
    frame_t     value;
  } moved_t;

  /// By 0, 16, 32 or 48.
  function automatic moved_t move_far(frame_t x, logic [8:0] exponent);
    logic [1:0] wanted, most, digit;
    logic over;
    over = exponent[8:6] != '0;
    most = exponent[5:4];
    wanted = first_of(x[51:36] != '0, x[35:20] != '0, x[19:4] != '0);
    digit = digit_of(over ? Free : Even, wanted, most);
    return '{
      value: x << {digit, 4'b0},
      exponent: {exponent[8:4] - {3'b0, digit}, exponent[3:0]},
      bound: bound_after(over ? Free : Even, wanted, most)
    };
  endfunction

  /// The rest of the way, by 0 to 15. Of nothing the exponent becomes 0.
  function automatic moved_t move_near(moved_t m);
    logic [1:0] wanted, first, second;
    bound_e bound;
    frame_t x;
    wanted = first_of(m.value[51:48] != '0, m.value[47:44] != '0, m.value[43:40] != '0);
    first = digit_of(m.bound, wanted, m.exponent[3:2]);
    bound = bound_after(m.bound, wanted, m.exponent[3:2]);
    x = m.value << {first, 2'b0};
    second = digit_of(bound, first_of(x[51], x[50], x[49]), m.exponent[1:0]);
    return '{
      value: x << second,
      exponent: x[51:48] == '0 ? '0 : m.exponent - {5'b0, first, second},
      bound: bound
    };
  endfunction

  /// What is rounded: as a float its fraction, exponent and hidden bit, all below being `low` and `below`. That is bits 51 to
  /// 18 of the frame, and whether anything is below them.
  typedef struct packed {
    logic [9:0]  low;
    logic        below;
    logic        hidden;
    logic [8:0]  exponent;
    logic [22:0] fraction;
  } normal_t;

  function automatic normal_t normal_of(moved_t m);
    return '{
      low: m.value[27:18], below: m.value[17:0] != '0, hidden: m.value[51], exponent: m.exponent, fraction: m.value[50:28]
    };
  endfunction

  /// The sum rounded: as binary32, or as an integer whose unit is frame bit 19, of which `whole` says whether it is 1 or
  /// more before. What does not fit saturates. One sum serves all.
  ///
  /// Tininess is judged after rounding: a subnormal is not tiny if, rounded to 24 bits as if the exponent had no
  /// bound, it would become the smallest normal number.
  function automatic rounded_t rounded_of(round_e kind, normal_t n, manner_t manner);
    logic sign, up, inexact, tiny, over;
    direction_e direction;
    logic hidden, carry;
    logic [31:0] kept, sum;
    rounded_t r;
    sign = manner.sign;
    direction = manner.direction;
    if (kind == RoundFloat) begin
      up = grows(direction, n.fraction[0], n.low[9], n.low[8:0] != '0 || n.below);
      inexact = n.low != '0 || n.below;
      tiny = !n.hidden;
      if (tiny && n.fraction == '1 && n.low[9]) tiny = !grows(direction, 1'b1, n.low[8], n.low[7:0] != '0 || n.below);
      // The hidden bit makes the exponent one more.
      kept = {n.exponent, n.fraction};
      hidden = n.hidden;
      carry = up;
    end else begin
      up = grows(direction, n.low[1], n.low[0], n.below);
      inexact = n.low[0] || n.below;
      tiny = 1'b0;
      // -(x + up) is ~x + !up.
      kept = {n.fraction, n.low[9:1]} ^ {32{sign}};
      hidden = 1'b0;
      carry = up ^ sign;
    end
    sum = kept + {8'b0, hidden, 23'b0} + {31'b0, carry};
    r = '0;
    unique case (kind)
      RoundInt: begin
        over = sign ? n.fraction[22] && !sum[31] : sum[31];
        r.result = over ? {sign, {31{!sign}}} : sum;
        r.flags.nv = over;
        r.flags.nx = inexact && !over;
      end
      RoundUint: begin
        over = sign && (manner.whole || up);
        r.result = sign ? '0 : sum;
        r.flags.nv = over;
        r.flags.nx = inexact && !over;
      end
      default: begin
        over = sum[31] || sum[30:23] == '1;
        r.result = {sign, sum[30:0]};
        if (over) r.result[30:0] = {{7{1'b1}}, direction != Truncate, {23{direction == Truncate}}};
        r.flags.of = over;
        r.flags.uf = tiny && inexact;
        r.flags.nx = over || inexact;
      end
    endcase
    return r;
  endfunction

  /* verilator lint_on UNUSEDSIGNAL */

endpackage
