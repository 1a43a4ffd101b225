// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The memory behind the shell: an AXI4 subordinate with channels, banks, rows and one data bus a channel.
///
/// A burst is served as one unit: it never crosses 4 KiB, and a row is at least that long. Timing is kept in exact
/// femtoseconds; the AXI side moves one beat per direction and shell-clock edge. Bursts of one id and direction are
/// answered in order; among the rest the one whose data can start first goes first, row hits before others, then age
/// (first-ready first-come, Ref: S. Rixner et al., Memory Access Scheduling, ISCA 2000), and nobody is passed over more
/// than `starvation` times. A burst's data is read or written in memory when it is scheduled, so the order of service
/// is the order of memory.
///
/// Settings beside, all off unless asked for: a four-activate window and the bus's turnarounds (`dram_banks.h`), a hashed
/// address map (`dram_map.h`), a cap on row hits that overtake (Ref: O. Mutlu and T. Moscibroda, Stall-Time Fair Memory
/// Access Scheduling, MICRO 2007), service of the user of lowest bandwidth first (Ref: A. Jog et al., Anatomy of GPU Memory
/// System for Multi-Application Execution, MEMSYS 2015), and reads of one id that are served in any order and answered in
/// theirs, as a controller with a read reorder buffer does.
#pragma once
#include <cstdint>
#include <deque>
#include <vector>

#include "dram_banks.h"
#include "dram_map.h"
#include "dram_parameters.h"
#include "dram_users.h"
#include "eddy_boundary.h"
#include "timebase.h"

class Dram {
 public:
  Dram(const DramParameters& parameters, uint8_t* memory);

  /// A rising edge of the shell clock, given the shell's outputs before it; answers whether an output changed.
  bool step(Fs now, const MemoryUp& up, MemoryDown& down);

  /// Nothing is queued or under way: an edge without a valid request changes nothing.
  bool idle() const { return reads_.empty() && writes_.empty() && read_data_.empty() && write_done_.empty() && settled_; }

  const DramStatistics& statistics() const { return statistics_; }

  /// What each user was served: the counters that software reads, and the log they must agree with.
  DramUsers& users() { return users_; }

  /// A CPU's cache that does not see what modules write: what it holds, and the same when it last agreed with memory.
  void cache(uint8_t* cpu, uint8_t* agreed) {
    cpu_ = cpu;
    agreed_ = agreed;
  }

 private:
  struct Burst {
    uint64_t address;
    uint32_t beats;
    uint8_t id, size, kind, response, user;
    bool write;
    DramPlace place;
    uint64_t age, bypassed;
    uint32_t filled;
    Fs start;
    std::vector<uint64_t> data;  // the words of a beat, one or two, side by side
    std::vector<uint16_t> strobes;
  };
  /// A burst that may be served next, and how that would go.
  struct Choice {
    std::deque<Burst>* queue = nullptr;
    size_t index = 0;
    DramPlan plan;
    Burst& burst() const { return (*queue)[index]; }
  };

  bool accept(const MemoryUp& up, const MemoryDown& down);
  void take_write_beat(const MemoryUp& up);
  void schedule(Fs now);
  void refresh(Fs now);
  bool schedule_one(Fs now);
  bool must_wait(const std::deque<Burst>& queue, size_t index) const;
  bool goes_before(const Choice& a, const Choice& b, bool lowest_first) const;
  DramPlan plan(const Burst& burst, Fs now) const;
  void serve(const Choice& choice);
  void transfer(Burst& burst);
  void transfer_word(uint64_t& data, uint8_t* word, bool write, uint8_t strobes);
  void make_stale(uint64_t offset, uint8_t strobes);
  uint64_t beat_address(const Burst& burst, uint32_t beat) const;
  Fs beats_fs(uint64_t beats) const;
  uint32_t words() const { return static_cast<uint32_t>(p_.port_bytes / 8); }
  bool drive(Fs now, MemoryDown& down);
  void pick_answer(Fs now);
  Burst make(uint64_t address, uint8_t id, uint8_t len, uint8_t size, uint8_t kind, uint8_t user, bool write);

  DramParameters p_;
  uint8_t* memory_;
  uint8_t* cpu_ = nullptr;     // what the CPU's cache holds, where it is not coherent
  uint8_t* agreed_ = nullptr;  // the same when it last agreed with memory: a line that differs is dirty
  DramMap map_;
  DramBanks banks_;
  DramUsers users_;
  std::deque<Burst> reads_, writes_;          // accepted, not served
  std::deque<Burst> read_data_, write_done_;  // served, in the order of service
  uint64_t next_age_ = 0;
  uint64_t refreshes_ = 0;
  bool answering_ = false;  // the front of read_data_ is being sent
  uint32_t beat_ = 0;       // of the front of read_data_
  uint64_t overtakes_ = 0;  // row hits in a row that went before an older burst
  bool settled_ = false;
  bool popped_ = false;  // a response was taken at this edge
  DramStatistics statistics_{};
};
