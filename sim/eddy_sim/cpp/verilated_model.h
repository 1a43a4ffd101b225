/// A Verilated model and the ways to step it without evaluating falling edges.
///
/// Needs `Vmodel.h`, `Vmodel___024root.h` and the generated `eddy_normalise.h`.
#pragma once
#include <cstdlib>
#include <cstring>
#include <memory>

#include "Vmodel.h"
#include "Vmodel___024root.h"
#include "eddy_normalise.h"
#include "verilated.h"

using Root = Vmodel___024root;

class Model {
 public:
  Model() : context_(new VerilatedContext), model_(context_.get(), "top") {
    before_ = static_cast<unsigned char*>(std::aligned_alloc(64, sizeof(Root)));
  }
  ~Model() { std::free(before_); }
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  Root& root() { return *model_.rootp; }

  /// Evaluate with the clocks as they stand in the ports; every clock that is high has a rising edge.
  void edge() {
    clear_edges(root());
    model_.eval();
  }

  /// Settle after construction: no edges.
  void settle() { model_.eval(); }

  /// Like `edge`; answer whether nothing changed but counters, which advanced by one or stood still.
  bool edge_check() {
    Root& r = root();
    clear_edges(r);
    clear_scratch(r);
    std::memcpy(before_, static_cast<const void*>(&r), sizeof(Root));
    model_.eval();
    clear_edges(r);
    clear_scratch(r);
    return counters_linear(r) && equal_but_counters(r);
  }

  /// Advance the counters that advanced in the last check.
  void skip(uint64_t edges) {
    for (size_t i = 0; i < EDDY_COUNTERS; i++) {
      if (moving_[i]) write(i, read(bytes(root()), i) + edges);
    }
  }

 private:
  static const unsigned char* bytes(const Root& r) { return reinterpret_cast<const unsigned char*>(&r); }
  static uint64_t read(const unsigned char* base, size_t i) {
    uint64_t value = 0;
    std::memcpy(&value, base + Counters<Root>::list[i].offset, Counters<Root>::list[i].size);
    return value;
  }
  void write(size_t i, uint64_t value) {
    unsigned char* base = reinterpret_cast<unsigned char*>(&root());
    std::memcpy(base + Counters<Root>::list[i].offset, &value, Counters<Root>::list[i].size);
  }

  bool counters_linear(const Root& r) {
    for (size_t i = 0; i < EDDY_COUNTERS; i++) {
      const uint64_t delta = read(bytes(r), i) - read(before_, i);
      if (delta > 1) return false;
      moving_[i] = delta == 1;
    }
    return true;
  }

  bool equal_but_counters(const Root& r) {
    // The copy takes over the counters, so that one comparison covers all the rest.
    for (size_t i = 0; i < EDDY_COUNTERS; i++) {
      const Counter& c = Counters<Root>::list[i];
      std::memcpy(before_ + c.offset, bytes(r) + c.offset, c.size);
    }
    return std::memcmp(before_, bytes(r), sizeof(Root)) == 0;
  }

  std::unique_ptr<VerilatedContext> context_;
  Vmodel model_;
  unsigned char* before_;
  bool moving_[EDDY_COUNTERS + 1] = {};
};
