// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// The C names of the device library's mathematics; docs/reference/opencl-builtins.md states the errors.
#define ONE(name) \
    float eddy_##name(float x); \
    double eddy_##name##64(double x); \
    float name##f(float x) { return eddy_##name(x); } \
    double name(double x) { return eddy_##name##64(x); }
#define TWO(name) \
    float eddy_##name(float x, float y); \
    double eddy_##name##64(double x, double y); \
    float name##f(float x, float y) { return eddy_##name(x, y); } \
    double name(double x, double y) { return eddy_##name##64(x, y); }
// A float is a double, and what is whole of it a float again.
#define WHOLE(name) \
    double eddy_##name##64(double x); \
    double name(double x) { return eddy_##name##64(x); }
#ifdef __riscv_flen
#define WHOLE_FLOAT(name) \
    float name##f(float x) { return (float)eddy_##name##64(x); }
#else
#define WHOLE_FLOAT(name)
#endif

ONE(sin)
ONE(cos)
ONE(tan)
ONE(asin)
ONE(acos)
ONE(atan)
ONE(sinh)
ONE(cosh)
ONE(tanh)
ONE(asinh)
ONE(acosh)
ONE(atanh)
ONE(exp)
ONE(exp2)
ONE(exp10)
ONE(expm1)
ONE(log)
ONE(log2)
ONE(log10)
ONE(log1p)
ONE(cbrt)
ONE(erf)
ONE(erfc)
ONE(tgamma)
ONE(logb)
TWO(pow)
TWO(fmod)
TWO(hypot)
TWO(atan2)
TWO(remainder)
TWO(nextafter)
WHOLE(floor)
WHOLE_FLOAT(floor)
WHOLE(ceil)
WHOLE_FLOAT(ceil)
WHOLE(trunc)
WHOLE_FLOAT(trunc)
WHOLE(round)
WHOLE_FLOAT(round)
WHOLE(rint)
WHOLE_FLOAT(rint)

double eddy_sqrt64(double x);
double eddy_fma64(double x, double y, double z);
double sqrt(double x) { return eddy_sqrt64(x); }
double fma(double x, double y, double z) { return eddy_fma64(x, y, z); }
double fmin(double x, double y) { return y != y || x < y ? x : y; }
double fmax(double x, double y) { return y != y || x > y ? x : y; }
