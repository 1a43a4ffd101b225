// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// The shared cache and the DRAM of the fast cluster model.
//
// The memory's order of service is that of the simulated board's: what can start first, row hits before others, then
// age (Ref: S. Rixner et al., Memory Access Scheduling, ISCA 2000), with a bound on overtaking and, where set, on row
// hits in a row (Ref: O. Mutlu, T. Moscibroda, Stall-Time Fair Memory Access Scheduling, MICRO 2007).
#include "cluster.h"

static uint64_t mixed(uint64_t v) {
  v ^= v >> 33;
  v *= 0xFF51AFD7ED558CCDull;
  v ^= v >> 33;
  return v;
}

/// Parity.
static uint64_t odd(uint64_t v) {
  for (int32_t shift = 32; shift; shift /= 2) v ^= v >> shift;
  return v & 1;
}

/// Channel, bank and row of a line: rows of `row_lines`, channels in turns of `interleave` lines.
static int32_t place(const Parameters* p, Request* r) {
  const int64_t chunk = r->line / p->interleave, within = r->line % p->interleave;
  int64_t channel = chunk % p->channels;
  const int64_t local = chunk / p->channels * p->interleave + within;
  const int64_t page = local / p->row_lines;
  int64_t bank = page % p->banks;
  r->row = page / p->banks;
  for (int64_t bit = 0; bit < kMasks; bit++) bank ^= (int64_t)odd((uint64_t)(r->row & p->masks[bit])) << bit;
  if (p->hash) {  // all bits of the row above decide, as in address maps that gather entropy [18 of [001]]
    const uint64_t spread = mixed((uint64_t)page + 1);
    bank = (int64_t)(spread % (uint64_t)p->banks);
    r->row = page;
    channel = (channel + (int64_t)(spread >> 32)) % p->channels;
  }
  r->bank = (int32_t)bank;
  return (int32_t)channel;
}

static void respond(Machine* m, int32_t index, int64_t data) {
  int64_t at = data;
  Request* r = &m->requests[index];
  if (!r->write && m->p.port) at = m->port_free = later(at, m->port_free) + m->p.port;
  eddy_post(m, at + m->p.way, kRespond, index);
  if (r->way < 0) return;
  Line* line = &m->lines[r->way];
  line->pending = -1;
  for (int32_t other = r->next; other >= 0; other = m->requests[other].next) {
    int64_t also = data;
    if (m->p.port) also = m->port_free = later(also, m->port_free) + m->p.port;
    eddy_post(m, also + m->p.way, kRespond, other);
  }
}

static void enter(Machine* m, int32_t index) {
  Request* r = &m->requests[index];
  Channel* c = &m->channels[place(&m->p, r)];
  const int32_t number = (int32_t)(c - m->channels);
  r->queued = m->now;
  r->age = m->ages++;
  r->bypassed = 0;
  Counters* n = &m->counters[r->tenant];
  n->requests++;
  n->writes += r->write;
  if (c->own_rows[r->tenant][r->bank] == r->row) n->own_row_hits++;
  c->own_rows[r->tenant][r->bank] = r->row;
  if (c->count < m->p.queue) {
    c->queue[c->count++] = index;
  } else {  // waits outside, in order: what is behind a full queue
    r->behind = -1;
    if (c->head < 0) c->head = index;
    else m->requests[c->tail].behind = index;
    c->tail = index;
  }
  if (!c->due) {
    c->due = 1;
    eddy_post(m, m->now, kSchedule, number);
  }
}

static int64_t set_of(const Parameters* p, int64_t line) {
  return (int64_t)((p->plain_sets ? (uint64_t)line : mixed((uint64_t)line)) % (uint64_t)p->sets);
}

