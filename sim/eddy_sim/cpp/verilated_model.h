// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// A Verilated model and the ways to step it without evaluating falling edges.
///
/// Needs Verilator's output for prefix `Vmodel` and the generated `eddy_normalise.h`. The state of all module instances
/// lies in one object, from the root on: that range is what is compared.
#pragma once
#include <cstdlib>
#include <cstring>
#include <memory>

#include "Vmodel.h"
#include "Vmodel___024root.h"
#include "Vmodel__Syms.h"
#include "eddy_normalise.h"
#include "same_bytes.h"
#include "verilated.h"

using Root = Vmodel___024root;

// Verilator's own functions, compiled in the same unit.
void Vmodel___024root___eval(Root*);
bool Vmodel___024root___eval_phase__act(Root*);
bool Vmodel___024root___eval_phase__nba(Root*);

class Model {
 public:
  Model() : context_(new VerilatedContext), model_(context_.get(), "top") {
    begin_ = reinterpret_cast<unsigned char*>(&root());
    bytes_ = static_cast<size_t>(reinterpret_cast<unsigned char*>(root().vlSymsp + 1) - begin_);
    before_ = static_cast<unsigned char*>(std::malloc(bytes_));
  }
  ~Model() {
    make_current();
    std::free(before_);
  }
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  Root& root() { return *model_.rootp; }

  /// Evaluate with the clocks as they stand in the ports; every clock that is high has a rising edge. Where no other
  /// input changed, what depends on inputs alone need not be evaluated again.
  void edge(bool inputs_changed = true) {
    clear_edges(root());
    evaluate(inputs_changed);
  }

  size_t state_bytes() const { return bytes_; }

  /// Settle after construction: no edges.
  void settle() {
    make_current();
    model_.eval();
  }

  /// Like `edge`; answer whether nothing changed but counters, which advanced by one or stood still. `counting` says
  /// whether the counters' clock is among those that rise: only then does this tell which of them move.
  bool edge_check(bool counting) {
    Root& r = root();
    clear_edges(r);
    clear_scratch(r);
    std::memcpy(before_, begin_, bytes_);
    evaluate(true);
    clear_edges(r);
    clear_scratch(r);
    return counters_linear(counting) && equal_but_counters();
  }

  /// Advance the counters that advanced in the last check of their clock.
  void skip(uint64_t edges) {
    for (size_t i = 0; i < EDDY_COUNTERS; i++) {
      if (moving_[i]) write(i, read(begin_, i) + edges);
    }
  }

 private:
  /// Verilator's functions for files and for text go through the thread's current context, and not the model's. Without
  /// this it would be that of the model made last, which may be gone, or of any model where another thread steps this one.
  void make_current() { Verilated::threadContextp(context_.get()); }

  /// What `Vmodel::eval` does once the model is settled, without its bookkeeping for messages and several threads.
  void evaluate(bool inputs_changed) {
    make_current();
    Root* r = &root();
    if (inputs_changed) {
      Vmodel___024root___eval(r);
      return;
    }
    do {
      while (Vmodel___024root___eval_phase__act(r)) {
      }
    } while (Vmodel___024root___eval_phase__nba(r));
  }

  static uint64_t read(const unsigned char* base, size_t i) {
    uint64_t value = 0;
    std::memcpy(&value, base + Counters<Root>::list[i].offset, Counters<Root>::list[i].size);
    return value;
  }
  void write(size_t i, uint64_t value) {
    std::memcpy(begin_ + Counters<Root>::list[i].offset, &value, Counters<Root>::list[i].size);
  }

  bool counters_linear(bool counting) {
    for (size_t i = 0; i < EDDY_COUNTERS; i++) {
      const uint64_t delta = read(begin_, i) - read(before_, i);
      if (delta > 1) return false;
      if (counting) moving_[i] = delta == 1;
    }
    return true;
  }

  bool equal_but_counters() {
    // The copy takes over the counters, so that one comparison covers all the rest.
    for (size_t i = 0; i < EDDY_COUNTERS; i++) {
      const Counter& c = Counters<Root>::list[i];
      std::memcpy(before_ + c.offset, begin_ + c.offset, c.size);
    }
    return same_bytes(before_, begin_, bytes_);
  }

  std::unique_ptr<VerilatedContext> context_;
  Vmodel model_;
  unsigned char* begin_;   // of the state
  unsigned char* before_;  // copy of the state, for checks
  size_t bytes_;
  bool moving_[EDDY_COUNTERS + 1] = {};
};
