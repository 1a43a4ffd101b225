// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The register half of a module written in C++: AP_CTRL at 0x00, GIE, IER and ISR, arguments from 0x10, the identity at
/// 0xF000; done clears on read, interrupt status toggles on write. Plain data, so that two states can be compared.
#pragma once
#include "lite_port.hpp"

struct HlsRegisters : LitePort<HlsRegisters> {
  static constexpr unsigned kCount = 64;

  uint32_t values[kCount];
  uint8_t started, done, gie, ier, isr;
  uint32_t kind;
  uint64_t hash;

  /// The item is done, as far as software can see.
  void finish() {
    started = 0;
    done = 1;
    isr |= 1;
  }

  /// Whether the interrupt is high.
  bool interrupts() const { return gie && isr & ier; }

  /// A 40-bit address in the registers at `offset` (low) and behind it (high).
  uint64_t address(unsigned offset) const {
    return (static_cast<uint64_t>(values[offset / 4 + 1]) << 32 | values[offset / 4]) & 0xFFFFFFFFFFull;
  }

  /// A clock edge of the AXI4-Lite side; `before` is what was on the wires.
  void step(const SlotUp& before, const SlotDown& down, SlotUp& up, bool answers, uint64_t its_hash, uint32_t its_kind) {
    hash = its_hash;
    kind = its_kind;
    step_port(before, down, up, answers);
  }

  uint32_t read(uint32_t offset) {
    switch (offset) {
      case 0x00: {
        const uint32_t value = started | done << 1 | (!started) << 2;
        done = 0;
        return value;
      }
      case 0x04: return gie;
      case 0x08: return ier;
      case 0x0C: return isr;
      default: return offset / 4 < kCount ? values[offset / 4] : identity_word(offset, hash, kind);
    }
  }

  void write(uint32_t offset, uint32_t value) {
    switch (offset) {
      case 0x00: started |= value & 1; return;
      case 0x04: gie = value & 1; return;
      case 0x08: ier = value & 3; return;
      case 0x0C: isr ^= value & 3; return;
      default:
        if (offset / 4 < kCount) values[offset / 4] = value;
    }
  }
};
