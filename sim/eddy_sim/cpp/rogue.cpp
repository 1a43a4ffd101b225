// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// A module that misbehaves on request, behind `ModuleAbi`.
///
/// It answers registers like any module: AP_CTRL at 0x00, GIE, IER and ISR, an address at 0x10 and 0x14, the identity
/// at 0xF000. Written in C++ because what it does is what RTL that passed review would not. Options are
/// `behaviour build_hash(hex) kind`, separated by blanks. All outputs are registered, as the boundary demands.
#include <cstdio>
#include <cstring>
#include <string>

#include "hls_registers.hpp"
#include "module_abi.hpp"
#include "traffic.hpp"

namespace {

enum class Behaviour { kSound, kHang, kSilent, kFlood, kReadOutside, kWriteOutside, kStallWrite, kStallResponse,
                       kIllegalBurst, kInterrupt, kFloodWrite, kDribbleWrite, kLateOutside, kTraffic,
                       kToggle };

constexpr struct {
  const char* name;
  Behaviour behaviour;
} kNames[] = {
    {"sound", Behaviour::kSound},
    {"hang", Behaviour::kHang},
    {"silent", Behaviour::kSilent},
    {"flood", Behaviour::kFlood},
    {"read-outside", Behaviour::kReadOutside},
    {"write-outside", Behaviour::kWriteOutside},
    {"stall-write", Behaviour::kStallWrite},
    {"stall-response", Behaviour::kStallResponse},
    {"illegal-burst", Behaviour::kIllegalBurst},
    {"interrupt", Behaviour::kInterrupt},
    {"flood-write", Behaviour::kFloodWrite},
    {"dribble-write", Behaviour::kDribbleWrite},
    {"late-outside", Behaviour::kLateOutside},
    {"traffic", Behaviour::kTraffic},
    {"toggle", Behaviour::kToggle},
};

constexpr uint64_t kWord = 0x0123456789ABCDEFull;  // what it writes to memory
constexpr uint16_t kDribblePause = 16;  // cycles between two beats
constexpr uint16_t kTogglePause = 64;  // cycles for which its interrupt is low, and then high
constexpr uint16_t kLatePause = 1000;  // cycles between the item's end and what comes after it

/// Everything that a clock edge may change, and nothing else: two of these are compared to find a fixed point.
struct State {
  HlsRegisters registers;
  uint8_t asked, flooding;
  uint16_t beats_left, pause;
  TrafficState traffic;
  SlotUp up;
};

class Rogue {
 public:
  explicit Rogue(const char* options) {
    char name[32] = "sound";
    unsigned long long hash = 0;
    unsigned kind = 1;
    std::sscanf(options, "%31s %llx %u", name, &hash, &kind);
    for (const auto& entry : kNames) {
      if (!std::strcmp(entry.name, name)) behaviour_ = entry.behaviour;
    }
    hash_ = hash;
    kind_ = kind;
    std::memset(&s_, 0, sizeof s_);
  }

  void step(const SlotDown& down, SlotUp& up) {
    if (!down.rst_n) {
      std::memset(&s_, 0, sizeof s_);
    } else {
      const SlotUp before = s_.up;  // handshakes are judged by what was on the wires
      memory(before, down);
      const bool answers = !(s_.registers.started && behaviour_ == Behaviour::kSilent);
      s_.registers.step(before, down, s_.up, answers, hash_, kind_);
      if (s_.registers.started) act();
      else if (behaviour_ == Behaviour::kLateOutside) act_late();
      s_.up.irq = (s_.registers.gie && s_.registers.isr & s_.registers.ier) || interrupts();
    }
    up = s_.up;
  }

  int step_check(const SlotDown& down, SlotUp& up) {
    const State before = s_;
    step(down, up);
    return std::memcmp(&before, &s_, sizeof s_) == 0;
  }

 private:
  bool interrupts() const {
    return s_.registers.started &&
           (behaviour_ == Behaviour::kInterrupt || (behaviour_ == Behaviour::kToggle && s_.pause >= kTogglePause));
  }

  uint64_t address() const { return s_.registers.address(0x10); }

  void finish() {
    s_.asked = 0;
    s_.registers.finish();
  }

