// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Board time: femtoseconds since the board started, exact.
///
/// 64 bits of femtoseconds are five hours; a board that waits through nights needs more.
#pragma once
#include <stdint.h>

using Fs = unsigned __int128;

constexpr uint64_t kFsPerSecond = 1000000000000000ull;
constexpr Fs kNever = ~static_cast<Fs>(0);

/// `ceil(amount / per_second)` seconds, in femtoseconds.
inline Fs duration_fs(uint64_t amount, uint64_t per_second) {
  const Fs scaled = static_cast<Fs>(amount) * kFsPerSecond;
  return (scaled + per_second - 1) / per_second;
}

/// A clock: its next rising edge and its period.
struct Clock {
  Fs next = kNever;
  uint64_t period_fs = 0;
  uint64_t edges = 0;

  bool running() const { return next != kNever; }
  void start(Fs now) { next = now + period_fs; }
  void stop() { next = kNever; }
  /// Take the edge that is due.
  void tick() {
    next += period_fs;
    edges++;
  }
  /// Take all edges before `target` at once; answer how many there were.
  uint64_t jump(Fs target) {
    if (next >= target) return 0;
    const Fs gap = target - next;
    const uint64_t count = (gap >> 64) ? static_cast<uint64_t>((gap + period_fs - 1) / period_fs)
                                       : (static_cast<uint64_t>(gap) - 1) / period_fs + 1;
    next += static_cast<Fs>(count) * period_fs;
    edges += count;
    return count;
  }
};
