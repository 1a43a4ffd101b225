// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// double by soft float: what its files share. Tables are polynomials, highest power first, fitted to the least greatest
// error by Remez's method; the comment before each says where and how near.
#ifndef EDDY_DOUBLE_H
#define EDDY_DOUBLE_H
#include "eddy_types.h"

#define NAN64 made(0x7ff8000000000000ull)
#define INF64 made(0x7ff0000000000000ull)
#define LN2 0x1.62e42fefa39efp-1
#define LN2_REST 0x1.abc9e3b39803fp-56
// ln 2 again, the first part short enough that its products with exponents are exact.
#define LN2_HIGH 0x1.62e42fefa3800p-1
#define LN2_LOW 0x1.ef35793c76730p-45
#define LOG2E 0x1.71547652b82fep+0
#define PI 0x1.921fb54442d18p+1
#define PI_LOW 0x1.1a62633145c07p-53
#define HALF_PI 0x1.921fb54442d18p+0
#define HALF_PI_LOW 0x1.1a62633145c07p-54

static inline u64 raw(double x) { union { double f; u64 u; } v = {x}; return v.u; }
static inline double made(u64 x) { union { u64 u; double f; } v = {x}; return v.f; }
static inline double magnitude(double x) { return made(raw(x) << 1 >> 1); }
static inline double with_sign(double x, double s) { return made(raw(x) << 1 >> 1 | raw(s) >> 63 << 63); }
static inline u32 negative(double x) { return (u32)(raw(x) >> 63); }
static inline int nan64(double x) { return raw(x) << 1 > 0xffe0000000000000ull; }
/// Infinite, or no number.
static inline int endless64(double x) { return raw(x) << 1 >= 0xffe0000000000000ull; }
/// 0 where x is not whole, 1 where it is odd, 2 where it is even.
static inline u32 parity64(double x) {
  const s32 cut = 1075 - (s32)(raw(x) >> 52 & 0x7ff);
  const u64 m = (raw(x) << 12 >> 12) | 1ull << 52;
  if (cut < 0 || raw(x) << 1 == 0) return 2;
  if (cut > 52 || m & ((1ull << cut) - 1)) return 0;
  return m >> cut & 1 ? 1 : 2;
}

double eddy_sqrt64(double x);
double eddy_fma64(double a, double b, double c);
double eddy_rint64(double x);
double eddy_trunc64(double x);
double eddy_ldexp64(double x, int n);
double eddy_frexp64(double x, int *e);
double eddy_log64(double x);
double eddy_expm164(double x);

/// log(x) for finite x > 0: the high part, and what is missing to it; together right to some 65 bits.
double eddy_log_parts64(double x, double *low);
/// log(1 + u + low), u > -1 and finite.
double eddy_log1p_parts64(double u, double low);
/// e^(x + low) 2^n, for any x that is a number.
double eddy_exp_parts64(double x, double low, int n);
/// Sine and cosine of r + low, |r| <= pi / 4.
double eddy_sine64(double r, double low);
double eddy_cosine64(double r, double low);
double eddy_sinpi64(double x);

/// c[0] x^(n - 1) + ... + c[n - 1]
static inline double polynomial(double x, const double *c, int n) {
  double p = *c;
  while (--n) p = eddy_fma64(p, x, *++c);
  return p;
}
#define POLYNOMIAL(x, table) polynomial(x, table, sizeof(table) / sizeof(double))
/// What a sum lost, s = a + b rounded and |a| not below |b|; and what a product did.
static inline double rest_of_sum(double a, double b, double s) { return b - (s - a); }
static inline double rest_of_product(double a, double b, double p) { return eddy_fma64(a, b, -p); }
#endif
