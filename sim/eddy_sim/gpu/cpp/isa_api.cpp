// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The model behind a C interface, for Python.
#include "isa_core.h"
#include "isa_float.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

using isa::Cluster;

EXPORT Cluster* isa_new(const isa::Config* config) { return new Cluster(*config); }
EXPORT void isa_delete(Cluster* c) { delete c; }
EXPORT void isa_write(Cluster* c, uint32_t at, const uint8_t* data, uint64_t bytes) { c->memory.write(at, data, bytes); }
EXPORT void isa_read(Cluster* c, uint32_t at, uint8_t* data, uint64_t bytes) { c->memory.read(at, data, bytes); }
EXPORT void isa_map(Cluster* c, uint32_t at, uint8_t* data, uint32_t bytes) { c->memory.map(at, data, bytes); }
EXPORT void isa_watch(Cluster* c, uint32_t tohost) { c->memory.watch_tohost(tohost); }
EXPORT void isa_start(Cluster* c, uint32_t cores, uint32_t pc, uint32_t argument) {
  for (auto& core : c->core) {
    if (cores >> core.id & 1) core.start(pc, argument);
  }
}
EXPORT int isa_run(Cluster* c, uint64_t limit) { return static_cast<int>(c->run(limit)); }
EXPORT uint32_t isa_exit_code(Cluster* c) { return c->memory.exit_code(); }
EXPORT uint64_t isa_console(Cluster* c, const char** text) {
  *text = c->memory.console().data();
  return c->memory.console().size();
}
EXPORT void isa_counters(Cluster* c, uint32_t core, isa::Counters* out) { *out = c->core[core].counters; }
EXPORT int isa_fault(Cluster* c, uint32_t core, uint32_t out[3]) {
  const isa::Fault& fault = c->core[core].fault;
  out[0] = fault.cause, out[1] = fault.pc, out[2] = fault.value;
  return fault.there;
}
EXPORT uint64_t isa_trace(Cluster* c, const isa::Record** records) {
  *records = c->trace.data();
  return c->trace.size();
}
EXPORT uint32_t isa_register(Cluster* c, uint32_t core, uint32_t warp, uint32_t lane, uint32_t number) {
  return c->core[core].warp[warp].lane[lane].x[number];
}

/// Operations numbered as the floating-point unit's, for comparison with the array model.
EXPORT void isa_float(int op, uint64_t n, const uint8_t* rm, const uint32_t* a, const uint32_t* b, const uint32_t* c,
                      uint32_t* result, uint8_t* flags) {
  using namespace isa;
  for (uint64_t i = 0; i < n; i++) {
    const uint32_t x = a[i], y = b[i], z = c[i];
    const unsigned r = rm[i];
    uint8_t f = 0;
    switch (op) {
      case 0: result[i] = fma(x, y, z, r, f); break;
      case 1: result[i] = fma(x, y, z ^ kSign, r, f); break;
      case 2: result[i] = fma(x ^ kSign, y, z, r, f); break;
      case 3: result[i] = fma(x ^ kSign, y, z ^ kSign, r, f); break;
      case 4: result[i] = add(x, y, r, f); break;
      case 5: result[i] = add(x, y ^ kSign, r, f); break;
      case 6: result[i] = mul(x, y, r, f); break;
      case 7: result[i] = div(x, y, r, f); break;
      case 8: result[i] = root(x, r, f); break;
      case 12: case 13: result[i] = minmax(op == 13, x, y, f); break;
      case 14: case 15: case 16: result[i] = compare(static_cast<unsigned>(16 - op), x, y, f); break;
      case 17: result[i] = classify(x); break;
      case 18: case 19: result[i] = to_integer(op == 18, x, r, f); break;
      case 20: case 21: result[i] = from_integer(op == 20, x, r, f); break;
      default: result[i] = 0; break;
    }
    flags[i] = f;
  }
}
