// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Trigonometric functions and their inverses in binary32.

#include "eddy_math.h"

// 2 / pi in binary, after one word of zeros.
static const u32 two_over_pi[] = {0x00000000u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u,
                                  0xdb629599u, 0x3c439041u, 0xfe5163abu, 0xdebbc561u};

/// x = q pi/2 + r, |r| <= pi/4: q modulo 4. All bits of 2/pi that matter are used, however large x.
static u32 reduce(float x, float *r) {
  const u32 u = bits(x) & 0x7fffffffu, m = (u & 0x7fffffu) | 0x800000u;
  const int e = (int)(u >> 23) - 150;
  u32 w0, w1, w2, at, by, q, sign, top;
  u64 low, mid, fraction;
  int exp;
  if (u <= 0x3f490fdau) {
    *r = x;
    return 0;
  }
  // 96 bits of 2/pi from the one on whose product with the significand is below 4.
  at = (u32)(e - 2 + 32) >> 5;
  by = (u32)(e - 2 + 32) & 31;
  w0 = two_over_pi[at];
  w1 = two_over_pi[at + 1];
  w2 = two_over_pi[at + 2];
  if (by) {
    w0 = w0 << by | w1 >> (32 - by);
    w1 = w1 << by | w2 >> (32 - by);
    w2 = w2 << by | two_over_pi[at + 3] >> (32 - by);
  }
  low = (u64)m * w2;
  mid = (u64)m * w1 + (low >> 32);
  top = m * w0 + (u32)(mid >> 32);
  // The product, modulo 4, with 94 bits of fraction.
  q = top >> 30;
  fraction = (u64)top << 34 | (u64)(u32)mid << 2 | (u32)low >> 30;
  sign = (u32)(fraction >> 63);
  if (sign) {
    fraction = 0 - fraction;
    q += 1;
  }
  exp = 126;
  while (!(fraction >> 63) && exp > 30) {
    fraction <<= 1;
    exp -= 1;
  }
  // Times pi/2, in 32 bits of fixed point.
  top = high((u32)(fraction >> 32), 0xc90fdaa2u);
  *r = (float)top * real((u32)(exp - 126 + 127 - 31) << 23);
  if (sign ^ (bits(x) >> 31)) *r = -*r;
  return bits(x) >> 31 ? 0 - q : q;
}
static float sin_core(float r) {
  const float z = r * r;
  return r + r * z * (-1.666666666e-01f + z * (8.333331858e-03f + z * (-1.984008113e-04f + z * 2.724939110e-06f)));
}
static float cos_core(float r) {
  const float z = r * r;
  return 1.0f - (0.5f * z - z * z * (4.166666202e-02f + z * (-1.388814112e-03f + z * 2.452743150e-05f)));
}
float eddy_sin(float x) {
  float r, y;
  u32 q;
  if (endless(x)) return NAN;
  if (x == 0.0f) return x;
  q = reduce(x, &r);
  y = q & 1 ? cos_core(r) : sin_core(r);
  return q & 2 ? -y : y;
}
float eddy_cos(float x) {
  float r, y;
  u32 q;
  if (endless(x)) return NAN;
  q = reduce(x, &r) + 1;
  y = q & 1 ? cos_core(r) : sin_core(r);
  return q & 2 ? -y : y;
}
float eddy_tan(float x) {
  float r;
  u32 q;
  if (endless(x)) return NAN;
  if (x == 0.0f) return x;
  q = reduce(x, &r);
  return q & 1 ? -cos_core(r) / sin_core(r) : sin_core(r) / cos_core(r);
}

float eddy_atan(float x) {
  float a = abs_(x), base = 0.0f, rest = 0.0f, z;
  if (is_nan(x)) return NAN;
  if (a > 2.414213562f) {
    base = 1.570796371f;
    rest = -4.371138829e-08f;
    a = -1.0f / a;
  } else if (a > 0.4142135624f) {
    base = 0.7853981853f;
    rest = -2.185569414e-08f;
    a = (a - 1.0f) / (a + 1.0f);
  }
  z = a * a;
  z = a * z * (-3.333333140e-01f + z * (1.999951826e-01f + z * (-1.426356574e-01f + z * (1.074110716e-01f + z * -6.445887509e-02f))));
  return sign_of(base + (a + (z + rest)), x);
}
float eddy_atan2(float y, float x) {
  float a;
  if (is_nan(x) || is_nan(y)) return NAN;
  if (y == 0.0f) return bits(x) >> 31 ? sign_of(3.141592741f, y) : y;
  if (x == 0.0f) return sign_of(1.570796371f, y);
  if (endless(x) && endless(y)) return sign_of(bits(x) >> 31 ? 2.356194496f : 0.7853981853f, y);
  if (endless(x)) return bits(x) >> 31 ? sign_of(3.141592741f, y) : sign_of(0.0f, y);
  a = eddy_atan(abs_(y / x));
  return sign_of(bits(x) >> 31 ? 3.141592741f - (a - -8.742277657e-08f) : a, y);
}
static float asin_core(float x) {
  const float z = x * x;
  return x + x * z * (1.666667387e-01f + z * (7.498750699e-02f + z * (4.501908377e-02f + z * (2.644967268e-02f + z * 3.828562505e-02f))));
}
float eddy_asin(float x) {
  const float a = abs_(x);
  if (!(a <= 1.0f)) return NAN;
  if (a <= 0.5f) return asin_core(x);
  return sign_of(1.570796371f - (2.0f * asin_core(__builtin_sqrtf(0.5f * (1.0f - a))) - -4.371138829e-08f), x);
}
float eddy_acos(float x) {
  const float a = abs_(x);
  float y;
  if (!(a <= 1.0f)) return NAN;
  if (a <= 0.5f) return 1.570796371f - (asin_core(x) - -4.371138829e-08f);
  y = 2.0f * asin_core(__builtin_sqrtf(0.5f * (1.0f - a)));
  return x > 0.0f ? y : 3.141592741f - (y - -8.742277657e-08f);
}
