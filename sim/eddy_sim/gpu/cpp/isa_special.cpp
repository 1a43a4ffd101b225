// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Control and status registers, traps' instructions, and Vortex's thread control.
#include "isa_execute.h"

namespace isa {

namespace {

constexpr uint32_t kMscratch = 0x340, kMepc = 0x341, kMcause = 0x342, kMtval = 0x343, kStackBase = 0x7c1, kStackBytes = 0x7c2;

bool by_lane(uint32_t number) { return number == kMepc || number == kMcause || number == kMtval || number == kStackBase; }

}  // namespace

void Execution::system() {
  if (funct3_ != 0 || rd_ != 0 || rs1_ != 0) return illegal();
  switch (instr_ >> 20) {
    case 0x000: return trap(mask_, kEcall, 0);
    case 0x001: return trap(mask_, kBreakpoint, 0);
    case 0x105: return;
    case 0x302:
      for (unsigned t = 0; t < threads_; t++) next_[t] = my_.lane[t].mepc, next_depth_[t] = my_.lane[t].mdepth;
      return;
    default: illegal();
  }
}

bool Execution::csr_known(uint32_t number, bool writes) const {
  if (writes && (number >> 10) == 3) return false;
  switch (number) {
    case 0x001: case 0x002: case 0x003: return core_.config_.fpu;
    case 0x300: case 0x301: case 0x304: case 0x344: case 0xf11: case 0xf12: case 0xf13: case 0xf15:
    case 0x305: case kMscratch: case kMepc: case kMcause: case kMtval: case 0x7c0: case kStackBase: case kStackBytes:
    case 0xcc0: case 0xcc1: case 0xcc2: case 0xcc3: case 0xcc4:
    case 0xfc0: case 0xfc1: case 0xfc2: case 0xfc3: case 0xfd0: case 0xf14:
    case 0xc00: case 0xc02: case 0xc80: case 0xc82:
      return true;
    default: return (number & 0xf60) == 0xb00 && (number & 0x1f) != 1;
  }
}

/// As [000]'s counters, in instructions instead of cycles.
uint64_t Execution::counter(uint32_t number) const {
  const Counters& c = core_.counters;
  const unsigned low = number & 0x1f;
  if (low == 0 || low == 2) return c.instructions;
  if (core_.counter_class_ == 1) return low == 3 ? c.loads : low == 4 ? c.stores : 0;
  if (core_.counter_class_ != 3) return 0;
  if (low == 3) return c.instructions;
  return low - 3 <= threads_ ? c.by_lanes[low - 3] : 0;
}

uint32_t Execution::csr_read(uint32_t number, unsigned t) const {
  const Lane& lane = my_.lane[t];
  const Config& config = core_.config_;
  uint32_t active = 0;
  for (unsigned k = 0; k < config.warps; k++) active |= uint32_t{core_.warp[k].active} << k;
  switch (number) {
    case 0x001: return my_.fflags;
    case 0x002: return my_.frm;
    case 0x003: return my_.frm << 5 | my_.fflags;
    case 0x300: return config.fpu ? 0x80007800 : 0x1800;
    case 0x301: return 0x40001100 | (config.fpu ? 0x20 : 0);
    case 0x305: return my_.mtvec;
    case kMscratch: return my_.mscratch;
    case kMepc: return lane.mepc;
    case kMcause: return lane.mcause;
    case kMtval: return lane.mtval;
    case 0x7c0: return core_.counter_class_;
    case 0xcc0: return t;
    case 0xcc1: return warp_;
    case 0xcc2: return core_.id;
    case 0xcc3: return active;
    case 0xcc4: return mask_;
    case 0xfc0: return config.threads;
    case 0xfc1: return config.warps;
    case 0xfc2: return core_.num_cores;
    case 0xfc3: return config.local_base;
    case 0xfd0: return config.cap;
    case 0xf14: return (core_.id * config.warps + warp_) * config.threads + t;
    default: break;
  }
  if ((number & 0xf00) != 0xb00 && (number & 0xf00) != 0xc00) return 0;
  const uint64_t value = counter(number);
  return static_cast<uint32_t>(number & 0x80 ? value >> 32 : value);
}

void Execution::csr_write(uint32_t number, unsigned t, uint32_t value) {
  Lane& lane = my_.lane[t];
  switch (number) {
    case 0x001: my_.fflags = value & 31; break;
    case 0x002: my_.frm = value & 7; break;
    case 0x003: my_.fflags = value & 31, my_.frm = value >> 5 & 7; break;
    case 0x305: my_.mtvec = value & ~3u; break;
    case kMscratch: my_.mscratch = value; break;
    case kMepc: lane.mepc = value & ~3u; break;
    case kMcause: lane.mcause = value & 31; break;
    case kMtval: lane.mtval = value; break;
    case 0x7c0: core_.counter_class_ = value & 255; break;
    case kStackBase: lane.stack_base = value; break;
    case kStackBytes: core_.stack_bytes_ = value; break;
    default: break;
  }
}

/// A register of the warp takes the highest executing lane's operand; one of the lanes takes each lane's own.
void Execution::csr() {
  const uint32_t number = instr_ >> 20;
  const unsigned op = funct3_ & 3;
  const bool writes = op == 1 || rs1_ != 0;
  if (!csr_known(number, writes)) return illegal();
  uint32_t operand[kMaxThreads], old[kMaxThreads];
  for (unsigned t = 0; t < threads_; t++) {
    operand[t] = funct3_ & 4 ? rs1_ : x1(by_lane(number) ? t : top_);
    old[t] = csr_read(number, t);
  }
  for (unsigned t = 0; t < threads_; t++) {
    set(t, old[t]);
    if (!writes || !(by_lane(number) ? has(t) : t == top_)) continue;
    csr_write(number, t, op == 1 ? operand[t] : op == 2 ? old[t] | operand[t] : old[t] & ~operand[t]);
  }
}

void Execution::warp_control() {
  if (funct7_ == 1) return funct3_ < 4 ? vote() : shuffle();
  if (funct7_ != 0 || funct3_ > 5) return illegal();
  switch (funct3_) {
    case 0: return mask_lanes(false);
    case 1: return spawn();
    case 2:
      for (unsigned t = 0; t < threads_; t++) set(t, mask_);
      return;
    case 3: return join();
    case 4: return barrier();
    default: return mask_lanes(true);
  }
}

/// tmc and pred: which of the executing lanes go on, and which others wake up behind this instruction.
void Execution::mask_lanes(bool predicate) {
  const uint32_t all = (1u << threads_) - 1;
  Lanes wanted = x1(top_) & all, holds = 0;
  if (predicate) {
    for (unsigned t = 0; t < threads_; t++) {
      if (has(t) && ((x1(t) ^ rd_) & 1)) holds |= 1u << t;
    }
    wanted = holds ? holds : x2(top_) & all;
  }
  const Lanes live = (my_.live & ~mask_) | wanted;
  moved_ = wanted & ~my_.live;
  changes_ = live != my_.live;
  my_.live = live;
  // Who waits for lanes that are gone looks again.
  if (changes_) my_.joined = 0;
}

/// The token names the lanes that split; those of them still alive wait here for each other.
void Execution::join() {
  const Lanes together = (x1(top_) & my_.live) | mask_;
  Lanes here = mask_;
  for (unsigned t = 0; t < threads_; t++) {
    if ((my_.joined >> t & 1) && my_.lane[t].pc == pc_) here |= 1u << t;
  }
  changes_ = together != mask_;
  if ((together & here) == together) {
    my_.joined &= ~together;
    moved_ = together;
    return;
  }
  my_.joined |= mask_;
  for (unsigned t = 0; t < threads_; t++) next_[t] = pc_;
}

/// Waits until the warps to start have ended.
void Execution::spawn() {
  const uint32_t count = x1(top_), pc = x2(top_) & ~3u;
  uint32_t wanted = 0;
  for (unsigned k = 1; k < core_.config_.warps; k++) {
    if (k < count && k != warp_) wanted |= 1u << k;
    if (k < count && k != warp_ && core_.warp[k].active) again_ = true;
  }
  my_.awaited = wanted;
  if (again_) return;
  for (unsigned k = 1; k < core_.config_.warps; k++) {
    if (!(wanted >> k & 1)) continue;
    Warp& other = core_.warp[k];
    other.active = other.alone = true;
    other.at_barrier = other.choose = other.spawning = false;
    other.live = other.group = 1;
    other.joined = other.at_bar = other.age = other.fflags = other.frm = 0;
    other.favour = ~0u;
    other.lane[0].pc = pc;
    other.lane[0].depth = 0;
    other.mscratch = my_.mscratch;
    other.mtvec = my_.mtvec;
  }
}

void Execution::barrier() {
  const uint32_t id = x1(top_), count = x2(top_);
  my_.barrier = id & 31;
  my_.global = id >> 31;
  my_.count = count > 255 ? 255 : count;
  my_.at_bar |= mask_;
  core_.bar_pc_ = pc_;
  changes_ = true;
}

void Execution::vote() {
  Lanes yes = 0;
  for (unsigned t = 0; t < threads_; t++) {
    if (has(t) && (x1(t) & 1)) yes |= 1u << t;
  }
  const uint32_t answer[] = {yes == mask_, yes != 0, yes == mask_ || yes == 0, yes};
  for (unsigned t = 0; t < threads_; t++) set(t, answer[funct3_]);
}

/// Lane `t` reads within the segment of lanes that agree with it in the segment mask, up to the clamp.
void Execution::shuffle() {
  uint32_t result[kMaxThreads];
  for (unsigned t = 0; t < threads_; t++) {
    const int value = x2(t) & 63, clamp = x2(t) >> 6 & 63, segment = x2(t) >> 12 & 63, own = static_cast<int>(t);
    const int low = own & segment, high = low | (clamp & ~segment);
    int from = own;
    bool ok = false;
    switch (funct3_) {
      case 4: from = own - value, ok = from >= low; break;
      case 5: from = own + value, ok = from <= high; break;
      case 6: from = own ^ value, ok = from <= high; break;
      default: from = low | (value & ~segment), ok = from <= high; break;
    }
    ok = ok && from >= 0 && from < static_cast<int>(threads_) && has(static_cast<unsigned>(from));
    result[t] = x1(ok ? static_cast<unsigned>(from) : t);
  }
  for (unsigned t = 0; t < threads_; t++) set(t, result[t]);
}

}  // namespace isa
