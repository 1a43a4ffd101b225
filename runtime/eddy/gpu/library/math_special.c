// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Error function and gamma function in binary32.

#include "eddy_math.h"

/// erf for |x| < 1.
static float erf_core(float x) {
  const float z = x * x;
  const float p = z * (-3.761263788e-01f + z * (1.128379032e-01f + z * (-2.686594613e-02f + z * (5.222611129e-03f +
                  z * (-8.508544997e-04f + z * (1.145173665e-04f + z * -1.021674780e-05f))))));
  return fma_(x, 1.128379226f, x * (p + -5.863538342e-08f));
}
/// erfc for x in [0.9, 10.2]: e^(-x^2) / x times a polynomial of 1/x.
static float erfc_core(float x) {
  const float w = 1.0f / x, square = x * x, rest = fma_(x, x, -square);
  // Its root, so that it does not vanish before the result does.
  const float power = eddy_exp(-0.5f * square);
  float p, v;
  if (x < 2.4f) {
    p = 5.625358820e-01f + w * (2.168869600e-02f + w * (-4.012035131e-01f + w * (3.358535469e-01f + w * (9.891326539e-03f +
        w * (-2.436208427e-01f + w * (2.130339146e-01f + w * (-8.388543129e-02f + w * 1.328995824e-02f)))))));
  } else {
    v = w * w;
    p = 5.641887784e-01f + v * (-2.819770277e-01f + v * (4.172703624e-01f + v * (-9.210077524e-01f +
        v * (1.940504193e+00f + v * -2.269024372e+00f))));
  }
  return power * (p * w * (1.0f - rest)) * power;
}
float eddy_erf(float x) {
  const float a = abs_(x);
  if (is_nan(x)) return NAN;
  if (a < 1.0f) return sign_of(erf_core(a), x);
  return sign_of(a > 4.0f ? 1.0f : 1.0f - erfc_core(a), x);
}
float eddy_erfc(float x) {
  if (is_nan(x)) return NAN;
  if (x > 10.2f) return 0.0f;
  if (x >= 0.9f) return erfc_core(x);
  if (x < -4.0f) return 2.0f;
  return x > -1.0f ? 1.0f - erf_core(x) : 2.0f - erfc_core(-x);
}

/// Gamma of 2.5 + w, |w| <= 0.5.
static float gamma_core(float w) {
  return 1.329340339e+00f + w * (9.347345233e-01f + w * (6.545585394e-01f + w * (2.538712621e-01f + w * (1.096740365e-01f +
         w * (2.836060524e-02f + w * (1.038345601e-02f + w * (1.609350555e-03f + w * 7.947442937e-04f)))))));
}
float eddy_tgamma(float x) {
  float product = 1.0f, rest = 0.0f, t, p, result;
  if (is_nan(x) || x == -INF) return NAN;
  if (x == 0.0f) return sign_of(INF, x);
  if (x > 35.1f) return INF;
  if (x < 0.0f && (x <= -8388608.0f || x == (float)(int)x)) return NAN;
  // Far down only the sign is left, by the parity of the whole number below.
  if (x < -43.0f) return ((int)x & 1) ? 0.0f : -0.0f;
  if (x >= 3.0f) {
    for (t = x; t >= 3.0f;) {
      t -= 1.0f;
      p = product * t;
      rest = rest * t + fma_(product, t, -p);
      product = p;
    }
    return (product + rest) * gamma_core(t - 2.5f);
  }
  // Down from [2, 3): divided by every step, in two parts so that the product stays small.
  result = 1.0f;
  for (t = x; t < 2.0f; t += 1.0f) {
    p = product * t;
    rest = rest * t + fma_(product, t, -p);
    product = p;
    if (abs_(product) > 1e18f) {
      result /= product + rest;
      product = 1.0f;
      rest = 0.0f;
    }
  }
  return result * gamma_core(t - 2.5f) / (product + rest);
}

/// log of gamma of 2 + w, |w| <= 0.5.
static float lgamma_core(float w) {
  return w * (4.227843285e-01f + w * (3.224670291e-01f + w * (-6.735230237e-02f + w * (2.058078907e-02f + w * (-7.385541685e-03f +
         w * (2.890954027e-03f + w * (-1.192958443e-03f + w * (5.056692753e-04f + w * (-2.213104744e-04f +
         w * (1.149824820e-04f + w * -5.208118819e-05f))))))))));
}
static float lgamma_positive(float x) {
  float product = 1.0f, w;
  if (x >= 8.0f) {
    w = 1.0f / x;
    return (x - 0.5f) * (eddy_log(x) - 1.0f) + (0.4189385332f + w * (0.08333333333f - w * w * 0.002777777778f));
  }
  if (x >= 2.5f) {
    for (; x >= 2.5f; product *= x) x -= 1.0f;
    return eddy_log(product) + lgamma_core(x - 2.0f);
  }
  if (x >= 1.5f) return lgamma_core(x - 2.0f);
  if (x >= 0.5f) return lgamma_core(x - 1.0f) - eddy_log1p(x - 1.0f);
  return lgamma_core(x) - (eddy_log1p(x) + eddy_log(x));
}
/// log of |gamma|; its sign goes to `sign`, 0 where there is none.
float eddy_lgamma_r(float x, int *sign) {
  float a = abs_(x), s;
  *sign = bits(x) >> 31 && x != 0.0f && a < 8388608.0f && ((int)a & 1) == 0 ? -1 : 1;
  if (x == 0.0f) *sign = bits(x) >> 31 ? -1 : 1;
  if (endless(x)) return is_nan(x) ? NAN : INF;
  if (x > 0.0f) return x > 4.08e36f ? INF : lgamma_positive(x);
  if (x == 0.0f || a >= 8388608.0f || a == (float)(int)a) {
    if (x != 0.0f) *sign = 0;
    return INF;
  }
  s = abs_(eddy_sinpi(a));
  return 1.144729853f - eddy_log(a * s) - lgamma_positive(a);
}
