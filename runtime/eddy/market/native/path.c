// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/* The interior point of interior.py in C: lengths of pieces follow the path to their ends, then Newton steps on those
   neither empty nor full make the answer exact. The same steps as in numpy, which is what they are compared with; but
   tenants' entries in the system of prices that are next to nothing are left out of it, which changes a step by next to
   nothing and not what is aimed at.

   Freestanding: no C library, no memory of its own, no state but what the caller keeps for it between the two calls.
   A piece has a scale, bend, base and bound, ENDLESS for none; those of tenant i are first[i] .. first[i + 1], each on
   the cluster where[..]. Matrices are row-major. tools/native_kernels.py builds it. */

#include "shared.h"

#define MOST_STEPS 250
#define NEAR 1e-9  /* from here on steps are whole */
#define CLEARED 1e-6 /* a path does not end before clusters are given away this exactly */
#define LAST 1e-14 /* complementarity to end at, relative to a tenant's budget */
#define FINISH_STEPS 12
#define EXACT 1e-14
#define SOFT 1e-8    /* how much a straight piece is taken to bend in eddy_finish */
#define TIE 1e-12    /* how much better than its price an empty piece must be to be taken up */
#define TOGETHER 32 /* tenants whose products are added at once: so many rows stay near the processor */
#define LINES 4     /* of the matrix, and columns, that are summed up in registers */
#define COLUMNS 8
#define SCATTERED 8 /* times as long as one of a row, an entry of the matrix takes that is added by itself */
#define NOTHING 1e-12 /* part of a budget, or of a cluster's answer, that is left out of the system */

typedef struct {
  Size n, m, count;
  const Size *first;
  const int32_t *where;
  const double *scale, *bend, *base, *bound, *budget, *capacity;
  /* By piece; the first four are what the path keeps. */
  double *length, *room, *low, *high, *unit, *give, *slope_of, *gap, *moved, *fall_low, *fall_high, *kept;
  /* By tenant. */
  double *worth, *rise, *part, *kept_worth;
  /* By tenant and cluster: pull, and what a price does to the worth of money. */
  double *pulled, *answer;
  /* By cluster. */
  double *price, *change, *held, *drive, *own, *all_held, *kept_price;
  double *matrix;
  Size *pivot;
  int32_t *on;
} Path;

/* Doubles of room for so many tenants, clusters and pieces. */
EXPORT Size eddy_path_room(Size n, Size m, Size count) {
  return 15 * count + 4 * n + 2 * n * m + 10 * m + m * m + 64;
}

static double *taken(double **room, Size count) {
  double *found = *room;
  *room += count;
  return found;
}

static Path placed(Size n, Size m, Size count, const Size *first, const int32_t *where, const double *scale,
                   const double *bend, const double *base, const double *bound, const double *budget,
                   const double *capacity, double *room) {
  Path at = {.n = n, .m = m, .count = count, .first = first, .where = where, .budget = budget, .capacity = capacity};
  at.scale = scale;
  at.bend = bend;
  at.base = base;
  at.bound = bound;
  at.length = taken(&room, count);
  at.room = taken(&room, count);
  at.low = taken(&room, count);
  at.high = taken(&room, count);
  at.worth = taken(&room, n);
  at.price = taken(&room, m);
  at.kept = taken(&room, 4 * count);
  at.unit = taken(&room, count);
  at.give = taken(&room, count);
  at.slope_of = taken(&room, count);
  at.gap = taken(&room, count);
  at.moved = taken(&room, count);
  at.fall_low = taken(&room, count);
  at.fall_high = taken(&room, count);
  at.rise = taken(&room, n);
  at.part = taken(&room, n);
  at.kept_worth = taken(&room, n);
  at.pulled = taken(&room, n * m);
  at.answer = taken(&room, n * m);
  at.change = taken(&room, m);
  at.held = taken(&room, m);
  at.drive = taken(&room, m);
  at.own = taken(&room, m);
  at.all_held = taken(&room, m);
  at.kept_price = taken(&room, m);
  at.matrix = taken(&room, m * m);
  at.pivot = (Size *)taken(&room, m);
  at.on = (int32_t *)taken(&room, m);
  return at;
}

