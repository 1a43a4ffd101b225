// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Conversions of OpenCL C 1.2 that saturate or round; convert_T itself is made of these in gpu/prelude.py.
//@ eddy_saturate
#define EDDY_FROM_SIGNED(T, S, low, high) EDDY_FN T eddy_sat_##T(S x) { const long v = x; \
  return v < 0 ? (low == 0 || v < (long)(low) ? (T)(low) : (T)v) : (ulong)v > (ulong)(high) ? (T)(high) : (T)v; }
#define EDDY_FROM_UNSIGNED(T, S, high) EDDY_FN T eddy_sat_##T(S x) { return (ulong)x > (ulong)(high) ? (T)(high) : (T)x; }
#define EDDY_FROM_REAL(T, R, low, high) EDDY_FN T eddy_sat_##T(R x) { \
  return x != x ? (T)0 : x <= (R)(low) ? (T)(low) : x >= (R)(high) ? (T)(high) : (T)x; }
#define EDDY_SATURATE(T, low, high) \
  EDDY_FROM_SIGNED(T, char, low, high) EDDY_FROM_SIGNED(T, short, low, high) EDDY_FROM_SIGNED(T, int, low, high) \
  EDDY_FROM_SIGNED(T, long, low, high) EDDY_FROM_UNSIGNED(T, uchar, high) EDDY_FROM_UNSIGNED(T, ushort, high) \
  EDDY_FROM_UNSIGNED(T, uint, high) EDDY_FROM_UNSIGNED(T, ulong, high) EDDY_FROM_REAL(T, float, low, high) \
  EDDY_ALSO(EDDY_FROM_REAL(T, double, low, high)) EDDY_HALF_ALSO(EDDY_FROM_REAL(T, half, low, high))
//@ eddy_sat_char
EDDY_SATURATE(char, -128, 127)
// Needs eddy_saturate.
//@ eddy_sat_uchar
EDDY_SATURATE(uchar, 0, 255)
// Needs eddy_saturate.
//@ eddy_sat_short
EDDY_SATURATE(short, -32768, 32767)
// Needs eddy_saturate.
//@ eddy_sat_ushort
EDDY_SATURATE(ushort, 0, 65535)
// Needs eddy_saturate.
//@ eddy_sat_int
EDDY_SATURATE(int, INT_MIN, INT_MAX)
// Needs eddy_saturate.
//@ eddy_sat_uint
EDDY_SATURATE(uint, 0, UINT_MAX)
// Needs eddy_saturate.
//@ eddy_sat_long
EDDY_SATURATE(long, LONG_MIN, LONG_MAX)
// Needs eddy_saturate.
//@ eddy_sat_ulong
EDDY_SATURATE(ulong, 0, ULONG_MAX)
// Needs eddy_saturate.
//@ eddy_whole_rte
#define EDDY_WHOLE_RTE(T, U, S, width, is_signed) EDDY_FN T eddy_whole_rte(T x) { return x; }
EDDY_INTEGERS(EDDY_WHOLE_RTE)
EDDY_FN float eddy_whole_rte(float x) { return __builtin_rintf(x); }
EDDY_HALF_ALSO(EDDY_FN half eddy_whole_rte(half x) { return (half)__builtin_rintf((float)x); })
EDDY_ALSO(double eddy_rint64(double); EDDY_FN double eddy_whole_rte(double x) { return eddy_rint64(x); })
//@ eddy_whole_rtz
#define EDDY_WHOLE_RTZ(T, U, S, width, is_signed) EDDY_FN T eddy_whole_rtz(T x) { return x; }
EDDY_INTEGERS(EDDY_WHOLE_RTZ)
EDDY_FN float eddy_whole_rtz(float x) { return __builtin_truncf(x); }
EDDY_HALF_ALSO(EDDY_FN half eddy_whole_rtz(half x) { return (half)__builtin_truncf((float)x); })
EDDY_ALSO(double eddy_trunc64(double); EDDY_FN double eddy_whole_rtz(double x) { return eddy_trunc64(x); })
//@ eddy_whole_rtp
#define EDDY_WHOLE_RTP(T, U, S, width, is_signed) EDDY_FN T eddy_whole_rtp(T x) { return x; }
EDDY_INTEGERS(EDDY_WHOLE_RTP)
EDDY_FN float eddy_whole_rtp(float x) { return __builtin_ceilf(x); }
EDDY_HALF_ALSO(EDDY_FN half eddy_whole_rtp(half x) { return (half)__builtin_ceilf((float)x); })
EDDY_ALSO(double eddy_ceil64(double); EDDY_FN double eddy_whole_rtp(double x) { return eddy_ceil64(x); })
//@ eddy_whole_rtn
#define EDDY_WHOLE_RTN(T, U, S, width, is_signed) EDDY_FN T eddy_whole_rtn(T x) { return x; }
EDDY_INTEGERS(EDDY_WHOLE_RTN)
EDDY_FN float eddy_whole_rtn(float x) { return __builtin_floorf(x); }
EDDY_HALF_ALSO(EDDY_FN half eddy_whole_rtn(half x) { return (half)__builtin_floorf((float)x); })
EDDY_ALSO(double eddy_floor64(double); EDDY_FN double eddy_whole_rtn(double x) { return eddy_floor64(x); })
//@ eddy_round_float
float eddy_round_float(ulong, uint, uint);
EDDY_ALSO(float eddy_narrow_double(double, uint);)
//@ eddy_round_double
double eddy_round_double(ulong, uint, uint);
//@ eddy_float_rtz
#define EDDY_FLOAT_RTZ(T, U, S, width, is_signed) EDDY_FN float eddy_float_rtz(T x) { \
  return width < 32 ? (float)x : eddy_round_float(is_signed && x < 0 ? 0 - (ulong)x : (ulong)x, is_signed && x < 0, 1); }
