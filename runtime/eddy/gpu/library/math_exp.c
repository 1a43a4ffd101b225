// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Exponentials, logarithms and hyperbolic functions in binary32.

#include "eddy_math.h"

float eddy_exp(float x) {
  int n;
  float k;
  if (is_nan(x)) return NAN;
  if (x > 88.722839f) return INF;
  if (x < -104.0f) return 0.0f;
  n = nearest(x * 1.442695041f);
  k = (float)n;
  // ln 2 in two parts, the first short enough that its products are exact.
  return scale(exp_core((x - k * 0.693145751953125f) - k * 1.428606765e-06f), n);
}
float eddy_exp2(float x) {
  int n;
  if (is_nan(x)) return NAN;
  if (x >= 128.0f) return INF;
  if (x < -150.0f) return 0.0f;
  n = nearest(x);
  return scale(exp_core((x - (float)n) * 0.6931471806f), n);
}
float eddy_exp10(float x) {
  int n;
  float k, r;
  if (is_nan(x)) return NAN;
  if (x > 38.531839f) return INF;
  if (x < -45.2f) return 0.0f;
  n = nearest(x * 3.321928095f);
  k = (float)n;
  // log10 2 in two parts.
  r = (x - k * 0.301025390625f) - k * 4.605038981e-06f;
  return scale(exp_core(r * 2.302585093f), n);
}
float eddy_expm1(float x) {
  int n;
  float k, r, p, power;
  if (is_nan(x)) return NAN;
  if (x > 17.5f || x < -17.5f) return eddy_exp(x) - 1.0f;
  n = nearest(x * 1.442695041f);
  k = (float)n;
  r = (x - k * 0.693145751953125f) - k * 1.428606765e-06f;
  p = r + r * r * (5.000000013e-01f + r * (1.666657700e-01f + r * (4.166646493e-02f + r * (8.363176673e-03f + r * 1.393364760e-03f))));
  if (!n) return x == 0.0f ? x : p;
  power = real((u32)(n + 127) << 23);
  return (power - 1.0f) + power * p;
}

typedef struct { int n; float f, s, r, h; } logs;

/// x = 2^n (1 + f), f in [sqrt(1/2) - 1, sqrt(2) - 1]; log(1 + f) = f - (h - (s * (h + r))), h = f * f / 2.
static logs log_parts(float x) {
  u32 u = bits(x);
  logs l = {0, 0, 0, 0, 0};
  float z;
  if (u < 0x800000u) {
    u = bits(x * 8388608.0f);
    l.n = -23;
  }
  u += 0x3f800000u - 0x3f3504f3u;
  l.n += (int)(u >> 23) - 127;
  l.f = real((u & 0x7fffffu) + 0x3f3504f3u) - 1.0f;
  l.s = l.f / (2.0f + l.f);
  z = l.s * l.s;
  l.r = z * (6.666666654e-01f + z * (4.000012602e-01f + z * (2.855049190e-01f + z * 2.333766652e-01f)));
  l.h = 0.5f * l.f * l.f;
  return l;
}
static int log_special(float x, float *result) {
  const u32 u = bits(x);
  if (u << 1 == 0) *result = -INF;
  else if (is_nan(x) || u >> 31) *result = NAN;
  else if (u == 0x7f800000u) *result = x;
  else return 0;
  return 1;
}

float eddy_log(float x) {
  float special, k;
  logs l;
  if (log_special(x, &special)) return special;
  l = log_parts(x);
  k = (float)l.n;
  return k * 0.693145751953125f + (l.f - (l.h - (l.s * (l.h + l.r) + k * 1.428606765e-06f)));
}
float eddy_log2(float x) {
  float special;
  logs l;
  if (log_special(x, &special)) return special;
  l = log_parts(x);
  return (float)l.n + (l.f - (l.h - l.s * (l.h + l.r))) * 1.442695041f;
}
float eddy_log10(float x) {
  float special, k;
  logs l;
  if (log_special(x, &special)) return special;
  l = log_parts(x);
  k = (float)l.n;
  return k * 0.301025390625f + (k * 4.605038981e-06f + (l.f - (l.h - l.s * (l.h + l.r))) * 0.4342944819f);
}
float eddy_log1p(float x) {
  float u;
  if (abs_(x) < 1e-4f) return x - 0.5f * x * x;
  u = 1.0f + x;
  if (is_nan(x) || u <= 0.0f || u == INF) return eddy_log(u);
  // What rounding took from 1 + x comes back to first order.
  return eddy_log(u) + (x - (u - 1.0f)) / u;
}

float eddy_tanh(float x) {
  const float a = abs_(x), z = x * x;
  if (is_nan(x)) return NAN;
  if (a < 0.625f) {
    if (a == 0.0f) return x;
    return x + x * z * (-3.333332860e-01f + z * (1.333276554e-01f + z * (-5.385096839e-02f + z * (2.099845674e-02f + z * -6.099085352e-03f))));
  }
  return a > 9.1f ? sign_of(1.0f, x) : sign_of(1.0f - 2.0f / (eddy_exp(2.0f * a) + 1.0f), x);
}
float eddy_sinh(float x) {
  const float a = abs_(x), z = x * x;
  float half;
  if (is_nan(x)) return NAN;
  if (a < 1.0f) return x + x * z * (1.666666665e-01f + z * (8.333339726e-03f + z * (1.983809155e-04f + z * 2.806341217e-06f)));
  if (a > 88.0f) {
    half = eddy_exp(0.5f * a);
    return sign_of(0.5f * half * half, x);
  }
  half = eddy_exp(a);
  return sign_of(0.5f * (half - 1.0f / half), x);
}
float eddy_cosh(float x) {
  const float a = abs_(x);
  float half;
  if (is_nan(x)) return NAN;
  if (a > 88.0f) {
    half = eddy_exp(0.5f * a);
    return 0.5f * half * half;
  }
  half = eddy_exp(a);
  return 0.5f * (half + 1.0f / half);
}

float eddy_asinh(float x) {
  const float a = abs_(x), z = x * x;
  float t;
  if (endless(x) || a == 0.0f) return is_nan(x) ? NAN : x;
  if (a < 0.5f) {
    return x + x * z * (-1.666666716e-01f + z * (7.499961555e-02f + z * (-4.462609440e-02f + z * (3.010828793e-02f +
                        z * (-2.029158920e-02f + z * 9.536438622e-03f)))));
  }
  if (a > 1e6f) return sign_of(eddy_log(a) + 0.6931471825f, x);
  t = __builtin_sqrtf(fma_(a, a, 1.0f));
  return sign_of(eddy_log1p(a + z / (1.0f + t)), x);
}
float eddy_acosh(float x) {
  const float t = x - 1.0f;
  if (!(x >= 1.0f)) return NAN;
  if (x > 1e6f) return x == INF ? x : eddy_log(x) + 0.6931471825f;
  return eddy_log1p(t + __builtin_sqrtf(fma_(t, t, 2.0f * t)));
}
float eddy_atanh(float x) {
  const float a = abs_(x), z = x * x;
  if (!(a <= 1.0f)) return NAN;
  if (a < 0.5f) {
    return x + x * z * (3.333333433e-01f + z * (1.999995857e-01f + z * (1.428834796e-01f + z * (1.104963422e-01f +
                        z * (9.762260318e-02f + z * (4.051060602e-02f + z * 1.568839401e-01f))))));
  }
  if (a == 1.0f) return sign_of(INF, x);
  return sign_of(0.5f * eddy_log1p(2.0f * a / (1.0f - a)), x);
}