static void look_in_shadow(Machine* m, const Request* r) {
  const Parameters* p = &m->p;
  const int64_t set = set_of(p, r->line);
  if (!p->shadow_every || set % p->shadow_every) return;
  const int64_t first = set / p->shadow_every % kShadowSets * p->ways;
  int64_t* tags = &m->shadow[r->tenant][first];
  int64_t* used = &m->shadow_used[r->tenant][first];
  Counters* n = &m->counters[r->tenant];
  if (!r->write) n->shadow_looks++;
  int64_t oldest = 0;
  for (int64_t i = 0; i < p->ways; i++) {
    if (tags[i] == r->line + 1) {
      if (r->write) {
        tags[i] = 0;
        used[i] = 0;
        return;
      }
      n->shadow_hits++;
      used[i] = m->ages++;
      return;
    }
    if (used[i] < used[oldest]) oldest = i;
  }
  if (r->write) return;
  tags[oldest] = r->line + 1;
  used[oldest] = m->ages++;
}

/// A tenant begins a launch: the shared cache drops its lines, set by set, before anybody reads.
void eddy_forget(Machine* m, int32_t tenant) {
  const Parameters* p = &m->p;
  if (!p->forgets) return;
  m->walked = later(m->now, m->walked) + p->forgets;
  for (int64_t i = 0; i < p->sets * p->ways; i++)
    if (m->lines[i].whose == tenant && m->lines[i].pending < 0) m->lines[i].tag = m->lines[i].used = 0;
}

/// Whether a line is on its way from memory, or a store to it is on its way there.
static int busy(const Machine* m, int64_t line) {
  for (int64_t c = 0; c < m->p.cores; c++) {
    const Core* core = &m->cores[c];
    for (int32_t i = 0; i < core->stores - core->unsent && m->p.writes; i++)
      if (m->requests[core->landing[i]].line == line) return 1;
    for (int32_t kind = 0; kind < 2; kind++) {
      for (int32_t i = core->asked_head[kind]; i >= 0; i = m->requests[i].after)
        if (m->requests[i].fetched && !m->requests[i].ready && m->requests[i].line == line) return 1;
    }
  }
  return 0;
}

/// Look the line up: writes go through and forget it, reads that miss fetch it.
static void look_up(Machine* m, int32_t index) {
  const Parameters* p = &m->p;
  Request* r = &m->requests[index];
  r->next = -1;
  r->way = -1;
  look_in_shadow(m, r);
  const int64_t start = later(m->now, m->cache_free);
  m->cache_free = start + p->lookup;
  Line* set = &m->lines[set_of(p, r->line) * p->ways];
  int64_t victim = -1;
  for (int64_t i = 0; i < p->ways; i++) {
    Line* line = &set[i];
    if (line->tag == r->line + 1) {
      if (r->write) {
        if (line->pending < 0) line->tag = line->used = 0;
        break;
      }
      m->counters[r->tenant].cache_hits++;
      line->used = m->ages++;
      if (p->ordered) m->replace = !i;
      if (line->pending >= 0) {  // on its way: wait with the request that fetches it
        r->next = m->requests[line->pending].next;
        m->requests[line->pending].next = index;
        return;
      }
      int64_t at = start + p->hit;
      m->cache_free = later(m->cache_free, start + p->sends);
      if (p->port) at = m->port_free = later(at, m->port_free) + p->port;
      eddy_post(m, at + p->way, kRespond, index);
      return;
    }
    if (line->pending < 0 && (victim < 0 || line->used < set[victim].used)) victim = i;
  }
  if (!r->write) {
    m->counters[r->tenant].cache_misses++;
    r->fetched = 1;
    if (p->ordered && victim >= 0) {
      int64_t way = set[0].tag ? set[1].tag ? m->replace : 1 : 0;
      if (set[way].pending < 0) victim = way;
      m->replace = !victim;
    }
    if (victim >= 0) {
      set[victim] = (Line){r->line + 1, m->ages++, index, r->tenant};
      r->way = (int32_t)(&set[victim] - m->lines);
    }
  }
  enter(m, index);
}

