// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Error function and gamma function of double, on soft float.
#include "eddy_double.h"

/// erf(x) for |x| <= 1.
static double erf_core(double x) {
  // (erf(x) / x - 2 / sqrt(pi)) / z, z = x^2, 2^-62
  static const double ERF[] = {0x1.069df4972c9e3p-34, -0x1.38da6df854562p-30, 0x1.f7c98166ae06dp-27,
    -0x1.5f20d483433dcp-23, 0x1.b9df638767334p-20, -0x1.f4d1e888d2b5ep-17, 0x1.f9a322241812cp-14,
    -0x1.c02db3ddb7a85p-11, 0x1.565bcd0dcd1bep-8, -0x1.b82ce312856dcp-6, 0x1.ce2f21a042b55p-4, -0x1.812746b0379e6p-2};
  const double z = x * x;
  return x + x * eddy_fma64(z, POLYNOMIAL(z, ERF), 0x1.06eba8214db69p-3);
}
/// erfc(x) for x in [0.45, 28].
static double erfc_core(double x) {
  // e^(x^2) erfc(x) (1 + 2 x) by powers of (x - 4) / (x + 4), 2^-59
  static const double ERFC[] = {0x1.90c788ff05d72p-30, -0x1.4fae932bfa1adp-27, -0x1.20c17b8eed63ep-26,
    0x1.bce1f5a481f43p-24, 0x1.3aa13dfe1fc36p-24, -0x1.b82d4b36eb9b4p-21, 0x1.3c803b566b7f2p-22, 0x1.7ef92e0818d94p-18,
    -0x1.789003e8cd84ep-17, -0x1.99554b0fd0b32p-16, 0x1.3be0750c79ecep-13, -0x1.a1df4153ffc66p-13,
    -0x1.8d4a9ca1c76b8p-11, 0x1.49c672a5b0847p-8, -0x1.096238826f0a9p-6, 0x1.3079edf62b566p-5, -0x1.0fb06dfe55199p-4,
    0x1.7fee004e1470bp-4, -0x1.9ddb23c3e8a16p-4, 0x1.16ecefcfa52d3p-4, 0x1.f7f5df66fd6fcp-7, -0x1.1df1ad154a28ep-3,
    0x1.3ba5916e9fd7fp+0};
  const double square = x * x;
  const double p = POLYNOMIAL((x - 4) / (x + 4), ERFC) / eddy_fma64(2, x, 1);
  // Where the result is subnormal so is the power; it is then not rounded before the product.
  return eddy_exp_parts64(-square, -rest_of_product(x, x, square), 64) * p * 0x1p-64;
}
double eddy_erf64(double x) {
  const double a = magnitude(x);
  if (nan64(x)) return NAN64;
  if (a < 1) return erf_core(x);
  return with_sign(a > 6 ? 1 : 1 - erfc_core(a), x);
}
double eddy_erfc64(double x) {
  if (nan64(x)) return NAN64;
  if (x > 28) return 0;
  if (x >= 0.5) return erfc_core(x);
  if (x < -6) return 2;
  return x > -1 ? 1 - erf_core(x) : 2 - erfc_core(-x);
}

