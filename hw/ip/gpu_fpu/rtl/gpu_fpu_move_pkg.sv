// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Moves within the frame of a sum: to the right, where what falls off stays visible, and to the left, until its top is at the
/// top, but by no more than its exponent.
///
/// Two of them have a form for gates, by digits of the distance, and one for simulation, as a processor does it. They are the
/// same for every input: hw/formal/gpu_fpu_moves_proof.sv.
package gpu_fpu_move_pkg;

  /// The frame: bit 50 is the top of what has the larger exponent, bit 51 the carry, bit 0 whether anything is below.
  localparam int unsigned FrameWidth = 52;
  typedef logic [FrameWidth-1:0] frame_t;

  /// What is left of a sum while it moves left: its exponent bounds how far.
  typedef enum logic [1:0] {
    Even,   ///< as far as the digits of the bound looked at
    Free,   ///< less: the bound does not matter any more
    Bound   ///< more: the bound it is
  } bound_e;

  /// Moves right, by two bits of the distance at a time; what falls off stays visible as bit 0.
  function automatic frame_t shift_right_by_digits(frame_t x, logic [5:0] distance);
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

  /// The same at once: what comes back from there is not all there was.
  function automatic frame_t shift_right_at_once(frame_t x, logic [5:0] distance);
    frame_t moved;
    moved = x >> distance;
    return moved | frame_t'((moved << distance) != x);
  endfunction

  function automatic frame_t shift_right_jam(frame_t x, logic [5:0] distance);
`ifdef SYNTHESIS
    return shift_right_by_digits(x, distance);
`else
    return shift_right_at_once(x, distance);
`endif
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
      exponent: exponent - {3'b0, digit, 4'b0},
      bound: bound_after(over ? Free : Even, wanted, most)
    };
  endfunction

  /// The rest of the way, by 0 to 15. Of nothing the exponent becomes 0.
  function automatic moved_t move_near_by_digits(moved_t m);
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
      bound: Free
    };
  endfunction

  /// Leading zeros.
  function automatic logic [3:0] zeros_of(logic [14:0] x);
    logic [3:0] zeros;
    logic [14:0] rest;
    zeros = '0;
    rest = x;
    if (rest[14:7] == '0) begin
      zeros[3] = 1'b1;
      rest = rest << 8;
    end
    if (rest[14:11] == '0) begin
      zeros[2] = 1'b1;
      rest = rest << 4;
    end
    if (rest[14:13] == '0) begin
      zeros[1] = 1'b1;
      rest = rest << 2;
    end
    if (!rest[14]) zeros[0] = 1'b1;
    return zeros;
  endfunction

  /// The same at once: the distance is the leading zeros, the bound or the less of both.
  function automatic moved_t move_near_at_once(moved_t m);
    logic [3:0] distance;
    frame_t near;
    distance = zeros_of(m.value[51:37]);
    if (m.bound == Bound || (m.bound == Even && m.exponent[3:0] < distance)) distance = m.exponent[3:0];
    near = m.value << {distance[3:2], 2'b0};
    return '{
      value: m.value << distance,
      exponent: near[51:48] == '0 ? '0 : m.exponent - {5'b0, distance},
      bound: Free
    };
  endfunction

  function automatic moved_t move_near(moved_t m);
`ifdef SYNTHESIS
    return move_near_by_digits(m);
`else
    return move_near_at_once(m);
`endif
  endfunction

endpackage
