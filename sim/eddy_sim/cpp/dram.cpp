#include "dram.h"

#include <algorithm>
#include <cstring>

#include "same_bytes.h"

namespace {

constexpr size_t kQueue = 32;  // bursts accepted and not answered, for each direction
constexpr uint64_t kLineBytes = 64;  // of the CPU's cache, as in memory.py
constexpr uint8_t kFixed = 0, kWrap = 2;
constexpr uint8_t kDecodeError = 3;
constexpr uint64_t kNoData = 0xDEC0DEC0DEC0DEC0ull;

}  // namespace

Dram::Dram(const DramParameters& parameters, uint8_t* memory)
    : p_(parameters), memory_(memory), banks_(parameters.banks) {}

Fs Dram::beats_fs(uint64_t beats) const { return duration_fs(beats * 8, p_.bytes_per_s); }

uint64_t Dram::beat_address(const Burst& burst, uint32_t beat) const {
  const uint64_t bytes = 1ull << burst.size;
  if (burst.kind == kFixed || beat == 0) return burst.address;
  const uint64_t next = (burst.address & ~(bytes - 1)) + beat * bytes;
  if (burst.kind != kWrap) return next;
  const uint64_t extent = bytes * burst.beats;
  const uint64_t low = burst.address / extent * extent;
  return low + (next - low) % extent;
}

Dram::Burst Dram::make(uint64_t address, uint8_t id, uint8_t len, uint8_t size, uint8_t kind, bool write) {
  Burst burst{};
  burst.address = address;
  burst.beats = len + 1u;
  burst.id = id;
  burst.size = size;
  burst.kind = kind;
  burst.write = write;
  burst.age = next_age_++;
  burst.data.resize(burst.beats);
  if (write) burst.strobes.resize(burst.beats);
  const uint64_t extent = static_cast<uint64_t>(burst.beats) << size;
  const uint64_t low = kind == kWrap ? address / extent * extent : address;
  const bool inside = low >= p_.base && low - p_.base <= p_.bytes && extent <= p_.bytes - (low - p_.base);
  burst.response = inside && size <= 3 ? 0 : kDecodeError;
  if (burst.response) statistics_.refused++;
  return burst;
}

bool Dram::accept(const MemoryUp& up, const MemoryDown& down) {
  bool taken = false;
  if (up.m_axi_arvalid && down.m_axi_arready) {
    reads_.push_back(make(up.m_axi_araddr, up.m_axi_arid, up.m_axi_arlen, up.m_axi_arsize, up.m_axi_arburst, false));
    taken = true;
  }
  if (up.m_axi_wvalid && down.m_axi_wready) {
    take_write_beat(up);
    taken = true;
  }
  if (up.m_axi_awvalid && down.m_axi_awready) {
    writes_.push_back(make(up.m_axi_awaddr, up.m_axi_awid, up.m_axi_awlen, up.m_axi_awsize, up.m_axi_awburst, true));
    taken = true;
  }
  return taken;
}

void Dram::take_write_beat(const MemoryUp& up) {
  for (Burst& burst : writes_) {
    if (burst.filled == burst.beats) continue;
    burst.data[burst.filled] = up.m_axi_wdata;
    burst.strobes[burst.filled++] = up.m_axi_wstrb;
    return;
  }
}

Dram::Plan Dram::plan(const Burst& burst, Fs now) const {
  Plan plan;
  if (burst.response) {
    plan.data = std::max(now + p_.cl_fs, bus_free_);
    return plan;
  }
  const Bank& bank = bank_of(burst.address);
  plan.hit = bank.row == row_of(burst.address);
  plan.conflict = !plan.hit && bank.row >= 0;
  if (plan.hit) {
    plan.column = std::max(now, bank.column);
  } else {
    plan.activate = std::max(now, bank.column);
    if (plan.conflict) plan.activate = std::max({now, bank.activated + p_.ras_fs, bank.busy_until}) + p_.rp_fs;
    plan.column = plan.activate + p_.rcd_fs;
  }
  plan.data = std::max(plan.column + p_.cl_fs, bus_free_);
  return plan;
}

