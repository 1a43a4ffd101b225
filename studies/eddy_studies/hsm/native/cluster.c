// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// The fast cluster model: cores whose warps compute and ask for lines, in a closed loop. See cluster.h.
//
// A core gives its issue slots to one warp's run of instructions after the other (greedy, then oldest); a warp goes on
// while its window of outstanding lines has room, and ends a work-group when all its lines are there.
#include "cluster.h"

#define EXPORT __attribute__((visibility("default")))

void *memset(void* to, int value, uint64_t bytes) {
  for (uint64_t i = 0; i < bytes; i++) ((uint8_t*)to)[i] = (uint8_t)value;
  return to;
}

void *memcpy(void* restrict to, const void* restrict from, uint64_t bytes) {
  for (uint64_t i = 0; i < bytes; i++) ((uint8_t*)to)[i] = ((const uint8_t*)from)[i];
  return to;
}

static int earlier(const Event* a, const Event* b) {
  return a->time < b->time || (a->time == b->time && a->order < b->order);
}

void eddy_post(Machine* m, int64_t time, int32_t kind, int32_t what) {
  if (m->events == kEvents) {
    m->failed = 1;
    return;
  }
  const Event event = {later(time, m->now), m->order++, kind, what};
  int32_t at = m->events++;
  while (at && earlier(&event, &m->heap[(at - 1) / 2])) {
    m->heap[at] = m->heap[(at - 1) / 2];
    at = (at - 1) / 2;
  }
  m->heap[at] = event;
}

static Event soonest(Machine* m) {
  const Event first = m->heap[0], last = m->heap[--m->events];
  int32_t at = 0;
  for (;;) {
    int32_t child = 2 * at + 1;
    if (child >= m->events) break;
    if (child + 1 < m->events && earlier(&m->heap[child + 1], &m->heap[child])) child++;
    if (!earlier(&m->heap[child], &last)) break;
    m->heap[at] = m->heap[child];
    at = child;
  }
  m->heap[at] = last;
  return first;
}

int32_t eddy_take(Machine* m) {
  if (m->free_request >= 0) {
    const int32_t index = m->free_request;
    m->free_request = m->requests[index].next;
    return index;
  }
  if (m->requests_used == kRequests) {
    m->failed = 1;
    return 0;
  }
  return m->requests_used++;
}

void eddy_drop(Machine* m, int32_t index) {
  m->requests[index].next = m->free_request;
  m->free_request = index;
}

static void begin_core(Machine* m, const Kernel* kernels, int32_t core);

/// Whether the tenant's next group is the first of a launch, and one of the launch before still runs.
static int held_back(const Machine* m, const Kernel* k, int32_t tenant) {
  return k->launch && m->running[tenant] && m->next_group[tenant] % k->launch == 0;
}

/// The next work-group of the core's owner, or none where the core changes hands.
static int begin_group(Machine* m, const Kernel* kernels, Warp* w) {
  Core* core = &m->cores[w->core];
  if (core->wanted != core->owner || core->owner < 0) return 0;
  const Kernel* k = &kernels[core->owner];
  const int64_t group = m->next_group[core->owner];
  if (k->launch && group % k->launch == 0) eddy_forget(m, core->owner);
  m->running[core->owner]++;
  m->next_group[core->owner] = (group + 1) % k->groups;
  if (group + 1 == k->groups) m->counters[core->owner].rounds++;
  w->record = k->first[group];
  w->end = k->first[group + 1];
  return 1;
}

static void advance(Machine* m, const Kernel* kernels, int32_t index);

/// Warps of a tenant that waited for the end of its launch go on.
static void launch(Machine* m, const Kernel* kernels, int32_t tenant) {
  const int32_t warps = (int32_t)(m->p.cores * m->p.warps);
  for (int32_t index = 0; index < warps; index++) {
    const Warp* w = &m->warps[index];
    if (w->state == kLaunch && m->cores[w->core].owner == tenant) advance(m, kernels, index);
  }
}

