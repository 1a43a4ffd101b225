// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// What the elementary functions share. Only operations that are exact to the last bit with and without an FPU are used, so
// both give the same results; docs/reference/opencl-builtins.md states the errors.
#ifndef EDDY_MATH_H
#define EDDY_MATH_H

#include "eddy_types.h"

#define NAN real(0x7fc00000u)
#define INF real(0x7f800000u)

static inline u32 bits(float x) { union { float f; u32 u; } v = {x}; return v.u; }
static inline float real(u32 x) { union { u32 u; float f; } v = {x}; return v.f; }
static inline int is_nan(float x) { return (bits(x) << 1) > 0xff000000u; }
static inline float fma_(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
static inline float abs_(float x) { return real(bits(x) & 0x7fffffffu); }
static inline float sign_of(float magnitude, float sign) {
  return real((bits(magnitude) & 0x7fffffffu) | (bits(sign) & 0x80000000u));
}
static inline u32 high(u32 a, u32 b) { return (u32)((u64)a * b >> 32); }

/// y * 2^n, rounded once; y in [0.5, 2], n in -160 .. 128.
static inline float scale(float y, int n) {
  const int half = n >> 1;
  return y * real((u32)(half + 127) << 23) * real((u32)(n - half + 127) << 23);
}

/// e^r for |r| <= 0.35.
static inline float exp_core(float r) {
  const float q = 5.000000013e-01f + r * (1.666657700e-01f + r * (4.166646493e-02f + r * (8.363176673e-03f + r * 1.393364760e-03f)));
  return 1.0f + (r + r * r * q);
}
static inline int nearest(float x) { return (int)(x + sign_of(0.5f, x)); }
static inline int endless(float x) { return (bits(x) & 0x7f800000u) == 0x7f800000u; }

/// The error of a product, p = a * b rounded.
static inline float rest_of_product(float a, float b, float p) { return fma_(a, b, -p); }

float eddy_exp(float x);
float eddy_log(float x);
float eddy_log1p(float x);
float eddy_atan(float x);
float eddy_atan2(float y, float x);
float eddy_asin(float x);
float eddy_acos(float x);
float eddy_sinpi(float x);
float eddy_fmod(float x, float y);
#endif
