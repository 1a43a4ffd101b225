// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// A reconfigurable module for checks: nothing is assumed of how it is written, and its state can be set back.
///
/// Both halves of every clock cycle are evaluated. An instance may begin with random values wherever the source gives
/// none: what a configured fabric held before.
#include <cstring>
#include <memory>
#include <string>

#include "Vmodel.h"
#include "Vmodel___024root.h"
#include "Vmodel__Syms.h"
#include "eddy_copies.h"
#include "modcheck_port.hpp"
#include "model_files.h"
#include "verilated.h"

namespace {

struct Instance {
  explicit Instance(unsigned seed) : context(new VerilatedContext) {
    context->randReset(seed ? 2 : 0);
    context->randSeed(static_cast<int>(seed ? seed : 1));
    model.reset(new Vmodel(context.get(), "top"));
    const SlotDown nothing{};
    copy_in(*model->rootp, nothing);
    model->rootp->clk_i = 0;
    model->eval();
  }
  ~Instance() { make_current(); }

  /// Verilator's functions for files and for text go through the thread's current context, and not the model's: it would
  /// be that of the instance made last, which may be gone.
  void make_current() { Verilated::threadContextp(context.get()); }

  unsigned char* state() { return reinterpret_cast<unsigned char*>(model->rootp); }
  size_t bytes() { return static_cast<size_t>(reinterpret_cast<unsigned char*>(model->rootp->vlSymsp + 1) - state()); }

  /// One clock cycle: inputs as they are before the rising edge, outputs as they are after it.
  void step() {
    make_current();
    copy_in(*model->rootp, down);
    model->rootp->clk_i = 0;
    model->eval();
    model->rootp->clk_i = 1;
    model->eval();
    copy_out(*model->rootp, up);
  }

  std::unique_ptr<VerilatedContext> context;
  std::unique_ptr<Vmodel> model;
  SlotDown down{};
  SlotUp up{};
};

struct Step {
  Instance* instance;
  void operator()() const { instance->step(); }
};
using Port = CheckedPort<Step>;

/// Why the instance made last could not begin, or one stopped.
std::string problem;

constexpr int kStopped = -1;

/// What `run` answers; `kStopped` where the model stops.
template <class Run>
int guarded(Run&& run) {
  try {
    return run();
  } catch (const ModelStopped& stop) {
    problem = stop.why;
    return kStopped;
  }
}

Instance& of(void* instance) { return *static_cast<Instance*>(instance); }
Port& port_of(void* port) { return *static_cast<Port*>(port); }

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

/// An instance; none where it cannot begin.
EXPORT void* check_create(unsigned seed) {
  model_stops_are_caught = true;
  Instance* made = nullptr;
  guarded([&] {
    made = new Instance(seed);
    return 0;
  });
  return made;
}
EXPORT void check_destroy(void* instance) { delete static_cast<Instance*>(instance); }
EXPORT const char* check_problem() { return problem.c_str(); }
EXPORT SlotDown* check_down(void* instance) { return &of(instance).down; }
EXPORT SlotUp* check_up(void* instance) { return &of(instance).up; }
EXPORT int check_steps(void* instance, int cycles) {
  return guarded([&] {
    for (int i = 0; i < cycles; i++) of(instance).step();
    return 0;
  });
}

/// Whether a copy of an instance's bytes is all of its state.
EXPORT int check_copies() { return EDDY_COPIES; }
EXPORT size_t check_state_bytes(void* instance) { return of(instance).bytes(); }
EXPORT void check_save(void* instance, unsigned char* to) { std::memcpy(to, of(instance).state(), of(instance).bytes()); }
EXPORT void check_restore(void* instance, const unsigned char* from) {
  std::memcpy(of(instance).state(), from, of(instance).bytes());
}

EXPORT void* port_create(void* instance, PageOf page_of, uint64_t latency, int answer_cycles) {
  Instance& found = of(instance);
  return new Port(Step{&found}, &found.down, &found.up, page_of, latency, answer_cycles);
}
EXPORT void port_destroy(void* port) { delete static_cast<Port*>(port); }
EXPORT void port_forget(void* port) { port_of(port).forget(); }
EXPORT void port_new_memory(void* port) { port_of(port).new_memory(); }
EXPORT void port_pause(void* port, uint64_t chance, uint64_t seed) { port_of(port).pause(chance, seed); }
EXPORT void port_fail(void* port, uint64_t chance) { port_of(port).fail(chance); }
EXPORT void port_record(void* port) { port_of(port).record(); }
EXPORT void port_drop_records(void* port) { port_of(port).drop_records(); }
EXPORT size_t port_recorded(void* port, const SlotUp** first) {
  *first = port_of(port).records().data();
  return port_of(port).records().size();
}
EXPORT int port_pass(void* port, uint64_t cycles, int for_irq) {
  return guarded([&] { return static_cast<int>(port_of(port).pass(cycles, for_irq != 0)); });
}
EXPORT int port_write(void* port, uint32_t offset, uint32_t value, uint32_t strobes) {
  return guarded([&] { return static_cast<int>(port_of(port).write(offset, value, strobes)); });
}
EXPORT int port_begin_write(void* port, uint32_t offset) {
  return guarded([&] {
    port_of(port).begin_write(offset);
    return 1;
  });
}
EXPORT int port_read_range(void* port, uint32_t first, uint32_t end) {
  return guarded([&] {
    uint32_t value;
    for (uint32_t offset = first; offset < end; offset += 4) {
      if (!port_of(port).read(offset, value)) return 0;
    }
    return 1;
  });
}
EXPORT int port_read(void* port, uint32_t offset, uint32_t* value) {
  return guarded([&] { return static_cast<int>(port_of(port).read(offset, *value)); });
}
