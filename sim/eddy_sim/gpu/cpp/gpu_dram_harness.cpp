// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// A Verilated GPU cluster in front of the board's memory model: no shell, several tenants, every burst counted.
///
/// Compiled in one unit with Verilator's output, so that the loop over cycles can be inlined.
#include <vector>

#include "dram.cpp"
#include "verilated_model.h"

namespace {

constexpr unsigned kIdBits = 4;  // of the cluster's port; the context goes above them, so that contexts have own ids

/// A burst as it left the cluster.
struct Asked {
  uint64_t cycle, address, bytes;
  uint32_t id, write;
};

class Harness {
 public:
  Harness(const DramParameters& parameters, uint8_t* memory, uint64_t period_fs)
      : dram_(parameters, memory), period_fs_(period_fs), context_(Verilated::threadContextp()) {
    context_->fatalOnError(false);
    Root& r = model_.root();
    r.clk_i = 0;
    model_.settle();
    r.clk_i = 1;
    r.rst_ni = 0;
    for (int i = 0; i < 8; i++) model_.edge();
    r.rst_ni = 1;
    cycle();
  }

  void write(uint32_t address, uint32_t value) {
    Verilated::threadContextp(context_);
    Root& r = model_.root();
    r.s_axil_awaddr = static_cast<uint16_t>(address);
    r.s_axil_wdata = value;
    r.s_axil_wstrb = 15;
    r.s_axil_awvalid = r.s_axil_wvalid = r.s_axil_bready = 1;
    for (bool answered = false; !answered;) {
      const bool aw = r.s_axil_awvalid && r.s_axil_awready, w = r.s_axil_wvalid && r.s_axil_wready;
      answered = r.s_axil_bvalid;
      dirty_ = true;
      cycle();
      if (aw) r.s_axil_awvalid = 0;
      if (w) r.s_axil_wvalid = 0;
    }
    r.s_axil_bready = 0;
    dirty_ = true;
  }

  uint32_t read(uint32_t address) {
    Verilated::threadContextp(context_);
    Root& r = model_.root();
    r.s_axil_araddr = static_cast<uint16_t>(address);
    r.s_axil_arvalid = r.s_axil_rready = 1;
    uint32_t value = 0;
    for (bool answered = false; !answered;) {
      const bool ar = r.s_axil_arvalid && r.s_axil_arready;
      answered = r.s_axil_rvalid;
      value = r.s_axil_rdata;
      dirty_ = true;
      cycle();
      if (ar) r.s_axil_arvalid = 0;
    }
    r.s_axil_rready = 0;
    dirty_ = true;
    return value;
  }

  /// Until the interrupt line is high, or so many cycles have passed; answers whether it is.
  bool run(uint64_t limit) {
    Verilated::threadContextp(context_);
    for (uint64_t k = 0; k < limit && !model_.root().irq_o; k++) cycle();
    return model_.root().irq_o;
  }

  /// What the memory controller served for a memory context.
  const DramUserCounters& served(uint32_t context) { return dram_.users().counters(context); }

  uint64_t cycles = 0;
  std::vector<Asked> asked;
  bool recording = false;

 private:
  void cycle() {
    Root& r = model_.root();
    look(r);
    model_.edge(dirty_);
    cycles++;
    dirty_ = step(r);
  }

  /// The wires before the edge: what the memory will see at it.
  void look(Root& r) {
    up_.m_axi_arvalid = r.m_axi_arvalid;
    if (r.m_axi_arvalid) {
      up_.m_axi_arid = static_cast<uint8_t>(r.m_axi_arid | r.m_axi_aruser << kIdBits);
      up_.m_axi_araddr = r.m_axi_araddr;
      up_.m_axi_arlen = r.m_axi_arlen;
      up_.m_axi_arsize = r.m_axi_arsize;
      up_.m_axi_arburst = r.m_axi_arburst;
      up_.m_axi_aruser = r.m_axi_aruser;
      if (recording && down_.m_axi_arready) record(r.m_axi_araddr, r.m_axi_arlen, r.m_axi_arid, false);
    }
    up_.m_axi_awvalid = r.m_axi_awvalid;
    if (r.m_axi_awvalid) {
      up_.m_axi_awid = static_cast<uint8_t>(r.m_axi_awid | r.m_axi_awuser << kIdBits);
      up_.m_axi_awaddr = r.m_axi_awaddr;
      up_.m_axi_awlen = r.m_axi_awlen;
      up_.m_axi_awsize = r.m_axi_awsize;
      up_.m_axi_awburst = r.m_axi_awburst;
      up_.m_axi_awuser = r.m_axi_awuser;
      if (recording && down_.m_axi_awready) record(r.m_axi_awaddr, r.m_axi_awlen, r.m_axi_awid, true);
    }
    up_.m_axi_wvalid = r.m_axi_wvalid;
    up_.m_axi_wdata = r.m_axi_wdata;
    up_.m_axi_wstrb = r.m_axi_wstrb;
    up_.m_axi_wlast = r.m_axi_wlast;
    up_.m_axi_rready = r.m_axi_rready;
    up_.m_axi_bready = r.m_axi_bready;
  }

  void record(uint64_t address, uint32_t length, uint32_t id, bool write) {
    asked.push_back({cycles, address, 8ull * (length + 1), id, write});
  }

  /// The memory's edge; answers whether one of the cluster's inputs changed.
  bool step(Root& r) {
    const bool changed = dram_.step(static_cast<Fs>(cycles) * period_fs_, up_, down_);
    if (!changed) return false;
    r.m_axi_arready = down_.m_axi_arready;
    r.m_axi_awready = down_.m_axi_awready;
    r.m_axi_wready = down_.m_axi_wready;
    r.m_axi_rvalid = down_.m_axi_rvalid;
    r.m_axi_rid = down_.m_axi_rid & ((1 << kIdBits) - 1);
    r.m_axi_rdata = down_.m_axi_rdata;
    r.m_axi_rresp = down_.m_axi_rresp;
    r.m_axi_rlast = down_.m_axi_rlast;
    r.m_axi_bvalid = down_.m_axi_bvalid;
    r.m_axi_bid = down_.m_axi_bid & ((1 << kIdBits) - 1);
    r.m_axi_bresp = down_.m_axi_bresp;
    return true;
  }

  Dram dram_;
  MemoryUp up_{};
  MemoryDown down_{};
  const uint64_t period_fs_;
  Model model_;
  VerilatedContext* const context_;  // of `model_`, which makes it the current one
  bool dirty_ = true;
};

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT Harness* dram_gpu_new(const DramParameters* parameters, uint8_t* memory, uint64_t period_fs) {
  return new Harness(*parameters, memory, period_fs);
}
EXPORT void dram_gpu_delete(Harness* h) { delete h; }
EXPORT void dram_gpu_register_write(Harness* h, uint32_t at, uint32_t value) { h->write(at, value); }
EXPORT uint32_t dram_gpu_register_read(Harness* h, uint32_t at) { return h->read(at); }
EXPORT int dram_gpu_run(Harness* h, uint64_t limit) { return h->run(limit); }
EXPORT uint64_t dram_gpu_cycles(Harness* h) { return h->cycles; }
EXPORT void dram_gpu_served(Harness* h, uint32_t context, DramUserCounters* out) { *out = h->served(context); }
EXPORT void dram_gpu_record(Harness* h, int on) {
  h->recording = on != 0;
  if (on) h->asked.clear();
}
EXPORT uint64_t dram_gpu_asked(Harness* h, const Asked** first) {
  *first = h->asked.data();
  return h->asked.size();
}
