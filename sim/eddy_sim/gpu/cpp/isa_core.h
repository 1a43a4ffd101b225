// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// One GPU core, instruction by instruction: the reference the RTL is compared with. docs/reference/gpu-isa.md is what it
/// implements; no timing, no caches.
#pragma once
#include <cstdint>
#include <vector>

#include "isa_memory.h"

namespace isa {

constexpr unsigned kMaxThreads = 16, kMaxWarps = 16, kMaxDepth = 63, kMaxCores = 8;

enum Cause : uint32_t {
  kFetchMisaligned = 0, kIllegal = 2, kBreakpoint = 3, kLoadMisaligned = 4, kStoreMisaligned = 6, kEcall = 11,
  kBarrierDeadlock = 24, kStackOverflow = 25
};

/// How the lanes to execute next are chosen among those of a warp that can.
enum class Choice : uint32_t { kPriority = 0, kRandom = 1 };

struct Config {
  uint32_t cores = 1, warps = 4, threads = 4, fpu = 1;
  uint32_t local_base = 0xffff0000, local_bytes = 16384;
  uint32_t starve_bound = 4096;
  uint32_t cap = 0;
  uint32_t choice = 0, seed = 1;  // `Choice`; the seed of random choices, of lanes and of warps
  uint32_t trace = 0;
};

/// What an instruction did, or that lanes trapped (`kind` 1: values are cause and value).
struct Record {
  uint32_t pc, instr;
  uint16_t mask;
  uint8_t core, warp, kind, rd;  // rd: 0xff none; 32 and up are floating-point registers
  uint16_t zero;
  uint32_t value[kMaxThreads];
};

struct Counters {
  uint64_t instructions = 0, loads = 0, stores = 0;
  uint64_t by_lanes[kMaxThreads + 1] = {};
};

struct Fault {
  bool there = false;
  uint32_t cause = 0, pc = 0, value = 0;
};

struct Lane {
  uint32_t x[64] = {};
  uint32_t pc = 0, depth = 0;
  uint32_t stack_base = 0;
  uint32_t mepc = 0, mcause = 0, mtval = 0, mdepth = 0;
};

struct Warp {
  uint32_t awaited = 0;  // warps that a wspawn waits for
  bool active = false, spawning = false, at_barrier = false, global = false, choose = false, alone = true;
  uint32_t live = 0, joined = 0, at_bar = 0, group = 0, favour = 0;
  uint32_t age = 0, barrier = 0, count = 0;
  uint32_t mscratch = 0, mtvec = 0, fflags = 0, frm = 0;
  Lane lane[kMaxThreads];
};

class Cluster;

class Core {
 public:
  Core(Cluster& cluster, const Config& config, uint32_t id);

  void start(uint32_t pc, uint32_t argument);
  bool running() const;
  bool can_run(unsigned warp) const;
  /// Every live warp waits, for a barrier (within the core or across cores) or to start others.
  bool waits(bool across) const;
  uint32_t active() const;
  void deadlock();
  /// Executes one instruction of a warp that can run.
  void step(unsigned warp);
  void release(uint32_t warps);

  Counters counters;
  Fault fault;
  Warp warp[kMaxWarps];
  uint32_t id, num_cores;

 private:
  friend class Execution;

  void choose(unsigned w);
  void arrive(unsigned w);
  uint32_t random();

  Cluster& cluster_;
  const Config& config_;
  uint32_t stack_bytes_ = 0, bar_pc_ = 0, counter_class_ = 1, random_;
  std::vector<uint8_t> local_;
};

class Cluster {
 public:
  explicit Cluster(const Config& config);

  enum class Stop : int { kIdle = 0, kExit = 1, kTohost = 2, kLimit = 3, kStuck = 4 };
  Stop run(uint64_t instructions);
  void note(const Record& record) {
    if (config.trace) trace.push_back(record);
  }

  Config config;
  Memory memory;
  std::vector<Core> core;
  std::vector<Record> trace;


 private:
  bool open_global(const Core& mine);
  void find_deadlocks();

  uint32_t random_;
};

}  // namespace isa
