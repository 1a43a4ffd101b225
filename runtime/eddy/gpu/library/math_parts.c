// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Remainders, exponents and significands, neighbours: binary32 taken apart and put together, exactly.

#include "eddy_math.h"

float eddy_fmod(float x, float y) {
  u32 a = bits(x) & 0x7fffffffu, b = bits(y) & 0x7fffffffu, m, n;
  int e, g;
  if (is_nan(x) || is_nan(y) || endless(x) || !b) return NAN;
  if (a < b) return x;
  e = (int)(a >> 23);
  g = (int)(b >> 23);
  m = e ? (a & 0x7fffffu) | 0x800000u : a;
  n = g ? (b & 0x7fffffu) | 0x800000u : b;
  if (!e) e = 1;
  if (!g) g = 1;
  for (; e > g; e--) m = (m % n) << 1;
  m %= n;
  if (!m) return sign_of(0.0f, x);
  while (!(m >> 23) && e > 1) {
    m <<= 1;
    e -= 1;
  }
  return sign_of(real(m >> 23 ? ((u32)(e - 1) << 23) + m : m), x);
}
float eddy_hypot(float x, float y) {
  float a = abs_(x), b = abs_(y), t;
  if (a == INF || b == INF) return INF;
  if (is_nan(x) || is_nan(y)) return NAN;
  if (a < b) t = a, a = b, b = t;
  if (a == 0.0f) return 0.0f;
  // Squares must neither overflow nor vanish: by powers of two, which are exact.
  if (a > 1e18f) t = 8.271806125530277e-25f;
  else if (a < 1e-9f) t = 1.2089258196146292e24f;
  else t = 1.0f;
  a *= t;
  b *= t;
  return __builtin_sqrtf(a * a + b * b) / t;
}
float eddy_ldexp(float x, int n) {
  const u32 e = bits(x) >> 23 & 0xff;
  if (n > 300) n = 300;
  if (n < -300) n = -300;
  for (; n > 127; n -= 127) x *= real(254u << 23);
  if (n >= -100 || e == 0xff) return n >= -100 ? x * real((u32)(n + 127) << 23) : x;
  // Far down: to the border of the subnormal numbers exactly, then one rounded product.
  if (!e || (int)e + n < -24) return sign_of(0.0f, x);
  if ((int)e + n >= 1) return real(bits(x) + ((u32)n << 23));
  return real((bits(x) & 0x807fffffu) | 25u << 23) * real((u32)((int)e + n - 25 + 127) << 23);
}

/// x minus the nearest whole multiple of y; the multiple's sign and low 7 bits go to `quotient`.
float eddy_remquo(float x, float y, int *quotient) {
  const u32 a = bits(x) & 0x7fffffffu, b = bits(y) & 0x7fffffffu;
  u32 m, n, q = 0;
  int e, g;
  float r, half;
  *quotient = 0;
  if (is_nan(x) || is_nan(y) || endless(x) || !b) return NAN;
  if (endless(y)) return x;
  e = (int)(a >> 23);
  g = (int)(b >> 23);
  m = e ? (a & 0x7fffffu) | 0x800000u : a;
  n = g ? (b & 0x7fffffu) | 0x800000u : b;
  if (!e) e = 1;
  if (!g) g = 1;
  if (e >= g) {
    for (;; e--) {
      q <<= 1;
      if (m >= n) {
        m -= n;
        q |= 1;
      }
      if (e == g) break;
      m <<= 1;
    }
    r = m ? eddy_ldexp((float)m, g - 150) : 0.0f;
  } else {
    r = real(a);
  }
  // Beyond half of y the next multiple is nearer; at the half, where it is even. Twice r may overflow, half of y vanish.
  half = real(b) - r;
  if (r > half || (r == half && (q & 1))) {
    r -= real(b);
    q += 1;
  }
  q &= 0x7fu;
  *quotient = (bits(x) ^ bits(y)) >> 31 ? -(int)q : (int)q;
  if (r == 0.0f) return sign_of(0.0f, x);
  return bits(x) >> 31 ? -r : r;
}
float eddy_remainder(float x, float y) {
  int quotient;
  return eddy_remquo(x, y, &quotient);
}
/// Exponent of x, finite and not zero.
static int exponent(float x) {
  u32 u = bits(x) & 0x7fffffffu;
  int e = (int)(u >> 23) - 127;
  if (u >> 23) return e;
  for (e = -149; u >>= 1;) e++;
  return e;
}
int eddy_ilogb(float x) {
  if (x == 0.0f) return -2147483647 - 1;
  return endless(x) ? 2147483647 : exponent(x);
}
float eddy_logb(float x) {
  if (x == 0.0f) return -INF;
  return endless(x) ? (is_nan(x) ? NAN : INF) : (float)exponent(x);
}
float eddy_frexp(float x, int *exp) {
  *exp = 0;
  if (x == 0.0f || endless(x)) return is_nan(x) ? NAN : x;
  *exp = exponent(x) + 1;
  return eddy_ldexp(x, -*exp);
}
float eddy_nextafter(float x, float y) {
  const u32 u = bits(x);
  if (is_nan(x) || is_nan(y)) return NAN;
  if (x == y) return y;
  if (x == 0.0f) return real((bits(y) & 0x80000000u) | 1);
  return real((x < y) == !(u >> 31) ? u + 1 : u - 1);
}
