/// The shell behind `ShellAbi`.
#include "eddy_copies.h"
#include "slot_abi.h"
#include "verilated_model.h"

namespace {

constexpr uint32_t kSlots = EDDY_NUM_SLOTS;

Model& of(void* instance) { return *static_cast<Model*>(instance); }

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

void set_clocks(Root& root, uint32_t edges) {
  root.clk_i = (edges & SHELL_EDGE) != 0;
  root.slot_clk_i = static_cast<uint16_t>(edges & ((1u << kSlots) - 1));
}

void* create() {
  Model* model = new Model;
  const ShellIo io{};
  copy_inputs(model->root(), io, ~0u);
  set_clocks(model->root(), 0);
  model->settle();
  return model;
}

void destroy(void* instance) { delete static_cast<Model*>(instance); }

void step(void* instance, ShellIo* io, uint32_t edges, uint32_t dirty, uint32_t loaded) {
  Model& model = of(instance);
  copy_inputs(model.root(), *io, dirty);
  set_clocks(model.root(), edges);
  model.edge(dirty != 0);
  copy_outputs(model.root(), *io, loaded);
}

int step_check(void* instance, ShellIo* io, uint32_t edges, uint32_t dirty, uint32_t loaded) {
  Model& model = of(instance);
  copy_inputs(model.root(), *io, dirty);
  set_clocks(model.root(), edges);
  const bool fixed = model.edge_check(edges & SHELL_EDGE);
  copy_outputs(model.root(), *io, loaded);
  return fixed;
}

void skip(void* instance, uint64_t cycles) { of(instance).skip(cycles); }

}  // namespace

extern "C" __attribute__((visibility("default"))) const ShellAbi eddy_shell = {EDDY_ABI, kSlots,     create, destroy,
                                                                               step,     step_check, skip};
