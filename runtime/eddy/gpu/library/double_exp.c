// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Exponentials, logarithms, powers and hyperbolic functions of double, on soft float: logarithms come with a low part
// beside the high one, exponentials take one, and the rest follows from them. docs/reference/opencl-builtins.md states the errors.
#include "eddy_double.h"

/// e^(r + rest) - 1 for |r| <= 0.35 and a rest that is small beside it.
static double exp_core(double r, double rest) {
  // (e^r - 1 - r) / r^2 on +-0.35, 2^-59
  static const double EXP[] = {0x1.1f8be627914f5p-29, 0x1.af4eceb28347bp-26, 0x1.27e4cc72d21a9p-22,
    0x1.71de01c322c68p-19, 0x1.a01a01ad20931p-16, 0x1.a01a01ac0aedbp-13, 0x1.6c16c16c15196p-10, 0x1.111111111009bp-7,
    0x1.5555555555558p-5, 0x1.5555555555557p-3, 0x1.0000000000000p-1};
  return r + eddy_fma64(r * r, POLYNOMIAL(r, EXP), rest);
}
/// x + low = k ln 2 + r + rest
static int exp_reduced(double x, double low, double *r, double *rest) {
  const int n = (int)(x * LOG2E + with_sign(0.5, x));
  const double k = n, h = eddy_fma64(-k, LN2_HIGH, x), w = k * LN2_LOW, t = h - w;
  *r = t + low;
  *rest = ((h - t) - w) + (low - (*r - t));
  return n;
}
/// y 2^n for y near 1.
static double scaled(double y, int n) {
  return n > -1000 && n < 1000 ? made(raw(y) + ((u64)n << 52)) : eddy_ldexp64(y, n);
}
double eddy_exp_parts64(double x, double low, int n) {
  double r, rest;
  if (nan64(x)) return NAN64;
  if (raw(x) << 1 > raw(3000.0) << 1) return negative(x) ? 0 : INF64;
  const int k = exp_reduced(x, low, &r, &rest);
  return scaled(1 + exp_core(r, rest), k + n);
}
double eddy_exp64(double x) { return eddy_exp_parts64(x, 0, 0); }
double eddy_expm164(double x) {
  double r, rest;
  if (nan64(x)) return NAN64;
  if (magnitude(x) < 0x1p-54) return x;
  if (x > 60) return eddy_exp_parts64(x, 0, 0);
  if (x < -40) return -1;
  const int k = exp_reduced(x, 0, &r, &rest);
  const double power = made((u64)(k + 1023) << 52), e = exp_core(r, rest);
  return k ? (power - 1) + power * e : e;
}
double eddy_exp264(double x) {
  if (nan64(x)) return NAN64;
  if (magnitude(x) > 1100) return x > 0 ? INF64 : 0;
  const double k = eddy_rint64(x), f = x - k, r = f * LN2;
  return scaled(1 + exp_core(r, eddy_fma64(f, LN2_REST, rest_of_product(f, LN2, r))), (int)k);
}
double eddy_exp1064(double x) {
  if (nan64(x)) return NAN64;
  if (magnitude(x) > 400) return x > 0 ? INF64 : 0;
  // log10 2 in two parts.
  const double k = eddy_rint64(x * 0x1.a934f0979a371p+1);
  const double h = eddy_fma64(-k, 0x1.34413509f7800p-2, x), w = k * 0x1.fef311f12b358p-46, f = h - w;
  const double r = f * 0x1.26bb1bbb55516p+1, low = (h - f) - w;
  const double rest = rest_of_product(f, 0x1.26bb1bbb55516p+1, r) + low * 0x1.26bb1bbb55516p+1 - f * 0x1.f48ad494ea3e9p-53;
  return scaled(1 + exp_core(r, rest), (int)k);
}

