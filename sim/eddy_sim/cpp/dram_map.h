// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Where an address lies: which unit (a bank of a channel) and which row of it.
///
/// Rows follow each other over the units, channels first. A hashed map adds to every bit of the unit the parity of some
/// bits of the row, as the permuted maps of [001]'s PAE do (Ref: Y. Liu et al., Get Out of the Valley, ISCA 2018): the row
/// stays as it is, so that no two addresses meet.
#pragma once
#include <cstdint>

#include "dram_parameters.h"

struct DramPlace {
  uint32_t unit = 0, channel = 0;
  int64_t row = -1;
};

class DramMap {
 public:
  explicit DramMap(const DramParameters& p) : p_(p), units_(p.banks * p.channels) {}

  uint64_t units() const { return units_; }

  DramPlace place(uint64_t address) const {
    const uint64_t offset = address - p_.base;
    const uint64_t rows = offset / p_.row_bytes;
    uint64_t unit = rows % units_;
    for (uint64_t bit = 0; bit < kUnitBits; bit++) {
      unit ^= static_cast<uint64_t>(__builtin_parityll(offset & p_.hash[bit])) << bit;
    }
    return {static_cast<uint32_t>(unit), static_cast<uint32_t>(unit % p_.channels), static_cast<int64_t>(rows / units_)};
  }

 private:
  DramParameters p_;
  uint64_t units_;
};
