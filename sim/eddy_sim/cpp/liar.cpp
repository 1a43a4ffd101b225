// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// A module that lies about being done, behind `ModuleAbi`: it says so when it likes, and reads and writes on.
///
/// Everything it asks for lies in the `span` bytes from its pointer, which its item was granted: what it breaks is not
/// its windows but the end of the item. With `cores` it is a GPU cluster, whose core 0 says that it has stopped. Options are `build_hash(hex) kind` and then `name=number` for each field of
/// `Mode`, all separated by blanks. `liar_watch` and `liar_seen` say how often a word came to any module of this kind.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cluster_registers.hpp"
#include "hls_registers.hpp"
#include "module_abi.hpp"

namespace {

constexpr uint64_t kLie = 0x11E511E511E511E5ull;  // what it writes
constexpr unsigned kBurstFixed = 0, kBurstWrap = 2;
constexpr unsigned kMostOwed = 64;

enum When : uint32_t { kAtStart, kAsked, kAnswered, kNever };

struct Mode {
  uint32_t reads = 0, writes = 0;      // whether it does
  uint32_t len = 0, size = 3, burst = 1;
  uint32_t when = kAtStart;            // says done: at the start, at its first request, at its first answer, never
  uint32_t delay = 0;                  // cycles from the start to the first request
  uint32_t pause = 0;                  // cycles between requests
  uint32_t total = 0;                  // requests in all; 0: for ever
  uint32_t outstanding = 1;            // of each direction
  uint32_t contexts = 1, ids = 1;      // it takes them in turn
  uint32_t hold_w = 0, hold_r = 0, hold_b = 0;  // cycles it lets a channel wait, of each transfer
  uint32_t pointer = 0x10;             // offset of the register with its address
  uint32_t span = 4096;
  uint32_t cores = 0;                  // it is a cluster of so many; 0: an accelerator
};

constexpr struct {
  const char* name;
  uint32_t Mode::* field;
} kFields[] = {
    {"reads", &Mode::reads},     {"writes", &Mode::writes}, {"len", &Mode::len},           {"size", &Mode::size},
    {"burst", &Mode::burst},     {"when", &Mode::when},     {"delay", &Mode::delay},       {"pause", &Mode::pause},
    {"total", &Mode::total},     {"outstanding", &Mode::outstanding},                      {"contexts", &Mode::contexts},
    {"ids", &Mode::ids},         {"hold_w", &Mode::hold_w}, {"hold_r", &Mode::hold_r},     {"hold_b", &Mode::hold_b},
    {"pointer", &Mode::pointer}, {"span", &Mode::span},     {"cores", &Mode::cores},
};

uint64_t watched = 0, seen = 0;

struct State {
  HlsRegisters registers;
  ClusterRegisters cluster;
  uint8_t acting, said;
  uint32_t age, since_asked, asked_reads, asked_writes, reads_owed, writes_owed;
  uint64_t base;  // its address, as it was at the start: the registers may be another item's by now
  uint32_t context;
  uint32_t waited_w, waited_r, waited_b;
  uint32_t first, next, beat;  // of the writes whose data has not all gone
  uint64_t owed[kMostOwed];    // their addresses
  SlotUp up;
};

class Liar {
 public:
  explicit Liar(const char* options) {
    char* rest = nullptr;
    hash_ = std::strtoull(options, &rest, 16);
    kind_ = static_cast<uint32_t>(std::strtoul(rest, &rest, 10));
    char name[32];
    unsigned value = 0;
    int used = 0;
    while (std::sscanf(rest, " %31[a-z_]=%u%n", name, &value, &used) == 2) {
      for (const auto& field : kFields) {
        if (!std::strcmp(field.name, name)) mode_.*field.field = value;
      }
      rest += used;
    }
    std::memset(&s_, 0, sizeof s_);
  }

  void step(const SlotDown& down, SlotUp& up) {
    if (!down.rst_n) {
      std::memset(&s_, 0, sizeof s_);
    } else {
      const SlotUp before = s_.up;
      answers(before, down);
      requests(before, down);
      data(before, down);
      if (mode_.cores) {
        s_.cluster.step(before, down, s_.up, hash_, kind_, mode_.cores);
      } else {
        s_.registers.step(before, down, s_.up, true, hash_, kind_);
      }
      if ((mode_.cores ? s_.cluster.started : s_.registers.started) && !s_.acting) begin();
      if (s_.acting) act();
      s_.up.irq = mode_.cores ? s_.cluster.interrupts() : s_.registers.interrupts();
    }
    up = s_.up;
  }

  int step_check(const SlotDown& down, SlotUp& up) {
    const State before = s_;
    step(down, up);
    return std::memcmp(&before, &s_, sizeof s_) == 0;
  }

 private:
  void begin() {
    s_.acting = 1;
    s_.said = 0;
    s_.base = mode_.cores ? s_.cluster.address() : s_.registers.address(mode_.pointer);
    s_.context = mode_.cores ? s_.cluster.context() : 0;
    s_.age = s_.since_asked = s_.asked_reads = s_.asked_writes = 0;
    if (mode_.when == kAtStart) say();
  }

  void say() {
    if (s_.said) return;
    s_.said = 1;
    if (mode_.cores) {
      s_.cluster.finish();
    } else {
      s_.registers.finish();
    }
  }

  /// Counts the cycles a channel is kept waiting; answers whether it may go now.
  static bool waited(uint32_t& count, bool waits, uint32_t limit) {
    if (!waits) return limit == 0;
    if (count >= limit) return true;
    count++;
    return count >= limit;
  }

