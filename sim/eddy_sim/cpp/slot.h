// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// One slot of the board: the module in it, whether the module has anything to do, and faults at its boundary.
#pragma once
#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "same_bytes.h"
#include "slot_abi.h"

/// Faults injected at the boundary of a module that is otherwise sound; bits of a mask.
enum : uint32_t {
  kFaultMute = 1,           // never answers and never asks: every output is low
  kFaultWrongIdentity = 2,  // reads of the identity block come back wrong
};

class Slot {
 public:
  ~Slot() { unload(); }

  bool loaded() const { return instance_ != nullptr; }
  bool quiet(const SlotDown& down) const {
    return !loaded() || (quiet_ && same_bytes(&down, &seen_, sizeof down));
  }

  /// Put a module in. Answers false, with `error`, where the file is no module.
  bool load(const char* path, const char* options, uint32_t faults, std::string& error) {
    unload();
    library_ = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library_) {
      error = dlerror();
      return false;
    }
    module_ = static_cast<const ModuleAbi*>(dlsym(library_, "eddy_module"));
    if (!module_ || module_->abi != EDDY_ABI) {
      error = std::string(path) + " is no module of this board's interface";
      unload();
      return false;
    }
    faults_ = faults;
    identity_read_ = false;
    active_edges_ = 0;
    instance_ = module_->create(options);
    if (!instance_) {
      error = module_->why_stopped();
      unload();
      return false;
    }
    // A check compares the whole state; the larger it is, the less often it is tried.
    longest_wait_ = 64 + static_cast<uint32_t>(module_->state_bytes(instance_) / 64);
    disturb();
    return true;
  }

  void unload() {
    if (instance_) module_->destroy(instance_);
    if (library_) dlclose(library_);
    instance_ = nullptr;
    library_ = nullptr;
    module_ = nullptr;
  }

  void set_faults(uint32_t faults) {
    faults_ = faults;
    disturb();
  }

  /// A rising edge of the slot's clock; `up` are the module's outputs before it and become those after it. Answers
  /// whether they changed. `strained`: the clock is faster than the module bears.
  bool step(const SlotDown& down, SlotUp& up, bool skipping, bool strained) {
    if (skipping && quiet(down)) return false;
    active_edges_++;
    watch_identity(down, up);
    SlotUp next{};
    if (skipping && same_bytes(&down, &seen_, sizeof down)) {
      if (wait_ == 0) {
        quiet_ = module_->step_check(instance_, &down, &next);
        back_off_ = back_off_ * 2 < longest_wait_ ? back_off_ * 2 : longest_wait_;
        wait_ = back_off_;
      } else {
        wait_--;
        module_->step(instance_, &down, &next);
      }
    } else {
      seen_ = down;
      disturb();
      module_->step(instance_, &down, &next);
    }
    distort(next, strained);
    if (same_bytes(&next, &up, sizeof next)) return false;
    up = next;
    return true;
  }

  uint64_t active_edges() const { return active_edges_; }

 private:
  void disturb() {
    quiet_ = false;
    back_off_ = 2;
    wait_ = 2;
  }

  void watch_identity(const SlotDown& down, const SlotUp& up) {
    if (down.s_axil_arvalid && up.s_axil_arready) identity_read_ = down.s_axil_araddr >= 0xF000;
  }

  void distort(SlotUp& up, bool strained) const {
    if (strained && up.m_axi_wvalid) up.m_axi_wdata ^= 1ull << 17;  // the path that is too long ends in one flop
    if (faults_ & kFaultMute) up = SlotUp{};
    if ((faults_ & kFaultWrongIdentity) && identity_read_ && up.s_axil_rvalid) up.s_axil_rdata ^= 0x00A5005A;
  }

  void* library_ = nullptr;
  const ModuleAbi* module_ = nullptr;
  void* instance_ = nullptr;
  uint32_t faults_ = 0;
  bool identity_read_ = false;

  SlotDown seen_{};      // inputs of the last step
  bool quiet_ = false;   // the last step changed nothing
  uint32_t wait_ = 0;    // steps until the next check
  uint32_t back_off_ = 0;
  uint32_t longest_wait_ = 64;
  uint64_t active_edges_ = 0;
};