EDDY_INTEGERS(EDDY_FLOAT_RTZ)
EDDY_FN float eddy_float_rtz(float x) { return x; }
EDDY_HALF_ALSO(EDDY_FN float eddy_float_rtz(half x) { return x; })
EDDY_ALSO(EDDY_FN float eddy_float_rtz(double x) { return eddy_narrow_double(x, 1); })
// Needs eddy_round_float.
//@ eddy_float_rtp
#define EDDY_FLOAT_RTP(T, U, S, width, is_signed) EDDY_FN float eddy_float_rtp(T x) { \
  return width < 32 ? (float)x : eddy_round_float(is_signed && x < 0 ? 0 - (ulong)x : (ulong)x, is_signed && x < 0, 2); }
EDDY_INTEGERS(EDDY_FLOAT_RTP)
EDDY_FN float eddy_float_rtp(float x) { return x; }
EDDY_HALF_ALSO(EDDY_FN float eddy_float_rtp(half x) { return x; })
EDDY_ALSO(EDDY_FN float eddy_float_rtp(double x) { return eddy_narrow_double(x, 2); })
// Needs eddy_round_float.
//@ eddy_float_rtn
#define EDDY_FLOAT_RTN(T, U, S, width, is_signed) EDDY_FN float eddy_float_rtn(T x) { \
  return width < 32 ? (float)x : eddy_round_float(is_signed && x < 0 ? 0 - (ulong)x : (ulong)x, is_signed && x < 0, 3); }
EDDY_INTEGERS(EDDY_FLOAT_RTN)
EDDY_FN float eddy_float_rtn(float x) { return x; }
EDDY_HALF_ALSO(EDDY_FN float eddy_float_rtn(half x) { return x; })
EDDY_ALSO(EDDY_FN float eddy_float_rtn(double x) { return eddy_narrow_double(x, 3); })
// Needs eddy_round_float.
//@ eddy_double_rtz
#define EDDY_DOUBLE_RTZ(T, U, S, width, is_signed) EDDY_FN double eddy_double_rtz(T x) { \
  return width < 64 ? (double)x : eddy_round_double(is_signed && x < 0 ? 0 - (ulong)x : (ulong)x, is_signed && x < 0, 1); }
EDDY_INTEGERS(EDDY_DOUBLE_RTZ)
EDDY_FN double eddy_double_rtz(float x) { return x; }
EDDY_HALF_ALSO(EDDY_FN double eddy_double_rtz(half x) { return x; })
EDDY_FN double eddy_double_rtz(double x) { return x; }
// Needs eddy_round_double.
//@ eddy_double_rtp
#define EDDY_DOUBLE_RTP(T, U, S, width, is_signed) EDDY_FN double eddy_double_rtp(T x) { \
  return width < 64 ? (double)x : eddy_round_double(is_signed && x < 0 ? 0 - (ulong)x : (ulong)x, is_signed && x < 0, 2); }
EDDY_INTEGERS(EDDY_DOUBLE_RTP)
EDDY_FN double eddy_double_rtp(float x) { return x; }
EDDY_HALF_ALSO(EDDY_FN double eddy_double_rtp(half x) { return x; })
EDDY_FN double eddy_double_rtp(double x) { return x; }
// Needs eddy_round_double.
//@ eddy_double_rtn
#define EDDY_DOUBLE_RTN(T, U, S, width, is_signed) EDDY_FN double eddy_double_rtn(T x) { \
  return width < 64 ? (double)x : eddy_round_double(is_signed && x < 0 ? 0 - (ulong)x : (ulong)x, is_signed && x < 0, 3); }
EDDY_INTEGERS(EDDY_DOUBLE_RTN)
EDDY_FN double eddy_double_rtn(float x) { return x; }
EDDY_HALF_ALSO(EDDY_FN double eddy_double_rtn(half x) { return x; })
EDDY_FN double eddy_double_rtn(double x) { return x; }
// Needs eddy_round_double.
