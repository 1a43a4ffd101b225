// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Functions of half (cl_khr_fp16), by way of float, where that is not all there is to say (gpu/compilation/halves.py). A source that
// uses half gets the section `of_half_NAME` with the section NAME.
//@ of_half_fma
// The product is exact in float; the sum is rounded to odd, so that rounding it once more is right.
EDDY_FN half eddy_fma_half(half x, half y, half c) {
  const float p = (float)x * (float)y, z = c, s = p + z, b = s - p, rest = (p - (s - b)) + (z - b);
  uint u = __builtin_astype(s, uint);
  if (!(u & 1) && (rest < 0.0f || rest > 0.0f)) u += (rest > 0.0f) == (s > 0.0f) ? 1 : -1;
  return (half)__builtin_astype(u, float);
}
EDDY_INLINE3_T(half, fma, eddy_fma_half(x, y, z))
//@ of_half_nextafter
EDDY_INLINE2_T(half, nextafter, ({ ushort eddy_u = __builtin_astype(x, ushort); \
  if (x != x || y != y) eddy_u = 0x7e00; \
  else if (x == y) eddy_u = __builtin_astype(y, ushort); \
  else if (x == 0) eddy_u = (__builtin_astype(y, ushort) & 0x8000) | 1; \
  else eddy_u += (y > x) == (x > 0) ? 1 : -1; \
  __builtin_astype(eddy_u, half); }))
//@ of_half_ldexp
EDDY_FN half ldexp(half x, int n) { return (half)ldexp((float)x, n); }
EDDY_WIDTHS(EDDY_MIXED_N, half, half, int, ldexp)
EDDY_WIDTHS(EDDY_MIXED_S, half, half, int, ldexp)
//@ of_half_pown
EDDY_FN half pown(half x, int n) { return (half)pown((float)x, n); }
EDDY_WIDTHS(EDDY_MIXED_N, half, half, int, pown)
//@ of_half_rootn
EDDY_FN half rootn(half x, int n) { return (half)rootn((float)x, n); }
EDDY_WIDTHS(EDDY_MIXED_N, half, half, int, rootn)
//@ of_half_ilogb
EDDY_FN int ilogb(half x) { return ilogb((float)x); }
EDDY_WIDTHS(EDDY_UNARY_N, int, half, ilogb)
//@ of_half_nan
EDDY_FN half nan(ushort code) { return __builtin_astype((ushort)(0x7e00 | (code & 0x1ff)), half); }
EDDY_WIDTHS(EDDY_UNARY_N, half, ushort, nan)
//@ of_half_lgamma_r
EDDY_SPACES(EDDY_LEAVES1, half, lgamma_r, int, (half)eddy_lgamma_r((float)x, &rest))
//@ of_half_frexp
EDDY_SPACES(EDDY_LEAVES1, half, frexp, int, (half)eddy_frexp((float)x, &rest))
//@ of_half_modf
EDDY_SPACES(EDDY_LEAVES1, half, modf, half, ({ __private float eddy_w; const float eddy_f = modf((float)x, &eddy_w); rest = (half)eddy_w; (half)eddy_f; }))
//@ of_half_fract
EDDY_SPACES(EDDY_LEAVES1, half, fract, half, ({ __private float eddy_w; const float eddy_f = fract((float)x, &eddy_w); rest = (half)eddy_w; \
  (half)(eddy_f > 0x1.ffcp-1f ? 0x1.ffcp-1f : eddy_f); }))