/* Add the products of some tenants' rows to a tile of the matrix, from line c and column j on. */
static inline void add_tile(double *restrict a, const double *const *pulls, const double *const *rows, Size batch, Size m,
                            Size c, Size lines, Size j, Size columns) {
  double sum[LINES][COLUMNS] = {{0}};
  for (Size b = 0; b < batch; ++b) {
    const double *restrict p = pulls[b] + c, *restrict r = rows[b] + j;
    for (Size x = 0; x < lines; ++x)
      for (Size y = 0; y < columns; ++y) sum[x][y] += p[x] * r[y];
  }
  for (Size x = 0; x < lines; ++x)
    for (Size y = 0; y < columns; ++y) a[(c + x) * m + j + y] += sum[x][y];
}

static void add_rows(double *restrict a, const double *const *pulls, const double *const *rows, Size batch, Size m) {
  for (Size j = 0; j < m; j += COLUMNS)
    for (Size c = 0; c < m; c += LINES) {
      if (c + LINES <= m && j + COLUMNS <= m)
        add_tile(a, pulls, rows, batch, m, c, LINES, j, COLUMNS);
      else
        add_tile(a, pulls, rows, batch, m, c, m - c < LINES ? m - c : LINES, j, m - j < COLUMNS ? m - j : COLUMNS);
    }
}

/* The sum over tenants of pulled times answer, (m, m): many tenants at a time where their rows are full. Entries that
   are next to nothing are left out: answers below what `part` says, pulls below a part of what all tenants hold. */
static void add_products(Path *at) {
  const Size n = at->n, m = at->m;
  const double *restrict price = at->price, *restrict all_held = at->all_held;
  double *restrict a = at->matrix;
  int32_t *restrict on = at->on;
  const double *full[TOGETHER], *pulls[TOGETHER];
  Size batch = 0;
  for (Size k = 0; k < m * m; ++k) a[k] = 0;
  for (Size i = 0; i < n; ++i) {
    const double *pulled = at->pulled + i * m, *restrict answer = at->answer + i * m;
    const double least = at->part[i], worth = at->worth[i] / NOTHING;
    Size count = 0;
    for (Size c = 0; c < m; ++c) {
      on[count] = (int32_t)c;
      count += size_of(answer[c]) * price[c] > least;
    }
    Size pulling = 0;
    for (Size c = 0; c < m; ++c) pulling += pulled[c] * worth > all_held[c] * price[c];
    if (count * pulling * SCATTERED > m * m) {
      full[batch] = answer;
      pulls[batch++] = pulled;
    } else {
      for (Size c = 0; c < m; ++c) {
        const double each = pulled[c];
        if (!(each * worth > all_held[c] * price[c])) continue;
        double *restrict line = a + c * m;
        for (Size k = 0; k < count; ++k) line[on[k]] += each * answer[on[k]];
      }
    }
    if (batch == TOGETHER || (i == n - 1 && batch)) {
      add_rows(a, pulls, full, batch, m);
      batch = 0;
    }
  }
}

/* Newton's step for budgets, clearing and worth * slope - price + gap = 0, from lengths, `give`, `slope_of` and `gap`
   into `moved`, `change` and `rise` (pieces.py, direction); 1 where the system is singular. */
