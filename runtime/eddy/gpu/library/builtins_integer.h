// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Integer functions of OpenCL C 1.2. A section begins with the names it defines; a source gets the sections it names.
//@ abs
#define EDDY_ABS(T, U, S, width, is_signed) \
  EDDY_FN U abs(T x) { return is_signed && x < 0 ? (U)0 - (U)x : (U)x; } \
  EDDY_WIDTHS(EDDY_UNARY_N, U, T, abs)
EDDY_INTEGERS(EDDY_ABS)
//@ abs_diff
#define EDDY_ABS_DIFF_N(n, T, U, f) EDDY_FN U##n f(T##n x, T##n y) { U##n r; for (int i = 0; i < n; i++) r[i] = f(x[i], y[i]); return r; }
#define EDDY_ABS_DIFF(T, U, S, width, is_signed) \
  EDDY_FN U abs_diff(T x, T y) { return x > y ? (U)x - (U)y : (U)y - (U)x; } \
  EDDY_WIDTHS(EDDY_ABS_DIFF_N, T, U, abs_diff)
EDDY_INTEGERS(EDDY_ABS_DIFF)
//@ add_sat
#define EDDY_ADD_SAT(T, U, S, width, is_signed) \
  EDDY_FN T add_sat(T x, T y) { T r; if (!__builtin_add_overflow(x, y, &r)) return r; \
    return is_signed && x < 0 ? (T)((U)1 << (width - 1)) : (T)((U)~(U)0 >> is_signed); } \
  EDDY_WIDTHS(EDDY_BINARY_N, T, add_sat)
EDDY_INTEGERS(EDDY_ADD_SAT)
//@ sub_sat
#define EDDY_SUB_SAT(T, U, S, width, is_signed) \
  EDDY_FN T sub_sat(T x, T y) { T r; if (!__builtin_sub_overflow(x, y, &r)) return r; \
    return is_signed ? x < 0 ? (T)((U)1 << (width - 1)) : (T)((U)~(U)0 >> 1) : (T)0; } \
  EDDY_WIDTHS(EDDY_BINARY_N, T, sub_sat)
EDDY_INTEGERS(EDDY_SUB_SAT)
//@ hadd
#define EDDY_HADD(T, U, S, width, is_signed) \
  EDDY_FN T hadd(T x, T y) { return (x & y) + ((x ^ y) >> 1); } \
  EDDY_WIDTHS(EDDY_BINARY_N, T, hadd)
EDDY_INTEGERS(EDDY_HADD)
//@ rhadd
#define EDDY_RHADD(T, U, S, width, is_signed) \
  EDDY_FN T rhadd(T x, T y) { return (x | y) - ((x ^ y) >> 1); } \
  EDDY_WIDTHS(EDDY_BINARY_N, T, rhadd)
EDDY_INTEGERS(EDDY_RHADD)
//@ rotate
#define EDDY_ROTATE(T, U, S, width, is_signed) \
  EDDY_FN T rotate(T x, T by) { const U u = (U)x, b = (U)by & (width - 1); \
    return b ? (T)((U)(u << b) | (U)(u >> (width - b))) : x; } \
  EDDY_WIDTHS(EDDY_BINARY_N, T, rotate)
EDDY_INTEGERS(EDDY_ROTATE)
//@ popcount
#define EDDY_POPCOUNT(T, U, S, width, is_signed) \
  EDDY_FN T popcount(T x) { return (T)(width == 64 ? __builtin_popcountl((ulong)(U)x) : __builtin_popcount((uint)(U)x)); } \
  EDDY_WIDTHS(EDDY_UNARY_N, T, T, popcount)
EDDY_INTEGERS(EDDY_POPCOUNT)
//@ clz
#define EDDY_CLZ(T, U, S, width, is_signed) \
  EDDY_FN T clz(T x) { \
    return (T)(!x ? width : width == 64 ? __builtin_clzl((ulong)(U)x) : __builtin_clz((uint)(U)x) - (32 - (width & 63))); } \
  EDDY_WIDTHS(EDDY_UNARY_N, T, T, clz)
EDDY_INTEGERS(EDDY_CLZ)
//@ mul_hi
EDDY_FN ulong eddy_high(ulong x, ulong y) {
  const ulong xl = (uint)x, xh = x >> 32, yl = (uint)y, yh = y >> 32;
  const ulong middle = xh * yl + (xl * yl >> 32), other = xl * yh + (uint)middle;
  return xh * yh + (middle >> 32) + (other >> 32);
}
#define EDDY_MUL_HI(T, wide, width) EDDY_FN T mul_hi(T x, T y) { return (T)(((wide)x * (wide)y) >> width); }
EDDY_MUL_HI(char, int, 8) EDDY_MUL_HI(uchar, uint, 8) EDDY_MUL_HI(short, int, 16) EDDY_MUL_HI(ushort, uint, 16)
EDDY_MUL_HI(int, long, 32) EDDY_MUL_HI(uint, ulong, 32)
EDDY_FN ulong mul_hi(ulong x, ulong y) { return eddy_high(x, y); }
EDDY_FN long mul_hi(long x, long y) {
  return (long)(eddy_high((ulong)x, (ulong)y) - (x < 0 ? (ulong)y : 0) - (y < 0 ? (ulong)x : 0));
}
#define EDDY_MUL_HI_N(T, U, S, width, is_signed) EDDY_WIDTHS(EDDY_BINARY_N, T, mul_hi)
EDDY_INTEGERS(EDDY_MUL_HI_N)
//@ mad_hi
#define EDDY_MAD_HI(T, U, S, width, is_signed) \
  EDDY_FN T mad_hi(T x, T y, T z) { return (T)((U)mul_hi(x, y) + (U)z); } \
  EDDY_WIDTHS(EDDY_TERNARY_N, T, mad_hi)