//@ of_half_sincos
EDDY_SPACES(EDDY_LEAVES1, half, sincos, half, ({ rest = (half)eddy_cos((float)x); (half)eddy_sin((float)x); }))
//@ of_half_remquo
#define EDDY_REMQUO_HALF(x, y, p) ((half)eddy_remquo((float)(x), (float)(y), p))
EDDY_SPACES(EDDY_REMQUO, half, EDDY_REMQUO_HALF)
//@ of_half_bitselect
EDDY_INLINE3_T(half, bitselect, __builtin_astype(bitselect(__builtin_astype(x, ushort), __builtin_astype(y, ushort), __builtin_astype(z, ushort)), half))
//@ of_half_select
EDDY_SELECT(half, ushort, short, 16, 1)
//@ of_half_isnormal
EDDY_TEST1_T(half, short, isnormal, __builtin_fabsf((float)x) >= 0x1p-14f && __builtin_fabsf((float)x) < INFINITY)
//@ of_half_signbit
EDDY_TEST1_T(half, short, signbit, __builtin_astype(x, short) < 0)
//@ of_half_copysign
EDDY_INLINE2_T(half, copysign, __builtin_astype((ushort)((__builtin_astype(x, ushort) & 0x7fff) | (__builtin_astype(y, ushort) & 0x8000)), half))
//@ of_half_fabs
EDDY_INLINE1_T(half, fabs, __builtin_astype((ushort)(__builtin_astype(x, ushort) & 0x7fff), half))
//@ of_half_clamp
EDDY_INLINE3_T(half, clamp, (half)clamp((float)x, (float)y, (float)z))
EDDY_WIDTHS(EDDY_CLAMP_N, half, )
//@ of_half_fmin
EDDY_INLINE2_T(half, fmin, (half)fmin((float)x, (float)y))
EDDY_WIDTHS(EDDY_BINARY_S, half, fmin)
//@ of_half_fmax
EDDY_INLINE2_T(half, fmax, (half)fmax((float)x, (float)y))
EDDY_WIDTHS(EDDY_BINARY_S, half, fmax)
//@ of_half_min
EDDY_INLINE2_T(half, min, y < x ? y : x)
EDDY_WIDTHS(EDDY_BINARY_S, half, min)
//@ of_half_max
EDDY_INLINE2_T(half, max, x < y ? y : x)
EDDY_WIDTHS(EDDY_BINARY_S, half, max)
//@ of_half_step
EDDY_INLINE2_T(half, step, y < x ? (half)0 : (half)1)
EDDY_WIDTHS(EDDY_STEP_S, half, )
//@ of_half_mix
EDDY_INLINE3_T(half, mix, (half)mix((float)x, (float)y, (float)z))
EDDY_WIDTHS(EDDY_MIX_S, half, )
//@ of_half_smoothstep
EDDY_INLINE3_T(half, smoothstep, (half)smoothstep((float)x, (float)y, (float)z))
EDDY_WIDTHS(EDDY_SMOOTHSTEP_S, half, )
//@ of_half_dot
#define EDDY_HALF_DOT(n) EDDY_FN half dot(half##n x, half##n y) { return (half)dot(__builtin_convertvector(x, float##n), __builtin_convertvector(y, float##n)); }
EDDY_FN half dot(half x, half y) { return x * y; }
EDDY_HALF_DOT(2) EDDY_HALF_DOT(3) EDDY_HALF_DOT(4)
//@ of_half_cross
#define EDDY_HALF_CROSS(n) EDDY_FN half##n cross(half##n x, half##n y) { \
  return __builtin_convertvector(cross(__builtin_convertvector(x, float##n), __builtin_convertvector(y, float##n)), half##n); }
EDDY_HALF_CROSS(3) EDDY_HALF_CROSS(4)
//@ of_half_length
#define EDDY_HALF_LENGTH(n) EDDY_FN half length(half##n x) { return (half)length(__builtin_convertvector(x, float##n)); }
EDDY_FN half length(half x) { return __builtin_astype((ushort)(__builtin_astype(x, ushort) & 0x7fff), half); }
EDDY_HALF_LENGTH(2) EDDY_HALF_LENGTH(3) EDDY_HALF_LENGTH(4)
//@ of_half_distance
#define EDDY_HALF_DISTANCE(n) EDDY_FN half distance(half##n x, half##n y) { \
  return (half)distance(__builtin_convertvector(x, float##n), __builtin_convertvector(y, float##n)); }
EDDY_FN half distance(half x, half y) { return (half)distance((float)x, (float)y); }
EDDY_HALF_DISTANCE(2) EDDY_HALF_DISTANCE(3) EDDY_HALF_DISTANCE(4)
//@ of_half_normalize
#define EDDY_HALF_NORMALIZE(n) EDDY_FN half##n normalize(half##n x) { \
  return __builtin_convertvector(normalize(__builtin_convertvector(x, float##n)), half##n); }
EDDY_FN half normalize(half x) { return (half)normalize((float)x); }
EDDY_HALF_NORMALIZE(2) EDDY_HALF_NORMALIZE(3) EDDY_HALF_NORMALIZE(4)
//@ of_half_async_work_group_strided_copy
EDDY_STRIDED_ALL(half, ushort, short, 16, 1)
//@ read_imageh
#define read_imageh(...) __builtin_convertvector(read_imagef(__VA_ARGS__), half4)
//@ write_imageh
#define write_imageh(im, at, value) write_imagef(im, at, __builtin_convertvector((value), float4))
//@ eddy_narrow_half
// To half, rounded as eddy_to_half takes it; integers that have no room in it are cut to what has none either.
#define EDDY_NARROW_HALF(T, U, S, width, is_signed) EDDY_FN half eddy_narrow_half(T x, uint how) { \
  const float eddy_x = width < 32 ? (float)x : x > (T)131072 ? 131072.0f : is_signed && (S)x < -131072 ? -131072.0f : (float)x; \
  return __builtin_astype((ushort)eddy_to_half(eddy_x, how), half); }
EDDY_INTEGERS(EDDY_NARROW_HALF)
EDDY_FN half eddy_narrow_half(float x, uint how) { return __builtin_astype((ushort)eddy_to_half(x, how), half); }
EDDY_FN half eddy_narrow_half(half x, uint how) { return x; }
EDDY_ALSO(EDDY_FN half eddy_narrow_half(double x, uint how) { return __builtin_astype((ushort)eddy_to_half64(x, how), half); })
// Needs eddy_halves.
//@ eddy_half_rtz
#define eddy_half_rtz(x) eddy_narrow_half(x, 1)
// Needs eddy_narrow_half.
//@ eddy_half_rtp
#define eddy_half_rtp(x) eddy_narrow_half(x, 2)
// Needs eddy_narrow_half.
//@ eddy_half_rtn
#define eddy_half_rtn(x) eddy_narrow_half(x, 3)
// Needs eddy_narrow_half.
