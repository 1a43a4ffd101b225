// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The shell behind `ShellAbi`.
#include "eddy_copies.h"
#include "rests.h"
#include "slot_abi.h"
#include "verilated_model.h"

// Verilator's own functions, compiled in the same unit.
bool Vmodel___024root___eval_phase__ico(Root*);
void Vmodel___024root___eval_nba(Root*);

namespace {

constexpr uint32_t kSlots = EDDY_NUM_SLOTS;
constexpr uint32_t kAllSlots = (1u << kSlots) - 1;
/// Parts that may rest: bit k is slot k's path, this the CPU's bus.
constexpr uint32_t kBus = 1u << kSlots;

/// Parts that get an edge, on the shell's side and on the slot's.
struct Reached {
  uint32_t near, far;
};

/// The clocks that rise together, and what Verilator makes of them: where the same ones rise as at the edge before, that is
/// known. All edges are of the top's own clocks (`shims.check_edges`), so nothing that an edge changes is a further edge, and
/// one evaluation is enough.
class Edges {
 public:
  /// Evaluate a rising edge of these clocks. Where no other input has changed, what depends on inputs alone is as it was.
  void rise(Root& root, bool inputs_changed) {
    if (inputs_changed) {
      root.__VicoFirstIteration = 1;
      Vmodel___024root___eval_phase__ico(&root);
      root.__VicoFirstIteration = 0;
    }
    if (known_) {
      root.__VnbaTriggered = triggered_;
    } else {
      clear_edges(root);
      Vmodel___024root___eval_phase__act(&root);
      triggered_ = root.__VnbaTriggered;
      known_ = true;
    }
    Vmodel___024root___eval_nba(&root);
    std::memset(&root.__VnbaTriggered, 0, sizeof root.__VnbaTriggered);
  }

  /// The clocks that rise next.
  void set(Root& root, uint32_t edges, Reached parts) {
    if (edges == edges_ && parts.near == parts_.near && parts.far == parts_.far) return;
    edges_ = edges;
    parts_ = parts;
    known_ = false;
    root.clk_i = (edges & SHELL_EDGE) != 0;
    root.bus_clk_i = (parts.near & kBus) != 0;
    root.path_clk_i = static_cast<uint16_t>(parts.near & kAllSlots);
    root.slot_clk_i = static_cast<uint16_t>(parts.far);
    root.icap_clk_i = (edges & PORT_EDGE) != 0;
  }

 private:
  uint32_t edges_ = 0;
  Reached parts_{0, 0};
  bool known_ = false;
  decltype(Root::__VnbaTriggered) triggered_;
};

/// The model, and which of its parts rest.
struct Shell {
  Model model;
  Edges clocks;
  Rests rests;
  bool resting = true;
  uint64_t path_edges = 0;

  Shell() {
    const Vmodel__Syms& symbols = *model.root().vlSymsp;
    for (uint32_t part = 0; part <= kSlots; part++) rests.add(part_state(symbols, part), part_bytes(symbols, part));
  }
};

Shell& of(void* instance) { return *static_cast<Shell*>(instance); }

void copy_outputs(const Root& root, ShellIo& io, uint32_t loaded) {
  for (uint32_t k = 0; k < kSlots; k++) {
    if (loaded >> k & 1) slot_out(root, k, io.down[k]);
  }
  memory_out(root, io.memory_up);
  cpu_out(root, io.cpu_up);
  engine_out(root, io.engine_up);
}

void copy_inputs(Root& root, const ShellIo& io, uint32_t dirty) {
  if (!dirty) return;
  for (uint32_t k = 0; k < kSlots; k++) {
    if (dirty >> k & 1) slot_in(root, k, io.up[k]);
  }
  if (dirty & DIRTY_MEMORY) memory_in(root, io.memory_down);
  if (dirty & DIRTY_CPU) cpu_in(root, io.cpu_down);
  if (dirty & DIRTY_CONFIG) {
    config_in(root, io.config);
    root.rst_ni = io.rst_n;
  }
}

/// Parts that an input of this step reaches.
uint32_t woken(const Root& root, const ShellIo& io, uint32_t dirty) {
  if (dirty & DIRTY_CONFIG) return kAllSlots | kBus;
  uint32_t slots = root.path_wake_o | dirty;
  if (dirty & DIRTY_MEMORY) {
    if (io.memory_down.m_axi_bvalid) slots |= 1u << (io.memory_down.m_axi_bid >> 4);
    if (io.memory_down.m_axi_rvalid) slots |= 1u << (io.memory_down.m_axi_rid >> 4);
  }
  return (slots & kAllSlots) | (root.bus_wake_o || dirty & DIRTY_CPU ? kBus : 0);
}

Reached reached(Shell& shell, const ShellIo& io, uint32_t edges, uint32_t dirty) {
  Reached parts{edges & SHELL_EDGE ? kAllSlots | kBus : 0, edges & kAllSlots};
  if (shell.resting) {
    shell.rests.wake(woken(shell.model.root(), io, dirty));
    parts.near &= ~shell.rests.near();
    parts.far &= ~shell.rests.far();
  }
  shell.path_edges += static_cast<uint64_t>(__builtin_popcount((parts.near & kAllSlots) | parts.far << kSlots));
  return parts;
}

void* create() {
  Shell* shell = new Shell;
  const ShellIo io{};
  copy_inputs(shell->model.root(), io, ~0u);
  shell->model.settle();
  return shell;
}

void destroy(void* instance) { delete &of(instance); }

void rest(void* instance, int allowed) { of(instance).resting = allowed; }

uint64_t path_edges(void* instance) { return of(instance).path_edges; }

void step(void* instance, ShellIo* io, uint32_t edges, uint32_t dirty, uint32_t loaded) {
  Shell& shell = of(instance);
  Root& root = shell.model.root();
  const Reached parts = reached(shell, *io, edges, dirty);
  copy_inputs(root, *io, dirty);
  shell.clocks.set(root, edges, parts);
  const uint32_t watched = shell.resting ? shell.rests.watch(parts.near | parts.far) : 0;
  shell.clocks.rise(root, dirty != 0);
  if (watched) shell.rests.judge(watched, parts.near, parts.far);
  copy_outputs(root, *io, loaded);
}

int step_check(void* instance, ShellIo* io, uint32_t edges, uint32_t dirty, uint32_t loaded) {
  Shell& shell = of(instance);
  const Reached parts = reached(shell, *io, edges, dirty);
  copy_inputs(shell.model.root(), *io, dirty);
  shell.clocks.set(shell.model.root(), edges, parts);
  const bool fixed = shell.model.edge_check(edges & SHELL_EDGE);
  copy_outputs(shell.model.root(), *io, loaded);
  return fixed;
}

void skip(void* instance, uint64_t cycles) { of(instance).model.skip(cycles); }

}  // namespace

extern "C" __attribute__((visibility("default"))) const ShellAbi eddy_shell = {
    EDDY_ABI, kSlots, create, destroy, rest, path_edges, step, step_check, skip};