/// The first of the reads that wait is looked up when the cache is free, unless its line is busy: then all wait.
void eddy_look(Machine* m) {
  m->look_due = 0;
  const int32_t index = m->look_head;
  if (index < 0 || busy(m, m->requests[index].line)) return;
  if (later(m->walked, m->cache_free) > m->now) {
    eddy_look_soon(m, later(m->walked, m->cache_free));
    return;
  }
  m->look_head = m->requests[index].behind;
  look_up(m, index);
  eddy_look_soon(m, m->cache_free);
}

/// The reads that wait are looked at again at this time.
void eddy_look_soon(Machine* m, int64_t time) {
  if (m->look_due || m->look_head < 0) return;
  m->look_due = 1;
  eddy_post(m, time, kLook, 0);
}

/// A request reaches the shared cache.
void eddy_arrive(Machine* m, int32_t index) {
  Request* r = &m->requests[index];
  if (!m->p.sets) {
    r->next = -1;
    r->way = -1;
    if (!r->write) m->counters[r->tenant].cache_misses++;
    enter(m, index);
  } else if (m->p.ordered && !r->write) {
    r->behind = -1;
    if (m->look_head < 0) m->look_head = index;
    else m->requests[m->look_tail].behind = index;
    m->look_tail = index;
    eddy_look_soon(m, m->now);
  } else if (!r->write && m->walked > m->now) {
    eddy_post(m, m->walked, kArrive, index);
  } else {
    look_up(m, index);
  }
}

typedef struct {
  int64_t activate, column, data;
  int32_t hit, conflict;
} Plan;

static Plan plan(const Machine* m, const Channel* c, const Request* r) {
  const Parameters* p = &m->p;
  const Bank* bank = &c->banks[r->bank];
  Plan plan = {0, 0, 0, bank->row == r->row, 0};
  plan.conflict = !plan.hit && bank->row >= 0;
  if (plan.hit) {
    plan.column = later(m->now, bank->column);
  } else {
    plan.activate = later(m->now, bank->column);
    if (plan.conflict) plan.activate = later(later(m->now, bank->activated + p->ras), bank->busy) + p->rp;
    if (p->faw) plan.activate = later(plan.activate, c->activates[c->at] + p->faw);
    if (p->rrd) plan.activate = later(plan.activate, c->activates[(c->at + kActivates - 1) % kActivates] + p->rrd);
    plan.column = plan.activate + p->rcd;
  }
  if (p->wtr && c->wrote && !r->write) plan.column = later(plan.column, c->bus + p->wtr);
  const int64_t bus = c->bus + (c->wrote != r->write ? p->turnaround + (r->write ? p->rtw : 0) : 0);
  plan.data = later(plan.column + p->cl, bus);
  return plan;
}

/// The tenant that may be served: the one of least bandwidth among those that wait; -1 where all may.
static int32_t preferred(Machine* m, const Channel* c) {
  if (!m->p.least_first) return -1;
  while (m->now - m->decayed >= m->p.least_first) {
    for (int64_t t = 0; t < m->p.tenants; t++) m->least[t] /= 2;
    m->decayed += m->p.least_first;
  }
  int32_t best = -1;
  for (int32_t i = 0; i < c->count; i++) {
    const int32_t tenant = m->requests[c->queue[i]].tenant;
    if (best < 0 || m->least[tenant] < m->least[best]) best = tenant;
  }
  return best;
}

