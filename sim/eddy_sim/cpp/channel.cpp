// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// A module that sends to its neighbours, or listens to them, by nothing but when its own reads are answered.
///
/// Registers 0x18 to 0x28 are those of `traffic.hpp`; what is asked for are reads. Word 11 (0x2C): cycles of a symbol, 0:
/// it asks always. Words 16 to 47: a bit a symbol, from bit 0 of word 16 on; where it is 0, and after the last, nothing
/// is asked. In which cycle since the start each of the first 65,536 reads was answered is kept: word 14 says from which
/// one on, and words 48 to 63 show sixteen.
#include <array>
#include <cstring>

#include "hls_registers.hpp"
#include "module_abi.hpp"
#include "traffic.hpp"

namespace {

constexpr uint32_t kKept = 1 << 16, kShown = 16, kBits = 1024;
constexpr unsigned kSymbol = 11, kEnded = 12, kFrom = 14, kMessage = 16, kShow = 48;

/// Everything that a clock edge may change, apart from what is kept: that changes only where this does.
struct State {
  HlsRegisters registers;
  uint32_t now, answered;
  TrafficState traffic;
  SlotUp up;
};

class Channel {
 public:
  explicit Channel(const char*) { std::memset(&s_, 0, sizeof s_); }

  void step(const SlotDown& down, SlotUp& up) {
    if (!down.rst_n) {
      std::memset(&s_, 0, sizeof s_);
    } else {
      const SlotUp before = s_.up;  // handshakes are judged by what was on the wires
      if (before.m_axi_arvalid && down.m_axi_arready) s_.up.m_axi_arvalid = 0;
      traffic().answers(before, down);
      if (before.m_axi_rready && down.m_axi_rvalid && down.m_axi_rlast) keep();
      s_.up.m_axi_rready = s_.up.m_axi_bready = 1;
      s_.registers.step(before, down, s_.up, true, 0, 1);
      if (s_.registers.started) act();
      show();
    }
    up = s_.up;
  }

  int step_check(const SlotDown& down, SlotUp& up) {
    const State before = s_;
    step(down, up);
    return std::memcmp(&before, &s_, sizeof s_) == 0;
  }

 private:
  uint32_t value(unsigned word) const { return s_.registers.values[word]; }

  Traffic traffic() { return {s_.traffic, s_.registers.values, s_.registers.address(0x10)}; }

  void act() {
    s_.now++;
    if (asks()) traffic().ask(s_.up);
    s_.registers.values[kEnded] = s_.answered;
  }

  bool asks() const {
    if (!value(kSymbol)) return true;
    const uint32_t symbol = (s_.now - 1) / value(kSymbol);
    return symbol < kBits && value(kMessage + symbol / 32) >> (symbol % 32) & 1;
  }

  void keep() {
    if (s_.answered < kKept) kept_[s_.answered] = s_.now;
    s_.answered++;
  }

  void show() {
    for (uint32_t k = 0; k < kShown; k++) {
      const uint32_t which = value(kFrom) + k;
      s_.registers.values[kShow + k] = which < kKept && which < s_.answered ? kept_[which] : 0;
    }
  }

  State s_;
  std::array<uint32_t, kKept> kept_{};
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const ModuleAbi eddy_module = AbiOf<Channel>::kTable;