static int direction(Path *at) {
  const Size n = at->n, m = at->m;
  const double *restrict price = at->price;
  double *restrict held = at->held, *restrict drive = at->drive, *restrict own = at->own;
  double *restrict short_ = at->change, *restrict all_held = at->all_held, *restrict a = at->matrix;
  for (Size c = 0; c < m; ++c) {
    short_[c] = at->capacity[c];
    all_held[c] = 0;
  }
  for (Size i = 0; i < n; ++i) {
    double *restrict pulled = at->pulled + i * m, *restrict answer = at->answer + i * m;
    for (Size c = 0; c < m; ++c) pulled[c] = held[c] = drive[c] = own[c] = 0;
    for (Size e = at->first[i]; e < at->first[i + 1]; ++e) {
      Size c = at->where[e];
      double give = at->give[e];
      own[c] += at->length[e];
      held[c] += give;
      pulled[c] += give * at->slope_of[e];
      drive[c] += give * at->gap[e];
    }
    double spent = -at->budget[i], slope = 0, driven = 0;
    for (Size c = 0; c < m; ++c) {
      spent += own[c] * price[c];
      slope += pulled[c] * price[c];
      driven += drive[c] * price[c];
    }
    if (!(slope > 0)) slope = 1;
    const double begin = -(spent + driven) / slope, over = 1 / slope;
    for (Size c = 0; c < m; ++c) {
      answer[c] = (own[c] - held[c] * price[c]) * over;
      all_held[c] += held[c];
      short_[c] -= own[c] + drive[c] + pulled[c] * begin;
    }
    at->rise[i] = begin;
    at->part[i] = NOTHING * at->budget[i] * over; /* an answer times price below this is nothing */
  }
  add_products(at);
  for (Size c = 0; c < m; ++c) {
    a[c * m + c] += all_held[c];
    for (Size j = 0; j < m; ++j) a[c * m + j] *= price[c] * price[j];
    short_[c] *= price[c];
    if (!(all_held[c] > 0)) {
      /* Nothing of this cluster moves, so that nothing asks for another price of it. */
      a[c * m + c] = 1;
      short_[c] = 0;
    }
  }
  if (factor(a, at->pivot, m)) return 1;
  solve(a, at->pivot, short_, m);
  double *restrict change = at->change;
  for (Size c = 0; c < m; ++c) {
    change[c] *= -price[c];
    if (!finite(change[c])) return 1;
  }
  for (Size i = 0; i < n; ++i) {
    const double *restrict answer = at->answer + i * m;
    double rise = at->rise[i];
    for (Size c = 0; c < m; ++c) rise -= answer[c] * change[c];
    at->rise[i] = rise;
    for (Size e = at->first[i]; e < at->first[i + 1]; ++e)
      at->moved[e] = at->give[e] * (at->slope_of[e] * rise - change[at->where[e]] + at->gap[e]);
  }
  return 0;
}

/* Budgets spread evenly over what a tenant wants, and money worth so little that no piece is worth its price. */
static void begin(Path *at) {
  const Size n = at->n, m = at->m;
  double *restrict price = at->price, *restrict live = at->held, *restrict last = at->drive;
  for (Size c = 0; c < m; ++c) price[c] = 0;
  for (int turn = 0; turn < 2; ++turn) {
    for (Size i = 0; i < n; ++i) {
      for (Size c = 0; c < m; ++c) live[c] = last[c] = 0;
      for (Size e = at->first[i]; e < at->first[i + 1]; ++e) live[at->where[e]] += 1;
      double wanted = 0, worth = ENDLESS;
      for (Size c = 0; c < m; ++c) wanted += live[c] > 0;
      const double bid = at->budget[i] / wanted;
      if (!turn) {
        for (Size c = 0; c < m; ++c) price[c] += live[c] > 0 ? bid / at->capacity[c] : 0;
        continue;
      }
      for (Size e = at->first[i]; e < at->first[i + 1]; ++e) {
        Size c = at->where[e];
        if (at->bound[e] < ENDLESS) {
          at->length[e] = smaller(bid / price[c] / live[c], 0.5);
          last[c] += at->length[e];
        }
      }
      for (Size e = at->first[i]; e < at->first[i + 1]; ++e) {
        Size c = at->where[e];
        const int bounded = at->bound[e] < ENDLESS;
        if (!bounded) at->length[e] = bid / price[c] - last[c];
        double divisor = at->bend[e] * at->length[e] + at->base[e];
        at->slope_of[e] = at->scale[e] / (divisor * divisor);
        worth = smaller(worth, price[c] / at->slope_of[e]);
        at->unit[e] = bounded ? smaller(bid, price[c] * at->bound[e]) : bid;
        at->room[e] = bounded ? at->bound[e] - at->length[e] : ENDLESS;
        at->high[e] = bounded ? 0.5 * at->unit[e] / at->room[e] : 0;
      }
      at->worth[i] = worth = 0.5 * worth;
      for (Size e = at->first[i]; e < at->first[i + 1]; ++e)
        at->low[e] = price[at->where[e]] - worth * at->slope_of[e] + at->high[e];
    }
    if (!turn)
      for (Size c = 0; c < m; ++c)
        if (!(price[c] > 0)) price[c] = 1; /* nobody wants it; the caller leaves such clusters out */
  }
}

