/// The register half of a module written in C++: AP_CTRL at 0x00, GIE, IER and ISR, arguments from 0x10, the identity at
/// 0xF000; done clears on read, interrupt status toggles on write. Plain data, so that two states can be compared.
#pragma once
#include "slot_abi.h"

struct HlsRegisters {
  static constexpr uint32_t kMagic = 0x45444459;
  static constexpr uint32_t kMapVersion = 0x0100;
  static constexpr unsigned kCount = 64;

  uint32_t values[kCount];
  uint8_t started, done, gie, ier, isr;
  uint8_t have_address, have_data;
  uint32_t data;
  uint16_t write_address;

  /// The item is done, as far as software can see.
  void finish() {
    started = 0;
    done = 1;
    isr |= 1;
  }

  /// A 40-bit address in the registers at `offset` (low) and behind it (high).
  uint64_t address(unsigned offset) const {
    return (static_cast<uint64_t>(values[offset / 4 + 1]) << 32 | values[offset / 4]) & 0xFFFFFFFFFFull;
  }

  /// A clock edge of the AXI4-Lite side; `before` is what was on the wires.
  void step(const SlotUp& before, const SlotDown& down, SlotUp& up, bool answers, uint64_t hash, uint32_t kind) {
    if (before.s_axil_rvalid && down.s_axil_rready) up.s_axil_rvalid = 0;
    if (before.s_axil_bvalid && down.s_axil_bready) up.s_axil_bvalid = 0;
    if (before.s_axil_arready && down.s_axil_arvalid) {
      up.s_axil_rdata = read(down.s_axil_araddr & ~3u, hash, kind);
      up.s_axil_rvalid = 1;
    }
    if (before.s_axil_awready && down.s_axil_awvalid) {
      have_address = 1;
      write_address = down.s_axil_awaddr & 0xFFFC;
    }
    if (before.s_axil_wready && down.s_axil_wvalid) {
      have_data = 1;
      data = down.s_axil_wdata;
    }
    if (have_address && have_data && !up.s_axil_bvalid) {
      write(write_address, data);
      have_address = have_data = 0;
      up.s_axil_bvalid = 1;
    }
    up.s_axil_arready = answers && !up.s_axil_rvalid;
    up.s_axil_awready = answers && !have_address && !up.s_axil_bvalid;
    up.s_axil_wready = answers && !have_data && !up.s_axil_bvalid;
  }

 private:
  uint32_t read(uint32_t offset, uint64_t hash, uint32_t kind) {
    switch (offset) {
      case 0x00: {
        const uint32_t value = started | done << 1 | (!started) << 2;
        done = 0;
        return value;
      }
      case 0x04: return gie;
      case 0x08: return ier;
      case 0x0C: return isr;
      case 0xF000: return kMagic;
      case 0xF004: return kind << 16 | kMapVersion;
      case 0xF008: return static_cast<uint32_t>(hash);
      case 0xF00C: return static_cast<uint32_t>(hash >> 32);
      default: return offset / 4 < kCount ? values[offset / 4] : 0;
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
