// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/* The queueing model of eddy_slowdown: how fast tenants are at the load their reads bring about. Freestanding.

   `_speeds` of eddy_slowdown.py is the same in numpy, to the interval in which that finds the load. No memory, no state. */

#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))
#define MOST 64
#define MOST_STEPS 64
#define CLOSE 1e-10 /* of the load */
#define FULL (1 - 1e-12)

typedef int64_t Size;

/* A tenant per read, in the order in which Python writes it. */
typedef struct {
  double work, waiting, requests, idle_cycles, supply, instructions;
} Tenant;

static double eighth(double x) {
  double x2 = x * x, x4 = x2 * x2;
  return x4 * x4;
}

static double eighth_root(double x) { return __builtin_sqrt(__builtin_sqrt(__builtin_sqrt(x))); }

/* What does not change while the load is looked for. */
typedef struct {
  double work8, idle, share, weight;
} Asker;

static double waited(double wait_cycles, double load) { return wait_cycles * load / (1 - load); }

/* Instructions a cycle of tenant i, n of them on so many cores each. `load` is a guess, and then what it came to.

   Newton's steps on what is asked for less the load, which falls all the way; halving where one leaves the interval. */
static double speed(const Tenant *tenants, const double *cores, Size n, Size i, double wait_cycles, double *load) {
  Asker askers[MOST];
  double low = 0, high = 1, at = *load;
  for (Size k = 0; k < n; k++) {
    askers[k].work8 = eighth(tenants[k].work);
    askers[k].share = 1 / tenants[k].waiting;
    askers[k].idle = tenants[k].idle_cycles * askers[k].share;
    askers[k].weight = cores[k] * tenants[k].requests / tenants[k].supply;
  }
  for (Size step = 0; step < MOST_STEPS && high - low > CLOSE; step++) {
    double spare = 1 / (1 - at), wait = wait_cycles * at * spare, asked = 0, falls = 0;
    for (Size k = 0; k < n; k++) {
      double took = askers[k].idle + wait * askers[k].share, took2 = took * took, took4 = took2 * took2;
      double both = askers[k].work8 + took4 * took4;
      double reads = askers[k].weight / eighth_root(both);
      asked += reads;
      falls += reads * took4 * took2 * took * askers[k].share / both;
    }
    double over = asked - at, next = at + over / (1 + falls * wait_cycles * spare * spare);
    if (over > 0) low = at;
    else high = at;
    double moved = next - at;
    if (moved < CLOSE && moved > -CLOSE) break;
    at = next > low && next < high ? next : (low + high) / 2;
  }
  *load = at < FULL ? at : FULL;
  double took = askers[i].idle + waited(wait_cycles, *load) * askers[i].share;
  return tenants[i].instructions * cores[i] / eighth_root(askers[i].work8 + eighth(took));
}

/* Speeds of tenant i of n (at most MOST): alone on `most` cores as `own`; as all are on `had` cores; and with 0, 1, ...
   `cores` cores, `most` at most, while the others share what is left in proportion to what they had.

   alone: 1 number; seen: 1; curve: cores + 1. Not 0: there are too many tenants. */
EXPORT Size eddy_queue_curve(Size n, Size i, Size cores, Size most, const Tenant *tenants, const Tenant *own,
                             const double *had, double wait_cycles, double *alone, double *seen, double *curve) {
  double together[MOST], rest = 0, all = (double)most, load = 0.5;
  if (n < 1 || n > MOST || i < 0 || i >= n) return 1;
  *alone = speed(own, &all, 1, 0, wait_cycles, &load);
  *seen = speed(tenants, had, n, i, wait_cycles, &load);
  for (Size k = 0; k < n; k++)
    if (k != i) rest += had[k];
  for (Size count = 0; count <= cores; count++) {
    if (count > most) {
      curve[count] = curve[most];
      continue;
    }
    for (Size k = 0; k < n; k++) together[k] = rest > 0 ? (double)(cores - count) * had[k] / rest : 0;
    together[i] = (double)count;
    curve[count] = speed(tenants, together, n, i, wait_cycles, &load);
  }
  return 0;
}