/* Part of the change after which a value would be 0. */
static inline double longest(double value, double change) { return change < 0 ? value / -change : ENDLESS; }

/* One step towards complementarity mu times a piece's unit; the part of it that was taken, 0 where numbers end. */
static double step(Path *at, double mu, Size together) {
  const Size n = at->n, m = at->m;
  double *restrict price = at->price;
  for (Size i = 0; i < n; ++i) {
    const double worth = at->worth[i];
    for (Size e = at->first[i]; e < at->first[i + 1]; ++e) {
      const int bounded = at->bound[e] < ENDLESS;
      const double v = at->length[e], over = 1 / v, aim = mu * at->unit[e], wish = aim * over;
      const double over_room = bounded ? 1 / at->room[e] : 0, press = aim * over_room;
      const double part = 1 / (at->bend[e] * v + at->base[e]), slope = at->scale[e] * part * part;
      const double stiff = worth * 2 * at->bend[e] * slope * part + at->low[e] * over + at->high[e] * over_room;
      at->slope_of[e] = slope;
      at->give[e] = 1 / stiff;
      at->gap[e] = worth * slope - price[at->where[e]] + wish - press;
    }
  }
  if (direction(at)) return 0;
  double least = 1, whole = 0, falls = 0.9;
  for (Size i = 0; i < n; ++i) {
    double most = longest(at->worth[i], at->rise[i]);
    for (Size e = at->first[i]; e < at->first[i + 1]; ++e) {
      const int bounded = at->bound[e] < ENDLESS;
      const double v = at->length[e], moved = at->moved[e], aim = mu * at->unit[e];
      const double over_room = bounded ? 1 / at->room[e] : 0;
      const double low = (aim - at->low[e] * moved) / v - at->low[e];
      const double high = bounded ? (aim + at->high[e] * moved) * over_room - at->high[e] : 0;
      most = smaller(most, smaller(longest(v, moved), longest(at->low[e], low)));
      if (bounded) most = smaller(most, smaller(longest(at->room[e], -moved), longest(at->high[e], high)));
      at->fall_low[e] = low;
      at->fall_high[e] = high;
    }
    at->part[i] = smaller(1, 0.99 * most);
    least = smaller(least, at->part[i]);
  }
  for (Size i = 0; i < n; ++i) {
    const double part = together ? least : at->part[i];
    for (Size e = at->first[i]; e < at->first[i + 1]; ++e) {
      at->length[e] += part * at->moved[e];
      if (at->bound[e] < ENDLESS) at->room[e] -= part * at->moved[e];
      at->low[e] += part * at->fall_low[e];
      at->high[e] += part * at->fall_high[e];
    }
    at->worth[i] += part * at->rise[i];
    whole += part * at->budget[i];
  }
  for (Size c = 0; c < m; ++c) falls = larger(falls, -at->change[c] / price[c]);
  whole = smaller(whole, 0.9 / falls);
  for (Size c = 0; c < m; ++c) price[c] += whole * at->change[c];
  return finite(whole) ? least : 0;
}

static void copied(double *restrict to, const double *restrict from, Size count) {
  for (Size k = 0; k < count; ++k) to[k] = from[k];
}

static void summed(const Path *at, const double *length, double *shares) {
  for (Size k = 0; k < at->n * at->m; ++k) shares[k] = 0;
  for (Size i = 0; i < at->n; ++i)
    for (Size e = at->first[i]; e < at->first[i + 1]; ++e) shares[i * at->m + at->where[e]] += length[e];
}

