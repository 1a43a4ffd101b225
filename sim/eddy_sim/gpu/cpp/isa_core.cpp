// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Warps: which lanes execute, barriers, the clusters' loop.
#include "isa_core.h"

#include <algorithm>

#include "isa_execute.h"

namespace isa {

Core::Core(Cluster& cluster, const Config& config, uint32_t number)
    : id(number), num_cores(config.cores), cluster_(cluster), config_(config),
      random_((config.seed * 2654435761u + number * 40503u) | 1), local_(config.local_bytes) {}

uint32_t Core::random() {
  random_ ^= random_ << 13;
  random_ ^= random_ >> 17;
  random_ ^= random_ << 5;
  return random_;
}

static void begin(Warp& warp, uint32_t pc) {
  warp.active = warp.alone = true;
  warp.at_barrier = warp.choose = false;
  warp.live = warp.group = 1;
  warp.joined = warp.at_bar = 0;
  warp.favour = ~0u;
  warp.age = 0;
  warp.lane[0].pc = pc;
  warp.lane[0].depth = 0;
}

void Core::start(uint32_t pc, uint32_t argument) {
  for (auto& w : warp) w = Warp();
  std::fill(local_.begin(), local_.end(), 0);
  counters = Counters();
  fault = Fault();
  counter_class_ = 1;
  bar_pc_ = 0;
  stack_bytes_ = 0;
  warp[0].mscratch = argument;
  begin(warp[0], pc & ~3u);
}

bool Core::running() const {
  for (unsigned w = 0; w < config_.warps; w++) {
    if (warp[w].active) return true;
  }
  return false;
}

bool Core::waits(bool across) const {
  const Warp* first = nullptr;
  bool same = true;
  for (unsigned w = 0; w < config_.warps; w++) {
    const Warp& my = warp[w];
    if (!my.active) continue;
    if (fault.there || my.choose || !(my.at_barrier || my.spawning)) return false;
    if (my.spawning && !(my.awaited & active())) return false;  // they have ended since it looked
    if (!first) first = &my;
    same = same && my.at_barrier && my.global && my.barrier == first->barrier;
  }
  return first && across == same;
}

uint32_t Core::active() const {
  uint32_t found = 0;
  for (unsigned w = 0; w < config_.warps; w++) found |= uint32_t{warp[w].active} << w;
  return found;
}

/// docs/reference/gpu-isa.md, "Barriers that cannot open".
void Core::deadlock() {
  uint32_t waiting = 0;
  for (unsigned w = 0; w < config_.warps; w++) waiting |= uint32_t{warp[w].active && warp[w].at_barrier} << w;
  fault = {true, kBarrierDeadlock, bar_pc_, waiting};
}

bool Core::can_run(unsigned w) const { return warp[w].active && !warp[w].at_barrier && !fault.there; }

/// Ref: docs/reference/gpu-isa.md, "Which lanes execute".
void Core::choose(unsigned w) {
  Warp& my = warp[w];
  my.choose = false;
  const uint32_t runnable = my.live & ~my.joined & ~my.at_bar;
  if (!runnable) {
    if (!my.live) {
      my.active = false;
    } else if (my.at_bar == my.live) {
      arrive(w);
    } else {
      // Nobody can come to where these lanes wait.
      for (unsigned t = 0; t < config_.threads; t++) {
        if (my.joined >> t & 1) my.lane[t].pc += 4;
      }
      my.joined = 0;
      my.choose = true;
    }
    return;
  }
  const bool expired = my.age == config_.starve_bound;
  uint32_t favour = my.favour & (expired ? ~my.group : ~0u);
  if (!(runnable & favour)) favour = ~0u;
  uint32_t considered = runnable & favour;
  if (static_cast<Choice>(config_.choice) == Choice::kRandom) {
    uint32_t one = 0;
    while (!one) one = considered & (1u << (random() % config_.threads));
    considered = one;
  }
  uint64_t best = 0;
  const auto key = [&](unsigned t) {
    return (uint64_t{my.lane[t].depth} << 32 | static_cast<uint32_t>(~my.lane[t].pc)) + 1;
  };
  for (unsigned t = 0; t < config_.threads; t++) {
    if ((considered >> t & 1) && key(t) > best) best = key(t);
  }
  my.group = 0;
  for (unsigned t = 0; t < config_.threads; t++) {
    if ((runnable >> t & 1) && key(t) == best) my.group |= 1u << t;
  }
  my.alone = my.group == runnable;
  my.favour = my.alone ? ~0u : favour;
  if (expired || my.alone) my.age = 0;
}

void Core::arrive(unsigned w) {
  Warp& my = warp[w];
  my.at_barrier = true;
  if (my.global) return;  // the cluster's loop handles it
  uint32_t same = 0;
  for (unsigned k = 0; k < config_.warps; k++) {
    const Warp& other = warp[k];
    if (other.active && other.at_barrier && !other.global && other.barrier == my.barrier) same |= 1u << k;
  }
  if (static_cast<uint32_t>(__builtin_popcount(same)) >= my.count) release(same);
}

void Core::release(uint32_t warps) {
  for (unsigned k = 0; k < config_.warps; k++) {
    if (!(warps >> k & 1)) continue;
    warp[k].at_barrier = false;
    warp[k].at_bar = 0;
    warp[k].choose = true;
  }
}

void Core::step(unsigned w) {
  while (warp[w].choose && warp[w].active && !warp[w].at_barrier) choose(w);
  if (can_run(w)) Execution(*this, w).run();
  while (warp[w].choose && warp[w].active && !warp[w].at_barrier) choose(w);
}

Cluster::Cluster(const Config& c) : config(c), random_(c.seed | 1) {
  for (uint32_t k = 0; k < config.cores; k++) core.emplace_back(*this, config, k);
}

/// A core has arrived when all its warps wait at the barrier. It opens when as many cores as it counts have arrived, or
/// when all running cores have and their warps are as many as it counts. Returns whether it opened.
bool Cluster::open_global(const Core& mine) {
  const Warp* first = nullptr;
  for (unsigned k = config.warps; k-- > 0;) {
    if (mine.warp[k].active && mine.warp[k].at_barrier && mine.warp[k].global) first = &mine.warp[k];
  }
  if (!first) return false;
  uint32_t cores = 0, warps = 0, there[kMaxCores] = {};
  bool all = true;
  for (auto& c : core) {
    bool arrived = c.running();
    for (unsigned k = 0; k < config.warps; k++) {
      const Warp& w = c.warp[k];
      if (!w.active) continue;
      arrived = arrived && w.at_barrier && w.global && w.barrier == first->barrier;
      there[c.id] |= 1u << k;
    }
    if (arrived) cores++, warps += static_cast<uint32_t>(__builtin_popcount(there[c.id]));
    else there[c.id] = 0, all = all && !c.running();
  }
  if (cores < first->count && !(all && warps >= first->count)) return false;
  for (auto& c : core) c.release(there[c.id]);
  return cores != 0;
}

/// A core by itself; or all cores, where each of them waits at a barrier across cores.
void Cluster::find_deadlocks() {
  uint32_t across = 0;
  for (auto& c : core) {
    if (c.waits(false)) c.deadlock();
    across += c.waits(true);
  }
  if (across != core.size()) return;
  for (auto& c : core) c.deadlock();
}

Cluster::Stop Cluster::run(uint64_t limit) {
  const bool random = static_cast<Choice>(config.choice) == Choice::kRandom;
  const auto more = [&](uint64_t done) { return done < limit && memory.ended() == Ended::kNo; };
  uint64_t done = 0;
  while (more(done)) {
    bool moved = false, running = false;
    for (auto& c : core) {
      for (unsigned w = 0; w < config.warps && more(done); w++) {
        running = running || (!c.fault.there && c.warp[w].active);
        if (!c.can_run(w)) continue;
        moved = true;
        random_ = random_ * 1664525u + 1013904223u;
        if (random && random_ >> 31) continue;
        c.step(w);
        done++;
      }
    }
    if (!running) return Stop::kIdle;
    for (auto& c : core) moved = open_global(c) || moved;
    find_deadlocks();
    if (!moved && more(done)) return Stop::kStuck;
  }
  if (memory.ended() == Ended::kExit) return Stop::kExit;
  return memory.ended() == Ended::kTohost ? Stop::kTohost : Stop::kLimit;
}

}  // namespace isa
