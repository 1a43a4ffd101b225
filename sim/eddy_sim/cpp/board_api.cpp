// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The board's C interface, as `eddy_sim.board` calls it. All functions are for one thread at a time.
#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "board.h"

#define API extern "C" __attribute__((visibility("default")))

namespace {

Board& of(void* board) { return *static_cast<Board*>(board); }
Fs join(uint64_t low, uint64_t high) { return static_cast<Fs>(high) << 64 | low; }

}  // namespace

/// Make a board around the shell in `shell_path`; NULL, with `error` filled, where that fails.
API void* eddy_board_create(const char* shell_path, const BoardParameters* parameters, uint8_t* memory, char* error,
                            size_t error_bytes) {
  void* library = dlopen(shell_path, RTLD_NOW | RTLD_LOCAL);
  const ShellAbi* shell = library ? static_cast<const ShellAbi*>(dlsym(library, "eddy_shell")) : nullptr;
  if (!shell || shell->abi != EDDY_ABI) {
    std::snprintf(error, error_bytes, "%s", library ? "the file is no shell of this board's interface" : dlerror());
    if (library) dlclose(library);
    return nullptr;
  }
  return new Board(shell, *parameters, memory);
}

/// A cache that the fabric does not see: what it holds, and the same when it last agreed with memory.
API void eddy_board_cache(void* board, uint8_t* cpu, uint8_t* agreed) { of(board).cache(cpu, agreed); }

API void eddy_board_destroy(void* board) { delete static_cast<Board*>(board); }
API void eddy_board_reset(void* board) { of(board).reset(); }

/// The word read in the low half, how the access ended in the high half.
API uint64_t eddy_board_read32(void* board, uint32_t offset) { return of(board).read32(offset); }
API uint32_t eddy_board_write32(void* board, uint32_t offset, uint32_t value) {
  return of(board).write32(offset, value);
}

API uint32_t eddy_board_run(void* board, uint64_t low, uint64_t high, uint32_t stop) {
  return of(board).run(join(low, high), stop);
}

API int eddy_board_start_config(void* board, uint32_t slot, const char* path, const char* options,
                                const uint64_t* duration_fs, uint32_t outcome, uint32_t faults) {
  ConfigPort::Load load;
  load.slot = slot;
  load.outcome = outcome;
  load.faults = faults;
  load.path = path;
  load.options = options;
  return of(board).start_config(std::move(load), join(duration_fs[0], duration_fs[1]));
}

/// Who is asked what an image at the engine's port is; called while the board is stepped.
API void eddy_board_set_sink(void* board, SinkCall sink) { of(board).set_sink(sink); }
API void eddy_board_give_port(void* board, uint32_t fabric) { of(board).give_port(fabric != 0); }

API void eddy_board_set_faults(void* board, uint32_t slot, uint32_t faults) { of(board).slot(slot).set_faults(faults); }
API void eddy_board_lose_clock(void* board, uint32_t slot, uint32_t lost) { of(board).lose_clock(slot, lost); }

API void eddy_board_bears(void* board, uint32_t slot, uint64_t shortest_fs) { of(board).bears(slot, shortest_fs); }

API void eddy_board_now(void* board, uint64_t* fs) {
  const Fs now = of(board).now();
  fs[0] = static_cast<uint64_t>(now);
  fs[1] = static_cast<uint64_t>(now >> 64);
}
API uint64_t eddy_board_shell_cycles(void* board) { return of(board).shell_cycles(); }
API uint64_t eddy_board_slot_cycles(void* board, uint32_t slot) { return of(board).slot_cycles(slot); }
API uint64_t eddy_board_slot_evaluated(void* board, uint32_t slot) { return of(board).slot(slot).active_edges(); }
API uint32_t eddy_board_irq(void* board) { return of(board).irq(); }
API uint32_t eddy_board_config_busy(void* board) { return of(board).config_busy(); }
API uint32_t eddy_board_loaded(void* board, uint32_t slot) { return of(board).slot(slot).loaded(); }
/// Why the last load brought no module; empty where it did, or is under way. Holds until the next call.
API const char* eddy_board_error(void* board) { return of(board).error().c_str(); }
API void eddy_board_statistics(void* board, BoardStatistics* out) { *out = of(board).statistics(); }
API void eddy_board_dram_statistics(void* board, DramStatistics* out) { *out = of(board).dram().statistics(); }
/// What a user was served so far.
API void eddy_board_user(void* board, uint32_t user, DramUserCounters* out) { *out = of(board).dram().users().counters(user); }
/// Keep a log of the bursts the memory serves from now on; `eddy_board_log` copies the first of them and answers how many
/// there are.
API void eddy_board_keep_log(void* board, uint64_t bound) { of(board).dram().users().keep_log(bound); }
API uint64_t eddy_board_log(void* board, DramServed* out, uint64_t bound) {
  const auto& log = of(board).dram().users().log();
  std::copy_n(log.begin(), std::min<uint64_t>(log.size(), bound), out);
  return log.size();
}