/// log of gamma of x >= 10: high part and what is missing to it, by Stirling's series.
static double stirling(double x, double *low) {
  // What the first terms leave, times x, by powers of 1 / x^2, 2^-64
  static const double STIRLING[] = {0x1.67a79c2be0b47p-8, -0x1.f373c6c881520p-10, 0x1.b946cbfef0cb6p-11,
    -0x1.3813775353da6p-11, 0x1.a01a019be1e1ap-11, -0x1.6c16c16c16963p-9, 0x1.5555555555555p-4};
  double l_low;
  const double w = 1 / x, l = eddy_log_parts64(x, &l_low), y = x - 0.5;
  const double p = y * l, p_low = rest_of_product(y, l, p) + y * l_low + (x - y - 0.5) * l;
  const double high = p - x, rest = (rest_of_sum(p, -x, high) + p_low) + (w * POLYNOMIAL(w * w, STIRLING) - 0x1.65b5a1b7ff5dfp-55);
  const double sum = high + 0x1.d67f1c864beb5p-1, left = rest_of_sum(high, 0x1.d67f1c864beb5p-1, sum) + rest;
  *low = left;
  return sum;
}
/// Gamma of 2.5 + w, |w| <= 0.5.
static double gamma_core(double w) {
  // 2^-63
  static const double GAMMA[] = {0x1.23e542fff811bp-25, -0x1.651e75826ba3ep-24, 0x1.68364f5ea7245p-23,
    -0x1.c08d5a6685eb6p-22, 0x1.22cf9387b7093p-20, -0x1.57ea1640a044ep-19, 0x1.e6c8e726577f9p-18,
    -0x1.ad8a60adaba1fp-17, 0x1.013c96ac1a3e8p-14, 0x1.0886c46e8e2bfp-18, 0x1.8b8fcd9a41e3ap-11, 0x1.a55ed217489fcp-10,
    0x1.5489cc6bb5636p-7, 0x1.d0a9bc4930bcbp-6, 0x1.c138b89492bdap-4, 0x1.03f6d2fa4f509p-2, 0x1.4f224d4b7e01cp-1,
    0x1.de9585f1a7093p-1, 0x1.544fa6d47b390p+0};
  return POLYNOMIAL(w, GAMMA);
}
/// A product in two parts.
typedef struct { double high, low; } pair;
static pair times(pair p, double x) {
  const double high = p.high * x;
  return (pair){high, eddy_fma64(p.low, x, rest_of_product(p.high, x, high))};
}
double eddy_tgamma64(double x) {
  pair p = {1, 0};
  double t, low;
  if (nan64(x) || x == -INF64) return NAN64;
  if (x == 0) return with_sign(INF64, x);
  if (x > 171.7) return INF64;
  if (x < 0 && parity64(x)) return NAN64;
  if (x >= 10) {
    t = stirling(x, &low);
    return eddy_exp_parts64(t, low, 0);
  }
  if (x >= 3) {
    for (t = x; t >= 3;) t -= 1, p = times(p, t);
    const double core = gamma_core(t - 2.5);
    return eddy_fma64(p.high, core, p.low * core);
  }
  // Far down by reflection: -pi / (x sin(pi x) gamma(-x)), the power of e in two halves, so that it does not vanish first.
  if (x < -10) {
    const double a = -x, half = (t = stirling(a < 200 ? a : 200, &low)) / 2;
    const double power = eddy_exp_parts64(-half, -low / 2, 0), by = PI / (a * eddy_sinpi64(a));
    // gamma(-x) goes up and sin(pi x) down: below zero it is positive where the whole number below is even.
    return -(by * power * power);
  }
  // Down from [2, 3): divided by every step.
  for (t = x; t < 2; t += 1) p = times(p, t);
  return gamma_core(t - 2.5) / (p.high + p.low);
}

/// log of gamma of 2 + w, |w| <= 0.5.
static double lgamma_core(double w) {
  // log of gamma of 2 + w over w, 2^-65
  static const double LGAMMA[] = {0x1.0f91fe0b0ef22p-24, -0x1.2604408a80645p-23, 0x1.b55a55c5c9170p-23,
    -0x1.ca938b333784cp-22, 0x1.010d1a9bd77b8p-20, -0x1.12ae91771a162p-19, 0x1.259057a1afad8p-18,
    -0x1.3caffb4319b29p-17, 0x1.580e008b776d3p-16, -0x1.78dec15e9c94bp-15, 0x1.a127b025970d8p-14,
    -0x1.d3fd4a77bf933p-13, 0x1.0b36af8727cebp-11, -0x1.38ac5c2efcddap-10, 0x1.7add6eadb5ab0p-9, -0x1.e404fc218a5e6p-8,
    0x1.51322ac7d8487p-6, -0x1.13e001a557616p-4, 0x1.4a34cc4a60fa6p-2, 0x1.b0ee6072093cep-2};
  return w * POLYNOMIAL(w, LGAMMA);
}
static double lgamma_positive(double x) {
  double low, t = x;
  pair p = {1, 0};
  if (x > 0x1p60) return x * (eddy_log64(x) - 1);
  if (x >= 10) {
    const double high = stirling(x, &low);
    return high + low;
  }
  if (x >= 2.5) {
    for (; t >= 2.5;) t -= 1, p = times(p, t);
    return eddy_log64(p.high) + (p.low / p.high + lgamma_core(t - 2));
  }
  if (x >= 1.5) return lgamma_core(x - 2);
  if (x >= 0.5) return lgamma_core(x - 1) - eddy_log1p_parts64(x - 1, 0);
  return lgamma_core(x) - (eddy_log1p_parts64(x, 0) + eddy_log64(x));
}
/// log of |gamma|; its sign goes to `sign`, 0 where there is none.
double eddy_lgamma_r64(double x, int *sign) {
  const double a = magnitude(x);
  const u32 parity = parity64(eddy_trunc64(a));
  *sign = negative(x) && (x == 0 || (a < 0x1p52 && parity == 2)) ? -1 : 1;
  if (endless64(x)) return nan64(x) ? NAN64 : INF64;
  if (x > 0) return lgamma_positive(x);
  if (parity64(a)) {
    if (x != 0) *sign = 0;
    return INF64;
  }
  // By reflection: log(pi / |x sin(pi x)|) - log of gamma of -x.
  double low;
  const double l = eddy_log_parts64(a * magnitude(eddy_sinpi64(a)), &low);
  return 0x1.250d048e7a1bdp+0 - l - lgamma_positive(a);
}
