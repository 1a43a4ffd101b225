// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// A Verilated GPU cluster by itself: memory behind its port, its registers over its control port, no shell.
///
/// Compiled in one unit with Verilator's output, so that the loop over cycles can be inlined.
#include <memory>
#include <string>
#include <vector>

#include "gpu_axi.h"
#include "isa_core.h"
#include "verilated_model.h"

namespace {

enum class Stop : int { kIdle = 0, kExit = 1, kTohost = 2, kLimit = 3 };

struct Trace {
  bool on = false;
  std::string error;
  std::vector<isa::Record> records;
  // Of each warp: its last record, and for each register the last that writes it.
  size_t last[isa::kMaxCores][isa::kMaxWarps] = {};
  size_t writer[isa::kMaxCores][isa::kMaxWarps][64] = {};
};

// Where the trace functions, which know no instance, put what they are told.
Trace* tracing = nullptr;

class Harness {
 public:
  explicit Harness(uint32_t latency) : port(latency), context_(Verilated::threadContextp()) {
    context_->fatalOnError(false);
    Root& r = model_.root();
    r.clk_i = 0;
    model_.settle();
    r.clk_i = 1;
    r.rst_ni = 0;
    for (int i = 0; i < 8; i++) model_.edge();
    r.rst_ni = 1;
    r.m_axi_arready = r.m_axi_awready = r.m_axi_wready = 1;
    cycle();
  }

  void write(uint32_t address, uint32_t value) {
    Verilated::threadContextp(context_);
    Root& r = model_.root();
    r.s_axil_awaddr = static_cast<uint16_t>(address);
    r.s_axil_wdata = value;
    r.s_axil_wstrb = 15;
    r.s_axil_awvalid = r.s_axil_wvalid = r.s_axil_bready = 1;
    dirty_ = true;
    for (bool answered = false; !answered;) {
      const bool aw = r.s_axil_awvalid && r.s_axil_awready, w = r.s_axil_wvalid && r.s_axil_wready;
      answered = r.s_axil_bvalid;
      cycle();
      if (aw) r.s_axil_awvalid = 0;
      if (w) r.s_axil_wvalid = 0;
      dirty_ = true;
    }
    r.s_axil_bready = 0;
  }

  uint32_t read(uint32_t address) {
    Verilated::threadContextp(context_);
    Root& r = model_.root();
    r.s_axil_araddr = static_cast<uint16_t>(address);
    r.s_axil_arvalid = r.s_axil_rready = 1;
    dirty_ = true;
    uint32_t value = 0;
    for (bool answered = false; !answered;) {
      const bool ar = r.s_axil_arvalid && r.s_axil_arready;
      answered = r.s_axil_rvalid;
      value = r.s_axil_rdata;
      cycle();
      if (ar) r.s_axil_arvalid = 0;
      dirty_ = true;
    }
    r.s_axil_rready = 0;
    return value;
  }

  /// Until the interrupt, the program's own word, or `limit` cycles.
  Stop run(uint64_t limit) {
    tracing = &trace;
    const Stop stop = loop(limit);
    if (context_->gotError()) trace.error = "an assertion of the RTL failed; standard error names it";
    return stop;
  }

  bool interrupt() { return model_.root().irq_o; }

  gpu::AxiMemory port;
  Trace trace;
  uint64_t cycles = 0;

 private:
  Stop loop(uint64_t limit) {
    Verilated::threadContextp(context_);
    for (uint64_t k = 0; k < limit; k++) {
      cycle();
      if (port.memory.ended() != isa::Ended::kNo) {
        return port.memory.ended() == isa::Ended::kExit ? Stop::kExit : Stop::kTohost;
      }
      if (model_.root().irq_o) return Stop::kIdle;
    }
    return Stop::kLimit;
  }

  void cycle() {
    Root& r = model_.root();
    dirty_ = port.before(r) || dirty_;
    // Assertions look at values sampled where inputs are looked at.
    model_.edge(dirty_ || trace.on);
    cycles++;
    dirty_ = port.after(r, cycles);
  }

