// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Powers and roots in binary32.

#include "eddy_math.h"

/// |x|^(y + yl) for finite x other than zero and finite y: through log2 |x| as the sum of two numbers.
static float pow_core(float x, float y, float yl) {
  u32 u = bits(x) & 0x7fffffffu;
  int n = 0, k;
  float m, f, d, dl, s, sl, z, zl, t, tl, p, pl, l, ll, e, el, sum;
  if (u < 0x800000u) {
    u = bits(real(u) * 8388608.0f);
    n = -23;
  }
  u += 0x3f800000u - 0x3f3504f3u;
  n += (int)(u >> 23) - 127;
  m = real((u & 0x7fffffu) + 0x3f3504f3u);
  // s = (m - 1) / (m + 1)
  f = m - 1.0f;
  d = m + 1.0f;
  dl = m - (d - 1.0f);
  s = f / d;
  sl = (fma_(-s, d, f) - s * dl) / d;
  z = s * s;
  zl = fma_(s, s, -z) + 2.0f * s * sl;
  // t = z/3 + z^2/5 + ...; log2 m = 2/ln2 * s * (1 + t)
  t = z * 0.3333333433f;
  tl = fma_(z, 0.3333333433f, -t) + z * -9.934107e-09f + zl * 0.3333333433f +
       z * z * (0.2000006301f + z * (0.1427524595f + z * 0.1166883326f));
  p = s * t;
  pl = fma_(s, t, -p) + s * tl + sl * t;
  sum = s + p;
  pl += (s - sum) + p + sl;
  l = sum * 2.885390043f;
  ll = fma_(sum, 2.885390043f, -l) + sum * 3.851926e-08f + pl * 2.885390043f;
  // Plus n, exactly.
  f = (float)n;
  sum = f + l;
  ll += n ? (f - sum) + l : 0.0f;
  // Times y.
  e = y * sum;
  if (e >= 129.0f) return INF;
  if (e < -151.0f) return 0.0f;
  el = fma_(y, sum, -e) + y * ll + yl * sum;
  k = nearest(e);
  e = (e - (float)k) + el;
  if (k > 128) return INF;
  return scale(exp_core(e * 0.6931471806f), k);
}
float eddy_pow(float x, float y) {
  const u32 a = bits(x) & 0x7fffffffu, b = bits(y) & 0x7fffffffu;
  const int exp = (int)(b >> 23) - 127;
  // 0: y is not whole, 1: odd, 2: even
  const int kind = exp < 0 ? (b ? 0 : 2) : exp > 23 ? 2 : (b & (0x7fffffu >> exp)) ? 0 : ((b | 0x800000u) >> (23 - exp) & 1) ? 1 : 2;
  const u32 minus = bits(x) >> 31 && kind == 1 ? 0x80000000u : 0;
  float result;
  if (b == 0 || bits(x) == 0x3f800000u) return 1.0f;
  if (is_nan(x) || is_nan(y)) return NAN;
  if (b == 0x7f800000u) {
    if (a == 0x3f800000u) return 1.0f;
    return (a > 0x3f800000u) == !(bits(y) >> 31) ? INF : 0.0f;
  }
  if (a == 0 || a == 0x7f800000u) return real(minus | ((a == 0) == (bits(y) >> 31 != 0) ? 0x7f800000u : 0));
  if (bits(x) >> 31 && !kind) return NAN;
  result = pow_core(x, y, 0.0f);
  return real(bits(result) | minus);
}
float eddy_cbrt(float x) {
  const float a = abs_(x);
  if (a == 0.0f || endless(x)) return is_nan(x) ? NAN : x;
  return sign_of(pow_core(a, 0.3333333433f, -9.934107e-09f), x);
}

/// x^y for x that is not negative; where the limit depends on the way, there is none.
float eddy_powr(float x, float y) {
  const u32 a = bits(x) & 0x7fffffffu, b = bits(y) & 0x7fffffffu;
  if (is_nan(x) || is_nan(y) || (bits(x) >> 31 && a)) return NAN;
  if ((a == 0 || a == 0x7f800000u) && b == 0) return NAN;
  if (a == 0x3f800000u && b == 0x7f800000u) return NAN;
  return eddy_pow(real(a), y);
}

/// What 0 and the infinities become to an odd or even power of either sign.
static float pow_of_end(float x, int odd, int minus) {
  const u32 small = (bits(x) & 0x7fffffffu) == 0, sign = odd ? bits(x) & 0x80000000u : 0;
  return real(sign | (small == (u32)(minus != 0) ? 0x7f800000u : 0));
}

/// x^n for whole n; all its bits count.
float eddy_pown(float x, int n) {
  const float y = (float)n;
  float result;
  if (n == 0) return 1.0f;
  if (is_nan(x)) return NAN;
  if (x == 0.0f || endless(x)) return pow_of_end(x, n & 1, n < 0);
  // Rounding may have carried y out of what an int holds.
  result = pow_core(x, y, y >= 2147483648.0f ? (float)(n - 2147483647) - 1.0f : (float)(n - (int)y));
  return n & 1 ? sign_of(result, x) : result;
}

/// x^(1/n).
float eddy_rootn(float x, int n) {
  const float whole = (float)n, y = 1.0f / whole;
  float result;
  if (is_nan(x) || n == 0 || (x < 0.0f && !(n & 1))) return NAN;
  if (x == 0.0f || endless(x)) return pow_of_end(x, n & 1, n < 0);
  result = pow_core(x, y, fma_(-y, whole, 1.0f) / whole);
  return n & 1 ? sign_of(result, x) : result;
}