/// Give the warp's next run of instructions its issue slots, or end its group.
static void advance(Machine* m, const Kernel* kernels, int32_t index) {
  Warp* w = &m->warps[index];
  Core* core = &m->cores[w->core];
  if (w->record == w->end) {
    if (w->outstanding) {
      w->state = kEnding;
      return;
    }
    if (w->state != kLaunch) {
      m->counters[core->owner].groups++;
      if (--m->running[core->owner] == 0) launch(m, kernels, core->owner);
    }
    if (held_back(m, &kernels[core->owner], core->owner)) {
      w->state = kLaunch;
      return;
    }
    if (!begin_group(m, kernels, w)) {
      w->state = kIdle;
      if (--core->active == 0 && core->wanted != core->owner) {
        m->counters[core->owner].core_ticks += m->now - core->since;
        core->owner = core->wanted;
        core->since = m->now;
        core->free = m->now + m->p.change;
        begin_core(m, kernels, w->core);
      }
      return;
    }
  }
  const Kernel* k = &kernels[core->owner];
  const int64_t gap = k->gaps[w->record] + 1, start = later(m->now, core->free);
  core->free = start + gap * k->issue;
  Counters* n = &m->counters[core->owner];
  n->instructions += gap;
  n->issue_ticks += gap * k->issue;
  w->state = kCompute;
  w->met = w->answered;
  eddy_post(m, start + gap * later(k->issue, k->latency), kReady, index);
}

static void begin_core(Machine* m, const Kernel* kernels, int32_t number) {
  Core* core = &m->cores[number];
  if (core->owner < 0) return;
  for (int64_t i = 0; i < m->p.warps; i++) {
    const int32_t index = (int32_t)(number * m->p.warps + i);
    Warp* w = &m->warps[index];
    core->active++;
    w->core = number;
    w->outstanding = 0;
    w->record = w->end = 0;
    w->asked[0] = w->asked[1] = 0;
    w->state = kLaunch;
    advance(m, kernels, index);
  }
}

/// Whether more lines are on their way to the warp than its next request may find.
static int early(const Kernel* k, const Warp* w) {
  const uint32_t waits = k->waits[w->record];
  return w->asked[0] > (int32_t)(waits & 15) || w->asked[1] > (int32_t)(waits >> 4 & 15);
}

/// Whether a store goes on by itself, in the core's store buffer.
static int posted(const Kernel* k, uint32_t line) { return k->stores && line >> 31; }

static int64_t line_of(const Machine* m, const Core* core, const Kernel* k, uint32_t line) {
  const int64_t own = line & 0x0FFFFFFFu, round = m->counters[core->owner].rounds % kRounds;
  return k->base + own + (own < k->moving ? round * k->moving : k->moving * (kRounds - 1));
}

/// The core's youngest store to a line that has not landed, by its place; -1 where there is none.
static int32_t landing(const Machine* m, const Core* core, int64_t line) {
  if (!m->p.writes) return -1;
  for (int32_t i = core->stores - 1; i >= 0; i--)
    if (m->requests[core->landing[i]].line == line) return i;
  return -1;
}

/// Whether the core has no room for the warp's next request, or may not read what it has not stored yet.
static int crowded(const Machine* m, const Core* core, const Kernel* k, uint32_t line) {
  if (!posted(k, line)) return core->outstanding >= m->p.fills || landing(m, core, line_of(m, core, k, line)) >= 0;
  if (m->p.writes && landing(m, core, line_of(m, core, k, line)) >= core->stores - core->unsent + (m->p.ordered != 0)) return 0;
  return core->stores >= k->stores;
}

/// Stores leave the cores in turns while fewer than `writes` are on their way; those to one line that wait leave as one.
static void send(Machine* m) {
  const Parameters* p = &m->p;
  while (m->writing < p->writes) {
    int64_t tried = 0;
    while (tried < p->cores && !m->cores[m->turn].unsent) {
      m->turn = (m->turn + 1) % p->cores;
      tried++;
    }
    if (tried == p->cores) return;
    if (m->up_free > m->now) {
      if (!m->sending) eddy_post(m, m->up_free, kSend, 0);
      m->sending = 1;
      return;
    }
    Core* core = &m->cores[m->turn];
    const int32_t number = core->landing[core->stores - core->unsent--];
    m->writing++;
    m->up_free = m->now + later(p->port * m->requests[number].eighths / 8, p->lookup);
    eddy_post(m, m->now + p->way, kArrive, number);
    m->turn = (m->turn + 1) % p->cores;
  }
}

