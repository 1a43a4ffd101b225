// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/* The loops of the market in C: the same Newton steps on log prices as newton.py, on lists of the clusters that matter.

   At the equilibrium a tenant buys from few clusters. Each tenant keeps a list of those whose threshold is below MARGIN
   times its level; a list holds until prices and levels moved so far that another cluster could matter (`kept`), and
   then all lists are made again. Nothing is left out: what is found is the demand over all clusters.

   Freestanding: no C library, no memory of its own, no state. Matrices are row-major. tools/native_kernels.py builds it;
   the objects beside this file are what it makes of it, byte by byte.
*/

#include "shared.h"

#define MARGIN 1.05   /* lists reach this far beyond the level */
#define CLOSE 1.02    /* and those that a next market begins with, whose prices are known, no farther than this */
#define ENOUGH 0.35   /* a step after which more than this part of the excess is left asks for new slopes */
#define LONGEST 1.5   /* bound of a step of a log root price */
#define MOST_STEPS 60
#define MOST_CHORDS 12 /* steps by the same slopes */
#define LANES 4      /* lists are filled up to a multiple of it */
#define ALL 1e150   /* a level above every threshold */
#define NEVER 1e200 /* a threshold above every level; fills lists up */

typedef double Four __attribute__((vector_size(32), aligned(8), may_alias));
typedef int64_t FourBits __attribute__((vector_size(32)));
typedef uint64_t FourWords __attribute__((vector_size(32), aligned(8), may_alias));

/* e^x for |x| <= LONGEST, to rounding. */
static double exponential(double x) {
  double part = x / 8, sum = 1;
  for (int k = 13; k > 0; --k) sum = 1 + sum * part / k;
  sum *= sum;
  sum *= sum;
  return sum * sum;
}

/* ln x for finite x > 0, to rounding. */
static double logarithm(double x) {
  union { double value; uint64_t bits; } parts = {x};
  Size power = (Size)(parts.bits >> 52) - 1023;
  parts.bits = (parts.bits & 0xfffffffffffffull) | 0x3ff0000000000000ull;
  double y = parts.value;
  if (y > 1.4142135623730951) { y /= 2; power += 1; }
  double z = (y - 1) / (y + 1), square = z * z, sum = 0;
  for (int k = 23; k > 0; k -= 2) sum = sum * square + 1.0 / k;
  return 2 * z * sum + (double)power * 0.6931471805599453;
}

/* What equilibrium() must know before it begins, in one pass: 0, or 1 where a value may be out of range, which is told
   by the bits (a double above 0 orders as its bits do). `column` gets by cluster whether it is wanted, `straight` 1 if
   an F is above `bound`, `mark` by tenant a number that another row is unlikely to have. */
EXPORT Size eddy_scan(Size n, Size m, const uint64_t *restrict fraction, const uint64_t *restrict speed, double bound,
                      uint64_t *restrict column, int64_t *restrict straight, uint64_t *restrict mark) {
  const uint64_t one = 0x3ff0000000000000, largest = 0x54b249ad2594c37d; /* 1.0, 1e100 */
  union { double value; uint64_t bits; } parts = {bound};
  const uint64_t limit = parts.bits;
  uint64_t bad = 0, steep = 0;
  for (Size c = 0; c < m; ++c) column[c] = 0;
  for (Size i = 0; i < n; ++i) {
    const uint64_t *restrict F = fraction + i * m, *restrict f = speed + i * m;
    uint64_t some = 0, off = 0, mixed = 0;
    FourWords any = {0}, wrong = {0}, near = {0}, sum = {0}, sums = {0};
    Size c = 0;
    for (; c + LANES <= m; c += LANES) {
      const FourWords x = *(const FourWords *)(F + c), y = *(const FourWords *)(f + c);
      wrong |= (x - 1) | (one - x) | y | (largest - y);
      near |= limit - x;
      any |= y;
      *(FourWords *)(column + c) |= y;
      sum += x;
      sums += sum;
      sum += y;
      sums += sum;
    }
    for (; c < m; ++c) {
      const uint64_t x = F[c], y = f[c];
      off |= (x - 1) | (one - x) | y | (largest - y);
      steep |= limit - x;
      some |= y;
      column[c] |= y;
      mixed = (mixed + x) * 0x9e3779b97f4a7c15 + y;
    }
    for (int k = 0; k < LANES; ++k) {
      some |= any[k];
      off |= wrong[k];
      steep |= near[k];
      mixed = (mixed + sum[k]) * 0x9e3779b97f4a7c15 + sums[k];
    }
    mark[i] = mixed;
    bad |= off >> 63 | (some == 0);
  }
  *straight = (int64_t)(steep >> 63);
  return (Size)bad;
}

