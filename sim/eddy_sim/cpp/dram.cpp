// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
#include "dram.h"

#include <algorithm>
#include <cstring>

#include "same_bytes.h"

namespace {

constexpr uint64_t kLineBytes = 64;  // of the CPU's cache, as in memory.py
constexpr uint8_t kFixed = 0, kWrap = 2;
constexpr uint8_t kDecodeError = 3;
constexpr uint64_t kNoData = 0xDEC0DEC0DEC0DEC0ull;

}  // namespace

Dram::Dram(const DramParameters& parameters, uint8_t* memory)
    : p_(parameters), memory_(memory), map_(parameters), banks_(parameters) {}

Fs Dram::beats_fs(uint64_t beats) const { return duration_fs(beats * p_.port_bytes * p_.channels, p_.bytes_per_s); }

uint64_t Dram::beat_address(const Burst& burst, uint32_t beat) const {
  const uint64_t bytes = 1ull << burst.size;
  if (burst.kind == kFixed || beat == 0) return burst.address;
  const uint64_t next = (burst.address & ~(bytes - 1)) + beat * bytes;
  if (burst.kind != kWrap) return next;
  const uint64_t extent = bytes * burst.beats;
  const uint64_t low = burst.address / extent * extent;
  return low + (next - low) % extent;
}

Dram::Burst Dram::make(uint64_t address, uint8_t id, uint8_t len, uint8_t size, uint8_t kind, uint8_t user,
                       bool write) {
  Burst burst{};
  burst.address = address;
  burst.beats = len + 1u;
  burst.id = id;
  burst.size = size;
  burst.kind = kind;
  burst.user = user;
  burst.write = write;
  burst.age = next_age_++;
  burst.data.resize(burst.beats * words());
  if (write) burst.strobes.resize(burst.beats);
  const uint64_t extent = static_cast<uint64_t>(burst.beats) << size;
  const uint64_t low = kind == kWrap ? address / extent * extent : address;
  const bool inside = low >= p_.base && low - p_.base <= p_.bytes && extent <= p_.bytes - (low - p_.base);
  burst.response = inside && 1ull << size <= p_.port_bytes ? 0 : kDecodeError;
  if (burst.response) {
    statistics_.refused++;
  } else {
    burst.place = map_.place(address);
  }
  return burst;
}

bool Dram::accept(const MemoryUp& up, const MemoryDown& down) {
  bool taken = false;
  if (up.m_axi_arvalid && down.m_axi_arready) {
    reads_.push_back(make(up.m_axi_araddr, up.m_axi_arid, up.m_axi_arlen, up.m_axi_arsize, up.m_axi_arburst,
                          up.m_axi_aruser, false));
    taken = true;
  }
  if (up.m_axi_wvalid && down.m_axi_wready) {
    take_write_beat(up);
    taken = true;
  }
  if (up.m_axi_awvalid && down.m_axi_awready) {
    writes_.push_back(make(up.m_axi_awaddr, up.m_axi_awid, up.m_axi_awlen, up.m_axi_awsize, up.m_axi_awburst,
                           up.m_axi_awuser, true));
    taken = true;
  }
  return taken;
}

void Dram::take_write_beat(const MemoryUp& up) {
  for (Burst& burst : writes_) {
    if (burst.filled == burst.beats) continue;
    uint64_t* beat = &burst.data[burst.filled * words()];
    beat[0] = up.m_axi_wdata;
    if (words() > 1) beat[1] = up.m_axi_wdata_hi;
    burst.strobes[burst.filled++] = static_cast<uint16_t>(up.m_axi_wstrb | up.m_axi_wstrb_hi << 8);
    return;
  }
}

DramPlan Dram::plan(const Burst& burst, Fs now) const {
  if (!burst.response) return banks_.plan(burst.place, burst.write, now);
  DramPlan plan;
  plan.data = std::max(now + p_.cl_fs, banks_.free(0));
  return plan;
}

void Dram::transfer(Burst& burst) {
  for (uint32_t beat = 0; beat < burst.beats; beat++) {
    uint64_t* data = &burst.data[beat * words()];
    if (burst.response) {
      std::fill(data, data + words(), kNoData);
      continue;
    }
    uint8_t* place = memory_ + ((beat_address(burst, beat) - p_.base) & ~(p_.port_bytes - 1));
    for (uint32_t k = 0; k < words(); k++) {
      const auto strobes = burst.write ? static_cast<uint8_t>(burst.strobes[beat] >> (8 * k)) : uint8_t{0};
      transfer_word(data[k], place + 8 * k, burst.write, strobes);
    }
  }
}

