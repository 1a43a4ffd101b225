// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The simulated board: clocks, CPU port, memory, configuration port, shell and modules, stepped edge by edge.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "clock_wizard.h"
#include "config_port.h"
#include "cpu_port.h"
#include "dram.h"
#include "icape3.h"
#include "memory_counters.h"
#include "slot.h"

/// What a board is made of; mirrored by `BoardParameters` in Python.
struct BoardParameters {
  uint64_t shell_hz;
  uint64_t slot_hz[EDDY_MAX_SLOTS];
  /// Of the engine's clock of the configuration port; 0 where there is no engine.
  uint64_t port_hz;
  /// Shell-clock cycles within which a CPU access must be answered.
  uint64_t access_bound;
  /// Skip what has nothing to do; off only to prove that it changes nothing.
  uint64_t skipping;
  /// Leave out the edges that would change nothing in a part of the shell; off only to prove that it changes nothing.
  uint64_t resting;
  DramParameters dram;
};

/// Why stepping stopped; bits.
enum : uint32_t { kStopIrq = 1, kStopConfig = 2, kStopDeadline = 4 };
/// How an access ended, in bits 32 and up of `read32`.
enum : uint32_t { kAccessOkay = 0, kAccessError = 1, kAccessNoAnswer = 2 };

/// What the words at the engine's port are, as whoever knows images answers; mirrored by `SinkAnswer` in Python.
struct SinkAnswer {
  int32_t slot;  // whose image it is; -1: nobody's, the device refuses it
  uint32_t outcome, faults;
  uint32_t memory_fault;  // what is wrong with the next beat the engine reads: 1 a bit flips, 2 an error
  char path[1024], options[512];
};
/// Asked when an image has said what it is (`ended` 0) and when it is in (1).
typedef void (*SinkCall)(uint32_t ended, const uint32_t* words, uint64_t count, SinkAnswer* answer);

/// How much work there was; mirrored by `BoardStatistics` in Python.
struct BoardStatistics {
  uint64_t shell_evaluated, shell_checks, jumps, instants, path_edges;
};

class Board {
 public:
  Board(const ShellAbi* shell, const BoardParameters& parameters, uint8_t* memory);
  ~Board();
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  /// Hold the shell in reset for a few edges, with every slot empty: what loading the whole bitstream does.
  void reset();

  uint64_t read32(uint32_t offset);
  uint32_t write32(uint32_t offset, uint32_t value);

  /// Pass time until `deadline`, or until something in `stop` happens; answers the reasons.
  uint32_t run(Fs deadline, uint32_t stop);

  /// Answers 0, or -1 where a load is under way already.
  int start_config(ConfigPort::Load load, Fs duration);
  void lose_clock(uint32_t slot, bool lost);
  void set_sink(SinkCall sink) { sink_ = sink; }
  /// Whether the fabric's port has the device, not the processor's.
  void give_port(bool fabric);
  /// Whatever is in the slot computes wrong values while its clock's period is shorter; 0: no period is too short.
  void bears(uint32_t slot, uint64_t shortest_fs) { shortest_fs_[slot] = shortest_fs; }

  Fs now() const { return now_; }
  uint64_t shell_cycles() const { return shell_clock_.edges; }
  uint64_t slot_cycles(uint32_t slot) const { return slot_clock_[slot].edges; }
  bool irq() const { return io_.cpu_up.irq; }
  bool config_busy() const { return config_.busy() || io_.engine_up.engine_busy_o; }
  Slot& slot(uint32_t index) { return slots_[index]; }
  Dram& dram() { return dram_; }
  void cache(uint8_t* cpu, uint8_t* agreed) { dram_.cache(cpu, agreed); }
  const std::string& error() const { return error_; }
  BoardStatistics statistics() const {
    BoardStatistics now = statistics_;
    now.path_edges = shell_->path_edges(instance_);
    return now;
  }

 private:
  bool instant(Fs limit);
  void step(uint32_t edges);
  void step_outer(MemoryDown& memory, CpuDown& cpu, uint32_t& dirty);
  void step_port(Configuration& config, uint32_t& dirty);
  void wake_port();
  void step_shell(uint32_t edges);
  void run_events();
  void finish_config();
  void engine_event(Icape3::Event event);
  void image_begins();
  void image_ends();
  void engine_ended();
  void load_module(const ConfigPort::Load& load);
  void clock_changed(uint32_t slot);
  Fs next_event() const;
  void update_event() { event_ = next_event(); }
  bool at_rest() const;
  void jump(Fs target);
  uint64_t access(uint32_t offset);
  uint32_t running_edges() const;

  const ShellAbi* shell_;
  void* instance_;
  BoardParameters p_;
  uint32_t count_;
  ShellIo io_{};

  Fs now_ = 0;
  Fs event_ = kNever;
  Clock shell_clock_;
  Clock port_clock_;         // runs while the engine may have something to do there
  uint32_t port_left_ = 0;   // edges of it until it stands still
  Clock slot_clock_[EDDY_MAX_SLOTS];
  std::vector<ClockWizard> wizards_;
  Fs lock_at_[EDDY_MAX_SLOTS];
  bool lost_[EDDY_MAX_SLOTS] = {};
  Fs fall_at_[EDDY_MAX_SLOTS] = {};  // until then a wizard that was told another rate still says that it is locked
  uint64_t shortest_fs_[EDDY_MAX_SLOTS] = {};

  CpuPort cpu_;
  Dram dram_;
  MemoryCounters memory_counters_;
  ConfigPort config_;
  Icape3 icape_;
  Icape3::Event icape_event_ = Icape3::Event::kNone;
  SinkCall sink_ = nullptr;
  bool refused_ = false, fabric_has_port_ = true;
  uint32_t memory_fault_ = 0;
  std::vector<Slot> slots_;
  uint32_t loaded_ = 0;

  uint32_t dirty_ = ~0u;    // inputs of the shell that changed since its last step
  uint32_t fixed_ = 0;      // clocks whose edges are known to change nothing
  uint32_t wait_ = 0, back_off_ = 1;
  uint64_t skipped_ = 0;    // edges of the shell clock its counters have not seen yet
  uint32_t pending_ = 0;    // reasons to stop that were not asked for yet
  std::string error_;
  BoardStatistics statistics_{};
};
