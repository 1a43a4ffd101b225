/// The shell behind `ShellAbi`.
#include <vector>

#include "eddy_copies.h"
#include "path_rest.h"
#include "slot_abi.h"
#include "verilated_model.h"

namespace {

constexpr uint32_t kSlots = EDDY_NUM_SLOTS;
constexpr uint32_t kAllSlots = (1u << kSlots) - 1;

/// The model, and which of its slots' paths rest.
struct Shell {
  Model model;
  std::vector<PathRest> paths;
  bool resting = true;
  uint64_t path_edges = 0;

  Shell() {
    Vmodel__Syms& symbols = *model.root().vlSymsp;
    for (uint32_t k = 0; k < kSlots; k++) paths.emplace_back(path_state(symbols, k), path_bytes(symbols, k));
  }
};

Shell& of(void* instance) { return *static_cast<Shell*>(instance); }

void copy_outputs(const Root& root, ShellIo& io, uint32_t loaded) {
  for (uint32_t k = 0; k < kSlots; k++) {
    if (loaded >> k & 1) slot_out(root, k, io.down[k]);
  }
  memory_out(root, io.memory_up);
  cpu_out(root, io.cpu_up);
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

/// Slots whose paths an input of this step reaches.
uint32_t woken(const Root& root, const ShellIo& io, uint32_t dirty) {
  if (dirty & DIRTY_CONFIG) return kAllSlots;
  uint32_t slots = root.path_wake_o | (dirty & kAllSlots);
  if (dirty & DIRTY_MEMORY) {
    if (io.memory_down.m_axi_bvalid) slots |= 1u << (io.memory_down.m_axi_bid >> 4);
    if (io.memory_down.m_axi_rvalid) slots |= 1u << (io.memory_down.m_axi_rid >> 4);
  }
  return slots & kAllSlots;
}

/// The slots' paths that an edge in `edges` reaches, on the shell's side and on the slot's.
struct Reached {
  uint32_t near, far;
};

Reached counted(Shell& shell, Reached paths) {
  shell.path_edges += static_cast<uint64_t>(__builtin_popcount(paths.near | paths.far << kSlots));
  return paths;
}

Reached reached(Shell& shell, const ShellIo& io, uint32_t edges, uint32_t dirty) {
  Reached all{edges & SHELL_EDGE ? kAllSlots : 0, edges & kAllSlots};
  if (!shell.resting) return counted(shell, all);
  for (uint32_t rest = woken(shell.model.root(), io, dirty); rest; rest &= rest - 1) {
    shell.paths[static_cast<uint32_t>(__builtin_ctz(rest))].wake();
  }
  for (uint32_t k = 0; k < kSlots; k++) {
    if (shell.paths[k].near_rests()) all.near &= ~(1u << k);
    if (shell.paths[k].far_rests()) all.far &= ~(1u << k);
  }
  return counted(shell, all);
}

void set_clocks(Root& root, uint32_t edges, Reached paths) {
  root.clk_i = (edges & SHELL_EDGE) != 0;
  root.path_clk_i = static_cast<uint16_t>(paths.near);
  root.slot_clk_i = static_cast<uint16_t>(paths.far);
}

void* create() {
  Shell* shell = new Shell;
  const ShellIo io{};
  copy_inputs(shell->model.root(), io, ~0u);
  set_clocks(shell->model.root(), 0, {0, 0});
  shell->model.settle();
  return shell;
}

void destroy(void* instance) { delete &of(instance); }

void rest(void* instance, int allowed) { of(instance).resting = allowed; }

uint64_t path_edges(void* instance) { return of(instance).path_edges; }

void step(void* instance, ShellIo* io, uint32_t edges, uint32_t dirty, uint32_t loaded) {
  Shell& shell = of(instance);
  Model& model = shell.model;
  const Reached paths = reached(shell, *io, edges, dirty);
  copy_inputs(model.root(), *io, dirty);
  set_clocks(model.root(), edges, paths);
  uint32_t watched = 0;
  if (shell.resting) {
    for (uint32_t some = paths.near | paths.far; some; some &= some - 1) {
      const uint32_t k = static_cast<uint32_t>(__builtin_ctz(some));
      watched |= shell.paths[k].watch() ? 1u << k : 0;
    }
  }
  model.edge(dirty != 0);
  for (; watched; watched &= watched - 1) {
    const uint32_t k = static_cast<uint32_t>(__builtin_ctz(watched));
    shell.paths[k].judge(paths.near >> k & 1, paths.far >> k & 1);
  }
  copy_outputs(model.root(), *io, loaded);
}

int step_check(void* instance, ShellIo* io, uint32_t edges, uint32_t dirty, uint32_t loaded) {
  Shell& shell = of(instance);
  const Reached paths = reached(shell, *io, edges, dirty);
  copy_inputs(shell.model.root(), *io, dirty);
  set_clocks(shell.model.root(), edges, paths);
  const bool fixed = shell.model.edge_check(edges & SHELL_EDGE);
  copy_outputs(shell.model.root(), *io, loaded);
  return fixed;
}

void skip(void* instance, uint64_t cycles) { of(instance).model.skip(cycles); }

}  // namespace

extern "C" __attribute__((visibility("default"))) const ShellAbi eddy_shell = {
    EDDY_ABI, kSlots, create, destroy, rest, path_edges, step, step_check, skip};