/// log(x) for finite x > 0. Where it is not `fine` the low part is what rounding took from the last sum, and no more.
static inline __attribute__((always_inline)) double log_core(double x, double *low, int fine) {
  // (atanh(s) / s - 1 - z / 3) / z^2, z = s^2, for |s| <= 0.1718, 2^-66
  static const double LOG[] = {0x1.0e522b74a3b73p-4, 0x1.0f7e4d2205769p-4, 0x1.3b1efd1308e86p-4, 0x1.745ce988cc80fp-4,
    0x1.c71c722e61f3ap-4, 0x1.24924924572cdp-3, 0x1.9999999999b35p-3};
  const u64 root = 0x3fe6a09e667f3bcdull;
  s32 e = -1023;
  u64 u = raw(x);
  if (u < 0x0010000000000000ull) u = raw(x * 0x1p54), e -= 54;
  // x = 2^e m, m in [sqrt(1/2), sqrt(2)).
  u += 0x3ff0000000000000ull - root;
  e += (s32)(u >> 52);
  const double m = made((u << 12 >> 12) + root);
  // s = f / (2 + f) in two parts, and log m = 2 s + 2/3 s^3 + ...
  const double f = m - 1, t = 2 + f, over = 1 / t, s = f * over;
  const double s_low = (eddy_fma64(-s, t, f) - s * (f - (t - 2))) * over;
  const double z = s * s, c = s * z, third = c * 0x1.5555555555555p-1;
  double third_low = 0;
  if (fine) {
    const double z_low = eddy_fma64(2 * s, s_low, rest_of_product(s, s, z));
    const double c_low = rest_of_product(s, z, c) + s * z_low + s_low * z;
    third_low = rest_of_product(c, 0x1.5555555555555p-1, third) + c * 0x1.5555555555555p-55 + c_low * 0x1.5555555555555p-1;
  }
  // e ln 2 + log m, from the largest part on.
  const double a = e * LN2_HIGH, b = 2 * s, first = a + b, high = first + third;
  const double rest = rest_of_sum(a, b, first) + (rest_of_sum(first, third, high) +
                      (third_low + (2 * s_low + (e * LN2_LOW + 2 * c * z * POLYNOMIAL(z, LOG)))));
  const double sum = high + rest;
  *low = rest_of_sum(high, rest, sum);
  return sum;
}
double eddy_log_parts64(double x, double *low) { return log_core(x, low, 1); }
static int log_edge(double x, double *value) {
  if (x > 0 && !endless64(x)) return 0;
  *value = x == 0 ? -INF64 : x > 0 ? x : NAN64;
  return 1;
}
/// log(x) times a constant of two parts.
static double log_times(double x, double by, double by_low) {
  double v, low;
  if (log_edge(x, &v)) return v;
  v = log_core(x, &low, 0);
  const double product = v * by;
  return product + (rest_of_product(v, by, product) + v * by_low + low * by);
}
double eddy_log64(double x) { double v, low; return log_edge(x, &v) ? v : log_core(x, &low, 0); }
double eddy_log264(double x) {
  int e;
  return eddy_frexp64(x, &e) == 0.5 ? e - 1 : log_times(x, LOG2E, 0x1.777d0ffda0d24p-56);
}
double eddy_log1064(double x) { return log_times(x, 0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57); }
double eddy_log1p_parts64(double u, double low) {
  double rest;
  const double v = 1 + u, lost = (magnitude(u) > 1 ? 1 - (v - u) : u - (v - 1)) + low;
  const double l = log_core(v, &rest, 0);
  return l + (rest + lost / v);
}
double eddy_log1p64(double x) {
  if (magnitude(x) < 0x1p-54) return x;
  return x <= -1 || endless64(x) ? eddy_log64(1 + x) : eddy_log1p_parts64(x, 0);
}