/// A store into the core's buffer: with one to the same line that waits there, or behind the others.
static void buffer(Machine* m, Core* core, int32_t number) {
  const Request* r = &m->requests[number];
  const int32_t same = landing(m, core, r->line);
  if (same >= core->stores - core->unsent + (m->p.ordered != 0) && same >= 0) {
    Request* first = &m->requests[core->landing[same]];
    first->eighths = first->eighths + r->eighths < 8 ? first->eighths + r->eighths : 8;
    eddy_drop(m, number);
    return;
  }
  core->landing[core->stores++] = number;
  core->unsent++;
  send(m);
}

/// A store has landed.
static void landed(Machine* m, Core* core, int32_t number) {
  int32_t at = 0;
  while (core->landing[at] != number) at++;
  for (core->stores--; at < core->stores; at++) core->landing[at] = core->landing[at + 1];
  m->writing--;
  send(m);
}

/// A read goes behind the core's others of its kind.
static void ask(Machine* m, Core* core, int32_t number) {
  const int32_t kind = m->requests[number].program;
  m->requests[number].after = -1;
  if (core->asked_head[kind] < 0) core->asked_head[kind] = number;
  else m->requests[core->asked_tail[kind]].after = number;
  core->asked_tail[kind] = number;
}

/// Send the warp's request, or make it wait for its window or for the core's.
static void issue(Machine* m, const Kernel* kernels, int32_t index) {
  Warp* w = &m->warps[index];
  Core* core = &m->cores[w->core];
  const Kernel* k = &kernels[core->owner];
  const uint32_t line = k->lines[w->record];
  if (k->waits ? early(k, w) : !posted(k, line) && w->outstanding >= k->window) {
    w->state = kFull;
    return;
  }
  if (k->waits && k->waits[w->record] >> 8) {
    const int64_t due = w->met + (k->waits[w->record] >> 8) - 1;
    if (due > m->now) {
      w->state = kCompute;
      eddy_post(m, due, kReady, index);
      return;
    }
  }
  if (crowded(m, core, k, line)) {
    w->state = kFills;
    w->next = -1;
    if (core->wait_head < 0) core->wait_head = index;
    else m->warps[core->wait_tail].next = index;
    core->wait_tail = index;
    return;
  }
  w->record++;
  const int32_t number = eddy_take(m);
  Request* r = &m->requests[number];
  r->line = line_of(m, core, k, line);
  r->write = (int32_t)(line >> 31);
  r->eighths = r->write ? 8 - (int32_t)(line >> 28 & 7) : 8;
  r->program = !r->write && line >> 28 & 1;
  r->fetched = r->ready = 0;
  if (m->p.ordered && !r->write) ask(m, core, number);
  r->warp = index;
  r->tenant = core->owner;
  r->born = m->now;
  r->posted = posted(k, line);
  if (r->posted && m->p.writes) {
    buffer(m, core, number);
    advance(m, kernels, index);
    return;
  }
  if (r->posted) {
    core->stores++;
  } else {
    w->outstanding++;
    w->asked[r->program]++;
    core->outstanding++;
  }
  int64_t at = m->now;
  if (r->write && m->p.port) at = m->up_free = later(at, m->up_free) + m->p.port;
  eddy_post(m, at + m->p.way, kArrive, number);
  advance(m, kernels, index);
}

static void answered(Machine* m, const Kernel* kernels, int32_t number) {
  const Request r = m->requests[number];
  Warp* w = &m->warps[r.warp];
  Core* core = &m->cores[w->core];
  eddy_drop(m, number);
  if (!r.write) {
    m->counters[r.tenant].read_ticks += m->now - r.born;
    m->counters[r.tenant].reads++;
  }
  if (r.posted && m->p.writes) {
    landed(m, core, number);
  } else if (r.posted) {
    core->stores--;
  } else {
    const int waited = kernels[core->owner].waits && w->record < w->end && early(&kernels[core->owner], w);
    w->outstanding--;
    w->asked[r.program]--;
    w->answered = m->now;
    core->outstanding--;
    if (waited) w->met = m->now;
    if (w->state == kFull) issue(m, kernels, r.warp);
    else if (w->state == kEnding && !w->outstanding) advance(m, kernels, r.warp);
  }
  const int32_t waiting = core->wait_head;
  if (waiting < 0) return;
  const Warp* first = &m->warps[waiting];
  const Kernel* k = &kernels[core->owner];
  if (crowded(m, core, k, k->lines[first->record])) return;
  core->wait_head = first->next;
  issue(m, kernels, waiting);
}

