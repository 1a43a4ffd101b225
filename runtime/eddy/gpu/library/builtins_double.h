// double, where a source uses it: by soft float, slow. A section begins with the names it defines.
//@ eddy_double
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
EDDY_VECTORS(double)
#define EDDY_D1(f, expression) EDDY_FN double f(double x) { return expression; } EDDY_WIDTHS(EDDY_UNARY_N, double, double, f)
#define EDDY_D2(f, expression) EDDY_FN double f(double x, double y) { return expression; } EDDY_WIDTHS(EDDY_BINARY_N, double, f)
#define EDDY_D3(f, expression) EDDY_FN double f(double x, double y, double z) { return expression; } EDDY_WIDTHS(EDDY_TERNARY_N, double, f)
#define EDDY_DL1(f) double eddy_##f##64(double); EDDY_D1(f, eddy_##f##64(x))
#define EDDY_DL2(f) double eddy_##f##64(double, double); EDDY_D2(f, eddy_##f##64(x, y))
#define EDDY_DT1(f, expression) EDDY_FN int f(double x) { return expression; } EDDY_WIDTHS(EDDY_DT1_N, f)
#define EDDY_DT1_N(n, f) EDDY_FN long##n f(double##n x) { long##n r; for (int i = 0; i < n; i++) r[i] = f(x[i]) ? -1 : 0; return r; }
#define EDDY_DT2(f, expression) EDDY_FN int f(double x, double y) { return expression; } EDDY_WIDTHS(EDDY_DT2_N, f)
#define EDDY_DT2_N(n, f) EDDY_FN long##n f(double##n x, double##n y) { long##n r; for (int i = 0; i < n; i++) r[i] = f(x[i], y[i]) ? -1 : 0; return r; }
EDDY_DL1(exp) EDDY_DL1(exp2) EDDY_DL1(exp10) EDDY_DL1(expm1) EDDY_DL1(log) EDDY_DL1(log2) EDDY_DL1(log10) EDDY_DL1(log1p)
EDDY_DL1(sin) EDDY_DL1(cos) EDDY_DL1(tan) EDDY_DL1(asin) EDDY_DL1(acos) EDDY_DL1(atan) EDDY_DL1(sinh) EDDY_DL1(cosh) EDDY_DL1(tanh)
EDDY_DL1(cbrt) EDDY_DL1(sqrt) EDDY_DL1(floor) EDDY_DL1(ceil) EDDY_DL1(trunc) EDDY_DL1(rint) EDDY_DL1(round)
EDDY_DL2(pow) EDDY_DL2(atan2) EDDY_DL2(hypot) EDDY_DL2(fmod)
double eddy_fma64(double, double, double);
double eddy_ldexp64(double, int);
double eddy_frexp64(double, int *);
EDDY_D3(fma, eddy_fma64(x, y, z))
EDDY_D3(mad, x * y + z)
EDDY_D1(fabs, __builtin_fabs(x))
EDDY_D1(rsqrt, 1.0 / eddy_sqrt64(x))
EDDY_D1(sinpi, eddy_sin64(3.14159265358979323846 * (x - 2 * eddy_rint64(x / 2))))
EDDY_D1(cospi, eddy_cos64(3.14159265358979323846 * (x - 2 * eddy_rint64(x / 2))))
EDDY_D2(copysign, __builtin_copysign(x, y))
EDDY_D2(fmin, x != x ? y : y < x ? y : x)
EDDY_D2(fmax, x != x ? y : x < y ? y : x)
EDDY_D2(fdim, x != x || y != y ? x + y : x > y ? x - y : 0.0)
EDDY_D2(powr, x < 0 || (x == 0 && y == 0) || (x == 1 && y - y != 0) || (x - x != 0 && y == 0) || y != y || x != x ? __builtin_nan("") : eddy_pow64(x, y))
EDDY_FN double pown(double x, int y) { return eddy_pow64(x, (double)y); }
EDDY_FN double ldexp(double x, int n) { return eddy_ldexp64(x, n); }
EDDY_FN double frexp(double x, __private int *e) { return eddy_frexp64(x, e); }
EDDY_FN double modf(double x, __private double *i) { *i = eddy_trunc64(x); return __builtin_copysign(x - x == 0 ? x - *i : x == x ? 0.0 : x, x); }
EDDY_FN double sincos(double x, __private double *c) { *c = eddy_cos64(x); return eddy_sin64(x); }
EDDY_DT1(isnan, x != x) EDDY_DT1(isinf, x == x && x - x != 0) EDDY_DT1(isfinite, x - x == 0)
EDDY_DT1(isnormal, x - x == 0 && __builtin_fabs(x) >= 0x1p-1022) EDDY_DT1(signbit, __builtin_astype(x, long) < 0)
EDDY_DT2(isequal, x == y) EDDY_DT2(isnotequal, x != y) EDDY_DT2(isgreater, x > y) EDDY_DT2(isgreaterequal, x >= y)
EDDY_DT2(isless, x < y) EDDY_DT2(islessequal, x <= y) EDDY_DT2(islessgreater, x < y || x > y)
EDDY_DT2(isordered, x == x && y == y) EDDY_DT2(isunordered, x != x || y != y)
EDDY_D2(min, y < x ? y : x) EDDY_D2(max, x < y ? y : x) EDDY_WIDTHS(EDDY_BINARY_S, double, min) EDDY_WIDTHS(EDDY_BINARY_S, double, max)
EDDY_D3(clamp, x < y ? y : x > z ? z : x)
EDDY_D3(mix, x + (y - x) * z)
EDDY_D1(sign, x > 0 ? 1.0 : x < 0 ? -1.0 : x == 0 ? x : 0.0)
EDDY_D1(degrees, x * 57.295779513082320877) EDDY_D1(radians, x * 0.017453292519943295769)
EDDY_D2(step, y < x ? 0.0 : 1.0)
EDDY_D3(smoothstep, ({ double t_ = (z - x) / (y - x); t_ = t_ < 0 ? 0 : t_ > 1 ? 1 : t_; t_ * t_ * (3 - 2 * t_); }))
EDDY_FN double dot(double x, double y) { return x * y; }
#define EDDY_DDOT(n) EDDY_FN double dot(double##n x, double##n y) { double s = x[0] * y[0]; for (int i = 1; i < n; i++) s += x[i] * y[i]; return s; } \
  EDDY_FN double length(double##n x) { return eddy_sqrt64(dot(x, x)); } \
  EDDY_FN double distance(double##n x, double##n y) { return length(x - y); } \
  EDDY_FN double##n normalize(double##n x) { const double l = length(x); return l == 0 ? x : x / l; }
EDDY_FN double length(double x) { return __builtin_fabs(x); }
EDDY_FN double distance(double x, double y) { return __builtin_fabs(x - y); }
EDDY_DDOT(2) EDDY_DDOT(3) EDDY_DDOT(4)
EDDY_FN double3 cross(double3 a, double3 b) { return a.yzx * b.zxy - a.zxy * b.yzx; }
EDDY_FN double4 cross(double4 a, double4 b) { return (double4)(a.yzx * b.zxy - a.zxy * b.yzx, 0.0); }
EDDY_FN double select(double a, double b, long c) { return c ? b : a; }
EDDY_FN double select(double a, double b, ulong c) { return c ? b : a; }
#define EDDY_DMEMORY(n, space) \
  EDDY_FN double##n vload##n(size_t at, const space double *p) { double##n v; for (int i = 0; i < n; i++) v[i] = p[at * n + i]; return v; } \
  EDDY_FN void vstore##n(double##n v, size_t at, space double *p) { for (int i = 0; i < n; i++) p[at * n + i] = v[i]; }
#define EDDY_DMEMORIES(n, unused) EDDY_DMEMORY(n, __global) EDDY_DMEMORY(n, __local) EDDY_DMEMORY(n, __private)
EDDY_WIDTHS(EDDY_DMEMORIES, )
#define as_double(x) __builtin_astype((x), double)
#define as_double2(x) __builtin_astype((x), double2)
#define as_double3(x) __builtin_astype((x), double3)
#define as_double4(x) __builtin_astype((x), double4)
#define as_double8(x) __builtin_astype((x), double8)
#define as_double16(x) __builtin_astype((x), double16)
#define convert_double(x) ((double)(x))
#define convert_double_rte(x) ((double)(x))
#define convert_double2(x) __builtin_convertvector((x), double2)
#define convert_double3(x) __builtin_convertvector((x), double3)
#define convert_double4(x) __builtin_convertvector((x), double4)
#define convert_double8(x) __builtin_convertvector((x), double8)
#define convert_double16(x) __builtin_convertvector((x), double16)
EDDY_FN double eddy_whole_rte(double x) { return eddy_rint64(x); }
EDDY_FN double eddy_whole_rtz(double x) { return eddy_trunc64(x); }
EDDY_FN double eddy_whole_rtp(double x) { return eddy_ceil64(x); }
EDDY_FN double eddy_whole_rtn(double x) { return eddy_floor64(x); }
#define DBL_DIG 15
#define DBL_MANT_DIG 53
#define DBL_MAX_10_EXP 308
#define DBL_MAX_EXP 1024
#define DBL_MIN_10_EXP -307
#define DBL_MIN_EXP -1021
#define DBL_MAX 0x1.fffffffffffffp1023
#define DBL_MIN 0x1p-1022
#define DBL_EPSILON 0x1p-52
#define HUGE_VAL __builtin_huge_val()
// Numbers come as double here, and are printed with the digits of float.
int printf(__constant const char *format, ...) __asm__("eddy_printf64") __attribute__((format(printf, 1, 2)));