  void answers(const SlotUp& before, const SlotDown& down) {
    SlotUp& up = s_.up;
    if (before.m_axi_rready && down.m_axi_rvalid) {
      if (down.m_axi_rdata == watched) seen++;
      s_.waited_r = 0;
      if (down.m_axi_rlast) {
        if (s_.reads_owed) s_.reads_owed--;
        if (mode_.when == kAnswered) say();
      }
    }
    if (before.m_axi_bready && down.m_axi_bvalid) {
      s_.waited_b = 0;
      if (s_.writes_owed) s_.writes_owed--;
      if (mode_.when == kAnswered) say();
    }
    const bool r_taken = before.m_axi_rready && down.m_axi_rvalid, b_taken = before.m_axi_bready && down.m_axi_bvalid;
    up.m_axi_rready = waited(s_.waited_r, down.m_axi_rvalid && !r_taken, mode_.hold_r);
    up.m_axi_bready = waited(s_.waited_b, down.m_axi_bvalid && !b_taken, mode_.hold_b);
  }

  void requests(const SlotUp& before, const SlotDown& down) {
    if (before.m_axi_arvalid && down.m_axi_arready) {
      s_.up.m_axi_arvalid = 0;
      if (mode_.when == kAsked) say();
    }
    if (before.m_axi_awvalid && down.m_axi_awready) {
      s_.up.m_axi_awvalid = 0;
      if (mode_.when == kAsked) say();
    }
  }

  void data(const SlotUp& before, const SlotDown& down) {
    SlotUp& up = s_.up;
    if (before.m_axi_wvalid && down.m_axi_wready) {
      up.m_axi_wvalid = 0;
      s_.waited_w = 0;
      if (s_.beat > mode_.len) {
        s_.beat = 0;
        s_.first = (s_.first + 1) % kMostOwed;
      }
    }
    if (up.m_axi_wvalid || s_.first == s_.next) return;
    if (!waited(s_.waited_w, true, mode_.hold_w)) return;
    up.m_axi_wvalid = 1;
    up.m_axi_wdata = kLie;
    up.m_axi_wstrb = lanes(beat_address(s_.owed[s_.first], s_.beat));
    up.m_axi_wlast = s_.beat == mode_.len;
    s_.beat++;
  }

  uint64_t beat_address(uint64_t at, uint32_t beat) const {
    const uint64_t bytes = 1ull << mode_.size, total = (mode_.len + 1ull) << mode_.size;
    if (mode_.burst == kBurstFixed) return at;
    const uint64_t plain = at + beat * bytes;
    const uint64_t boundary = at & ~(total - 1);
    return mode_.burst == kBurstWrap && plain >= boundary + total ? plain - total : plain;
  }

  uint8_t lanes(uint64_t at) const {
    const unsigned bytes = 1u << mode_.size;
    return static_cast<uint8_t>(((1u << bytes) - 1) << (at & 7 & ~(bytes - 1)));
  }

  /// Where the n-th request goes: one burst behind the other, through the whole span, each within its page.
  uint64_t place(uint32_t n) const {
    const uint64_t stride = ((mode_.len + 1ull) << mode_.size) < 8 ? 8 : (mode_.len + 1ull) << mode_.size;
    const uint64_t most = mode_.span / stride ? mode_.span / stride : 1;
    return s_.base + n % most * stride;
  }

  void act() {
    if (s_.age < mode_.delay) {
      s_.age++;
      return;
    }
    if (s_.since_asked < mode_.pause) {
      s_.since_asked++;
      return;
    }
    const uint32_t asked = s_.asked_reads + s_.asked_writes;
    if (mode_.total && asked >= mode_.total) {
      if (!s_.reads_owed && !s_.writes_owed) s_.acting = 0;
      return;
    }
    SlotUp& up = s_.up;
    const bool read = mode_.reads && !up.m_axi_arvalid && s_.reads_owed < mode_.outstanding;
    const bool write = mode_.writes && !up.m_axi_awvalid && s_.writes_owed < mode_.outstanding
        && (s_.next + 1) % kMostOwed != s_.first;
    if (read) {
      const uint32_t n = s_.asked_reads++;
      up.m_axi_arvalid = 1;
      up.m_axi_araddr = place(n);
      up.m_axi_arlen = static_cast<uint8_t>(mode_.len);
      up.m_axi_arsize = static_cast<uint8_t>(mode_.size);
      up.m_axi_arburst = static_cast<uint8_t>(mode_.burst);
      up.m_axi_aruser = static_cast<uint8_t>((s_.context + n % mode_.contexts) % 16);
      up.m_axi_arid = static_cast<uint8_t>(n % mode_.ids);
      s_.reads_owed++;
    }
    if (write) {
      const uint32_t n = s_.asked_writes++;
      up.m_axi_awvalid = 1;
      up.m_axi_awaddr = place(n);
      up.m_axi_awlen = static_cast<uint8_t>(mode_.len);
      up.m_axi_awsize = static_cast<uint8_t>(mode_.size);
      up.m_axi_awburst = static_cast<uint8_t>(mode_.burst);
      up.m_axi_awuser = static_cast<uint8_t>((s_.context + n % mode_.contexts) % 16);
      up.m_axi_awid = static_cast<uint8_t>(n % mode_.ids);
      s_.owed[s_.next] = up.m_axi_awaddr;
      s_.next = (s_.next + 1) % kMostOwed;
      s_.writes_owed++;
    }
    if (read || write) s_.since_asked = 0;
  }

  Mode mode_;
  uint64_t hash_ = 0;
  uint32_t kind_ = 1;
  State s_;
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const ModuleAbi eddy_module = AbiOf<Liar>::kTable;

/// Count from now on how often this word is read.
extern "C" __attribute__((visibility("default"))) void liar_watch(uint64_t word) {
  watched = word;
  seen = 0;
}

/// How often it was.
extern "C" __attribute__((visibility("default"))) uint64_t liar_seen(void) { return seen; }
