// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Types of the floating-point unit: operations, rounding modes, flags.
package gpu_fpu_pkg;

  /// What to compute, named as the instruction. fmv.x.w and fmv.w.x copy bits and are left to the core.
  typedef enum logic [4:0] {
    OpFmadd  = 5'd0,   ///< a * b + c
    OpFmsub  = 5'd1,   ///< a * b - c
    OpFnmsub = 5'd2,   ///< -(a * b) + c
    OpFnmadd = 5'd3,   ///< -(a * b) - c
    OpFadd   = 5'd4,   ///< a + b
    OpFsub   = 5'd5,   ///< a - b
    OpFmul   = 5'd6,   ///< a * b
    OpFdiv   = 5'd7,   ///< a / b
    OpFsqrt  = 5'd8,   ///< square root of a
    OpFsgnj  = 5'd9,
    OpFsgnjn = 5'd10,
    OpFsgnjx = 5'd11,
    OpFmin   = 5'd12,
    OpFmax   = 5'd13,
    OpFeq    = 5'd14,  ///< 1 or 0 into an integer register
    OpFlt    = 5'd15,
    OpFle    = 5'd16,
    OpFclass = 5'd17,
    OpFcvtWS  = 5'd18, ///< binary32 a to int32
    OpFcvtWuS = 5'd19, ///< binary32 a to uint32
    OpFcvtSW  = 5'd20, ///< int32 a to binary32
    OpFcvtSWu = 5'd21  ///< uint32 a to binary32
  } op_e;

  /// Rounding modes in the encoding of `frm`. The core resolves DYN (7) and traps on 5 and 6 before it asks.
  typedef enum logic [2:0] {
    Rne = 3'd0,
    Rtz = 3'd1,
    Rdn = 3'd2,
    Rup = 3'd3,
    Rmm = 3'd4
  } rm_e;

  /// Accrued exceptions in the order of `fflags`: NV is bit 4, NX is bit 0.
  typedef struct packed {
    logic nv;
    logic dz;
    logic of;
    logic uf;
    logic nx;
  } flags_t;

  /// What the last stage makes of a sum.
  typedef enum logic [1:0] {
    RoundFloat = 2'd0,
    RoundInt   = 2'd1,
    RoundUint  = 2'd2
  } round_e;

  /// The addend of a lane, and how product and addend meet in the frame of the second stage (gpu_fpu_lane).
  typedef struct packed {
    logic        product;     ///< there is a product
    logic        lead;        ///< it has the larger exponent: it stays and the addend moves right; else it moves, if it is there
    logic        sub;         ///< their signs differ; alone: `value` is a negative number, as two's complement
    logic        sign;        ///< of the one that stays
    logic        whole;       ///< of a float on its way to an integer: it is 1 or more
    logic [8:0]  exponent;    ///< of the addend: biased, of frame bit 50; 0 where the sum is not to be normalised
    logic [9:0]  ahead;       ///< how much larger the product's is, two's complement
    logic [5:0]  shift;       ///< how far the other moves, a product one more; 63 also for everything beyond
    logic [31:0] value;       ///< the addend's significand, bit 31 being frame bit 50
  } addend_t;

  /// An answer that needs no sum and no rounding.
  typedef struct packed {
    logic        valid;
    flags_t      flags;
    logic [31:0] result;
  } special_t;

  /// Weight of a digit of the quotient: one bit of 26, the first digit at the left.
  typedef logic [25:0] digit_t;
  localparam digit_t FirstDigit = digit_t'(1) << 25;

  /// What the divider has found so far.
  typedef struct packed {
    logic       sign;
    logic [9:0] exponent;  ///< biased, two's complement: subnormal operands and small quotients take it below zero
    digit_t     digits;
  } quotient_t;

  /// How an operation's sum is rounded.
  function automatic round_e rounding_of(op_e op);
    unique case (op)
      OpFcvtWS: return RoundInt;
      OpFcvtWuS: return RoundUint;
      default: return RoundFloat;
    endcase
  endfunction

  /// Whether an operation goes to the divider.
  function automatic logic is_iterative(op_e op);
    return op == OpFdiv || op == OpFsqrt;
  endfunction

endpackage