typedef struct {
  Size n, m;
  const double *fraction, *speed, *budget, *capacity;
  /* Lists: tenant i's entries are first[i] .. first[i] + count[i], a multiple of LANES; where first[i] is negative, those
     of an earlier market from ~first[i] on. */
  Size *first, *count, next, space;
  int32_t *where;
  double *threshold, *rise;
  const int32_t *old_where;
  const double *old_threshold, *old_rise;
  /* By tenant: level of money over the first threshold of its list; the level when that was made; slope of spending; first
     threshold */
  double *level, *made, *slope, *lowest;
  uint64_t *mark;
  /* By cluster. */
  double *q, *over, *made_q, *demand, *row;
  double least_q; /* what prices fell by, at most, before lists were made that count from made_q */
  Size passes, listed;
} Market;

typedef struct {
  Size count;
  const int32_t *where;
  const double *threshold, *rise;
} List;

static List list_of(const Market *at, Size i) {
  Size first = at->first[i];
  if (first < 0) return (List){at->count[i], at->old_where + ~first, at->old_threshold + ~first, at->old_rise + ~first};
  return (List){at->count[i], at->where + first, at->threshold + first, at->rise + first};
}

/* Level over the reference threshold, by Newton's method on a convex function with straight pieces. */
static double level_of(const double *restrict above, const double *restrict value, Size count, double budget,
                       double level, double *slope) {
  for (int pass = 0; pass < 100; ++pass) {
    double sum = 0, cost = 0;
#pragma clang loop vectorize_width(4) interleave_count(1)
    for (Size k = 0; k < count; ++k) {
      double each = above[k] < level ? value[k] : 0;
      sum += each;
      cost += each * above[k];
    }
    if (!(sum > 0)) {
      level = ALL;
      continue;
    }
    *slope = sum;
    double next = (budget + cost) / sum;
    if (next == level) break;
    level = next;
  }
  return level;
}

/* Which clusters of a row have a squared threshold up to `reach`: how many. */
static Size within(const double *restrict square, Size m, double reach, int32_t *restrict where) {
  Size count = 0;
  for (Size c = 0; c < m; ++c) {
    where[count] = (int32_t)c;
    count += square[c] <= reach;
  }
  return count;
}

/* Fill a list up to a multiple of LANES with entries that nothing is spent on; its length then. */
static Size filled(int32_t *restrict where, double *restrict threshold, double *restrict rise, Size count) {
  for (; count % LANES; ++count) {
    where[count] = where[0];
    threshold[count] = NEVER;
    rise[count] = 0;
  }
  return count;
}

/* Make tenant i's list at the present root prices, at the end of all lists. `guess` is the level over the lowest
   threshold expected; returns that found, or 0 where numbers end. Uses row[0 .. 3m). */