void Dram::transfer_word(uint64_t& data, uint8_t* word, bool write, uint8_t strobes) {
  if (!write) {
    std::memcpy(&data, word, 8);
  } else if (strobes == 0xFF) {
    std::memcpy(word, &data, 8);
  } else {
    for (int lane = 0; lane < 8; lane++) {
      if (strobes >> lane & 1) word[lane] = static_cast<uint8_t>(data >> (8 * lane));
    }
  }
  if (write && cpu_) make_stale(static_cast<uint64_t>(word - memory_), strobes);
}

/// The CPU's clean copy of a word that a module wrote: what it holds now is neither the old value nor the new.
void Dram::make_stale(uint64_t offset, uint8_t strobes) {
  const uint64_t line = offset / kLineBytes * kLineBytes;
  if (!same_bytes(cpu_ + line, agreed_ + line, kLineBytes)) return;  // dirty: the CPU's own
  uint64_t stale = (offset + 1) * 0x9E3779B97F4A7C15ull;
  stale ^= stale >> 31;
  for (int lane = 0; lane < 8; lane++) {
    if (strobes >> lane & 1) cpu_[offset + lane] = agreed_[offset + lane] = static_cast<uint8_t>(stale >> (8 * lane));
  }
}

void Dram::serve(const Choice& choice) {
  const DramPlan& plan = choice.plan;
  Burst burst = std::move(choice.burst());
  choice.queue->erase(choice.queue->begin() + static_cast<long>(choice.index));
  burst.start = plan.data;
  if (burst.response) {
    banks_.answer_nothing(plan.data, beats_fs(burst.beats));
  } else {
    banks_.serve(burst.place, burst.write, plan, beats_fs(burst.beats));
    (plan.hit ? statistics_.row_hits : statistics_.row_misses)++;
    if (plan.conflict) statistics_.row_conflicts++;
    const uint64_t bytes = static_cast<uint64_t>(burst.beats) << burst.size;
    (burst.write ? statistics_.write_bytes : statistics_.read_bytes) += bytes;
    users_.count({burst.address, bytes, static_cast<uint64_t>(plan.data), burst.user, burst.write, plan.hit, burst.id, {}});
  }
  transfer(burst);
  (burst.write ? write_done_ : read_data_).push_back(std::move(burst));
}

/// Whether an earlier burst of the same id, or to the same bytes where ids may be served in any order, goes first.
bool Dram::must_wait(const std::deque<Burst>& queue, size_t index) const {
  const Burst& burst = queue[index];
  const auto first = [](const Burst& b) { return b.address & ~static_cast<uint64_t>(kLineBytes - 1); };
  const auto last = [](const Burst& b) { return b.address + (static_cast<uint64_t>(b.beats) << b.size); };
  for (size_t i = 0; i < index; i++) {
    if (queue[i].id != burst.id) continue;
    if (burst.write || !p_.reorders || burst.kind == kWrap || queue[i].kind == kWrap) return true;
    if (first(burst) < last(queue[i]) && first(queue[i]) < last(burst)) return true;
  }
  return false;
}

bool Dram::schedule_one(Fs now) {
  const Fs ahead = now + p_.rp_fs + p_.rcd_fs + p_.cl_fs;
  const bool lowest_first = p_.scheduling == kLowestBandwidthFirst;
  Choice best, oldest;
  for (std::deque<Burst>* queue : {&reads_, &writes_}) {
    uint64_t seen[4] = {};  // ids already met in this queue
    for (size_t i = 0; i < queue->size(); i++) {
      const Burst& burst = (*queue)[i];
      if (burst.write && burst.filled < burst.beats) break;  // data comes in order: later bursts have none yet
      uint64_t& ids = seen[burst.id / 64];
      const bool met = ids >> (burst.id % 64) & 1;
      ids |= 1ull << (burst.id % 64);
      if (met && must_wait(*queue, i)) continue;
      if (banks_.free(burst.place.channel) > ahead) continue;
      const Choice candidate{queue, i, plan(burst, now)};
      if (!oldest.queue || burst.age < oldest.burst().age) oldest = candidate;
      if (!best.queue || goes_before(candidate, best, lowest_first)) best = candidate;
    }
  }
  if (!best.queue) return false;
  Burst& first = oldest.burst();
  if (&first == &best.burst()) {
    overtakes_ = 0;
  } else if (first.bypassed >= p_.starvation || (p_.hit_cap && best.plan.hit && overtakes_ >= p_.hit_cap)) {
    best = oldest;
    overtakes_ = 0;
  } else {
    statistics_.longest_bypass = std::max(statistics_.longest_bypass, ++first.bypassed);
    overtakes_ = best.plan.hit ? overtakes_ + 1 : 0;
  }
  serve(best);
  return true;
}