EDDY_INTEGERS(EDDY_MAD_HI)
//@ mad_sat
#define EDDY_MAD_SAT(T, U, S, width, is_signed) \
  EDDY_FN T mad_sat(T x, T y, T z) { \
    /* The product in two halves, and z to it: what fits has nothing but its sign in the upper one. */ \
    const U low = (U)((U)x * (U)y), sum = (U)(low + (U)z); \
    const T high = (T)((U)mul_hi(x, y) + (U)(is_signed && z < 0 ? ~(U)0 : (U)0) + (U)(sum < low)); \
    if (!is_signed) return high ? (T)~(U)0 : (T)sum; \
    const T sign = (T)((U)sum >> (width - 1) ? ~(U)0 : (U)0); \
    return high == sign ? (T)sum : high < 0 ? (T)((U)1 << (width - 1)) : (T)((U)~(U)0 >> 1); } \
  EDDY_WIDTHS(EDDY_TERNARY_N, T, mad_sat)
EDDY_INTEGERS(EDDY_MAD_SAT)
//@ mul24
EDDY_FN int mul24(int x, int y) { return x * y; }
EDDY_FN uint mul24(uint x, uint y) { return x * y; }
EDDY_WIDTHS(EDDY_BINARY_N, int, mul24)
EDDY_WIDTHS(EDDY_BINARY_N, uint, mul24)
//@ mad24
EDDY_FN int mad24(int x, int y, int z) { return x * y + z; }
EDDY_FN uint mad24(uint x, uint y, uint z) { return x * y + z; }
EDDY_WIDTHS(EDDY_TERNARY_N, int, mad24)
EDDY_WIDTHS(EDDY_TERNARY_N, uint, mad24)
//@ upsample
#define EDDY_UPSAMPLE(R, T, U, width) \
  EDDY_FN R upsample(T high, U low) { return (R)((R)((u##R)(u##T)high << width) | low); } \
  EDDY_FN u##R upsample(U high, U low) { return (u##R)((u##R)((u##R)high << width) | low); } \
  EDDY_WIDTHS(EDDY_MIXED_N, R, T, U, upsample) \
  EDDY_WIDTHS(EDDY_MIXED_N, u##R, U, U, upsample)
EDDY_UPSAMPLE(short, char, uchar, 8)
EDDY_UPSAMPLE(int, short, ushort, 16)
EDDY_UPSAMPLE(long, int, uint, 32)
//@ dot_acc_sat
// Needs dot and add_sat.
#define EDDY_DOT_SAT(R, A, B) EDDY_FN R dot_acc_sat(A##4 x, B##4 y, R sum) { return add_sat(dot(x, y), sum); }
EDDY_DOT_SAT(uint, uchar, uchar)
EDDY_DOT_SAT(int, char, char)
EDDY_DOT_SAT(int, uchar, char)
EDDY_DOT_SAT(int, char, uchar)
//@ dot_4x8packed_uu_uint
EDDY_FN uint dot_4x8packed_uu_uint(uint x, uint y) { return dot(__builtin_astype(x, uchar4), __builtin_astype(y, uchar4)); }
//@ dot_4x8packed_ss_int
EDDY_FN int dot_4x8packed_ss_int(uint x, uint y) { return dot(__builtin_astype(x, char4), __builtin_astype(y, char4)); }
//@ dot_4x8packed_us_int
EDDY_FN int dot_4x8packed_us_int(uint x, uint y) { return dot(__builtin_astype(x, uchar4), __builtin_astype(y, char4)); }
//@ dot_4x8packed_su_int
EDDY_FN int dot_4x8packed_su_int(uint x, uint y) { return dot(__builtin_astype(x, char4), __builtin_astype(y, uchar4)); }
//@ dot_acc_sat_4x8packed_uu_uint
// Needs dot_acc_sat.
EDDY_FN uint dot_acc_sat_4x8packed_uu_uint(uint x, uint y, uint sum) {
  return dot_acc_sat(__builtin_astype(x, uchar4), __builtin_astype(y, uchar4), sum); }
//@ dot_acc_sat_4x8packed_ss_int
// Needs dot_acc_sat.
EDDY_FN int dot_acc_sat_4x8packed_ss_int(uint x, uint y, int sum) {
  return dot_acc_sat(__builtin_astype(x, char4), __builtin_astype(y, char4), sum); }
//@ dot_acc_sat_4x8packed_us_int
// Needs dot_acc_sat.
EDDY_FN int dot_acc_sat_4x8packed_us_int(uint x, uint y, int sum) {
  return dot_acc_sat(__builtin_astype(x, uchar4), __builtin_astype(y, char4), sum); }
//@ dot_acc_sat_4x8packed_su_int
// Needs dot_acc_sat.
EDDY_FN int dot_acc_sat_4x8packed_su_int(uint x, uint y, int sum) {
  return dot_acc_sat(__builtin_astype(x, char4), __builtin_astype(y, uchar4), sum); }