/* Whether what is given of every cluster is nearly what there is. */
static int cleared(Path *at) {
  double *restrict given = at->held, off = 0;
  for (Size c = 0; c < at->m; ++c) given[c] = 0;
  for (Size e = 0; e < at->count; ++e) given[at->where[e]] += at->kept[e];
  for (Size c = 0; c < at->m; ++c) off = larger(off, size_of(given[c] / at->capacity[c] - 1));
  return off < CLEARED;
}

/* Follow the path to its end: shares (n, m) and prices (m,) there, and the steps it took; 0 where numbers end. `room`
   is for eddy_finish. Where `together` is 1 all tenants go the same part of a step. */
EXPORT Size eddy_follow(Size n, Size m, Size count, const Size *first, const int32_t *where, const double *scale,
                        const double *bend, const double *base, const double *bound, const double *budget,
                        const double *capacity, double *room, Size together, double *shares, double *prices) {
  Path at = placed(n, m, count, first, where, scale, bend, base, bound, budget, capacity, room);
  double aim = 0.3;
  Size products = count, steps = 0;
  begin(&at);
  for (Size e = 0; e < count; ++e) products += bound[e] < ENDLESS;
  for (; steps < (together ? 2 * MOST_STEPS : MOST_STEPS); ++steps) {
    double mean = 0;
    for (Size e = 0; e < count; ++e)
      mean += (at.length[e] * at.low[e] + (bound[e] < ENDLESS ? at.room[e] * at.high[e] : 0)) / at.unit[e];
    mean /= (double)products;
    if (!finite(mean)) return 0;
    if (mean < LAST) break;
    if (mean < NEAR) {
      copied(at.kept, at.length, 4 * count);
      copied(at.kept_worth, at.worth, n);
      copied(at.kept_price, at.price, m);
    }
    double part = step(&at, aim * mean, together);
    if (!(part > 0) && !(mean < NEAR)) return 0;
    if (mean < NEAR && part < 0.1 && (!(part > 0) || cleared(&at))) {
      copied(at.length, at.kept, 4 * count);
      copied(at.worth, at.kept_worth, n);
      copied(at.price, at.kept_price, m);
      break;
    }
    aim = part > 0.9 ? 0.02 : part > 0.5 ? 0.3 : 0.7;
  }
  summed(&at, at.length, shares);
  copied(prices, at.price, m);
  return steps + 1;
}

/* Which pieces are neither empty nor full after a step, and all lengths within their bounds. `state` is 1 for those;
   uses `moved` and, by cluster, `held`, `drive`, `own`. */
static void sorted_out(Path *at, double *state) {
  const Size n = at->n, m = at->m;
  double *restrict given = at->held, *restrict some = at->drive, *restrict best = at->own;
  int stuck = 0;
  for (Size c = 0; c < m; ++c) given[c] = some[c] = best[c] = 0;
  for (Size i = 0; i < n; ++i)
    for (Size e = at->first[i]; e < at->first[i + 1]; ++e) {
      Size c = at->where[e];
      double v = at->length[e], bound = at->bound[e], divisor = at->bend[e] * v + at->base[e];
      double value = at->worth[i] * at->scale[e] / (divisor * divisor) / at->price[c];
      int between = state[e] > 0, full = v >= bound;
      int wakes = !between && (full ? value < 1 - TIE : v <= 0 && value > 1 + TIE);
      state[e] = (between && v <= bound && v >= 0) || wakes;
      at->length[e] = v = v > bound ? bound : v < 0 ? 0 : v;
      at->moved[e] = value;
      given[c] += v;
      some[c] += state[e];
      if (v < bound) best[c] = larger(best[c], value);
    }
  for (Size c = 0; c < m; ++c) {
    given[c] = given[c] / at->capacity[c] - 1;
    some[c] = some[c] == 0 && size_of(given[c]) > TIE;
    stuck |= some[c] > 0;
  }
  if (!stuck) return;
  /* Something must move where nothing does, and more or less is taken than there is. */
  for (Size e = 0; e < at->count; ++e) {
    Size c = at->where[e];
    double v = at->length[e];
    if (!(some[c] > 0)) continue;
    if (given[c] > 0 ? v > 0 && v >= at->bound[e] : v < at->bound[e] && at->moved[e] >= best[c] * (1 - SOFT))
      state[e] = 1;
  }
}

