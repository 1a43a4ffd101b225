// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Relational functions of OpenCL C 1.2. A section begins with the names it defines; a source gets the sections it names.
//@ isequal
EDDY_TEST2(isequal, x == y)
//@ isnotequal
EDDY_TEST2(isnotequal, x != y)
//@ isgreater
EDDY_TEST2(isgreater, x > y)
//@ isgreaterequal
EDDY_TEST2(isgreaterequal, x >= y)
//@ isless
EDDY_TEST2(isless, x < y)
//@ islessequal
EDDY_TEST2(islessequal, x <= y)
//@ islessgreater
EDDY_TEST2(islessgreater, x < y || x > y)
//@ isordered
EDDY_TEST2(isordered, x == x && y == y)
//@ isunordered
EDDY_TEST2(isunordered, x != x || y != y)
//@ isnan
EDDY_TEST1(isnan, x != x, x != x)
//@ isinf
EDDY_TEST1(isinf, __builtin_fabsf(x) == INFINITY, __builtin_fabs(x) == INFINITY)
//@ isfinite
EDDY_TEST1(isfinite, __builtin_fabsf(x) < INFINITY, __builtin_fabs(x) < INFINITY)
//@ isnormal
EDDY_TEST1(isnormal, __builtin_fabsf(x) >= FLT_MIN && __builtin_fabsf(x) < INFINITY, \
  __builtin_fabs(x) >= 0x1p-1022 && __builtin_fabs(x) < INFINITY)
//@ signbit
EDDY_TEST1(signbit, __builtin_astype(x, uint) >> 31, __builtin_astype(x, long) < 0)
//@ any
#define EDDY_ANY_N(n, T) EDDY_FN int any(T##n x) { int r = 0; for (int i = 0; i < n; i++) r |= x[i] < 0; return r; }
#define EDDY_ANY(T) EDDY_FN int any(T x) { return x < 0; } EDDY_WIDTHS(EDDY_ANY_N, T)
EDDY_ANY(char) EDDY_ANY(short) EDDY_ANY(int) EDDY_ANY(long)
//@ all
#define EDDY_ALL_N(n, T) EDDY_FN int all(T##n x) { int r = 1; for (int i = 0; i < n; i++) r &= x[i] < 0; return r; }
#define EDDY_ALL(T) EDDY_FN int all(T x) { return x < 0; } EDDY_WIDTHS(EDDY_ALL_N, T)
EDDY_ALL(char) EDDY_ALL(short) EDDY_ALL(int) EDDY_ALL(long)
//@ bitselect
#define EDDY_BITSELECT(T, U, S, width, is_signed) \
  EDDY_FN T bitselect(T x, T y, T bits) { return (T)((x & ~bits) | (y & bits)); } \
  EDDY_WIDTHS(EDDY_TERNARY_N, T, bitselect)
EDDY_INTEGERS(EDDY_BITSELECT)
EDDY_INLINE3(bitselect, __builtin_astype(bitselect(__builtin_astype(x, uint), __builtin_astype(y, uint), __builtin_astype(z, uint)), float), \
  __builtin_astype(bitselect(__builtin_astype(x, ulong), __builtin_astype(y, ulong), __builtin_astype(z, ulong)), double))
//@ select
#define EDDY_SELECT_N(n, T, C, S) \
  EDDY_FN T##n select(T##n x, T##n y, C##n c) { T##n r; for (int i = 0; i < n; i++) r[i] = (S)c[i] < 0 ? y[i] : x[i]; return r; }
#define EDDY_SELECT(T, U, S, width, is_signed) \
  EDDY_FN T select(T x, T y, S c) { return c ? y : x; } \
  EDDY_FN T select(T x, T y, U c) { return c ? y : x; } \
  EDDY_WIDTHS(EDDY_SELECT_N, T, S, S) \
  EDDY_WIDTHS(EDDY_SELECT_N, T, U, S)
EDDY_INTEGERS(EDDY_SELECT)
EDDY_SELECT(float, uint, int, 32, 1)
EDDY_ALSO(EDDY_SELECT(double, ulong, long, 64, 1))