/// The order of service: the user of lowest bandwidth where asked for, earliest data, row hits, age.
bool Dram::goes_before(const Choice& a, const Choice& b, bool lowest_first) const {
  const Burst &x = a.burst(), &y = b.burst();
  if (lowest_first && x.user != y.user) {
    const uint64_t had = users_.recent(x.user), other = users_.recent(y.user);
    if (had != other) return had < other;
  }
  if (a.plan.data != b.plan.data) return a.plan.data < b.plan.data;
  if (a.plan.hit != b.plan.hit) return a.plan.hit;
  return x.age < y.age;
}

void Dram::refresh(Fs now) {
  if (!p_.refi_fs) return;
  const uint64_t due = static_cast<uint64_t>(now / p_.refi_fs);
  if (due == refreshes_) return;
  refreshes_ = due;
  const Fs end = static_cast<Fs>(due) * p_.refi_fs + p_.rfc_fs;
  banks_.refresh(end);
}

void Dram::schedule(Fs now) {
  if (reads_.empty() && writes_.empty()) return;
  refresh(now);
  // Far enough ahead that a row miss in an idle bank costs the bus nothing.
  const Fs ahead = p_.rp_fs + p_.rcd_fs + p_.cl_fs;
  while (banks_.first_free() <= now + ahead && schedule_one(now)) {
  }
}

/// Choose the burst that is answered next: the first whose data is there and that no earlier one of its id comes before.
void Dram::pick_answer(Fs now) {
  const auto before = [](const std::deque<Burst>& queue, const Burst& burst) {
    return std::any_of(queue.begin(), queue.end(),
                       [&](const Burst& other) { return other.id == burst.id && other.age < burst.age; });
  };
  for (size_t i = 0; i < read_data_.size() && !answering_; i++) {
    const Burst& burst = read_data_[i];
    if (now < burst.start + beats_fs(1) || before(read_data_, burst) || before(reads_, burst)) continue;
    std::rotate(read_data_.begin(), read_data_.begin() + static_cast<long>(i), read_data_.begin() + static_cast<long>(i) + 1);
    answering_ = true;
  }
}

bool Dram::drive(Fs now, MemoryDown& down) {
  MemoryDown next = down;
  if (!answering_) pick_answer(now);
  if (!next.m_axi_rvalid && answering_ && now >= read_data_.front().start + beats_fs(beat_ + 1)) {
    const Burst& burst = read_data_.front();
    next.m_axi_rvalid = 1;
    next.m_axi_rid = burst.id;
    next.m_axi_rdata = burst.data[beat_ * words()];
    if (words() > 1) next.m_axi_rdata_hi = burst.data[beat_ * words() + 1];
    next.m_axi_rresp = burst.response;
    next.m_axi_rlast = beat_ + 1 == burst.beats;
  }
  if (!next.m_axi_bvalid && !write_done_.empty()) {
    const Burst& burst = write_done_.front();
    if (now >= burst.start + beats_fs(burst.beats)) {
      next.m_axi_bvalid = 1;
      next.m_axi_bid = burst.id;
      next.m_axi_bresp = burst.response;
    }
  }
  next.m_axi_arready = reads_.size() + read_data_.size() < p_.queue;
  next.m_axi_awready = writes_.size() + write_done_.size() < p_.queue;
  // Data of the last burst accepted is what may still be missing.
  next.m_axi_wready = !writes_.empty() && writes_.back().filled < writes_.back().beats;
  const bool changed = !same_bytes(&next, &down, sizeof next);
  down = next;
  return changed;
}

bool Dram::step(Fs now, const MemoryUp& up, MemoryDown& down) {
  const bool taken = accept(up, down);
  if (down.m_axi_rvalid && up.m_axi_rready) {
    down.m_axi_rvalid = 0;
    if (++beat_ == read_data_.front().beats) {
      read_data_.pop_front();
      beat_ = 0;
      answering_ = false;
    }
    popped_ = true;
  }
  if (down.m_axi_bvalid && up.m_axi_bready) {
    down.m_axi_bvalid = 0;
    write_done_.pop_front();
    popped_ = true;
  }
  schedule(now);
  const bool changed = drive(now, down) || popped_;
  popped_ = false;
  settled_ = !changed && !taken;
  return changed;
}
