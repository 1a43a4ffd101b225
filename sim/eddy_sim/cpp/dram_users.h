// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// What the memory served to whom. A user is the upper part of AxUSER: a slot and a memory context of it.
///
/// Counters are what software reads. The log is every burst in the order of service, for those who want to count
/// themselves; it is kept only where somebody asked for it.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

enum : uint32_t { kDramUsers = 256 };

/// Mirrored by `UserCounters` in Python.
struct DramUserCounters {
  uint64_t read_requests, write_requests, read_bytes, write_bytes, row_hits, row_misses;
};

/// One burst that was served; mirrored by `ServedBurst` in Python.
struct DramServed {
  uint64_t address, bytes;
  uint64_t data_fs;  // when its data began, modulo 2^64
  uint8_t user, write, hit, id;
  uint8_t unused[4];
};

class DramUsers {
 public:
  void count(const DramServed& served) {
    DramUserCounters& user = counters_[served.user];
    (served.write ? user.write_requests : user.read_requests)++;
    (served.write ? user.write_bytes : user.read_bytes) += served.bytes;
    (served.hit ? user.row_hits : user.row_misses)++;
    if (log_.size() < bound_) log_.push_back(served);
    weight_[served.user] += served.bytes;
    if ((recent_ += served.bytes) < kWindowBytes) return;
    recent_ = 0;
    for (uint64_t& bytes : weight_) bytes /= 2;
  }

  const DramUserCounters& counters(uint32_t user) const { return counters_[user]; }
  const DramUserCounters& taken(uint32_t user) const { return taken_[user]; }
  /// Keep the counters of all users as they are now.
  void take() { taken_ = counters_; }

  /// Bytes a user had of late: older ones count half as much for each `kWindowBytes` that were served since.
  uint64_t recent(uint32_t user) const { return weight_[user]; }

  void keep_log(size_t bound) { bound_ = bound; }
  const std::vector<DramServed>& log() const { return log_; }

 private:
  static constexpr uint64_t kWindowBytes = 65536;
  std::array<DramUserCounters, kDramUsers> counters_{}, taken_{};
  std::array<uint64_t, kDramUsers> weight_{};
  uint64_t recent_ = 0;
  size_t bound_ = 0;
  std::vector<DramServed> log_;
};