/// A line or an answer has come: it is taken when all that its core asked for before are there.
static void come(Machine* m, const Kernel* kernels, int32_t number) {
  Request* r = &m->requests[number];
  if (m->p.ordered && !r->write) {
    Core* core = &m->cores[m->warps[r->warp].core];
    const int32_t kind = r->program;
    r->ready = 1;
    for (int32_t first; (first = core->asked_head[kind]) >= 0 && m->requests[first].ready;) {
      core->asked_head[kind] = m->requests[first].after;
      answered(m, kernels, first);
    }
  } else {
    answered(m, kernels, number);
  }
  eddy_look_soon(m, m->now);
}

EXPORT int64_t eddy_machine_bytes(void) { return sizeof(Machine); }

/// A machine at rest; the memory is all zeros.
EXPORT int64_t eddy_machine(Machine* m, const Parameters* p) {
  if (p->cores > kCores || p->warps > kWarps || p->tenants > kTenants || p->channels > kChannels ||
      p->banks > kBanks || p->queue > kQueue || p->ways > kWays || p->sets > kSets ||
      p->cores * p->fills + p->cores * p->warps > kRequests ||
      (p->shadow_every && (p->sets + p->shadow_every - 1) / p->shadow_every > kShadowSets))
    return 1;
  m->p = *p;
  m->free_request = -1;
  for (int64_t i = 0; i < p->cores; i++) m->cores[i] = (Core){0, 0, -1, -1, 0, 0, 0, -1, -1, 0, {0}, {-1, -1}, {-1, -1}};
  m->look_head = m->look_tail = -1;
  for (int64_t i = 0; i < p->sets * p->ways; i++) m->lines[i].pending = -1;
  for (int64_t c = 0; c < p->channels; c++) {
    Channel* channel = &m->channels[c];
    channel->head = channel->tail = -1;
    channel->streak_bank = -1;
    for (int32_t i = 0; i < kActivates; i++) channel->activates[i] = -(1ll << 40);
    for (int64_t b = 0; b < p->banks; b++) {
      channel->banks[b].row = -1;
      for (int64_t t = 0; t < p->tenants; t++) channel->own_rows[t][b] = -1;
    }
  }
  return 0;
}

/// Run to a time with these owners of the cores wanted; what has an owner now is drained first.
EXPORT int64_t eddy_run(Machine* m, const Kernel* kernels, const int64_t* wanted, int64_t until) {
  for (int32_t c = 0; c < m->p.cores; c++) {
    Core* core = &m->cores[c];
    core->wanted = (int32_t)wanted[c];
    if (!core->active && core->owner != core->wanted) {
      if (core->owner >= 0) m->counters[core->owner].core_ticks += m->now - core->since;
      core->owner = core->wanted;
      core->since = m->now;
      begin_core(m, kernels, c);
    }
  }
  while (!m->failed && m->events && m->heap[0].time < until) {
    const Event event = soonest(m);
    m->now = event.time;
    if (event.kind == kReady) issue(m, kernels, event.what);
    else if (event.kind == kArrive) eddy_arrive(m, event.what);
    else if (event.kind == kRespond) come(m, kernels, event.what);
    else if (event.kind == kLook) eddy_look(m);
    else if (event.kind == kSend) {
      m->sending = 0;
      send(m);
    } else eddy_schedule(m, event.what);
  }
  m->now = until;
  for (int32_t c = 0; c < m->p.cores; c++) {
    Core* core = &m->cores[c];
    if (core->owner >= 0) m->counters[core->owner].core_ticks += until - core->since;
    core->since = until;
  }
  return m->failed;
}

/// What was counted so far, of every tenant.
EXPORT void eddy_counted(const Machine* m, Counters* counters) {
  for (int64_t t = 0; t < m->p.tenants; t++) counters[t] = m->counters[t];
}