/* Shares and prices, exact, from where eddy_follow left off with the same `room`, which stays as it is for another try:
   `lean` below 1 asks that much more clearly for a piece to be empty or full. 0 where numbers end. */
EXPORT Size eddy_finish(Size n, Size m, Size count, const Size *first, const int32_t *where, const double *scale,
                        const double *bend, const double *base, const double *bound, const double *budget,
                        const double *capacity, double *room, double lean, double *shares, double *prices) {
  Path at = placed(n, m, count, first, where, scale, bend, base, bound, budget, capacity, room);
  double *state = at.unit, *best_length = at.fall_low, *best_price = at.kept_price, best = ENDLESS;
  copied(at.kept, at.length, 4 * count);
  copied(at.kept_worth, at.worth, n);
  copied(prices, at.price, m);
  for (Size i = 0; i < n; ++i)
    for (Size e = first[i]; e < first[i + 1]; ++e) {
      Size c = where[e];
      const int bounded = bound[e] < ENDLESS;
      double price = at.price[c], whole = larger(price / budget[i], 1 / capacity[c]);
      int filled = bounded && at.room[e] * whole < lean * at.high[e] / price;
      int empty = at.length[e] * whole < lean * at.low[e] / price;
      state[e] = !filled && !empty;
      if (filled) at.length[e] = bound[e];
      else if (empty) at.length[e] = 0;
    }
  Size good = 1;
  for (int turn = 0; turn < FINISH_STEPS; ++turn) {
    double off = 0;
    double *restrict given = at.held, *restrict price = at.price;
    for (Size c = 0; c < m; ++c) given[c] = 0;
    for (Size i = 0; i < n; ++i) {
      const double worth = at.worth[i];
      double spent = 0;
      for (Size e = first[i]; e < first[i + 1]; ++e) {
        const Size c = where[e];
        const double v = at.length[e], part = 1 / (bend[e] * v + base[e]), slope = scale[e] * part * part;
        const double gap = worth * slope - price[c];
        const double soft = SOFT * price[c] * price[c] / larger(price[c] * v, budget[i]);
        const double stiff = larger(worth * 2 * bend[e] * slope * part, soft);
        at.slope_of[e] = slope;
        at.gap[e] = gap;
        at.give[e] = state[e] > 0 ? 1 / stiff : 0;
        if (state[e] > 0) off = larger(off, size_of(gap) / price[c]);
        spent += v * price[c];
        given[c] += v;
      }
      off = larger(off, size_of(spent / budget[i] - 1));
    }
    for (Size c = 0; c < m; ++c) off = larger(off, size_of(given[c] / capacity[c] - 1));
    if (!finite(off)) break;
    if (off < best) {
      best = off;
      copied(best_length, at.length, count);
      copied(best_price, at.price, m);
    }
    if (off < EXACT) break;
    if (direction(&at)) {
      good = turn > 0;
      break;
    }
    double falls = 0.5;
    for (Size c = 0; c < m; ++c) falls = larger(falls, -at.change[c] / price[c]);
    for (Size i = 0; i < n; ++i) falls = larger(falls, -at.rise[i] / at.worth[i]);
    const double part = smaller(1, 0.5 / falls);
    for (Size e = 0; e < count; ++e) at.length[e] += part * at.moved[e];
    for (Size c = 0; c < m; ++c) price[c] += part * at.change[c];
    for (Size i = 0; i < n; ++i) at.worth[i] += part * at.rise[i];
    sorted_out(&at, state);
  }
  good = good && best < ENDLESS;
  if (good) summed(&at, best_length, shares);
  copied(at.length, at.kept, 4 * count);
  copied(at.worth, at.kept_worth, n);
  copied(at.price, prices, m);
  if (good) copied(prices, best_price, m);
  return good;
}
