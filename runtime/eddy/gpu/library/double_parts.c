// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Whole parts, remainders, exponents and significands, neighbours of double, and what is rounded in a stated way: exact.
#include "eddy_double.h"

double eddy_rint64(double x) {
  const double big = with_sign(0x1p52, x);
  return magnitude(x) < 0x1p52 ? with_sign((x + big) - big, x) : x;
}
double eddy_trunc64(double x) {
  const s32 cut = 1075 - (s32)(raw(x) >> 52 & 0x7ff);
  return cut <= 0 ? x : cut > 52 ? with_sign(0, x) : made(raw(x) >> cut << cut);
}
double eddy_floor64(double x) { const double t = eddy_trunc64(x); return t > x ? with_sign(t - 1, x) : t; }
double eddy_ceil64(double x) { const double t = eddy_trunc64(x); return t < x ? with_sign(t + 1, x) : t; }
double eddy_round64(double x) { const double t = eddy_trunc64(x); return magnitude(x - t) >= 0.5 ? t + with_sign(1, x) : t; }

double eddy_ldexp64(double x, int n) {
  if (n > 2200) n = 2200;
  if (n < -2200) n = -2200;
  for (; n > 1000; n -= 1000) x *= 0x1p1000;
  // The last step alone rounds, so that nothing is rounded twice.
  if (n < -1000) {
    int e;
    x = eddy_frexp64(x, &e);
    if (x == 0 || endless64(x)) return x;
    n += e;
    if (n >= -1000) return x * made((u64)(n + 1023) << 52);
    return n < -1200 ? with_sign(0, x) : x * made((u64)(n + 200 + 1023) << 52) * 0x1p-200;
  }
  return x * made((u64)(n + 1023) << 52);
}
/// Exponent of x, finite and not zero; the leading one of its significand, bit 52, is where it belongs in `m`.
static int exponent(double x, u64 *m) {
  int e = (int)(raw(x) >> 52 & 0x7ff) - 1023;
  *m = raw(x) << 12 >> 12;
  if (e > -1023) { *m |= 1ull << 52; return e; }
  for (e = -1022; !(*m >> 52); e--) *m <<= 1;
  return e;
}
double eddy_frexp64(double x, int *e) {
  u64 m;
  *e = 0;
  if (x == 0 || endless64(x)) return nan64(x) ? NAN64 : x;
  *e = exponent(x, &m) + 1;
  return with_sign(made((m << 12 >> 12) | 0x3fe0000000000000ull), x);
}
int eddy_ilogb64(double x) {
  u64 m;
  if (x == 0) return -2147483647 - 1;
  return endless64(x) ? 2147483647 : exponent(x, &m);
}
double eddy_logb64(double x) {
  u64 m;
  if (x == 0) return -INF64;
  return endless64(x) ? (nan64(x) ? NAN64 : INF64) : exponent(x, &m);
}
double eddy_nextafter64(double x, double y) {
  if (nan64(x) || nan64(y)) return NAN64;
  if (x == y) return y;
  if (x == 0) return made((raw(y) >> 63 << 63) | 1);
  return made((x < y) == !negative(x) ? raw(x) + 1 : raw(x) - 1);
}

