/// A reconfigurable module behind `ModuleAbi`.
#include "eddy_copies.h"
#include "slot_abi.h"
#include "verilated_model.h"

namespace {

/// Edges in reset that an instance gets when it is made: a module comes out of configuration in its initial state.
constexpr int kResetEdges = 8;

Model& of(void* instance) { return *static_cast<Model*>(instance); }

void* create(const char*) {
  Model* model = new Model;
  const SlotDown down{};
  Root& root = model->root();
  copy_in(root, down);
  root.clk_i = 0;
  model->settle();
  root.clk_i = 1;
  for (int i = 0; i < kResetEdges; i++) model->edge();
  return model;
}

void destroy(void* instance) { delete static_cast<Model*>(instance); }

void step(void* instance, const SlotDown* down, SlotUp* up) {
  Model& model = of(instance);
  copy_in(model.root(), *down);
  model.edge();
  copy_out(model.root(), *up);
}

int step_check(void* instance, const SlotDown* down, SlotUp* up) {
  Model& model = of(instance);
  copy_in(model.root(), *down);
  const bool fixed = model.edge_check(true);
  copy_out(model.root(), *up);
  return fixed;
}

size_t state_bytes(void* instance) { return of(instance).state_bytes(); }

}  // namespace

extern "C" __attribute__((visibility("default"))) const ModuleAbi eddy_module = {EDDY_ABI, create,     destroy,
                                                                                 step,     step_check, state_bytes};
