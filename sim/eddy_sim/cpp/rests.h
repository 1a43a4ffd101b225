// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Leaves out the clock edges that would change nothing in a part of the shell.
///
/// Which those are is observed, not predicted: once an edge of each of its clocks has changed not one byte of a part, it
/// rests, until something wakes it. That nothing else can move it is proved (`eddy_sim.tools.quiescence_proof`).
#pragma once
#include <cstdint>
#include <cstring>
#include <vector>

#include "same_bytes.h"

/// Parts are numbered from 0; sets of them are masks. Each has a clock of the shell's side (near), some one of a slot's (far).
class Rests {
 public:
  /// The next part; `state` holds all of its flops, and nothing that changes while they do not.
  void add(const unsigned char* state, size_t bytes) { parts_.push_back({state, std::vector<unsigned char>(bytes)}); }

  void wake(uint32_t parts) {
    near_ &= ~parts;
    far_ &= ~parts;
    for (; parts; parts &= parts - 1) {
      Part& part = first(parts);
      part.wait = kFirstWait;
      part.back_off = 1;
    }
  }

  /// Parts in which an edge of that clock would change nothing.
  uint32_t near() const { return near_; }
  uint32_t far() const { return far_; }

  /// Before an edge of these parts is evaluated; answers those to `judge` after it.
  uint32_t watch(uint32_t parts) {
    uint32_t watched = 0;
    for (; parts; parts &= parts - 1) {
      Part& part = first(parts);
      if (part.wait) {
        part.wait--;
      } else {
        std::memcpy(part.before.data(), part.state, part.before.size());
        watched |= parts & -parts;
      }
    }
    return watched;
  }

  /// After an edge of watched parts: of the shell's clock in those in `near`, of the slots' in those in `far`.
  void judge(uint32_t watched, uint32_t near, uint32_t far) {
    for (; watched; watched &= watched - 1) {
      Part& part = first(watched);
      const uint32_t bit = watched & -watched;
      if (same_bytes(part.before.data(), part.state, part.before.size())) {
        near_ |= bit & near;
        far_ |= bit & far;
      } else {
        near_ &= ~bit;
        far_ &= ~bit;
        part.back_off = part.back_off * 2 < kLongestWait ? part.back_off * 2 : kLongestWait;
        part.wait = part.back_off;
      }
    }
  }

 private:
  static constexpr uint32_t kFirstWait = 12;    // edges from a wake to the first look
  static constexpr uint32_t kLongestWait = 64;  // edges between looks, at most

  struct Part {
    const unsigned char* state;
    std::vector<unsigned char> before;
    uint32_t wait = kFirstWait, back_off = 1;
  };

  Part& first(uint32_t parts) { return parts_[static_cast<uint32_t>(__builtin_ctz(parts))]; }

  std::vector<Part> parts_;
  uint32_t near_ = 0, far_ = 0;
};