static double make_list(Market *at, Size i, double guess) {
  Size m = at->m, begin = at->next, count;
  const double *F = at->fraction + i * m, *f = at->speed + i * m, *restrict q = at->q;
  double *restrict square = at->row, *restrict above = square + m, *restrict value = above + m + LANES;
  double *restrict threshold = at->threshold + begin, *restrict rise = at->rise + begin;
  int32_t *restrict where = at->where + begin;
  double least = ENDLESS;
#pragma clang loop vectorize_width(4) interleave_count(2)
  for (Size c = 0; c < m; ++c) {
    square[c] = F[c] * (q[c] * q[c]) / f[c];
    least = square[c] < least ? square[c] : least;
  }
  double lowest = root(least), level = ALL, wide = MARGIN * guess * lowest, slope = 1;
  for (int pass = 0;; ++pass) {
    double reach = wide * wide;
    if (!finite(reach) || reach >= ENDLESS || pass > 100) return 0;
    count = within(square, m, reach, where);
    for (Size k = 0; k < count; ++k) above[k] = square[where[k]];
    for (Size k = 0; k < count; ++k) value[k] = F[where[k]];
    for (Size k = 0; k < count; ++k) threshold[k] = q[where[k]];
    for (Size k = 0; k < count; ++k) {
      double h = root(above[k]), price_root = threshold[k];
      value[k] = value[k] / ((1 - value[k]) * h) * price_root;
      rise[k] = value[k];
      value[k] *= price_root;
      above[k] = h - lowest;
      threshold[k] = h / price_root;
    }
    level = level_of(above, value, count, at->budget[i], level, &slope);
    double needed = MARGIN * (level + lowest);
    if (!finite(needed)) return 0;
    if (needed <= wide || count == m) {
      wide = needed;
      break;
    }
    wide = needed;
  }
  Size left = 0;
  for (Size k = 0; k < count; ++k) {
    int kept = above[k] + lowest <= wide;
    where[left] = where[k];
    threshold[left] = threshold[k];
    rise[left] = rise[k];
    left += kept;
  }
  /* The lowest is each list's first: thresholds are counted from it, so that nothing large is taken from something
     large, however small a budget is. */
  for (Size k = 0; k < left; ++k)
    if (threshold[k] * q[where[k]] < threshold[0] * q[where[0]]) {
      int32_t c = where[k];
      double h = threshold[k], r = rise[k];
      where[k] = where[0], threshold[k] = threshold[0], rise[k] = rise[0];
      where[0] = c, threshold[0] = h, rise[0] = r;
    }
  left = filled(where, threshold, rise, left);
  at->first[i] = begin;
  at->count[i] = left;
  at->level[i] = level;
  at->made[i] = (level + lowest) * at->least_q;
  at->next = begin + left;
  return (level + lowest) / lowest;
}

/* Make every list again; 0 where numbers end. */
static int make_lists(Market *at) {
  double guess = 2;
  for (Size c = 0; c < at->m; ++c) at->made_q[c] = at->q[c];
  at->next = 0;
  at->listed = 1;
  at->least_q = 1;
  for (Size i = 0; i < at->n; ++i) {
    guess = make_list(at, i, guess * 1.1);
    if (!(guess > 0)) return 0;
  }
  return 1;
}

/* Demand at root prices q by the lists, of which a few may be made again; 0 where that would be most. Uses row[0 .. 3m +
   8). */
static int by_lists(Market *at) {
  Size n = at->n, m = at->m;
  const double *restrict q = at->q;
  double *restrict above = at->row, *restrict value = above + m + LANES;
  double *restrict spent = value + m + LANES, *restrict demand = at->demand;
  double least = ENDLESS, most = 0;
  Size again = 0;
  for (Size c = 0; c < m; ++c) {
    double moved = q[c] / at->made_q[c];
    least = smaller(least, moved);
    most = larger(most, moved);
    at->over[c] = 1 / q[c];
    demand[c] = 0;
  }
  at->least_q = 1 / most;
  for (Size i = 0; i < n; ++i) {
    const List list = list_of(at, i);
    const Size count = list.count;
    const int32_t *restrict where = list.where;
    const double *restrict threshold = list.threshold, *restrict rise = list.rise;
    const double lowest = threshold[0] * q[where[0]], guess = at->level[i];
    Four sum = {0}, cost = {0};
    for (Size k = 0; k < count; k += LANES) {
      const Four roots = {q[where[k]], q[where[k + 1]], q[where[k + 2]], q[where[k + 3]]};
      const Four over_first = *(const Four *)(threshold + k) * roots - lowest, worth = *(const Four *)(rise + k) * roots;
      *(Four *)(above + k) = over_first;
      *(Four *)(value + k) = worth;
      const Four each = (Four)((FourBits)worth & (over_first < guess));
      sum += each;
      cost += each * over_first;
    }
    double slope = sum[0] + sum[1] + sum[2] + sum[3];
    double level = (at->budget[i] + (cost[0] + cost[1] + cost[2] + cost[3])) / slope;
    FourBits moved = {0};
    for (Size k = 0; k < count; k += LANES) {
      const Four part = *(Four *)(above + k);
      moved |= (part < level) ^ (part < guess);
      *(Four *)(spent + k) = *(Four *)(value + k) * (Four)((FourBits)(level - part) & (part < level));
    }
    if ((moved[0] | moved[1] | moved[2] | moved[3]) || !(slope > 0)) {
      level = level_of(above, value, count, at->budget[i], slope > 0 ? level : ALL, &slope);
      for (Size k = 0; k < count; ++k) spent[k] = above[k] < level ? value[k] * (level - above[k]) : 0;
    }
    if (!(level + lowest <= MARGIN * least * at->made[i])) {
      if (++again * 8 > n || at->next + m + LANES > at->space || MARGIN * least < most) return 0;
      if (!(make_list(at, i, (level + lowest) / lowest) > 0)) return 0;
      --i;
      continue;
    }
    at->level[i] = level;
    at->lowest[i] = lowest;
    at->slope[i] = slope;
    for (Size k = 0; k < count; ++k) demand[where[k]] += spent[k];
  }
  for (Size c = 0; c < m; ++c) demand[c] *= at->over[c] * at->over[c];
  return 1;
}

