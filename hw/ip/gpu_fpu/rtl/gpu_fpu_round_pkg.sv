// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Functions of the stages behind the first: the sum in its frame, its magnitude, its rounding.
package gpu_fpu_round_pkg;
  import gpu_fpu_pkg::*;
  import gpu_fpu_move_pkg::*;

  typedef struct packed {
    flags_t      flags;
    logic [31:0] result;
  } rounded_t;

  /// Product and addend, aligned: what moves plus what stays; of a difference what moves less what stays, less 1.
  ///
  /// So a difference that is not negative is the complement, and needs no second sum.
  function automatic frame_t add(addend_t m, logic [47:0] product);
    frame_t stays, moves;
    if (m.product) begin
      moves = m.lead ? {1'b0, m.value, 19'b0} : {2'b0, product, 2'b0};
      stays = m.lead ? {1'b0, product, 3'b0} : {1'b0, m.value, 19'b0};
    end else begin
      moves = {m.sub && m.value[31], m.value, 19'b0};
      stays = '0;
    end
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

  /// What is rounded: the exponent of bit 50 of the frame, its bits 51 to 18, and whether anything is below them.
  typedef struct packed {
    logic [8:0]  exponent;
    logic [33:0] value;
    logic        below;
  } normal_t;

  function automatic normal_t normal_of(moved_t m);
    return '{exponent: m.exponent, value: m.value[51:18], below: m.value[17:0] != '0};
  endfunction

  /// The sum rounded: as binary32, or as an integer whose unit is frame bit 19, of which `whole` says whether it is 1 or
  /// more before. What does not fit saturates. One sum serves all.
  ///
  /// Tininess is judged after rounding: a subnormal is not tiny if, rounded to 24 bits as if the exponent had no
  /// bound, it would become the smallest normal number.
  function automatic rounded_t rounded_of(round_e kind, normal_t n, manner_t manner);
    logic sign, up, inexact, tiny, over;
    direction_e direction;
    logic hidden;
    logic [31:0] kept, sum;
    rounded_t r;
    sign = manner.sign;
    direction = manner.direction;
    if (kind == RoundFloat) begin
      up = grows(direction, n.value[10], n.value[9], n.value[8:0] != '0 || n.below);
      inexact = n.value[9:0] != '0 || n.below;
      tiny = !n.value[33];
      if (n.value[33:9] == {1'b0, {24{1'b1}}}) tiny = !grows(direction, 1'b1, n.value[8], n.value[7:0] != '0 || n.below);
      // The hidden bit makes the exponent one more.
      kept = {n.exponent, n.value[32:10]};
      hidden = n.value[33];
    end else begin
      up = grows(direction, n.value[1], n.value[0], n.below);
      inexact = n.value[0] || n.below;
      tiny = 1'b0;
      kept = n.value[32:1] ^ {32{sign}};
      hidden = 1'b0;
    end
    // -(x + up) is ~x + !up.
    sum = kept + {8'b0, hidden, 23'b0} + {31'b0, kind == RoundFloat ? up : up ^ sign};
    unique case (kind)
      RoundInt: begin
        over = sign ? n.value[32] && !sum[31] : sum[31];
        r.result = over ? {sign, {31{!sign}}} : sum;
        r.flags = '{nv: over, dz: 1'b0, of: 1'b0, uf: 1'b0, nx: inexact && !over};
      end
      RoundUint: begin
        over = sign && (manner.whole || up);
        r.result = sign ? '0 : sum;
        r.flags = '{nv: over, dz: 1'b0, of: 1'b0, uf: 1'b0, nx: inexact && !over};
      end
      default: begin
        over = sum[31] || sum[30:23] == '1;
        r.result = {sign, sum[30:0]};
        if (over) r.result = {sign, {7{1'b1}}, direction != Truncate, {23{direction == Truncate}}};
        r.flags = '{nv: 1'b0, dz: 1'b0, of: over, uf: tiny && inexact, nx: over || inexact};
      end
    endcase
    return r;
  endfunction

endpackage
