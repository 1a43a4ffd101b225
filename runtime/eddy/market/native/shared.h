// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/* What the market's C files have in common: numbers, and systems of linear equations. Freestanding. */

#ifndef EDDY_MARKET_SHARED_H
#define EDDY_MARKET_SHARED_H

#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))
#define ENDLESS 1e300 /* numbers are finite here: flags say so to the compiler */
#define BLOCK 8

typedef int64_t Size;

static inline double root(double x) { return __builtin_sqrt(x); }
static inline double larger(double a, double b) { return a > b ? a : b; }
static inline double smaller(double a, double b) { return a < b ? a : b; }
static inline double size_of(double x) { return x < 0 ? -x : x; }

/* Whether x is a number, and finite; by its bits, because the compiler takes that for granted. */
static inline int finite(double x) {
  union { double value; uint64_t bits; } parts = {x};
  return (parts.bits >> 52 & 0x7ff) != 0x7ff;
}

/* LU factors of a (m, m) in place, rows swapped as `pivot` says; 1 where it is singular. */
static __attribute__((unused)) int factor(double *restrict a, Size *restrict pivot, Size m) {
  for (Size k0 = 0; k0 < m; k0 += BLOCK) {
    Size k1 = k0 + BLOCK < m ? k0 + BLOCK : m;
    for (Size k = k0; k < k1; ++k) {
      Size best = k;
      for (Size i = k + 1; i < m; ++i)
        if (size_of(a[i * m + k]) > size_of(a[best * m + k])) best = i;
      pivot[k] = best;
      double top = a[best * m + k];
      if (top == 0 || !finite(top)) return 1;
      if (best != k)
        for (Size j = 0; j < m; ++j) {
          double kept = a[k * m + j];
          a[k * m + j] = a[best * m + j];
          a[best * m + j] = kept;
        }
      for (Size i = k + 1; i < m; ++i) {
        double part = a[i * m + k] /= top;
        for (Size j = k + 1; j < k1; ++j) a[i * m + j] -= part * a[k * m + j];
      }
    }
    for (Size k = k0; k < k1; ++k)
      for (Size i = k + 1; i < k1; ++i) {
        double part = a[i * m + k];
        for (Size j = k1; j < m; ++j) a[i * m + j] -= part * a[k * m + j];
      }
    if (k1 - k0 < BLOCK) continue;
    const double *top = a + k0 * m;
    for (Size i = k1; i < m; ++i) {
      double *restrict row = a + i * m;
      double p0 = row[k0], p1 = row[k0 + 1], p2 = row[k0 + 2], p3 = row[k0 + 3];
      double p4 = row[k0 + 4], p5 = row[k0 + 5], p6 = row[k0 + 6], p7 = row[k0 + 7];
      for (Size j = k1; j < m; ++j)
        row[j] -= ((p0 * top[j] + p1 * top[m + j]) + (p2 * top[2 * m + j] + p3 * top[3 * m + j])) +
                  ((p4 * top[4 * m + j] + p5 * top[5 * m + j]) + (p6 * top[6 * m + j] + p7 * top[7 * m + j]));
    }
  }
  return 0;
}

/* x becomes the solution of the factored system with x on the right. */
static __attribute__((unused)) void solve(const double *restrict a, const Size *restrict pivot, double *restrict x, Size m) {
  for (Size k = 0; k < m; ++k) {
    double kept = x[pivot[k]];
    x[pivot[k]] = x[k];
    x[k] = kept;
  }
  for (Size i = 1; i < m; ++i) {
    double sum = 0;
    for (Size j = 0; j < i; ++j) sum += a[i * m + j] * x[j];
    x[i] -= sum;
  }
  for (Size i = m - 1; i >= 0; --i) {
    double sum = 0;
    for (Size j = i + 1; j < m; ++j) sum += a[i * m + j] * x[j];
    x[i] = (x[i] - sum) / a[i * m + i];
  }
}

#endif
