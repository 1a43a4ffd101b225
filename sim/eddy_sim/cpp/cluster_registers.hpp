// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The register half of a GPU cluster that is none (hw/regs/gpu_cluster.rdl): it says that cores run and have stopped, and
/// executes nothing. The first core that is started tells of the liar behind it; the others run until they are halted.
/// Plain data, so that two states can be compared.
#pragma once
#include "lite_port.hpp"

struct ClusterRegisters : LitePort<ClusterRegisters> {
  static constexpr unsigned kCount = 0x140;
  static constexpr uint32_t kInterruptStatus = 0x04, kStatus = 0x08, kConfig = 0x18, kLimits = 0x1C, kLaunch = 0x20;
  static constexpr uint32_t kHalt = 0x28, kInterruptEnable = 0x30;
  static constexpr uint32_t kCore = 0x100, kStride = 0x40, kContext = 0x08, kBase2 = 0x18, kCause = 0x20;

  uint32_t values[kCount];
  uint8_t started, lies, running, pending;
  uint32_t cores, kind;
  uint64_t hash;

  /// The core that lies has stopped, as far as software can see.
  void finish() {
    started = 0;
    stop(1u << lies);
  }

  /// Whether the interrupt is high.
  bool interrupts() const { return pending; }

  /// Where the region of the core that lies begins.
  uint64_t address() const { return static_cast<uint64_t>(of(lies, kBase2) & 0xFFFFFFF) << 12; }

  /// Its memory context.
  uint32_t context() const { return of(lies, kContext) & 0xF; }

  /// A clock edge of the AXI4-Lite side; `before` is what was on the wires.
  void step(const SlotUp& before, const SlotDown& down, SlotUp& up, uint64_t its_hash, uint32_t its_kind, uint32_t its_cores) {
    hash = its_hash;
    kind = its_kind;
    cores = its_cores;
    step_port(before, down, up, true);
  }

  uint32_t read(uint32_t offset) {
    switch (offset) {
      case kInterruptStatus: return pending;
      case kStatus: return running;
      case kConfig: return cores | 2 << 8 | 2 << 16;
      case kLimits: return 10 | 10 << 8 | 12 << 16;
      default: break;
    }
    if (offset >= kCore && offset < kCore + cores * kStride && (offset - kCore) % kStride >= kCause) return 0;
    return offset / 4 < kCount ? values[offset / 4] : identity_word(offset, hash, kind);
  }

  void write(uint32_t offset, uint32_t value) {
    switch (offset) {
      case kInterruptStatus: pending = pending && value & 1; return;
      case kLaunch: launch(value & ((1u << cores) - 1)); return;
      case kHalt: stop(value & running); return;
      default:
        if (offset / 4 < kCount) values[offset / 4] = value;
    }
  }

 private:
  uint32_t of(unsigned core, uint32_t offset) const { return values[(kCore + core * kStride + offset) / 4]; }

  void launch(uint32_t mask) {
    running |= mask;
    for (unsigned core = 0; core < cores && !started; core++) {
      if (!(mask >> core & 1) || core == kHonest) continue;
      lies = static_cast<uint8_t>(core);
      started = 1;
    }
  }

  void stop(uint32_t mask) {
    running &= ~mask;
    if (mask & values[kInterruptEnable / 4]) pending = 1;
  }

  static constexpr unsigned kHonest = 1;  // this core never lies, so that there is somebody beside the liar
};