static int demand(Market *at) {
  at->passes += 1;
  return (at->listed && by_lists(at)) || (make_lists(at) && by_lists(at));
}

/* Slopes of demand over `divisor` by log root prices into a (m, m). Uses row[0 .. 2m). */
static void slopes(Market *at, const double *restrict divisor, double *restrict a) {
  Size n = at->n, m = at->m;
  double *restrict answer = at->row, *restrict dense = answer + m + LANES;
  int32_t *restrict which = (int32_t *)(dense + m + LANES);
  const double *restrict q = at->q, *restrict over = at->over;
  for (Size k = 0; k < m * m; ++k) a[k] = 0;
  for (Size c = 0; c < m; ++c) dense[c] = 0;
  for (Size i = 0; i < n; ++i) {
    const List list = list_of(at, i);
    const Size count = list.count;
    const int32_t *restrict where = list.where;
    const double *restrict threshold = list.threshold, *restrict rise = list.rise;
    Size on = 0;
    double level = at->level[i], lowest = at->lowest[i], t = level + lowest, part = 1 / at->slope[i];
    for (Size k = 0; k < count; ++k) {
      double price_root = q[where[k]], h = threshold[k] * price_root;
      answer[on] = rise[k] * price_root * (2 * h - t) * part;
      which[on] = (int32_t)k;
      on += h - lowest < level;
    }
    int full = on * 4 > m;
    if (full)
      for (Size k = 0; k < on; ++k) dense[where[which[k]]] = answer[k];
    for (Size k = 0; k < on; ++k) {
      Size c = where[which[k]];
      double each = rise[which[k]] * over[c];
      double *restrict line = a + c * m;
      line[c] -= each * t;
      if (full)
        for (Size j = 0; j < m; ++j) line[j] += each * dense[j];
      else
        for (Size j = 0; j < on; ++j) line[where[which[j]]] += each * answer[j];
    }
    if (full)
      for (Size k = 0; k < on; ++k) dense[where[which[k]]] = 0;
  }
  for (Size c = 0; c < m; ++c) {
    double part = 1 / divisor[c];
    for (Size j = 0; j < m; ++j) a[c * m + j] *= part;
  }
}

/* Take over the lists of tenants that were there before, told by their marks in the same order, and make the others;
   0 where most are new. */
static int keep_lists(Market *at, const Market *old) {
  Size j = 0, missing = 0, m = at->m;
  double most = 0;
  for (Size c = 0; c < m; ++c) {
    at->made_q[c] = old->made_q[c];
    most = larger(most, at->q[c] / old->made_q[c]);
  }
  at->least_q = 1 / most;
  at->old_where = old->where;
  at->old_threshold = old->threshold;
  at->old_rise = old->rise;
  for (Size i = 0; i < at->n; ++i) {
    Size from = -1;
    if (j < old->n && at->mark[i] == old->mark[j]) from = j;
    else if (j + 1 < old->n && at->mark[i] == old->mark[j + 1]) from = j + 1;
    if (from < 0) {
      if (++missing * 2 > at->n + 1 || !(make_list(at, i, 2) > 0)) return 0;
      continue;
    }
    j = from + 1;
    at->first[i] = ~old->first[from];
    at->count[i] = old->count[from];
    at->level[i] = old->level[from];
    at->made[i] = old->made[from];
  }
  return 1;
}

