// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The AXI4-Lite handshake in front of a register bank written in C++: one access at a time, answered in the next cycle.
/// Plain data, so that two states can be compared. `Bank` has `read(offset)` and `write(offset, word)`.
#pragma once
#include "slot_abi.h"

template <class Bank>
struct LitePort {
  uint8_t have_address, have_data;
  uint32_t data;
  uint16_t write_address;

  /// A clock edge; `before` is what was on the wires.
  void step_port(const SlotUp& before, const SlotDown& down, SlotUp& up, bool answers) {
    Bank& bank = *static_cast<Bank*>(this);
    if (before.s_axil_rvalid && down.s_axil_rready) up.s_axil_rvalid = 0;
    if (before.s_axil_bvalid && down.s_axil_bready) up.s_axil_bvalid = 0;
    if (before.s_axil_arready && down.s_axil_arvalid) {
      up.s_axil_rdata = bank.read(down.s_axil_araddr & ~3u);
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
      bank.write(write_address, data);
      have_address = have_data = 0;
      up.s_axil_bvalid = 1;
    }
    up.s_axil_arready = answers && !up.s_axil_rvalid;
    up.s_axil_awready = answers && !have_address && !up.s_axil_bvalid;
    up.s_axil_wready = answers && !have_data && !up.s_axil_bvalid;
  }
};

/// The identity block at 0xF000 that every module shows.
inline uint32_t identity_word(uint32_t offset, uint64_t hash, uint32_t kind) {
  constexpr uint32_t kMagic = 0x45444459, kMapVersion = 0x0100;
  switch (offset) {
    case 0xF000: return kMagic;
    case 0xF004: return kind << 16 | kMapVersion;
    case 0xF008: return static_cast<uint32_t>(hash);
    case 0xF00C: return static_cast<uint32_t>(hash >> 32);
    default: return 0;
  }
}