  Model model_;
  VerilatedContext* const context_;  // of `model_`, which makes it the current one
  bool dirty_ = true;
};

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

extern "C" void gpu_trace_op(int core, int warp, int pc, int instr, int mask, int traps, int rd) {
  if (!tracing || !tracing->on) return;
  isa::Record record = {};
  record.pc = static_cast<uint32_t>(pc), record.instr = static_cast<uint32_t>(instr);
  record.mask = static_cast<uint16_t>(mask);
  record.core = static_cast<uint8_t>(core), record.warp = static_cast<uint8_t>(warp);
  record.kind = static_cast<uint8_t>(traps), record.rd = traps ? static_cast<uint8_t>(rd) : 0xff;
  if (!traps && rd < 64) tracing->writer[core][warp][rd] = tracing->records.size();
  tracing->last[core][warp] = tracing->records.size();
  tracing->records.push_back(record);
}

extern "C" void gpu_trace_trap(int core, int warp, int lane, int value) {
  if (!tracing || !tracing->on) return;
  tracing->records[tracing->last[core][warp]].value[lane] = static_cast<uint32_t>(value);
}

extern "C" void gpu_trace_value(int core, int warp, int lane, int rd, int value) {
  if (!tracing || !tracing->on) return;
  isa::Record& record = tracing->records[tracing->writer[core][warp][rd]];
  if (!(record.mask >> lane & 1)) tracing->error = "a lane that did not execute was written";
  record.rd = static_cast<uint8_t>(rd);
  record.value[lane] = static_cast<uint32_t>(value);
}

EXPORT Harness* gpu_new(uint32_t latency) { return new Harness(latency); }
EXPORT void gpu_delete(Harness* h) {
  if (tracing == &h->trace) tracing = nullptr;
  delete h;
}
EXPORT void gpu_write(Harness* h, uint32_t at, const uint8_t* data, uint64_t n) { h->port.memory.write(at, data, n); }
EXPORT void gpu_read(Harness* h, uint32_t at, uint8_t* data, uint64_t n) { h->port.memory.read(at, data, n); }
EXPORT void gpu_watch(Harness* h, uint32_t tohost) { h->port.memory.watch_tohost(tohost); }
EXPORT void gpu_window(Harness* h, uint64_t first, uint64_t last, uint32_t contexts) {
  h->port.windows.push_back({first, last, contexts});
}
EXPORT void gpu_stall(Harness* h, uint32_t chance, uint32_t seed) { h->port.stall(chance, seed); }
EXPORT void gpu_register_write(Harness* h, uint32_t at, uint32_t value) { h->write(at, value); }
EXPORT uint32_t gpu_register_read(Harness* h, uint32_t at) { return h->read(at); }
EXPORT int gpu_run(Harness* h, uint64_t limit) { return static_cast<int>(h->run(limit)); }
EXPORT int gpu_irq(Harness* h) { return h->interrupt(); }
EXPORT uint64_t gpu_cycles(Harness* h) { return h->cycles; }
EXPORT uint32_t gpu_exit_code(Harness* h) { return h->port.memory.exit_code(); }
EXPORT int gpu_quiet(Harness* h) { return h->port.idle(); }
EXPORT uint64_t gpu_console(Harness* h, const char** text) {
  *text = h->port.memory.console().data();
  return h->port.memory.console().size();
}
EXPORT void gpu_trace(Harness* h, int on) { h->trace.on = on != 0; }
EXPORT uint64_t gpu_records(Harness* h, const isa::Record** records, const char** error) {
  *records = h->trace.records.data();
  *error = h->trace.error.c_str();
  return h->trace.records.size();
}
EXPORT void gpu_traffic(Harness* h, uint64_t out[4]) {
  out[0] = h->port.read_bursts, out[1] = h->port.read_beats;
  out[2] = h->port.write_bursts, out[3] = h->port.write_beats;
}
