/// Leaves out the edges of a slot's path that would change nothing in it.
///
/// Which those are is observed, not predicted: once an edge of each of its clocks has changed not one byte of the path,
/// it rests, until something wakes it (`path_wake_o` of the shell, an answer from memory, an output of the slot that
/// changed). That nothing else can wake it is proved: `eddy_sim.stillness`.
#pragma once
#include <cstdint>
#include <cstring>
#include <vector>

class PathRest {
 public:
  /// `state` holds all of the path's flops, and nothing that changes while they do not.
  PathRest(const unsigned char* state, size_t bytes) : state_(state), before_(bytes) {}

  void wake() {
    near_rests_ = far_rests_ = false;
    wait_ = kFirstWait;
    back_off_ = 1;
  }

  /// Whether an edge of the shell's clock, or of the slot's, would change nothing.
  bool near_rests() const { return near_rests_; }
  bool far_rests() const { return far_rests_; }

  /// Before an edge that is evaluated; answers whether `judge` is to be called after it.
  bool watch() {
    if (wait_) {
      wait_--;
      return false;
    }
    std::memcpy(before_.data(), state_, before_.size());
    return true;
  }

  /// After an edge of one or both clocks.
  void judge(bool near, bool far) {
    if (std::memcmp(before_.data(), state_, before_.size()) == 0) {
      near_rests_ |= near;
      far_rests_ |= far;
      return;
    }
    near_rests_ = far_rests_ = false;
    back_off_ = back_off_ * 2 < kLongestWait ? back_off_ * 2 : kLongestWait;
    wait_ = back_off_;
  }

 private:
  static constexpr uint32_t kFirstWait = 12;    // edges from a wake to the first look
  static constexpr uint32_t kLongestWait = 64;  // edges between looks, at most

  const unsigned char* state_;
  std::vector<unsigned char> before_;
  bool near_rests_ = false, far_rests_ = false;
  uint32_t wait_ = kFirstWait, back_off_ = 1;
};
