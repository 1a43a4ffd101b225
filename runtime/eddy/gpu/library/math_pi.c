// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Trigonometric functions of multiples of pi, and their inverses, in binary32.

#include "eddy_math.h"

#define PI 3.141592741f
#define PI_REST -8.742278000e-08f
#define OVER_PI 3.183098733e-01f
#define OVER_PI_REST 1.284127663e-08f

/// x = q / 2 + r, |r| <= 1/4, exactly: q modulo 4.
static u32 halves(float x, float *r) {
  float whole;
  u32 q = 0;
  // From 2^24 on every number is even.
  if (abs_(x) >= 16777216.0f) {
    *r = 0.0f;
    return 0;
  }
  whole = (float)nearest(2.0f * x);
  q = (u32)(int)whole;
  *r = fma_(-0.5f, whole, x);
  return q & 3;
}
static float sin_pi(float r) {
  const float z = r * r, p = z * (-5.167712688e+00f + z * (2.550163507e+00f + z * (-5.992286801e-01f + z * 8.122811466e-02f)));
  return fma_(r, PI, r * (p + PI_REST));
}
static float cos_pi(float r) {
  const float z = r * r;
  return 1.0f + z * (-4.934802055e+00f + z * (4.058712006e+00f + z * (-1.335262418e+00f + z * (2.353142053e-01f + z * -2.550657280e-02f))));
}
float eddy_sinpi(float x) {
  float r, y;
  u32 q;
  if (endless(x)) return NAN;
  q = halves(x, &r);
  if (r == 0.0f && !(q & 1)) return sign_of(0.0f, x);
  y = q & 1 ? cos_pi(r) : sin_pi(r);
  return q & 2 ? -y : y;
}
float eddy_cospi(float x) {
  float r, y;
  u32 q;
  if (endless(x)) return NAN;
  q = halves(abs_(x), &r) + 1;
  if (r == 0.0f && !(q & 1)) return 0.0f;
  y = q & 1 ? cos_pi(r) : sin_pi(r);
  return q & 2 ? -y : y;
}
float eddy_tanpi(float x) {
  float r;
  u32 q;
  if (endless(x)) return NAN;
  q = halves(x, &r);
  if (r == 0.0f) {
    // Where x is odd the zero's sign is the other one; at the poles it goes by the quarter.
    if (!(q & 1)) return q & 2 ? -sign_of(0.0f, x) : sign_of(0.0f, x);
    return q & 2 ? -INF : INF;
  }
  return q & 1 ? -cos_pi(r) / sin_pi(r) : sin_pi(r) / cos_pi(r);
}

static float over_pi(float x) { return fma_(x, OVER_PI, x * OVER_PI_REST); }
float eddy_asinpi(float x) { return over_pi(eddy_asin(x)); }
float eddy_acospi(float x) { return over_pi(eddy_acos(x)); }
float eddy_atanpi(float x) { return over_pi(eddy_atan(x)); }
float eddy_atan2pi(float y, float x) { return over_pi(eddy_atan2(y, x)); }