/// x^(y + y_low), x > 0 and finite, y not endless.
static double power_of(double x, double y, double y_low) {
  double low;
  const double l = eddy_log_parts64(x, &low), product = y * l;
  if (magnitude(product) > 1000) return product > 0 ? INF64 : 0;
  return eddy_exp_parts64(product, eddy_fma64(y, l, -product) + (y * low + y_low * l), 0);
}
double eddy_pow64(double x, double y) {
  if (y == 0 || x == 1) return 1;
  if (nan64(x) || nan64(y)) return NAN64;
  const double a = magnitude(x);
  if (endless64(y)) return a == 1 ? 1 : (a > 1) == (y > 0) ? INF64 : 0;
  const u32 parity = parity64(y);
  const double sign = parity == 1 ? x : 1;
  if (a == 0 || endless64(a)) return with_sign((a == 0) == (y < 0) ? INF64 : 0, sign);
  if (x < 0 && !parity) return NAN64;
  return with_sign(a == 1 ? 1 : power_of(a, y, 0), sign);
}
double eddy_pown64(double x, int n) { return eddy_pow64(x, n); }
/// x^y for x that is not negative; where the limit depends on the way, there is none.
double eddy_powr64(double x, double y) {
  const double a = magnitude(x);
  if (x < 0 || nan64(x) || nan64(y) || (y == 0 && (a == 0 || endless64(a))) || (a == 1 && endless64(y))) return NAN64;
  return eddy_pow64(a, y);
}
double eddy_rootn64(double x, int n) {
  const double a = magnitude(x), y = 1 / (double)n;
  const int odd = n & 1;
  if (n == 0 || nan64(x) || (x < 0 && !odd)) return NAN64;
  if (a == 0 || endless64(a)) return with_sign((a == 0) == (n < 0) ? INF64 : 0, odd ? x : 1);
  if (n == 1) return x;
  if (n == -1) return 1 / x;
  return with_sign(power_of(a, y, eddy_fma64(-y, n, 1) * y), x);
}
double eddy_cbrt64(double x) {
  if (x == 0 || endless64(x)) return nan64(x) ? NAN64 : x;
  return with_sign(power_of(magnitude(x), 0x1.5555555555555p-2, 0x1.5555555555555p-56), x);
}

double eddy_sinh64(double x) {
  const double a = magnitude(x);
  if (x == 0 || endless64(x)) return nan64(x) ? NAN64 : x;
  if (a > 22) return with_sign(eddy_exp_parts64(a, 0, -1), x);
  const double u = eddy_expm164(a);
  return with_sign((u + u / (u + 1)) / 2, x);
}
double eddy_cosh64(double x) {
  const double a = magnitude(x);
  if (endless64(x)) return nan64(x) ? NAN64 : a;
  if (a > 22) return eddy_exp_parts64(a, 0, -1);
  const double e = eddy_exp_parts64(a, 0, 0);
  return (e + 1 / e) / 2;
}
double eddy_tanh64(double x) {
  const double a = magnitude(x);
  if (x == 0 || nan64(x)) return nan64(x) ? NAN64 : x;
  if (a > 22) return with_sign(1, x);
  const double t = eddy_expm164(2 * a);
  return with_sign(t / (t + 2), x);
}
double eddy_asinh64(double x) {
  const double a = magnitude(x);
  double low;
  if (a < 0x1p-28 || endless64(x)) return nan64(x) ? NAN64 : x;
  if (a > 0x1p28) {
    const double l = eddy_log_parts64(a, &low);
    return with_sign(LN2 + l + low, x);
  }
  const double z = a * a, more = z / (1 + eddy_sqrt64(1 + z)), u = a + more;
  return with_sign(eddy_log1p_parts64(u, rest_of_sum(a, more, u)), x);
}
double eddy_acosh64(double x) {
  double low;
  if (!(x >= 1)) return NAN64;
  if (x == INF64) return x;
  if (x > 0x1p28) return LN2 + eddy_log_parts64(x, &low) + low;
  const double t = x - 1, more = eddy_sqrt64(t * (t + 2)), u = more + t;
  return eddy_log1p_parts64(u, rest_of_sum(more, t, u));
}
double eddy_atanh64(double x) {
  const double a = magnitude(x);
  if (!(a <= 1)) return NAN64;
  if (a == 1) return with_sign(INF64, x);
  if (a < 0x1p-28) return x;
  const double d = 1 - a, u = 2 * a / d, low = (eddy_fma64(-u, d, 2 * a) - u * (1 - d - a)) / d;
  return with_sign(eddy_log1p_parts64(u, low) / 2, x);
}