static void serve(Machine* m, Channel* c, int32_t at, Plan chosen) {
  const Parameters* p = &m->p;
  const int32_t index = c->queue[at];
  Request* r = &m->requests[index];
  for (int32_t i = at; i + 1 < c->count; i++) c->queue[i] = c->queue[i + 1];
  c->count--;
  if (c->head >= 0) {  // one of those outside enters
    const int32_t entering = c->head;
    Request* next = &m->requests[entering];
    c->head = next->behind;
    next->age = m->ages++;
    c->queue[c->count++] = entering;
  }
  Bank* bank = &c->banks[r->bank];
  const int64_t before = c->bus;
  const int64_t burst = p->burst * r->eighths / 8;
  c->bus = chosen.data + burst;
  bank->row = r->row;
  if (!chosen.hit) {
    bank->activated = chosen.activate;
    c->activates[c->at] = chosen.activate;
    c->at = (c->at + 1) % kActivates;
  }
  bank->column = chosen.column;
  bank->busy = c->bus - p->cl;
  c->wrote = r->write;
  const int32_t same = chosen.hit && c->streak_bank == r->bank && c->streak_row == r->row;
  c->streak = same ? c->streak + 1 : 0;
  c->streak_bank = r->bank;
  c->streak_row = r->row;
  Counters* n = &m->counters[r->tenant];
  n->row_hits += chosen.hit;
  n->memory_ticks += c->bus - r->queued;
  m->least[r->tenant] += burst;
  uint32_t held = 0;  // tenants that had something waiting while this one was served
  for (int32_t i = 0; i < c->count; i++) {
    const Request* other = &m->requests[c->queue[i]];
    if (other->tenant == r->tenant || held >> other->tenant & 1) continue;
    held |= 1u << other->tenant;
    m->counters[other->tenant].held_ticks += c->bus - later(before, m->now);
  }
  respond(m, index, c->bus);
}

static void refresh(Machine* m, Channel* c) {
  const Parameters* p = &m->p;
  if (!p->refresh_every) return;
  const int64_t due = m->now / p->refresh_every;
  if (due == c->refreshes) return;
  c->refreshes = due;
  const int64_t end = due * p->refresh_every + p->refresh;
  for (int64_t i = 0; i < p->banks; i++) {
    c->banks[i].row = -1;
    c->banks[i].column = later(c->banks[i].column, end);
  }
}

static void schedule_one(Machine* m, Channel* c) {
  const Parameters* p = &m->p;
  const int32_t tenant = preferred(m, c);
  int32_t best = -1, oldest = -1;
  Plan best_plan = {0, 0, 0, 0, 0};
  const int32_t capped = p->cap && c->streak + 1 >= p->cap;
  uint64_t wrote = 0;  // cores of which an older write is here
  for (int32_t i = 0; i < c->count; i++) {
    const Request* r = &m->requests[c->queue[i]];
    if (p->writes && r->write) {
      const uint64_t core = 1ull << m->warps[r->warp].core;
      if (wrote & core) continue;
      wrote |= core;
    }
    if (tenant >= 0 && r->tenant != tenant) continue;
    if (oldest < 0 || r->age < m->requests[c->queue[oldest]].age) oldest = i;
    const Plan candidate = plan(m, c, r);
    const int32_t better =
        best < 0 || candidate.data < best_plan.data ||
        (candidate.data == best_plan.data && candidate.hit > best_plan.hit) ||
        (candidate.data == best_plan.data && candidate.hit == best_plan.hit && r->age < m->requests[c->queue[best]].age);
    if (!better) continue;
    best = i;
    best_plan = candidate;
  }
  if (best == oldest) {
    c->overtaken = 0;
  } else {
    Request* first = &m->requests[c->queue[oldest]];
    const int32_t enough = p->overtakes && best_plan.hit && c->overtaken >= p->overtakes;
    if (capped || enough || (p->starvation && first->bypassed >= p->starvation)) {
      best = oldest;
      best_plan = plan(m, c, first);
      c->overtaken = 0;
    } else {
      first->bypassed++;
      c->overtaken = best_plan.hit ? c->overtaken + 1 : 0;
    }
  }
  serve(m, c, best, best_plan);
}

/// Serve what the bus can take soon: so far ahead that a row miss in an idle bank costs the bus nothing.
void eddy_schedule(Machine* m, int32_t number) {
  Channel* c = &m->channels[number];
  const int64_t ahead = m->p.rp + m->p.rcd + m->p.cl;
  c->due = 0;
  refresh(m, c);
  while (c->count && c->bus <= m->now + ahead) schedule_one(m, c);
  if (!c->count) return;
  c->due = 1;
  eddy_post(m, c->bus - ahead, kSchedule, number);
}
