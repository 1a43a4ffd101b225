/// The memory behind the shell: an AXI4 subordinate with banks, rows and one data bus.
///
/// A burst is served as one unit: it never crosses 4 KiB, and a row is at least that long. Timing is kept in exact
/// femtoseconds; the AXI side moves one beat per channel and shell-clock edge. Bursts of one id and direction are
/// answered in order; among the rest the one whose data can start first goes first, row hits before others, then age
/// (first-ready first-come, Ref: S. Rixner et al., Memory Access Scheduling, ISCA 2000), and nobody is passed over more
/// than `starvation` times. A burst's data is read or written in memory when it is scheduled, so the order of service
/// is the order of memory.
#pragma once
#include <cstdint>
#include <deque>
#include <vector>

#include "eddy_boundary.h"
#include "timebase.h"

/// Geometry and timing; mirrored by `DramParameters` in Python.
struct DramParameters {
  uint64_t base, bytes;
  uint64_t banks, row_bytes;
  uint64_t rcd_fs, rp_fs, cl_fs, ras_fs;
  uint64_t bytes_per_s;
  /// Refresh interval and duration; an interval of 0 means none.
  uint64_t refi_fs, rfc_fs;
  /// How many later bursts may overtake one.
  uint64_t starvation;
};

/// What the memory has done so far.
struct DramStatistics {
  uint64_t read_bytes, write_bytes, row_hits, row_misses, row_conflicts, refused, longest_bypass;
};

class Dram {
 public:
  Dram(const DramParameters& parameters, uint8_t* memory);

  /// A rising edge of the shell clock, given the shell's outputs before it; answers whether an output changed.
  bool step(Fs now, const MemoryUp& up, MemoryDown& down);

  /// Nothing is queued or under way: an edge without a valid request changes nothing.
  bool idle() const { return reads_.empty() && writes_.empty() && read_data_.empty() && write_done_.empty() && settled_; }

  const DramStatistics& statistics() const { return statistics_; }

  /// A CPU's cache that does not see what modules write: what it holds, and the same when it last agreed with memory.
  void cache(uint8_t* cpu, uint8_t* agreed) {
    cpu_ = cpu;
    agreed_ = agreed;
  }

 private:
  struct Burst {
    uint64_t address;
    uint32_t beats;
    uint8_t id, size, kind, response;
    bool write;
    uint64_t age, bypassed;
    uint32_t filled;
    Fs start;
    std::vector<uint64_t> data;
    std::vector<uint8_t> strobes;
  };
  struct Bank {
    int64_t row = -1;
    Fs activated = 0, column = 0, busy_until = 0;
  };
  struct Plan {
    Fs activate = 0, column = 0, data = 0;
    bool hit = false, conflict = false;
  };

  bool accept(const MemoryUp& up, const MemoryDown& down);
  void take_write_beat(const MemoryUp& up);
  void schedule(Fs now);
  void refresh(Fs now);
  bool schedule_one(Fs now);
  Plan plan(const Burst& burst, Fs now) const;
  void serve(std::deque<Burst>& queue, size_t index, const Plan& plan);
  void transfer(Burst& burst);
  void make_stale(uint64_t offset, uint8_t strobes);
  uint64_t beat_address(const Burst& burst, uint32_t beat) const;
  Fs beats_fs(uint64_t beats) const;
  bool drive(Fs now, MemoryDown& down);
  Burst make(uint64_t address, uint8_t id, uint8_t len, uint8_t size, uint8_t kind, bool write);
  Bank& bank_of(uint64_t address) { return banks_[(address - p_.base) / p_.row_bytes % p_.banks]; }
  const Bank& bank_of(uint64_t address) const { return banks_[(address - p_.base) / p_.row_bytes % p_.banks]; }
  int64_t row_of(uint64_t address) const { return static_cast<int64_t>((address - p_.base) / p_.row_bytes / p_.banks); }

  DramParameters p_;
  uint8_t* memory_;
  uint8_t* cpu_ = nullptr;     // what the CPU's cache holds, where it is not coherent
  uint8_t* agreed_ = nullptr;  // the same when it last agreed with memory: a line that differs is dirty
  std::vector<Bank> banks_;
  std::deque<Burst> reads_, writes_;         // accepted, not served
  std::deque<Burst> read_data_, write_done_;  // served, in the order of their data
  uint64_t next_age_ = 0;
  uint64_t refreshes_ = 0;
  uint32_t beat_ = 0;  // of the front of read_data_
  Fs bus_free_ = 0;
  bool settled_ = false;
  bool popped_ = false;  // a response was taken at this edge
  DramStatistics statistics_{};
};