  void memory(const SlotUp& before, const SlotDown& down) {
    SlotUp& up = s_.up;
    if (before.m_axi_arvalid && down.m_axi_arready) up.m_axi_arvalid = 0;
    if (before.m_axi_awvalid && down.m_axi_awready) up.m_axi_awvalid = 0;
    if (before.m_axi_wvalid && down.m_axi_wready) {
      up.m_axi_wvalid = 0;
      if (s_.beats_left && behaviour_ != Behaviour::kDribbleWrite) offer_beat();
    }
    if (behaviour_ == Behaviour::kTraffic) traffic().answers(before, down);
    const bool waits = !s_.flooding && behaviour_ != Behaviour::kTraffic;
    if (before.m_axi_rready && down.m_axi_rvalid && down.m_axi_rlast && waits) finish();
    if (before.m_axi_bready && down.m_axi_bvalid && waits) {
      if (s_.registers.started && behaviour_ == Behaviour::kLateOutside) s_.pause = kLatePause;
      finish();
    }
    up.m_axi_bready = 1;
    up.m_axi_rready = behaviour_ != Behaviour::kStallResponse;
  }

  Traffic traffic() { return {s_.traffic, s_.registers.values, address()}; }

  void act_traffic() {
    if (!s_.asked) s_.traffic = {};
    traffic().ask(s_.up);
    s_.registers.values[12] = s_.traffic.ended[0];
    s_.registers.values[13] = s_.traffic.ended[1];
    if (traffic().done()) finish();
  }

  void offer_beat() {
    s_.beats_left--;
    s_.up.m_axi_wvalid = 1;
    s_.up.m_axi_wdata = kWord;
    s_.up.m_axi_wstrb = 0xFF;
    s_.up.m_axi_wlast = s_.beats_left == 0;
  }

  void ask_read(uint64_t at, uint8_t len) {
    SlotUp& up = s_.up;
    up.m_axi_arvalid = 1;
    up.m_axi_araddr = at;
    up.m_axi_arlen = len;
    up.m_axi_arsize = 3;
    up.m_axi_arburst = 1;
  }

  void ask_write(uint64_t at, uint8_t len, bool with_data) {
    SlotUp& up = s_.up;
    up.m_axi_awvalid = 1;
    up.m_axi_awaddr = at;
    up.m_axi_awlen = len;
    up.m_axi_awsize = 3;
    up.m_axi_awburst = 1;
    if (!with_data) return;
    s_.beats_left = static_cast<uint16_t>(len + 1);
    offer_beat();
  }

  /// What it does at an edge while it is started; `asked` keeps it from asking twice.
  void act() {
    const bool first = !s_.asked;
    switch (behaviour_) {
      case Behaviour::kSound:
      case Behaviour::kLateOutside:
      case Behaviour::kWriteOutside:
        if (first) ask_write(address(), behaviour_ == Behaviour::kWriteOutside ? 7 : 0, true);
        break;
      case Behaviour::kFlood:
        s_.flooding = 1;
        if (!s_.up.m_axi_arvalid) ask_read(address(), 255);
        break;
      case Behaviour::kFloodWrite:
        s_.flooding = 1;
        if (!s_.up.m_axi_awvalid && !s_.up.m_axi_wvalid && !s_.beats_left) ask_write(address(), 255, true);
        break;
      case Behaviour::kDribbleWrite:
        s_.flooding = 1;
        if (!s_.up.m_axi_awvalid && !s_.up.m_axi_wvalid && !s_.beats_left) {
          ask_write(address(), 255, true);
          s_.pause = kDribblePause;
        } else if (s_.pause) {
          s_.pause--;
        } else if (!s_.up.m_axi_wvalid && s_.beats_left) {
          offer_beat();
          s_.pause = kDribblePause;
        }
        break;
      case Behaviour::kReadOutside:
        if (first) ask_read(address(), 7);
        break;
      case Behaviour::kStallResponse:  // more than the buffers between here and the firewall hold
        if (first) ask_read(address(), 63);
        break;
      case Behaviour::kIllegalBurst:
        if (first) ask_read((address() & ~0xFFFull) + 0xFC0, 15);
        break;
      case Behaviour::kStallWrite:
        if (first) ask_write(address(), 7, false);
        break;
      case Behaviour::kTraffic: act_traffic(); break;
      case Behaviour::kToggle: s_.pause = static_cast<uint16_t>((s_.pause + 1) % (2 * kTogglePause)); break;
      default: break;
    }
    s_.asked = s_.registers.started;
  }

  /// What it does when its item is done and nobody asked for more.
  void act_late() {
    if (s_.pause && !--s_.pause) ask_write(address() + 0x1000, 7, true);
  }

  Behaviour behaviour_ = Behaviour::kSound;
  uint64_t hash_ = 0;
  uint32_t kind_ = 1;
  State s_;
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const ModuleAbi eddy_module = AbiOf<Rogue>::kTable;
