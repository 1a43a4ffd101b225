// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Memory behind a cluster's AXI4 port: an answer `latency` cycles after its request, one beat a cycle, in order.
#pragma once
#include <cstdint>
#include <deque>
#include <vector>

#include "isa_memory.h"

namespace gpu {

/// Accesses outside every window (if there are any) are refused with SLVERR. Bit c of `contexts`: memory context c.
struct Window {
  uint64_t first, last;
  uint32_t contexts;
};

class AxiMemory {
 public:
  explicit AxiMemory(uint32_t latency) : latency_(latency) {}

  isa::Memory memory;
  std::vector<Window> windows;
  uint64_t read_bursts = 0, write_bursts = 0, read_beats = 0, write_beats = 0;

  /// Chance in 256 that a ready or valid stays low for a cycle; 0: never.
  void stall(uint32_t chance, uint32_t seed) { chance_ = chance, random_ = seed | 1; }

  /// What the next edge will see, then what it did. `Root` is the Verilated root, its ports the slot's boundary.
  template <class Root>
  bool before(Root& r) {
    fire_ar_ = r.m_axi_arvalid && r.m_axi_arready;
    fire_aw_ = r.m_axi_awvalid && r.m_axi_awready;
    fire_w_ = r.m_axi_wvalid && r.m_axi_wready;
    fire_r_ = r.m_axi_rvalid && r.m_axi_rready;
    fire_b_ = r.m_axi_bvalid && r.m_axi_bready;
    if (!(fire_ar_ || fire_aw_ || fire_w_)) return fire_r_ || fire_b_;
    if (fire_ar_) take_read(r.m_axi_araddr, r.m_axi_arlen, r.m_axi_arid, r.m_axi_aruser);
    if (fire_aw_) addresses_.push_back({r.m_axi_awaddr, r.m_axi_awid, r.m_axi_awuser});
    if (fire_w_) data_.push_back({r.m_axi_wdata, static_cast<uint8_t>(r.m_axi_wstrb), bool(r.m_axi_wlast)});
    return true;
  }

  /// Whether an input changed.
  template <class Root>
  bool after(Root& r, uint64_t cycle) {
    now_ = cycle;
    if (fire_w_ || fire_aw_) write();
    if (!chance_ && reads_.empty() && answers_.empty() && !r.m_axi_rvalid && !r.m_axi_bvalid && !first_) return false;
    first_ = false;
    if (fire_r_ || !r.m_axi_rvalid) read_channel(r);
    if (fire_b_ || !r.m_axi_bvalid) write_channel(r);
    r.m_axi_arready = luck();
    r.m_axi_awready = luck();
    r.m_axi_wready = luck();
    return true;
  }

  bool idle() const { return reads_.empty() && answers_.empty() && addresses_.empty() && data_.empty(); }

 private:
  struct Read {
    uint64_t at, ready;
    uint32_t left;
    uint8_t id;
    bool refused;
  };
  struct Address {
    uint64_t at;
    uint8_t id, user;
  };
  struct Data {
    uint64_t word;
    uint8_t strobe;
    bool last;
  };
  struct Answer {
    uint64_t ready;
    uint8_t id;
    bool refused;
  };

  bool luck() {
    if (!chance_) return true;
    random_ ^= random_ << 13;
    random_ ^= random_ >> 17;
    random_ ^= random_ << 5;
    return (random_ & 255) >= chance_;
  }

  bool refused(uint64_t at, uint8_t user) const {
    for (const Window& w : windows) {
      if (at >= w.first && at <= w.last && (w.contexts >> user & 1)) return false;
    }
    return !windows.empty();
  }

  void take_read(uint64_t at, uint32_t length, uint8_t id, uint8_t user) {
    reads_.push_back({at, now_ + 1 + latency_, length + 1, id, refused(at, user)});
    read_bursts++;
  }

  void write() {
    while (!addresses_.empty() && !data_.empty()) {
      Address& a = addresses_.front();
      const Data d = data_.front();
      data_.pop_front();
      write_beats++;
      bad_ = bad_ || refused(a.at, a.user);
      if (!bad_) memory.store(static_cast<uint32_t>(a.at), d.word, d.strobe);
      a.at = (a.at & ~uint64_t{7}) + 8;
      if (!d.last) continue;
      answers_.push_back({now_ + 1 + latency_, a.id, bad_});
      addresses_.pop_front();
      bad_ = false;
      write_bursts++;
    }
  }

  template <class Root>
  void read_channel(Root& r) {
    r.m_axi_rvalid = 0;
    if (reads_.empty() || reads_.front().ready > now_ || !luck()) return;
    Read& read = reads_.front();
    r.m_axi_rvalid = 1;
    r.m_axi_rid = read.id;
    r.m_axi_rresp = read.refused ? 2 : 0;
    r.m_axi_rlast = read.left == 1;
    uint64_t word = 0;
    std::memcpy(&word, memory.at(static_cast<uint32_t>(read.at) & ~7u), 8);
    r.m_axi_rdata = read.refused ? 0 : word;
    read_beats++;
    read.at += 8;
    if (--read.left == 0) reads_.pop_front();
  }

  template <class Root>
  void write_channel(Root& r) {
    r.m_axi_bvalid = 0;
    if (answers_.empty() || answers_.front().ready > now_ || !luck()) return;
    r.m_axi_bvalid = 1;
    r.m_axi_bid = answers_.front().id;
    r.m_axi_bresp = answers_.front().refused ? 2 : 0;
    answers_.pop_front();
  }

  const uint32_t latency_;
  uint32_t chance_ = 0, random_ = 1;
  uint64_t now_ = 0;
  bool first_ = true, bad_ = false;
  bool fire_ar_ = false, fire_aw_ = false, fire_w_ = false, fire_r_ = false, fire_b_ = false;
  std::deque<Read> reads_;
  std::deque<Address> addresses_;
  std::deque<Data> data_;
  std::deque<Answer> answers_;
};

}  // namespace gpu
