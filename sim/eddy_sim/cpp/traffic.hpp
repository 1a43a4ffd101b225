// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// What a module of type `traffic` asks of memory: bursts of one shape, as its registers say.
///
/// Word 6 (0x18): AxLEN in bits 7:0, AxSIZE in 10:8, AxBURST in 13:12, bit 16 reads, bit 17 writes. Word 7: bursts in each
/// direction, 0 without end. Word 8: bytes from one burst to the next; word 9: bytes after which addresses begin again,
/// 0 never. Beats of 16 bytes are for a port of 128 bits; smaller ones lie in its lower half. Word 10: bursts under way in a direction at most, 0 without bound. Words 12 and 13 are overwritten with the
/// bursts that have ended, reads and writes.
#pragma once
#include <cstdint>

#include "slot_abi.h"

struct TrafficState {
  uint32_t asked[2], ended[2];  // reads, writes
  uint32_t beat;                // of the write burst whose data goes
  uint32_t sent;                // write bursts whose data has gone
};

class Traffic {
 public:
  Traffic(TrafficState& state, const uint32_t* registers, uint64_t base) : s_(state), r_(registers), base_(base) {}

  bool done() const {
    for (unsigned write = 0; write < 2; write++) {
      if (wanted(write) && (!r_[7] || s_.ended[write] < r_[7])) return false;
    }
    return true;
  }

  /// Takes what memory answered, given the wires before the edge; answers are taken at once.
  void answers(const SlotUp& before, const SlotDown& down) {
    if (before.m_axi_rready && down.m_axi_rvalid && down.m_axi_rlast) s_.ended[0]++;
    if (before.m_axi_bready && down.m_axi_bvalid) s_.ended[1]++;
  }

  void ask(SlotUp& up) {
    if (!up.m_axi_arvalid && may_ask(0)) {
      up.m_axi_arvalid = 1;
      up.m_axi_araddr = burst_address(s_.asked[0]++);
      up.m_axi_arlen = length();
      up.m_axi_arsize = size();
      up.m_axi_arburst = kind();
    }
    if (!up.m_axi_awvalid && may_ask(1)) {
      up.m_axi_awvalid = 1;
      up.m_axi_awaddr = burst_address(s_.asked[1]++);
      up.m_axi_awlen = length();
      up.m_axi_awsize = size();
      up.m_axi_awburst = kind();
    }
    if (!up.m_axi_wvalid && s_.sent < s_.asked[1]) deliver(up);
  }

 private:
  bool wanted(unsigned write) const { return r_[6] >> (16 + write) & 1; }
  uint8_t length() const { return static_cast<uint8_t>(r_[6]); }
  uint8_t size() const { return r_[6] >> 8 & 7; }
  uint8_t kind() const { return r_[6] >> 12 & 3; }

  bool may_ask(unsigned write) const {
    if (!wanted(write) || (r_[7] && s_.asked[write] >= r_[7])) return false;
    return !r_[10] || s_.asked[write] - s_.ended[write] < r_[10];
  }

  uint64_t burst_address(uint32_t burst) const {
    const uint64_t offset = static_cast<uint64_t>(burst) * r_[8];
    return base_ + (r_[9] ? offset % r_[9] : offset);
  }

  uint64_t beat_address(uint64_t first, uint32_t beat) const {
    const uint64_t bytes = 1ull << size();
    if (kind() == 0 || beat == 0) return first;
    const uint64_t next = (first & ~(bytes - 1)) + beat * bytes;
    if (kind() == 1) return next;
    const uint64_t extent = bytes * (length() + 1u);
    const uint64_t low = first / extent * extent;
    return low + (next - low) % extent;
  }

  void deliver(SlotUp& up) {
    const uint64_t at = beat_address(burst_address(s_.sent), s_.beat);
    const unsigned bytes = 1u << size();
    const unsigned lanes = bytes > 8 ? 16 : 8, first = at & (lanes - 1), end = (first & ~(bytes - 1)) + bytes;
    const uint32_t strobes = ((1u << lanes) - (1u << first)) & ((1u << end) - 1);
    up.m_axi_wvalid = 1;
    up.m_axi_wdata = up.m_axi_wdata_hi = 0x0123456789ABCDEFull;
    up.m_axi_wstrb = static_cast<uint8_t>(strobes);
    up.m_axi_wstrb_hi = static_cast<uint8_t>(strobes >> 8);
    up.m_axi_wlast = s_.beat == length();
    if (s_.beat++ < length()) return;
    s_.beat = 0;
    s_.sent++;
  }

  TrafficState& s_;
  const uint32_t* r_;
  uint64_t base_;
};
