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
#include "model_files.h"
#include "verilated.h"

namespace {

struct Instance {
  explicit Instance(unsigned seed) : context(new VerilatedContext) {
    context->randReset(seed ? 2 : 0);
    context->randSeed(static_cast<int>(seed ? seed : 1));
    model.reset(new Vmodel(context.get(), "top"));
    const SlotDown down{};
    copy_in(*model->rootp, down);
    model->rootp->clk_i = 0;
    model->eval();
  }
  // Members of a Verilated model go through the thread's current context.
  ~Instance() { Verilated::threadContextp(context.get()); }

  unsigned char* state() { return reinterpret_cast<unsigned char*>(model->rootp); }
  size_t bytes() { return static_cast<size_t>(reinterpret_cast<unsigned char*>(model->rootp->vlSymsp + 1) - state()); }

  std::unique_ptr<VerilatedContext> context;
  std::unique_ptr<Vmodel> model;
};

/// Why the instance made last could not begin, or one stopped.
std::string problem;

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

/// An instance; none where it cannot begin.
EXPORT void* check_create(unsigned seed) {
  model_stops_are_caught = true;
  try {
    return new Instance(seed);
  } catch (const ModelStopped& stop) {
    problem = stop.why;
    return nullptr;
  }
}
EXPORT const char* check_problem() { return problem.c_str(); }
EXPORT void check_destroy(void* instance) { delete static_cast<Instance*>(instance); }

/// One clock cycle: inputs as they are before the rising edge, outputs as they are after it. False where it stopped.
EXPORT int check_step(void* instance, const SlotDown* down, SlotUp* up) {
  Vmodel& model = *static_cast<Instance*>(instance)->model;
  try {
    copy_in(*model.rootp, *down);
    model.rootp->clk_i = 0;
    model.eval();
    model.rootp->clk_i = 1;
    model.eval();
    copy_out(*model.rootp, *up);
  } catch (const ModelStopped& stop) {
    problem = stop.why;
    return false;
  }
  return true;
}

/// Whether a copy of an instance's bytes is all of its state.
EXPORT int check_copies() { return EDDY_COPIES; }
EXPORT size_t check_state_bytes(void* instance) { return static_cast<Instance*>(instance)->bytes(); }
EXPORT void check_save(void* instance, unsigned char* to) {
  std::memcpy(to, static_cast<Instance*>(instance)->state(), static_cast<Instance*>(instance)->bytes());
}
EXPORT void check_restore(void* instance, const unsigned char* from) {
  std::memcpy(static_cast<Instance*>(instance)->state(), from, static_cast<Instance*>(instance)->bytes());
}