void Dram::transfer(Burst& burst) {
  for (uint32_t beat = 0; beat < burst.beats; beat++) {
    if (burst.response) {
      burst.data[beat] = kNoData;
      continue;
    }
    uint8_t* word = memory_ + ((beat_address(burst, beat) - p_.base) & ~7ull);
    if (!burst.write) {
      std::memcpy(&burst.data[beat], word, 8);
    } else if (burst.strobes[beat] == 0xFF) {
      std::memcpy(word, &burst.data[beat], 8);
    } else {
      for (int lane = 0; lane < 8; lane++) {
        if (burst.strobes[beat] >> lane & 1) word[lane] = static_cast<uint8_t>(burst.data[beat] >> (8 * lane));
      }
    }
    if (burst.write && cpu_) make_stale(static_cast<uint64_t>(word - memory_), burst.strobes[beat]);
  }
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

void Dram::serve(std::deque<Burst>& queue, size_t index, const Plan& plan) {
  Burst burst = std::move(queue[index]);
  queue.erase(queue.begin() + static_cast<long>(index));
  burst.start = plan.data;
  bus_free_ = plan.data + beats_fs(burst.beats);
  if (!burst.response) {
    Bank& bank = bank_of(burst.address);
    bank.row = row_of(burst.address);
    if (!plan.hit) bank.activated = plan.activate;
    bank.column = plan.column;
    bank.busy_until = bus_free_ - p_.cl_fs;
    (plan.hit ? statistics_.row_hits : statistics_.row_misses)++;
    if (plan.conflict) statistics_.row_conflicts++;
    const uint64_t bytes = static_cast<uint64_t>(burst.beats) << burst.size;
    (burst.write ? statistics_.write_bytes : statistics_.read_bytes) += bytes;
  }
  transfer(burst);
  (burst.write ? write_done_ : read_data_).push_back(std::move(burst));
}

bool Dram::schedule_one(Fs now) {
  std::deque<Burst>* best_queue = nullptr;
  std::deque<Burst>* oldest_queue = nullptr;
  size_t best = 0, oldest = 0;
  Plan best_plan;
  for (std::deque<Burst>* queue : {&reads_, &writes_}) {
    uint64_t seen[4] = {};  // ids already met in this queue: later bursts of theirs must wait
    for (size_t i = 0; i < queue->size(); i++) {
      const Burst& burst = (*queue)[i];
      if (burst.write && burst.filled < burst.beats) break;  // data comes in order: later bursts have none yet
      if (seen[burst.id / 64] >> (burst.id % 64) & 1) continue;
      seen[burst.id / 64] |= 1ull << (burst.id % 64);
      if (!oldest_queue || burst.age < (*oldest_queue)[oldest].age) {
        oldest_queue = queue;
        oldest = i;
      }
      const Plan candidate = plan(burst, now);
      const bool better = !best_queue || candidate.data < best_plan.data ||
                          (candidate.data == best_plan.data && candidate.hit && !best_plan.hit) ||
                          (candidate.data == best_plan.data && candidate.hit == best_plan.hit &&
                           burst.age < (*best_queue)[best].age);
      if (!better) continue;
      best_queue = queue;
      best = i;
      best_plan = candidate;
    }
  }
  if (!best_queue) return false;
  Burst& first = (*oldest_queue)[oldest];
  if (&first != &(*best_queue)[best]) {
    if (first.bypassed >= p_.starvation) {
      best_queue = oldest_queue;
      best = oldest;
      best_plan = plan(first, now);
    } else {
      statistics_.longest_bypass = std::max(statistics_.longest_bypass, ++first.bypassed);
    }
  }
  serve(*best_queue, best, best_plan);
  return true;
}

void Dram::refresh(Fs now) {
  if (!p_.refi_fs) return;
  const uint64_t due = static_cast<uint64_t>(now / p_.refi_fs);
  if (due == refreshes_) return;
  refreshes_ = due;
  const Fs end = static_cast<Fs>(due) * p_.refi_fs + p_.rfc_fs;
  for (Bank& bank : banks_) {
    bank.row = -1;
    bank.column = std::max(bank.column, end);
  }
}

void Dram::schedule(Fs now) {
  if (reads_.empty() && writes_.empty()) return;
  refresh(now);
  // Far enough ahead that a row miss in an idle bank costs the bus nothing.
  const Fs ahead = p_.rp_fs + p_.rcd_fs + p_.cl_fs;
  while (bus_free_ <= now + ahead && schedule_one(now)) {
  }
}

bool Dram::drive(Fs now, MemoryDown& down) {
  MemoryDown next = down;
  if (!next.m_axi_rvalid && !read_data_.empty() && now >= read_data_.front().start + beats_fs(beat_ + 1)) {
    const Burst& burst = read_data_.front();
    next.m_axi_rvalid = 1;
    next.m_axi_rid = burst.id;
    next.m_axi_rdata = burst.data[beat_];
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
  next.m_axi_arready = reads_.size() + read_data_.size() < kQueue;
  next.m_axi_awready = writes_.size() + write_done_.size() < kQueue;
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