/* Whether this processor has AVX2 and FMA, and its system keeps their registers. */
EXPORT Size eddy_wide(void) {
#ifdef __x86_64__
  uint32_t a, b, c, d;
  __asm__ volatile("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "a"(0), "c"(0));
  if (a < 7) return 0;
  __asm__ volatile("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "a"(1), "c"(0));
  const uint32_t needed = 1u << 12 | 1u << 22 | 1u << 27 | 1u << 28 | 1u << 29; /* FMA, MOVBE, OSXSAVE, AVX, F16C */
  if ((c & needed) != needed) return 0;
  __asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
  if ((a & 6) != 6) return 0;
  __asm__ volatile("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "a"(7), "c"(0));
  if ((b & (1u << 3 | 1u << 5 | 1u << 8)) != (1u << 3 | 1u << 5 | 1u << 8)) return 0; /* BMI1, AVX2, BMI2 */
  __asm__ volatile("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "a"(0x80000001), "c"(0));
  return c >> 5 & 1; /* LZCNT */
#else
  return 0;
#endif
}

/* Where everything is in the room and the lists (of `space` entries) the caller gives. */
static Market placed(Size n, Size m, double *room, char *lists, Size space) {
  Market at = {.n = n, .m = m, .space = space};
  at.threshold = (double *)lists;
  at.rise = at.threshold + space;
  at.where = (int32_t *)(at.rise + space);
  at.made_q = room;
  at.level = at.made_q + m;
  at.made = at.level + n;
  at.first = (Size *)(at.made + n);
  at.count = at.first + n;
  at.mark = (uint64_t *)(at.count + n);
  /* From here on nothing is kept. */
  at.slope = (double *)(at.mark + n);
  at.lowest = at.slope + n;
  at.demand = at.lowest + n;
  at.over = at.demand + m;
  at.row = at.over + m;
  return at;
}

/* How many doubles of room eddy_newton wants, and how many entries of lists, 20 bytes each. */
EXPORT Size eddy_room(Size n, Size m) {
  return 7 * n + (2 * MOST_CHORDS + 17) * m + MOST_CHORDS * (MOST_CHORDS + 2) + 128;
}
EXPORT Size eddy_space(Size n, Size m) { return (n + 4) * (m + 2 * LANES); }

/* Copy lists to a place with `used` entries, one after another, and count their firsts from there, without what lies
   beyond `made`. The sources are those an eddy_newton left: its own of `space` entries, and the `old_used` it was given.
   */
EXPORT void eddy_pack(Size n, Size m, double *room, char *lists, char *old_lists, Size old_used, char *packed,
                      Size used) {
  Market at = placed(n, m, room, lists, eddy_space(n, m)), old = placed(0, m, room, old_lists, old_used);
  Market to = placed(0, m, room, packed, used);
  at.old_where = old.where;
  at.old_threshold = old.threshold;
  at.old_rise = old.rise;
  Size next = 0;
  for (Size i = 0; i < n; ++i) {
    List list = list_of(&at, i);
    double *restrict threshold = to.threshold + next, *restrict rise = to.rise + next;
    int32_t *restrict where = to.where + next;
    const double reach = MARGIN * at.made[i];
    Size left = 0;
    for (Size k = 0; k < list.count; ++k) {
      threshold[left] = list.threshold[k];
      rise[left] = list.rise[k];
      where[left] = list.where[k];
      left += k == 0 || list.threshold[k] * at.made_q[list.where[k]] <= reach;
    }
    left = filled(where, threshold, rise, left);
    at.first[i] = next;
    at.count[i] = left;
    next += left;
  }
}

/* Correct a step by what the `count` steps before it showed of the slopes: by the slopes next to those of the factors that
   would have foreseen all of them (Broyden's update foresees the last one). `old`: the steps; `wished`: what the factors
   alone would have gone, one more, the last for this step; `corner`: room. Left as it is where that has no answer. */
static void by_secants(double *restrict step, const double *restrict old, const double *restrict wished, Size count,
                       Size m, double *restrict corner) {
  double *restrict right = corner + count * count, most = 0;
  Size swaps[MOST_CHORDS];
  if (!count) return;
  for (Size j = 0; j < count; ++j) {
    const double *went = old + j * m;
    double along = 0;
    for (Size c = 0; c < m; ++c) along += went[c] * step[c];
    right[j] = along;
    for (Size k = 0; k < count; ++k) {
      const double *shown = wished + k * m;
      double sum = 0;
      for (Size c = 0; c < m; ++c) sum += went[c] * (shown[c] - shown[m + c]);
      corner[j * count + k] = sum;
    }
  }
  if (factor(corner, swaps, count)) return;
  solve(corner, swaps, right, count);
  for (Size k = 0; k < count; ++k) {
    if (!finite(right[k])) return;
    most = larger(most, size_of(right[k]));
  }
  if (most > 2) return;
  for (Size k = 0; k < count; ++k)
    for (Size c = 0; c < m; ++c) step[c] += right[k] * (old[k * m + c] - (wished[k * m + c] - wished[(k + 1) * m + c]));
}

/* Newton steps from root prices q to demand within tol of capacity.

   factors: (m * m), LU factors of slopes near the equilibrium where `known` is 1; those last used on return.
   pivot:   (m,), with them.
   shares:  (n, m), zeros on entry.
   mark:    (n,), by eddy_scan.
   room, lists: see eddy_room. The same of an earlier call with old_n tenants and packed lists, or old_n 0.
   used:    the length of those; gets the length of all lists, for eddy_pack.

   Returns the passes over demand, or 0 where the steps lead nowhere. */
EXPORT Size eddy_newton(Size n, Size m, const double *fraction, const double *speed, const double *budget,
                        const double *capacity, double *q, double tol, double *factors, Size *pivot, Size known,
                        double *shares, const uint64_t *mark, double *room, char *lists, Size old_n, double *old_room,
                        char *old_lists, Size *used) {
  Market at = placed(n, m, room, lists, eddy_space(n, m)), before_at = placed(old_n, m, old_room, old_lists, *used);
  at.fraction = fraction;
  at.speed = speed;
  at.budget = budget;
  at.capacity = capacity;
  at.q = q;
  for (Size i = 0; i < n; ++i) at.mark[i] = mark[i];
  double *divisor = at.row + 4 * m + 64, *excess = divisor + m, *step = excess + m, *old = step + m;
  double *wished = old + MOST_CHORDS * m, *corner = wished + (MOST_CHORDS + 1) * m;
  Size fresh = !known;
  Size chords = 0;
  double before = ENDLESS;
  int damped = 0;
  at.listed = old_n && keep_lists(&at, &before_at);
  for (int turn = 0; turn < MOST_STEPS; ++turn) {
    if (!demand(&at)) return 0;
    double off = 0;
    for (Size c = 0; c < m; ++c) {
      double each = size_of(at.demand[c] / capacity[c] - 1);
      if (!finite(each)) return 0;
      off = larger(off, each);
      divisor[c] = larger(at.demand[c], 0.02 * capacity[c]);
      excess[c] = logarithm(divisor[c] / capacity[c]);
    }
    if (off <= tol) {
      double least = ENDLESS;
      for (Size c = 0; c < m; ++c) {
        least = smaller(least, q[c] / at.made_q[c]);
        at.made_q[c] = q[c];
      }
      *used = 0;
      for (Size i = 0; i < n; ++i) {
        const List list = list_of(&at, i);
        const double lowest = at.lowest[i], level = at.level[i];
        double *restrict row = shares + i * m;
        /* Entries that fill up a list have its first cluster, and nothing of it. */
        for (Size k = 0; k < list.count; ++k) {
          Size c = list.where[k];
          double below = level - (list.threshold[k] * q[c] - lowest);
          row[c] += list.rise[k] * at.over[c] * larger(below, 0);
        }
        at.made[i] = smaller(least * at.made[i], CLOSE / MARGIN * (level + lowest));
        *used += list.count;
      }
      /* The next start from here is quick with slopes that are right here. */
      if (fresh && chords) {
        slopes(&at, divisor, factors);
        if (factor(factors, pivot, m)) return 0;
      }
      return at.passes;
    }
    if (!known || off > ENOUGH * before || off > 1 || chords >= MOST_CHORDS || damped) {
      slopes(&at, divisor, factors);
      if (factor(factors, pivot, m)) return 0;
      known = 1;
      chords = 0;
    }
    for (Size c = 0; c < m; ++c) step[c] = -excess[c];
    solve(factors, pivot, step, m);
    for (Size c = 0; c < m; ++c) wished[chords * m + c] = step[c];
    by_secants(step, old, wished, chords, m, corner);
    double longest = 0;
    for (Size c = 0; c < m; ++c) longest = larger(longest, size_of(step[c]));
    if (!finite(longest)) return 0;
    double part = longest > LONGEST ? LONGEST / longest : 1;
    damped = part < 1;
    for (Size c = 0; c < m; ++c) {
      step[c] *= part;
      old[chords * m + c] = step[c];
      q[c] *= exponential(step[c]);
    }
    chords += 1;
    before = off;
  }
  return 0;
}

/* The certificate of any shares (result.py says what its three parts are), and utilities: by (3.2), or where `straight`
   is 1 by the deliverable utility, `kink` being how near to one PE counts as one PE. `room` is 4 m doubles. */
static inline __attribute__((always_inline)) void settle(
    Size n, Size m, const int straight, double kink, const double *restrict fraction, const double *restrict speed,
    const double *restrict budget, const double *restrict capacity, const double *restrict prices,
    const double *restrict shares, double *restrict utilities, double *restrict certificate, double *restrict room) {
  double *restrict given = room, *restrict per = room + m, *restrict lost = room + 2 * m, *restrict b = room + 3 * m;
  double optimality = 0, clearing = 0, spent_off = 0;
  const double least = straight ? 1 : 0, below = 1 - kink, upto = 1 + kink;
  for (Size c = 0; c < m; ++c) {
    given[c] = 0;
    per[c] = prices[c] > 0 ? 1 / prices[c] : 0;
  }
  for (Size i = 0; i < n; ++i) {
    const double *F = fraction + i * m, *f = speed + i * m, *x = shares + i * m;
    double best = 0, spent = 0, sum = 0;
    for (Size c = 0; c < m; ++c) {
      double divisor = x[c] * (1 - F[c]) + F[c], part = 1 / divisor;
      double curved = f[c] * F[c] * part * part;
      double more = (straight && x[c] < below ? f[c] : curved) * per[c];
      lost[c] = (straight && x[c] <= upto ? f[c] : curved) * per[c];
      sum += f[c] * x[c] * (divisor < least ? 1 : part);
      best = more > best ? more : best;
      b[c] = x[c] * prices[c];
      spent += b[c];
      given[c] += x[c];
    }
    utilities[i] = sum;
    double most = 0, over_best = 1 / best, over_budget = 1 / budget[i];
    for (Size c = 0; c < m; ++c) {
      double gap = 1 - lost[c] * over_best, part = b[c] * over_budget;
      gap = gap < part ? gap : part;
      most = gap > most ? gap : most;
    }
    optimality = larger(optimality, most);
    spent_off = larger(spent_off, size_of(spent / budget[i] - 1));
  }
  for (Size c = 0; c < m; ++c) clearing = larger(clearing, size_of(given[c] / capacity[c] - 1));
  certificate[0] = optimality;
  certificate[1] = clearing;
  certificate[2] = spent_off;
}

EXPORT void eddy_settle(Size n, Size m, Size straight, double kink, const double *fraction, const double *speed,
                        const double *budget, const double *capacity, const double *prices, const double *shares,
                        double *utilities, double *certificate, double *room) {
  if (straight) settle(n, m, 1, kink, fraction, speed, budget, capacity, prices, shares, utilities, certificate, room);
  else settle(n, m, 0, kink, fraction, speed, budget, capacity, prices, shares, utilities, certificate, room);
}
