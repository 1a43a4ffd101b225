// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// RV32IM and F, lane by lane.
#include "isa_execute.h"

#include <algorithm>

#include "isa_float.h"

namespace isa {

namespace {

uint32_t bits(uint32_t word, unsigned low, unsigned count) { return word >> low & ((1u << count) - 1); }

int32_t sign_extend(uint32_t value, unsigned width) { return static_cast<int32_t>(value << (32 - width)) >> (32 - width); }

uint32_t immediate_i(uint32_t i) { return static_cast<uint32_t>(static_cast<int32_t>(i) >> 20); }
uint32_t immediate_s(uint32_t i) { return static_cast<uint32_t>(sign_extend(bits(i, 25, 7) << 5 | bits(i, 7, 5), 12)); }
uint32_t immediate_b(uint32_t i) {
  const uint32_t raw = bits(i, 31, 1) << 12 | bits(i, 7, 1) << 11 | bits(i, 25, 6) << 5 | bits(i, 8, 4) << 1;
  return static_cast<uint32_t>(sign_extend(raw, 13));
}
uint32_t immediate_j(uint32_t i) {
  const uint32_t raw = bits(i, 31, 1) << 20 | bits(i, 12, 8) << 12 | bits(i, 20, 1) << 11 | bits(i, 21, 10) << 1;
  return static_cast<uint32_t>(sign_extend(raw, 21));
}

uint32_t multiply_divide(unsigned funct3, uint32_t a, uint32_t b) {
  const auto sa = static_cast<int32_t>(a), sb = static_cast<int32_t>(b);
  const bool overflow = a == 0x80000000u && b == 0xffffffffu;
  switch (funct3) {
    case 0: return a * b;
    case 1: return static_cast<uint32_t>((int64_t{sa} * sb) >> 32);
    case 2: return static_cast<uint32_t>((int64_t{sa} * int64_t{b}) >> 32);
    case 3: return static_cast<uint32_t>((uint64_t{a} * b) >> 32);
    case 4: return b == 0 ? ~0u : overflow ? a : static_cast<uint32_t>(sa / sb);
    case 5: return b == 0 ? ~0u : a / b;
    case 6: return b == 0 ? a : overflow ? 0 : static_cast<uint32_t>(sa % sb);
    default: return b == 0 ? a : a % b;
  }
}

uint32_t arithmetic(unsigned funct3, bool alternative, uint32_t a, uint32_t b) {
  switch (funct3) {
    case 0: return alternative ? a - b : a + b;
    case 1: return a << (b & 31);
    case 2: return static_cast<int32_t>(a) < static_cast<int32_t>(b);
    case 3: return a < b;
    case 4: return a ^ b;
    case 5: return alternative ? static_cast<uint32_t>(static_cast<int32_t>(a) >> (b & 31)) : a >> (b & 31);
    case 6: return a | b;
    default: return a & b;
  }
}

bool is_link(unsigned number) { return number == 1 || number == 5; }

}  // namespace

Execution::Execution(Core& core, unsigned warp)
    : core_(core), my_(core.warp[warp]), warp_(warp), pc_(my_.lane[__builtin_ctz(my_.group)].pc),
      depth_(my_.lane[__builtin_ctz(my_.group)].depth), mask_(my_.group), instr_(core.cluster_.memory.load(pc_, 4)),
      rd_(bits(instr_, 7, 5)), rs1_(bits(instr_, 15, 5)), rs2_(bits(instr_, 20, 5)), funct3_(bits(instr_, 12, 3)),
      funct7_(instr_ >> 25), top_(31 - __builtin_clz(mask_)), threads_(core.config_.threads) {
  for (unsigned t = 0; t < threads_; t++) next_[t] = pc_ + 4, next_depth_[t] = depth_;
  record_.pc = pc_, record_.instr = instr_, record_.mask = static_cast<uint16_t>(mask_);
  record_.core = static_cast<uint8_t>(core.id), record_.warp = static_cast<uint8_t>(warp), record_.rd = 0xff;
}

void Execution::run() {
  switch (instr_ & 0x7f) {
    case 0x37:
    case 0x17:
      for (unsigned t = 0; t < threads_; t++) set(t, (instr_ & 0xfffff000) + (instr_ & 0x20 ? 0 : pc_));
      break;
    case 0x6f: jump(); break;
    case 0x67: funct3_ == 0 ? jump_register() : illegal(); break;
    case 0x63: branch(); break;
    case 0x03: load(false); break;
    case 0x23: store(false); break;
    case 0x13: integer(true); break;
    case 0x33: integer(false); break;
    case 0x2f: atomic(); break;
    case 0x0f:
      if (funct3_ > 1) illegal();
      break;
    case 0x73: funct3_ & 3 ? csr() : system(); break;
    case 0x0b: warp_control(); break;
    case 0x07: core_.config_.fpu ? load(true) : illegal(); break;
    case 0x27: core_.config_.fpu ? store(true) : illegal(); break;
    case 0x43:
    case 0x47:
    case 0x4b:
    case 0x4f: core_.config_.fpu ? fused() : illegal(); break;
    case 0x53: core_.config_.fpu ? floating() : illegal(); break;
    default: illegal();
  }
  my_.spawning = again_;
  if (again_) return;
  const bool uniform = my_.alone && !trapped_ && !changes_;
  bool apart = false;
  for (unsigned t = 0; t < threads_; t++) {
    if (!has(t) && !(moved_ >> t & 1)) continue;
    apart = apart || next_[t] != next_[top_] || next_depth_[t] != next_depth_[top_];
    my_.lane[t].pc = next_[t];
    my_.lane[t].depth = next_depth_[t];
  }
  if (!uniform || apart) {
    const uint32_t bound = core_.config_.starve_bound, opcode = instr_ & 0x7f;
    const bool memory = !trapped_ && (opcode == 0x2f || opcode == 0x0f);
    my_.age = std::min(bound, my_.age + (memory ? std::max(bound / 8, 1u) : 1u));
    my_.choose = true;
  }
  if (trapped_) return;
  core_.counters.instructions++;
  core_.counters.by_lanes[__builtin_popcount(mask_)]++;
  core_.cluster_.note(record_);
}

void Execution::set(unsigned t, uint32_t value) {
  if (rd_ == 0) return;
  record_.rd = static_cast<uint8_t>(rd_);
  if (!has(t)) return;
  my_.lane[t].x[rd_] = record_.value[t] = value;
  const uint32_t above = (value >> 4) - (my_.lane[t].stack_base >> 4);
  if (rd_ == 2 && core_.stack_bytes_ && (above & 0xfffffff) > core_.stack_bytes_ >> 4) {
    core_.fault = {true, kStackOverflow, pc_, value};
  }
}

void Execution::set_float(unsigned t, uint32_t value) {
  record_.rd = static_cast<uint8_t>(32 + rd_);
  if (has(t)) my_.lane[t].x[32 + rd_] = record_.value[t] = value;
}

/// The lanes named leave for the handler, each with its value; the others come again. Without a handler the core stops.
void Execution::trap_each(Lanes lanes, uint32_t cause, const uint32_t* value) {
  trapped_ = lanes;
  record_.mask = static_cast<uint16_t>(lanes), record_.kind = 1, record_.rd = static_cast<uint8_t>(cause);
  for (unsigned t = 0; t < threads_; t++) {
    next_[t] = pc_, next_depth_[t] = depth_;
    record_.value[t] = lanes >> t & 1 ? value[t] : 0;
    if (!(lanes >> t & 1)) continue;
    if (my_.mtvec == 0) {
      core_.fault = {true, cause, pc_, value[t]};
      continue;
    }
    Lane& lane = my_.lane[t];
    lane.mepc = pc_, lane.mcause = cause, lane.mtval = value[t], lane.mdepth = depth_;
    next_[t] = my_.mtvec, next_depth_[t] = kMaxDepth;
  }
  core_.cluster_.note(record_);
}

void Execution::trap(Lanes lanes, uint32_t cause, uint32_t value) {
  uint32_t same[kMaxThreads];
  std::fill(same, same + kMaxThreads, value);
  trap_each(lanes, cause, same);
}

void Execution::integer(bool immediate) {
  const bool shift = (funct3_ & 3) == 1, alternative = funct7_ == 0x20;
  if (immediate ? shift && funct7_ != 0 && !(alternative && funct3_ == 5)
                : funct7_ > 1 && !(alternative && (funct3_ == 0 || funct3_ == 5))) {
    return illegal();
  }
  for (unsigned t = 0; t < threads_; t++) {
    const uint32_t b = immediate ? immediate_i(instr_) : x2(t);
    if (!immediate && funct7_ == 1) set(t, multiply_divide(funct3_, x1(t), b));
    else set(t, arithmetic(funct3_, alternative && (!immediate || shift), x1(t), b));
  }
}

uint8_t* Execution::local(uint32_t address) {
  const uint32_t offset = address - core_.config_.local_base;
  return offset < core_.config_.local_bytes ? &core_.local_[offset] : nullptr;
}

void Execution::load(bool to_float) {
  if (to_float ? funct3_ != 2 : funct3_ == 3 || funct3_ > 5) return illegal();
  const unsigned bytes = 1u << (funct3_ & 3);
  uint32_t address[kMaxThreads];
  Lanes bad = 0;
  for (unsigned t = 0; t < threads_; t++) {
    address[t] = x1(t) + immediate_i(instr_);
    if (has(t) && address[t] % bytes) bad |= 1u << t;
  }
  if (bad) return trap_each(bad, kLoadMisaligned, address);
  for (unsigned t = 0; t < threads_; t++) {
    if (!has(t)) continue;
    uint32_t value = 0;
    if (const uint8_t* at = local(address[t])) std::memcpy(&value, at, bytes);
    else value = core_.cluster_.memory.load(address[t], bytes);
    if (funct3_ < 2) value = static_cast<uint32_t>(sign_extend(value, 8 * bytes));
    to_float ? set_float(t, value) : set(t, value);
  }
  core_.counters.loads++;
}

void Execution::store(bool from_float) {
  if (from_float ? funct3_ != 2 : funct3_ > 2) return illegal();
  const unsigned bytes = 1u << funct3_;
  uint32_t address[kMaxThreads];
  Lanes bad = 0;
  for (unsigned t = 0; t < threads_; t++) {
    address[t] = x1(t) + immediate_s(instr_);
    if (has(t) && address[t] % bytes) bad |= 1u << t;
  }
  if (bad) return trap_each(bad, kStoreMisaligned, address);
  for (unsigned t = 0; t < threads_; t++) {
    if (!has(t)) continue;
    const uint32_t value = from_float ? f2(t) : x2(t);
    if (uint8_t* at = local(address[t])) {
      std::memcpy(at, &value, bytes);
    } else {
      const unsigned shift = address[t] & 7;
      const auto strobe = static_cast<uint8_t>(((1u << bytes) - 1) << shift);
      core_.cluster_.memory.store(address[t], uint64_t{value} << (8 * shift), strobe);
    }
  }
  core_.counters.stores++;
}

/// Lanes with one address in ascending order; nothing is between the load and the store of one.
void Execution::atomic() {
  const unsigned operation = instr_ >> 27;
  const bool compares = operation == 5;
  if (funct3_ != 2 || (operation & 3 && operation != 1 && !compares)) return illegal();
  uint32_t address[kMaxThreads];
  Lanes bad = 0;
  for (unsigned t = 0; t < threads_; t++) {
    address[t] = x1(t);
    if (has(t) && address[t] % 4) bad |= 1u << t;
  }
  if (bad) return trap_each(bad, kStoreMisaligned, address);
  for (unsigned t = 0; t < threads_; t++) {
    if (!has(t)) continue;
    uint8_t* at = local(address[t]);
    uint32_t old = 0;
    if (at) std::memcpy(&old, at, 4);
    else old = core_.cluster_.memory.load(address[t], 4);
    const uint32_t operand = x2(t), expected = my_.lane[t].x[rd_];
    const auto a = static_cast<int32_t>(old), b = static_cast<int32_t>(operand);
    uint32_t made = operand;
    switch (operation) {
      case 0x00: made = old + operand; break;
      case 0x04: made = old ^ operand; break;
      case 0x08: made = old | operand; break;
      case 0x0c: made = old & operand; break;
      case 0x10: made = static_cast<uint32_t>(std::min(a, b)); break;
      case 0x14: made = static_cast<uint32_t>(std::max(a, b)); break;
      case 0x18: made = std::min(old, operand); break;
      case 0x1c: made = std::max(old, operand); break;
      default: break;
    }
    set(t, old);
    if (compares && old != expected) continue;
    const unsigned shift = address[t] & 7;
    if (at) std::memcpy(at, &made, 4);
    else core_.cluster_.memory.store(address[t], uint64_t{made} << (8 * shift), static_cast<uint8_t>(15u << shift));
  }
  core_.counters.loads++;
  core_.counters.stores++;
}

void Execution::branch() {
  if ((funct3_ & 6) == 2) return illegal();
  const uint32_t target = pc_ + immediate_b(instr_);
  Lanes taken = 0;
  for (unsigned t = 0; t < threads_; t++) {
    const uint32_t a = x1(t), b = x2(t);
    const bool holds = funct3_ < 2 ? a == b
                       : funct3_ < 6 ? static_cast<int32_t>(a) < static_cast<int32_t>(b)
                                     : a < b;
    if (has(t) && holds != bool(funct3_ & 1)) taken |= 1u << t;
  }
  if (taken && (target & 2)) return trap(taken, kFetchMisaligned, target);
  for (unsigned t = 0; t < threads_; t++) {
    if (taken >> t & 1) next_[t] = target;
  }
}

void Execution::jump() {
  const uint32_t target = pc_ + immediate_j(instr_);
  if (target & 2) return trap(mask_, kFetchMisaligned, target);
  for (unsigned t = 0; t < threads_; t++) {
    set(t, pc_ + 4);
    next_[t] = target;
    if (is_link(rd_) && depth_ < kMaxDepth) next_depth_[t] = depth_ + 1;
  }
}

/// Calls and returns by the hints of the link registers; a swap of the two (coroutine) leaves the depth as it is.
void Execution::jump_register() {
  uint32_t target[kMaxThreads];
  Lanes bad = 0;
  for (unsigned t = 0; t < threads_; t++) {
    target[t] = (x1(t) + immediate_i(instr_)) & ~1u;
    if (has(t) && (target[t] & 2)) bad |= 1u << t;
  }
  if (bad) return trap_each(bad, kFetchMisaligned, target);
  const bool swap = is_link(rs1_) && rs1_ != rd_;
  uint32_t depth = depth_;
  if (is_link(rd_) && !swap && depth < kMaxDepth) depth++;
  if (rd_ == 0 && is_link(rs1_) && depth > 0) depth--;
  for (unsigned t = 0; t < threads_; t++) {
    set(t, pc_ + 4);
    next_[t] = target[t], next_depth_[t] = depth;
  }
}

bool Execution::rounding(unsigned& rm) {
  rm = funct3_ == 7 ? my_.frm : funct3_;
  return rm <= kRmm;
}

void Execution::fused() {
  unsigned rm;
  if ((instr_ >> 25 & 3) != 0 || !rounding(rm)) return illegal();
  const uint32_t flip_product = instr_ & 8 ? kSign : 0, flip_addend = instr_ & 4 ? kSign : 0;
  uint8_t flags = 0;
  for (unsigned t = 0; t < threads_; t++) {
    uint8_t mine = 0;
    set_float(t, fma(f1(t) ^ flip_product, f2(t), f3(t) ^ flip_addend, rm, mine));
    if (has(t)) flags |= mine;
  }
  my_.fflags |= flags;
}

void Execution::floating() {
  unsigned rm = 0;
  const unsigned group = funct7_;
  const bool rounds = group < 0x10 || group == 0x2c || group == 0x60 || group == 0x68;
  bool known = false;
  switch (group) {
    case 0x00: case 0x04: case 0x08: case 0x0c: known = true; break;
    case 0x2c: known = rs2_ == 0; break;
    case 0x10: case 0x50: known = funct3_ < 3; break;
    case 0x14: known = funct3_ < 2; break;
    case 0x60: case 0x68: known = rs2_ < 2; break;
    case 0x70: known = rs2_ == 0 && funct3_ < 2; break;
    case 0x78: known = rs2_ == 0 && funct3_ == 0; break;
    default: break;
  }
  if (!known || (rounds && !rounding(rm))) return illegal();
  uint8_t flags = 0;
  for (unsigned t = 0; t < threads_; t++) {
    const uint32_t a = f1(t), b = f2(t);
    uint8_t mine = 0;
    switch (group) {
      case 0x00: set_float(t, add(a, b, rm, mine)); break;
      case 0x04: set_float(t, add(a, b ^ kSign, rm, mine)); break;
      case 0x08: set_float(t, mul(a, b, rm, mine)); break;
      case 0x0c: set_float(t, div(a, b, rm, mine)); break;
      case 0x2c: set_float(t, root(a, rm, mine)); break;
      case 0x10: {
        const uint32_t sign = funct3_ == 0 ? b : funct3_ == 1 ? ~b : a ^ b;
        set_float(t, (a & ~kSign) | (sign & kSign));
        break;
      }
      case 0x14: set_float(t, minmax(funct3_ == 1, a, b, mine)); break;
      case 0x50: set(t, compare(funct3_, a, b, mine)); break;
      case 0x60: set(t, to_integer(rs2_ == 0, a, rm, mine)); break;
      case 0x68: set_float(t, from_integer(rs2_ == 0, x1(t), rm, mine)); break;
      case 0x70: set(t, funct3_ == 0 ? a : classify(a)); break;
      default: set_float(t, x1(t)); break;
    }
    if (has(t)) flags |= mine;
  }
  my_.fflags |= flags;
}

}  // namespace isa
