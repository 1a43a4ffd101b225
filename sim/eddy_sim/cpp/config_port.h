// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The configuration port: takes an image's bytes at its rate, and makes the slot's boundary garbage meanwhile.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>

#include "eddy_boundary.h"
#include "timebase.h"

/// How a load ends.
/// 0 and 1: either port. The others only the engine's: the image is lost silently, no end is reported, AVAIL falls.
enum : uint32_t { kLoadGood = 0, kLoadFails = 1, kLoadLost = 2, kLoadEndless = 3, kLoadInterrupted = 4 };

class ConfigPort {
 public:
  struct Load {
    uint32_t slot = 0;
    uint32_t outcome = kLoadGood;
    uint32_t faults = 0;
    std::string path, options;
    Fs begin = 0, end = 0;
    bool engine = false;  // of the shell's engine: it ends when the engine does
  };

  /// Reset value: ready, nothing under way, no error.
  static Configuration rest() {
    Configuration status{};
    status.cfg_avail_i = 1;
    status.cfg_prdone_i = 1;
    return status;
  }

  bool busy() const { return busy_; }
  const Load& load() const { return load_; }
  /// When the port next does something; `kNever` while it is at rest.
  Fs next() const { return busy_ ? next_ : kNever; }

  void start(Load load, Fs now, uint64_t shell_period, Configuration& status) {
    load_ = std::move(load);
    load_.begin = now;
    busy_ = true;
    next_ = now;
    period_ = shell_period;
    random_ = 0x9E3779B97F4A7C15ull * (load_.slot + 1);
    if (!load_.engine) status = Configuration{};
  }

  /// Begin the noise at `edge`, an edge of the shell's clock.
  void align(Fs edge) { next_ = edge < load_.end ? edge : load_.end; }

  /// Noise on the boundary: at every shell clock near the beginning and the end of a load, sparsely between, because
  /// each change has to be simulated. The sequence depends on the slot and on time since the beginning only.
  void noise(Fs now, SlotUp& up) {
    unsigned char raw[sizeof(SlotUp)];
    for (size_t i = 0; i < sizeof raw; i += 8) {
      random_ ^= random_ << 13;
      random_ ^= random_ >> 7;
      random_ ^= random_ << 17;
      std::memcpy(raw + i, &random_, sizeof raw - i < 8 ? sizeof raw - i : 8);
    }
    std::memcpy(&up, raw, sizeof raw);
    slot_up_mask(&up);
    const bool dense = now - load_.begin < kDense * period_ || load_.end - now < (kDense + kSparse) * period_;
    next_ = now + (dense ? 1 : kSparse) * period_;
    if (next_ > load_.end) next_ = load_.end;
  }

  /// The engine's load is over, however it went.
  void stop() { busy_ = false; }

  /// The last byte is in: what the status lines say from now on.
  void finish(Configuration& status) {
    busy_ = false;
    status = rest();
    status.cfg_prerror_i = load_.outcome == kLoadFails;
  }

 private:
  static constexpr uint64_t kDense = 256, kSparse = 128;  // shell clocks

  bool busy_ = false;
  Load load_;
  Fs next_ = kNever;
  uint64_t period_ = 0;
  uint64_t random_ = 0;
};
