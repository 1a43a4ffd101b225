// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Everything around one instance of a module that is checked: registers from one side, a memory on the other, every
/// output recorded. What is done is said by `eddy_sim.modcheck.port`; here are the cycles of it.
///
/// Everything follows from the seeds: the same calls give the same inputs in the same cycles as long as the outputs are
/// the same. So two histories of a module differ in its outputs, or not at all.
#pragma once
#include <cstdint>
#include <cstring>
#include <deque>
#include <unordered_map>
#include <vector>

#include "eddy_boundary.h"

constexpr uint64_t kPageBytes = 4096;
constexpr unsigned kFixed = 0, kSlvErr = 2;
/// Read bursts that memory takes before it answers the first.
constexpr size_t kReadsAhead = 8;

/// Gives a page of memory by its number; its bytes stay where they are.
using PageOf = uint8_t* (*)(uint64_t number);

template <class Step>
class CheckedPort {
 public:
  /// `latency`: cycles between a request and memory's answer. `answer_cycles`: how long a register access may take.
  CheckedPort(Step step, SlotDown* down, SlotUp* up, PageOf page_of, uint64_t latency, int answer_cycles)
      : step_(step), down_(down), up_(up), page_of_(page_of), latency_(latency), answer_cycles_(answer_cycles) {}

  /// Nothing is under way on either side.
  void forget() {
    *down_ = SlotDown{};
    now_ = due_ = 0;
    writes_.clear();
    beats_.clear();
    reads_.clear();
    answers_.clear();
  }

  void new_memory() { pages_.clear(); }
  /// Hold up every channel of memory with this chance, of 2^32.
  void pause(uint64_t chance, uint64_t seed) {
    pause_ = chance;
    random_ = seed * 0x9E3779B97F4A7C15ull + 0x2545F4914F6CDD1Dull;
  }
  /// Answer bursts with SLVERR with this chance, of 2^32.
  void fail(uint64_t chance) { fail_ = chance; }

  void record() {
    records_.clear();
    now_ = 0;
  }
  /// Keep no longer what was recorded; all else goes on as it was.
  void drop_records() { records_.clear(); }
  const std::vector<SlotUp>& records() const { return records_; }

  void cycle() {
    offer();
    const bool answered = down_->m_axi_bvalid && up_->m_axi_bready, given = down_->m_axi_rvalid && up_->m_axi_rready;
    take(answered, given);
    step_();
    if (answered) down_->m_axi_bvalid = 0;
    if (given) down_->m_axi_rvalid = 0;
    records_.push_back(*up_);
    now_++;
  }

  /// Let cycles pass, or with `for_irq` those until the interrupt is up; answers whether it is.
  bool pass(uint64_t cycles, bool for_irq) {
    for (; cycles && !(for_irq && up_->irq); cycles--) cycle();
    return up_->irq;
  }

  /// Answers false where the register does not answer.
  bool write(uint32_t offset, uint32_t value, uint32_t strobes) {
    SlotDown& d = *down_;
    d.s_axil_awaddr = offset;
    d.s_axil_awvalid = 1;
    d.s_axil_wdata = value;
    d.s_axil_wstrb = strobes;
    d.s_axil_wvalid = 1;
    d.s_axil_bready = 1;
    for (int i = 0; i < answer_cycles_; i++) {
      const bool address_taken = d.s_axil_awvalid && up_->s_axil_awready, data_taken = d.s_axil_wvalid && up_->s_axil_wready;
      const bool answered = up_->s_axil_bvalid;
      cycle();
      if (address_taken) d.s_axil_awvalid = 0;
      if (data_taken) d.s_axil_wvalid = 0;
      if (answered) {
        d.s_axil_bready = 0;
        return true;
      }
    }
    return false;
  }

  /// Give the address of a write, and keep back its data.
  void begin_write(uint32_t offset) {
    down_->s_axil_awaddr = offset;
    down_->s_axil_awvalid = 1;
    for (int i = 0; i < answer_cycles_; i++) {
      const bool taken = up_->s_axil_awready;
      cycle();
      if (taken) break;
    }
    down_->s_axil_awvalid = 0;
  }

  bool read(uint32_t offset, uint32_t& value) {
    SlotDown& d = *down_;
    d.s_axil_araddr = offset;
    d.s_axil_arvalid = 1;
    d.s_axil_rready = 1;
    for (int i = 0; i < answer_cycles_; i++) {
      const bool taken = d.s_axil_arvalid && up_->s_axil_arready, answered = up_->s_axil_rvalid;
      value = up_->s_axil_rdata;
      cycle();
      if (taken) d.s_axil_arvalid = 0;
      if (answered) {
        d.s_axil_rready = 0;
        return true;
      }
    }
    return false;
  }

