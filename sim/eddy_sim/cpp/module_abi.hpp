// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The table of `slot_abi.h` for a module that is a C++ class: made from its options, with `step` and `step_check`.
#pragma once

#include "slot_abi.h"

template <class Module>
struct AbiOf {
  static void* create(const char* options) { return new Module(options); }
  static void destroy(void* instance) { delete static_cast<Module*>(instance); }
  static void step(void* instance, const SlotDown* down, SlotUp* up) { static_cast<Module*>(instance)->step(*down, *up); }
  static int step_check(void* instance, const SlotDown* down, SlotUp* up) {
    return static_cast<Module*>(instance)->step_check(*down, *up);
  }
  static size_t state_bytes(void*) { return sizeof(Module); }
  static const char* why_stopped() { return ""; }

  static constexpr ModuleAbi kTable = {EDDY_ABI, create, destroy, step, step_check, state_bytes, why_stopped};
};
