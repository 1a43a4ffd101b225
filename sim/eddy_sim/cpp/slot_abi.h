// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// What a shared object offers the board: a reconfigurable module, or the shell.
///
/// All functions are called from one thread at a time. Structures are generated (`eddy_boundary.h`).
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "eddy_boundary.h"

#define EDDY_ABI 3

/// A reconfigurable module, as symbol `eddy_module` of its shared object.
typedef struct {
  uint32_t abi;
  /// Make an instance, reset and settled; none where it cannot begin. `options` is text for modules written in C++, or
  /// empty.
  void* (*create)(const char* options);
  void (*destroy)(void* instance);
  /// One rising edge: inputs as they were before it, outputs as they are after it.
  void (*step)(void* instance, const SlotDown* down, SlotUp* up);
  /// The same, and answer whether the edge changed nothing: then no further edge will, while the inputs stay.
  int (*step_check)(void* instance, const SlotDown* down, SlotUp* up);
  /// Bytes of state that a check compares: what it costs.
  size_t (*state_bytes)(void* instance);
  /// Why no instance was made.
  const char* (*why_stopped)(void);
} ModuleAbi;

/// Everything that enters and leaves the shell.
typedef struct {
  SlotUp up[EDDY_MAX_SLOTS];
  SlotDown down[EDDY_MAX_SLOTS];
  MemoryUp memory_up;
  MemoryDown memory_down;
  CpuDown cpu_down;
  CpuUp cpu_up;
  Configuration config;
  EngineUp engine_up;
  uint8_t rst_n;
} ShellIo;

/// Inputs that changed since the last step.
enum { DIRTY_CPU = 1 << 16, DIRTY_MEMORY = 1 << 17, DIRTY_CONFIG = 1 << 18 };
/// Bits of the shell's own clock and of the configuration port's in an edge mask; slot k's clock is bit k.
enum { SHELL_EDGE = 1 << 16, PORT_EDGE = 1 << 17 };

/// The shell, as symbol `eddy_shell` of its shared object.
typedef struct {
  uint32_t abi;
  uint32_t num_slots;
  void* (*create)(void);
  void (*destroy)(void* instance);
  /// Whether parts in which nothing would change go without their clocks (they do from the start).
  void (*rest)(void* instance, int allowed);
  /// Edges that reached a slot's path so far, of both its clocks.
  uint64_t (*path_edges)(void* instance);
  /// Rising edges of the clocks in `edges`. `dirty` names the inputs to take over (bit k: slot k), `loaded` the slots
  /// whose outputs matter.
  void (*step)(void* instance, ShellIo* io, uint32_t edges, uint32_t dirty, uint32_t loaded);
  /// The same, and answer whether nothing changed but the linear counters.
  int (*step_check)(void* instance, ShellIo* io, uint32_t edges, uint32_t dirty, uint32_t loaded);
  /// Advance the linear counters of the shell's clock by `cycles`.
  void (*skip)(void* instance, uint64_t cycles);
} ShellAbi;