 private:
  struct Burst {
    uint64_t address;
    uint32_t beats, size, burst, id;

    void next() { address = burst == kFixed ? address : (address & ~((1ull << size) - 1)) + (1ull << size); }
  };
  struct Beat {
    uint64_t data;
    uint32_t strobes;
    bool last;
  };
  struct Answer {
    uint64_t due;
    uint32_t id, response;
  };

  bool chance(uint64_t of) {
    if (!of) return false;
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    return (random_ * 0x2545F4914F6CDD1Dull >> 32) < of;
  }
  bool held_up() { return chance(pause_); }
  uint32_t response() { return chance(fail_) ? kSlvErr : 0; }

  /// What memory shows in the coming cycle; what it has offered stays until it is taken.
  void offer() {
    SlotDown& d = *down_;
    d.m_axi_awready = !held_up();
    d.m_axi_wready = !held_up();
    d.m_axi_arready = !held_up() && reads_.size() < kReadsAhead;
    while (!writes_.empty() && !beats_.empty()) write_beat();
    if (!answers_.empty() && !d.m_axi_bvalid && answers_.front().due <= now_ && !held_up()) {
      d.m_axi_bvalid = 1;
      d.m_axi_bid = answers_.front().id;
      d.m_axi_bresp = answers_.front().response;
    }
    if (!reads_.empty() && !d.m_axi_rvalid && due_ <= now_ && !held_up()) {
      const Burst& burst = reads_.front();
      d.m_axi_rvalid = 1;
      d.m_axi_rid = burst.id;
      d.m_axi_rlast = burst.beats == 1;
      d.m_axi_rdata = word(burst.address);
      d.m_axi_rresp = response();
    }
  }

  void write_beat() {
    Burst& burst = writes_.front();
    const Beat beat = beats_.front();
    beats_.pop_front();
    uint8_t* lanes = page(burst.address) + (burst.address % kPageBytes & ~7ull);
    for (int lane = 0; lane < 8; lane++) {
      if (beat.strobes >> lane & 1) lanes[lane] = static_cast<uint8_t>(beat.data >> 8 * lane);
    }
    if (beat.last) {
      answers_.push_back({now_ + latency_, burst.id, response()});
      writes_.pop_front();
    } else {
      burst.next();
    }
  }

  /// What is transferred at the coming edge.
  void take(bool answered, bool given) {
    const SlotDown& d = *down_;
    const SlotUp& u = *up_;
    if (answered) answers_.pop_front();
    if (given) read_on();
    if (u.m_axi_awvalid && d.m_axi_awready) writes_.push_back({u.m_axi_awaddr, 0, u.m_axi_awsize, u.m_axi_awburst, u.m_axi_awid});
    if (u.m_axi_wvalid && d.m_axi_wready) beats_.push_back({u.m_axi_wdata, u.m_axi_wstrb, u.m_axi_wlast != 0});
    if (u.m_axi_arvalid && d.m_axi_arready) {
      if (reads_.empty()) due_ = now_ + latency_;
      reads_.push_back({u.m_axi_araddr, u.m_axi_arlen + 1u, u.m_axi_arsize, u.m_axi_arburst, u.m_axi_arid});
    }
  }

  void read_on() {
    Burst& burst = reads_.front();
    if (--burst.beats) {
      burst.next();
      return;
    }
    reads_.pop_front();
    if (!reads_.empty()) due_ = now_ + 2;
  }

  uint64_t word(uint64_t address) {
    uint64_t value;
    std::memcpy(&value, page(address) + (address % kPageBytes & ~7ull), sizeof value);
    return value;
  }

  uint8_t* page(uint64_t address) {
    uint8_t*& found = pages_[address / kPageBytes];
    if (!found) found = page_of_(address / kPageBytes);
    return found;
  }

  Step step_;
  SlotDown* down_;
  SlotUp* up_;
  PageOf page_of_;
  const uint64_t latency_;
  const int answer_cycles_;
  uint64_t now_ = 0, due_ = 0, random_ = 1, pause_ = 0, fail_ = 0;
  std::deque<Burst> writes_, reads_;
  std::deque<Beat> beats_;
  std::deque<Answer> answers_;
  std::unordered_map<uint64_t, uint8_t*> pages_;
  std::vector<SlotUp> records_;
};