/// |x| modulo |y|, both finite, y not zero; the quotient's low bits go to `quotient`.
static double rest_of(double x, double y, u32 *quotient) {
  u64 m, n;
  u32 q = 0;
  *quotient = 0;
  if (raw(x) << 1 < raw(y) << 1) return magnitude(x);
  const int e = exponent(x, &m), g = exponent(y, &n);
  for (int k = e - g;; k--) {
    q <<= 1;
    if (m >= n) m -= n, q |= 1;
    if (!k) break;
    m <<= 1;
  }
  *quotient = q;
  return eddy_ldexp64((double)m, g - 52);
}
double eddy_fmod64(double x, double y) {
  u32 quotient;
  if (nan64(y) || endless64(x) || y == 0) return NAN64;
  return endless64(y) ? x : with_sign(rest_of(x, y, &quotient), x);
}
/// x minus the nearest whole multiple of y; the multiple's sign and low 7 bits go to `quotient`.
double eddy_remquo64(double x, double y, int *quotient) {
  u32 q;
  *quotient = 0;
  if (nan64(y) || endless64(x) || y == 0) return NAN64;
  if (endless64(y)) return x;
  const double b = magnitude(y);
  double r = rest_of(x, y, &q);
  // Beyond half of y the next multiple is nearer; at the half, where it is even. Twice r may overflow, half of y vanish.
  const double half = b - r;
  if (r > half || (r == half && q & 1)) r -= b, q++;
  q &= 0x7f;
  *quotient = negative(x) != negative(y) ? -(int)q : (int)q;
  if (r == 0) return with_sign(0, x);
  return negative(x) ? -r : r;
}
double eddy_remainder64(double x, double y) {
  int quotient;
  return eddy_remquo64(x, y, &quotient);
}
double eddy_hypot64(double x, double y) {
  x = magnitude(x), y = magnitude(y);
  if (x == INF64 || y == INF64) return INF64;
  if (nan64(x) || nan64(y)) return NAN64;
  if (x < y) { const double t = x; x = y; y = t; }
  if (y == 0) return x;
  // Squares must neither overflow nor vanish: by powers of two, which are exact.
  const double by = x > 0x1p500 ? 0x1p-600 : x < 0x1p-500 ? 0x1p600 : 1;
  x *= by, y *= by;
  return eddy_sqrt64(eddy_fma64(x, x, y * y)) / by;
}

// ---- Conversions that round in a stated way

enum { NEAREST, TO_ZERO, UP, DOWN };

static u64 shortened(u64 m, u32 width, u32 sign, u32 mode) {
  const u64 kept = m >> width, cut = m & ((1ull << width) - 1), half = 1ull << (width - 1);
  if (mode == NEAREST) return kept + (cut > half || (cut == half && kept & 1));
  return kept + (cut && mode == (sign ? DOWN : UP));
}
double eddy_round_double(u64 x, u32 sign, u32 mode) {
  u32 top = 63;
  if (!x) return 0;
  while (!(x >> top)) top--;
  const u64 m = top <= 52 ? x << (52 - top) : shortened(x, top - 52, sign, mode);
  return made((u64)sign << 63 | (((u64)(top + 1022) << 52) + m));
}
/// In a format of `digits` behind the leading one and exponents of `bias`, which is wider than its numbers' range.
static u32 narrowed(double x, u32 digits, s32 bias, u32 mode) {
  const u32 sign = negative(x), endless = (u32)(2 * bias + 1) << digits, plus = sign << (digits == 23 ? 31 : 15);
  s32 e = (s32)(raw(x) >> 52 & 0x7ff) - 1023;
  if (nan64(x)) return endless | 1u << (digits - 1);
  if (e == 1024) return plus | endless;
  if (e > bias) return plus | (endless - !(mode == NEAREST || mode == (sign ? DOWN : UP)));
  if (raw(x) << 1 == 0) return plus;
  u64 m = (raw(x) << 12 >> 12) | 1ull << 52;
  // Bits below the last one: more where it has no leading one, and then whether there is anything at all.
  u32 width = 52 - digits;
  if (e <= -bias) width += (u32)(1 - bias - e);
  if (width > 60) width = 60;
  const u64 kept = shortened(m, width, sign, mode);
  return plus | ((e > -bias ? (u32)(e + bias - 1) << digits : 0) + (u32)kept);
}
float eddy_narrow_double(double x, u32 mode) {
  union { u32 u; float f; } v = {narrowed(x, 23, 127, mode)};
  return v.f;
}
u32 eddy_to_half64(double x, u32 mode) { return narrowed(x, 10, 15, mode); }

/// What the compiler calls for half, whose bits go where a float would.
float __truncdfhf2(double x) { union { u32 u; float f; } v = {eddy_to_half64(x, 0)}; return v.f; }
