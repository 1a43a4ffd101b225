// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The memory controller's counters as software reads them (hw/regs/memory_counters.rdl).
#pragma once
#include "dram_users.h"
#include "eddy_memory_counters.h"

class MemoryCounters {
 public:
  uint32_t read(const DramUsers& users, uint32_t offset) const {
    if (offset == EDDY_MEMORY_COUNTERS_ID_OFFSET) return kId;
    if (offset == EDDY_MEMORY_COUNTERS_USER_OFFSET) return user_;
    const uint32_t word = (offset - EDDY_MEMORY_COUNTERS_COUNTER_LO_OFFSET(0)) / 4;
    if (offset < EDDY_MEMORY_COUNTERS_COUNTER_LO_OFFSET(0) || word >= 2 * sizeof(DramUserCounters) / 8) return 0;
    const DramUserCounters& taken = users.taken(user_);
    const uint64_t counts[] = {taken.read_requests, taken.write_requests, taken.read_bytes,
                               taken.write_bytes,   taken.row_hits,       taken.row_misses};
    return static_cast<uint32_t>(counts[word / 2] >> (32 * (word % 2)));
  }

  void write(DramUsers& users, uint32_t offset, uint32_t value) {
    if (offset == EDDY_MEMORY_COUNTERS_SNAPSHOT_OFFSET && (value & 1)) users.take();
    if (offset == EDDY_MEMORY_COUNTERS_USER_OFFSET) user_ = value & (kDramUsers - 1);
  }

 private:
  static constexpr uint32_t kId = 0xED03u << EDDY_MEMORY_COUNTERS_ID_BLOCK_SHIFT | 1u << EDDY_MEMORY_COUNTERS_ID_MAJOR_SHIFT;
  uint32_t user_ = 0;
};
