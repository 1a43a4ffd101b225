// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The clocking wizard of one slot, as far as its driver can tell it from Xilinx' `clk_wiz` (Ref: PG065, register space).
#pragma once
#include <cstdint>

#include "timebase.h"

class ClockWizard {
 public:
  enum : uint32_t { kReset = 0x000, kStatus = 0x004, kConfig = 0x200, kDivide0 = 0x208, kLoad = 0x25C };

  /// `input_hz` is the reference; the wizard starts locked, at `default_hz`.
  ClockWizard(uint64_t input_hz, uint64_t default_hz) : input_hz_(input_hz), default_hz_(default_hz), default_period_(period(default_hz)) {
    back_to_default();
  }

  uint32_t read(uint32_t offset) const;
  /// Answers whether the output clock changes: it stops now and, `lock_fs()` later, runs with `period_fs()`.
  bool write(uint32_t offset, uint32_t value);

  /// Period of the clock that the registers in force ask for; 0 where they ask for none.
  uint64_t period_fs() const { return active_period_; }
  /// Told by the board once the lock time has passed.
  void locked(bool value) { locked_ = value; }
  /// Time from a change of the registers to the lock. The data sheet's bound is 100 us; MMCMs lock faster.
  static constexpr uint64_t lock_fs() { return 10ull * 1000000000ull; }
  /// Time from a change of the registers until the status register stops saying that the clock before it is locked.
  static constexpr uint64_t fall_fs() { return 400ull * 1000000ull; }

 private:
  static uint64_t period(uint64_t hz) { return (kFsPerSecond + hz / 2) / hz; }
  void back_to_default();
  uint64_t asked_period() const;

  uint64_t input_hz_, default_hz_, default_period_, active_period_ = 0;
  uint32_t config_ = 0, divide_ = 0, load_ = 0;
  bool locked_ = true;
};
