// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// A reconfigurable module behind `ModuleAbi`.
#include <cstdio>
#include <string>

#include "eddy_copies.h"
#include "model_files.h"
#include "slot_abi.h"
#include "verilated_model.h"

namespace {

/// Edges in reset that an instance gets when it is made: a module comes out of configuration in its initial state.
constexpr int kResetEdges = 8;

/// An instance. One that stopped answers nothing any more, as a module that hangs: what it would compute is wrong.
struct Instance {
  Model model;
  bool stopped = false;
};

/// Why the instance made last could not begin, or an instance stopped.
std::string problem;

Instance& of(void* instance) { return *static_cast<Instance*>(instance); }

template <class Run>
void guarded(Instance& instance, SlotUp* up, Run&& run) {
  if (!instance.stopped) {
    try {
      run(instance.model);
      return;
    } catch (const ModelStopped& stop) {
      problem = stop.why;
      instance.stopped = true;
      std::fprintf(stderr, "a module stopped: %s\n", problem.c_str());
    }
  }
  *up = SlotUp{};
}

void* create(const char*) {
  model_stops_are_caught = true;
  Instance* instance = new Instance;
  try {
    const SlotDown down{};
    Root& root = instance->model.root();
    copy_in(root, down);
    root.clk_i = 0;
    instance->model.settle();
    root.clk_i = 1;
    for (int i = 0; i < kResetEdges; i++) instance->model.edge();
  } catch (const ModelStopped& stop) {
    problem = stop.why;
    delete instance;
    return nullptr;
  }
  return instance;
}

void destroy(void* instance) { delete static_cast<Instance*>(instance); }

void step(void* instance, const SlotDown* down, SlotUp* up) {
  guarded(of(instance), up, [&](Model& model) {
    copy_in(model.root(), *down);
    model.edge();
    copy_out(model.root(), *up);
  });
}

int step_check(void* instance, const SlotDown* down, SlotUp* up) {
  bool fixed = true;
  guarded(of(instance), up, [&](Model& model) {
    copy_in(model.root(), *down);
    fixed = model.edge_check(true);
    copy_out(model.root(), *up);
  });
  return fixed;
}

size_t state_bytes(void* instance) { return of(instance).model.state_bytes(); }

const char* why_stopped() { return problem.c_str(); }

}  // namespace

extern "C" __attribute__((visibility("default"))) const ModuleAbi eddy_module = {
    EDDY_ABI, create, destroy, step, step_check, state_bytes, why_stopped};

/// Whether an instance begins: why not, or an empty text.
extern "C" __attribute__((visibility("default"))) const char* eddy_module_tried() {
  void* instance = create("");
  if (!instance) return why_stopped();
  destroy(instance);
  return "";
}
