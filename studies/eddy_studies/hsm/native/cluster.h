// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The state of the fast cluster model: cores with warps, the shared cache, DRAM channels, and one queue of events.
///
/// One flat structure without pointers: a copy of its bytes is a copy of the machine. Time is in ticks, sixteen of which
/// are a cycle of the cores; all arithmetic is of integers, so that every platform gives the same numbers.
#pragma once
#include <stdint.h>

enum {
  kRounds = 64,  // after which moving lines come again
  kCores = 32,
  kWarps = 16,
  kTenants = 8,
  kChannels = 16,
  kBanks = 64,
  kQueue = 256,
  kSets = 1 << 14,
  kWays = 16,
  kShadowSets = 1 << 11,
  kRequests = 1 << 14,
  kEvents = 1 << 15,
  kActivates = 4,
  kMasks = 5,
  kLanding = 16,
};

/// What the machine is made of; in the order of `_parameters` in cluster.py.
typedef struct {
  int64_t cores, warps, fills, tenants;
  /// Between a core and the shared cache, one way; a transfer on the cores' port (0: none), a look-up; a switch.
  int64_t way, port, lookup, hit, change;
  int64_t sets, ways, shadow_every;
  /// DRAM: channels, banks and rows, entries of a channel's queue, row hits in a row at most (0: no bound).
  int64_t channels, banks, row_lines, interleave, hash, queue, cap, starvation;
  int64_t rcd, rp, cl, ras, faw, rrd, burst, turnaround, refresh_every, refresh;
  /// Serve the tenant of least bandwidth first, bandwidth halved every so many ticks; 0: first-ready first-come.
  int64_t least_first;
  /// Bits of a row's number whose parity is added to each bit of its bank's.
  int64_t masks[kMasks];
  /// From a write's last data to a read's column command, and from a read's last data to a write's first; beside
  /// `turnaround`.
  int64_t wtr, rtw;
  /// Row hits in a row that may overtake an older request; 0: no bound.
  int64_t overtakes;
  /// Stores between the shared cache and memory at once, those of a core in order; 0: no bound, in any order.
  int64_t writes;
  /// The shared cache looks nothing up for so long while it sends a line it has.
  int64_t sends;
  /// A line's set is its number's lowest bits; else all bits decide.
  int64_t plain_sets;
  /// A tenant's lines go when it begins a launch, which holds all look-ups of reads up for so long; 0: they stay.
  int64_t forgets;
  /// Reads are looked up one after the other, and the first waits while its line is on its way or is being stored to;
  /// lines that a core asked for come in that order, those with instructions apart.
  int64_t ordered;
} Parameters;

/// One kernel's work: groups of records, taken in order and begun again at the end.
typedef struct {
  /// Of each record, instructions before it, and its line; the highest bit of a line marks a write, the three bits below
  /// say how many eighths of the line it leaves out.
  const int32_t* gaps;
  const uint32_t* lines;
  /// First record of each group, and one past the last of all.
  const int32_t* first;
  int64_t groups;
  /// Lines a warp may wait for at once.
  int64_t window;
  /// Stores of a core under way, its warps going on meanwhile; 0: stores are waited for as reads are.
  int64_t stores;
  /// A core's ticks for an instruction, and a warp's own at least.
  int64_t issue, latency;
  /// First line of its memory; lines below `moving` are others in each round.
  int64_t base, moving;
  /// Work-groups of a launch, the next of which begins when all have ended; 0: each group begins by itself.
  int64_t launch;
  /// In place of a window, of each record: lines of data (4 bits) and of instructions (4) that may be on their way when
  /// it is sent, and ticks of work from the answer that made it so, and 1 more; 0 ticks: it waits for no answer. Or null.
  const uint32_t* waits;
} Kernel;

/// What is counted of a tenant; mirrored by `_COUNTERS` in cluster.py.
typedef struct {
  int64_t instructions, issue_ticks, core_ticks, requests, row_hits, writes, cache_hits, cache_misses;
  /// Whole ways of reads; from entering the memory's queue to the last beat; what others' service held requests up.
  int64_t read_ticks, memory_ticks, held_ticks;
  /// Hits of rows and of sampled cache lines if nobody else were there.
  int64_t own_row_hits, shadow_hits, shadow_looks, groups, rounds, reads;
} Counters;

typedef struct {
  int64_t time, order;
  int32_t kind, what;
} Event;

typedef struct {
  int64_t line, born, queued;
  int32_t warp, tenant, next, write, eighths, posted;
  int64_t age, bypassed;
  int32_t way, bank, behind;
  /// Where reads are ordered: whether it is of instructions, was fetched from memory, has come; its core's next one.
  int32_t program, fetched, ready, after;
  int64_t row;
} Request;

typedef struct {
  int32_t core, record, end, outstanding, state, next;
  /// Lines of data and of instructions on their way; when the last one came, and the one that the next record waited for.
  int32_t asked[2];
  int64_t answered, met;
} Warp;

typedef struct {
  int64_t free, since;
  int32_t owner, wanted, active, outstanding, stores, wait_head, wait_tail;
  /// Stores that have not landed, oldest first; the first `stores - unsent` of them have left the core.
  int32_t unsent, landing[kLanding];
  /// Reads in the order in which they were asked for, of data and of instructions.
  int32_t asked_head[2], asked_tail[2];
} Core;

typedef struct {
  int64_t row, activated, column, busy;
} Bank;

typedef struct {
  int64_t bus, activates[kActivates], refreshes, streak_row;
  int32_t at, count, head, tail, due, wrote, streak, streak_bank, overtaken;
  int32_t queue[kQueue];
  Bank banks[kBanks];
  int64_t own_rows[kTenants][kBanks];
} Channel;

typedef struct {
  int64_t tag, used;
  int32_t pending, whose;
} Line;

typedef struct {
  Parameters p;
  int64_t now, order, ages, cache_free, port_free, up_free, decayed, walked;
  /// Stores that left the cores and have not landed, whether a `kSend` is due, the core whose turn it is.
  int64_t writing, sending, turn;
  /// Reads before the shared cache, in order, and whether a `kLook` is due.
  int32_t look_head, look_tail, look_due;
  /// The way that the next line takes, where the cache is ordered.
  int32_t replace;
  /// Groups of each tenant that run.
  int64_t running[kTenants];
  int64_t least[kTenants], next_group[kTenants];
  Counters counters[kTenants];
  Core cores[kCores];
  Warp warps[kCores * kWarps];
  Channel channels[kChannels];
  Line lines[kSets * kWays];
  int64_t shadow[kTenants][kShadowSets * kWays];
  int64_t shadow_used[kTenants][kShadowSets * kWays];
  Request requests[kRequests];
  int32_t free_request, requests_used, events, failed;
  Event heap[kEvents];
} Machine;

enum { kReady, kArrive, kRespond, kSchedule, kSend, kLook };
enum { kIdle, kCompute, kFull, kFills, kEnding, kLaunch };

static inline int64_t later(int64_t a, int64_t b) { return a > b ? a : b; }

void eddy_post(Machine* m, int64_t time, int32_t kind, int32_t what);
int32_t eddy_take(Machine* m);
void eddy_drop(Machine* m, int32_t request);
void eddy_arrive(Machine* m, int32_t request);
void eddy_look(Machine* m);
void eddy_look_soon(Machine* m, int64_t time);
void eddy_forget(Machine* m, int32_t tenant);
void eddy_schedule(Machine* m, int32_t channel);
