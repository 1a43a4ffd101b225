// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
#include "board.h"

#include <algorithm>
#include <cstring>

#include "eddy_window.h"

namespace {

constexpr uint32_t kWizardBase = EDDY_WINDOW_WIZARD_OFFSET, kWizardStride = EDDY_WINDOW_WIZARD_STRIDE;
constexpr uint32_t kWizardEnd = kWizardBase + EDDY_WINDOW_WIZARD_COUNT * kWizardStride;
constexpr uint32_t kMemoryBase = EDDY_WINDOW_MEMORY_OFFSET, kMemoryEnd = kMemoryBase + EDDY_WINDOW_MEMORY_SIZE;
constexpr uint64_t kBesideCycles = 8;  // what an access to what lies beside the shell takes on the bus
constexpr int kResetEdges = 16;
constexpr uint32_t kPortEdges = 64;  // of the port's clock, after which nothing there changes any more
constexpr uint32_t kFirstWait = 12;    // evaluations after a change of inputs before the first check for a fixed point
constexpr uint32_t kLongestWait = 32;  // evaluations between checks, at most

uint64_t period_fs(uint64_t hz) { return (kFsPerSecond + hz / 2) / hz; }

}  // namespace

Board::Board(const ShellAbi* shell, const BoardParameters& parameters, uint8_t* memory)
    : shell_(shell),
      instance_(shell->create()),
      p_(parameters),
      count_(shell->num_slots),
      dram_(parameters.dram, memory),
      slots_(shell->num_slots) {
  shell_->rest(instance_, p_.resting != 0);
  shell_clock_.period_fs = period_fs(p_.shell_hz);
  shell_clock_.start(0);
  if (p_.port_hz) port_clock_.period_fs = period_fs(p_.port_hz);
  for (uint32_t k = 0; k < count_; k++) {
    wizards_.emplace_back(p_.shell_hz, p_.slot_hz[k]);
    lock_at_[k] = kNever;
    slot_clock_[k].period_fs = wizards_[k].period_fs();
    slot_clock_[k].start(0);
  }
  reset();
}

Board::~Board() { shell_->destroy(instance_); }

void Board::reset() {
  for (uint32_t k = 0; k < count_; k++) {
    slots_[k].unload();
    io_.up[k] = SlotUp{};
  }
  loaded_ = 0;
  cpu_.abandon(io_.cpu_down);
  io_.config = ConfigPort::rest();
  io_.config.cfg_avail_i = fabric_has_port_;
  icape_ = Icape3();
  memory_fault_ = 0;
  io_.rst_n = 0;
  dirty_ = ~0u;
  const uint64_t edges = kResetEdges;
  while (config_.busy()) instant(kNever);
  run(now_ + edges * shell_clock_.period_fs, 0);
  io_.rst_n = 1;
  dirty_ |= DIRTY_CONFIG;
  run(now_ + edges * shell_clock_.period_fs, 0);
  pending_ = 0;
}

Fs Board::next_event() const {
  Fs next = config_.next();
  for (uint32_t k = 0; k < count_; k++) next = std::min(next, lock_at_[k]);
  return next;
}

uint32_t Board::running_edges() const {
  uint32_t edges = SHELL_EDGE;
  for (uint32_t k = 0; k < count_; k++) edges |= slot_clock_[k].running() ? 1u << k : 0;
  return edges;
}

/// The engine's clock of the port goes on while it has a load, and for some edges after its inputs have changed. Its edges
/// come when they would have, had it never stood still.
void Board::wake_port() {
  port_left_ = kPortEdges;
  if (!port_clock_.running()) port_clock_.next = (now_ / port_clock_.period_fs + 1) * port_clock_.period_fs;
}

/// Process the next instant at which anything happens; false, with time at the limit, where there is none before it.
bool Board::instant(Fs limit) {
  if (p_.port_hz && (io_.engine_up.engine_busy_o || dirty_ & DIRTY_CONFIG)) wake_port();
  Fs next = shell_clock_.next;
  uint32_t edges = SHELL_EDGE;
  const auto meet = [&next, &edges](Fs at, uint32_t edge) {
    if (at > next) return;
    edges = at < next ? edge : edges | edge;
    next = at;
  };
  for (uint32_t k = 0; k < count_; k++) meet(slot_clock_[k].next, 1u << k);
  if (p_.port_hz) meet(port_clock_.next, PORT_EDGE);
  meet(event_, 0);
  if (next > limit) {
    now_ = limit;
    return false;
  }
  now_ = next;
  statistics_.instants++;
  if (event_ <= now_) run_events();  // a clock that it starts has no edge yet
  if (p_.port_hz && dirty_ & DIRTY_CONFIG) wake_port();  // an event's, before this instant's step has taken them up
  for (uint32_t rest = edges & (SHELL_EDGE - 1); rest; rest &= rest - 1) slot_clock_[__builtin_ctz(rest)].tick();
  if (edges & SHELL_EDGE) shell_clock_.tick();
  if (edges & PORT_EDGE) {
    port_clock_.tick();
    if (!--port_left_) port_clock_.stop();
  }
  if (edges) step(edges);
  return true;
}

/// One instant's edges. Everything sees its inputs as they were before the instant: modules, memory and CPU are given
/// the shell's outputs first, then the shell steps with their old outputs, then their new outputs take effect.
void Board::step(uint32_t edges) {
  SlotUp up[EDDY_MAX_SLOTS];
  uint32_t dirty = 0;
  for (uint32_t rest = edges & loaded_; rest; rest &= rest - 1) {
    const uint32_t k = static_cast<uint32_t>(__builtin_ctz(rest));
    if (p_.skipping && slots_[k].quiet(io_.down[k])) continue;
    up[k] = io_.up[k];
    const bool strained = slot_clock_[k].period_fs < shortest_fs_[k];
    if (slots_[k].step(io_.down[k], up[k], p_.skipping, strained)) dirty |= 1u << k;
  }
  MemoryDown memory;
  CpuDown cpu;
  Configuration config;
  if (edges & SHELL_EDGE) step_outer(memory, cpu, dirty);
  if (edges & PORT_EDGE) step_port(config, dirty);

  const bool irq_before = io_.cpu_up.irq, engine_before = io_.engine_up.engine_busy_o;
  step_shell(edges);
  if (io_.cpu_up.irq && !irq_before) pending_ |= kStopIrq;

  for (uint32_t rest = dirty & ((1u << EDDY_MAX_SLOTS) - 1); rest; rest &= rest - 1) {
    const uint32_t k = static_cast<uint32_t>(__builtin_ctz(rest));
    io_.up[k] = up[k];
  }
  if (dirty & DIRTY_MEMORY) io_.memory_down = memory;
  if (dirty & DIRTY_CPU) io_.cpu_down = cpu;
  if (dirty & DIRTY_CONFIG) io_.config = config;
  dirty_ |= dirty;
  if (icape_event_ != Icape3::Event::kNone) engine_event(icape_event_);
  if (engine_before && !io_.engine_up.engine_busy_o) engine_ended();
}

void Board::step_port(Configuration& config, uint32_t& dirty) {
  if (!icape_.busy(io_.engine_up)) return;
  config = io_.config;
  icape_event_ = icape_.step(io_.engine_up, config);
  if (std::memcmp(&config, &io_.config, sizeof config)) dirty |= DIRTY_CONFIG;
}

void Board::step_outer(MemoryDown& memory, CpuDown& cpu, uint32_t& dirty) {
  const MemoryUp& asked = io_.memory_up;
  if (!dram_.idle() || asked.m_axi_arvalid || asked.m_axi_awvalid || asked.m_axi_wvalid) {
    memory = io_.memory_down;
    if (dram_.step(now_, asked, memory)) dirty |= DIRTY_MEMORY;
    if (memory_fault_ && memory.m_axi_rvalid && memory.m_axi_rid >> 4 == count_) {
      if (memory_fault_ == 1) memory.m_axi_rdata ^= 1;
      else memory.m_axi_rresp = 2;
      memory_fault_ = 0;
      dirty |= DIRTY_MEMORY;
    }
  }
  if (cpu_.busy()) {
    cpu = io_.cpu_down;
    if (cpu_.step(io_.cpu_up, cpu)) dirty |= DIRTY_CPU;
  }
}

void Board::step_shell(uint32_t edges) {
  if (p_.skipping && !dirty_ && !(edges & ~fixed_)) {
    skipped_ += (edges & SHELL_EDGE) != 0;
    return;
  }
  if (skipped_) {
    shell_->skip(instance_, skipped_);
    skipped_ = 0;
  }
  statistics_.shell_evaluated++;
  if (dirty_ || wait_ || !p_.skipping) {
    if (dirty_) back_off_ = 1;
    wait_ = dirty_ ? kFirstWait : wait_ - (wait_ > 0);
    shell_->step(instance_, &io_, edges, dirty_, loaded_);
    fixed_ = 0;
  } else {
    statistics_.shell_checks++;
    if (shell_->step_check(instance_, &io_, edges, 0, loaded_)) {
      fixed_ |= edges;
    } else {
      fixed_ = 0;
      back_off_ = std::min(back_off_ * 2, kLongestWait);
      wait_ = back_off_;
    }
  }
  dirty_ = 0;
}

void Board::run_events() {
  if (config_.busy() && config_.next() <= now_) {
    if (now_ >= config_.load().end) {
      finish_config();
    } else {
      const uint32_t k = config_.load().slot;
      config_.noise(now_, io_.up[k]);
      dirty_ |= 1u << k;
    }
  }
  for (uint32_t k = 0; k < count_; k++) {
    if (lock_at_[k] > now_) continue;
    lock_at_[k] = kNever;
    slot_clock_[k].period_fs = wizards_[k].period_fs();
    wizards_[k].locked(true);
    if (!lost_[k]) slot_clock_[k].start(now_);
  }
  update_event();
}

int Board::start_config(ConfigPort::Load load, Fs duration) {
  if (config_busy()) return -1;
  const uint32_t k = load.slot;
  slots_[k].unload();
  loaded_ &= ~(1u << k);
  error_.clear();
  load.end = now_ + duration;
  config_.start(std::move(load), now_, shell_clock_.period_fs, io_.config);
  // Noise changes at edges of the shell's clock.
  config_.align(shell_clock_.next);
  dirty_ |= DIRTY_CONFIG;
  update_event();
  return 0;
}

void Board::finish_config() {
  const ConfigPort::Load& load = config_.load();
  const uint32_t k = load.slot;
  config_.finish(io_.config);
  io_.config.cfg_avail_i = fabric_has_port_;
  dirty_ |= DIRTY_CONFIG | 1u << k;
  pending_ |= kStopConfig;
  if (load.outcome == kLoadFails) return;  // what is in the slot now is whatever the noise left
  load_module(load);
  io_.config.cfg_prerror_i = !error_.empty();
}

/// Put a module where the noise was; `error_` says why where there is none.
void Board::load_module(const ConfigPort::Load& load) {
  io_.up[load.slot] = SlotUp{};
  dirty_ |= 1u << load.slot;
  if (slots_[load.slot].load(load.path.c_str(), load.options.c_str(), load.faults, error_)) loaded_ |= 1u << load.slot;
}

void Board::give_port(bool fabric) {
  fabric_has_port_ = fabric;
  if (config_.busy() && !config_.load().engine) return;
  io_.config.cfg_avail_i = fabric;
  dirty_ |= DIRTY_CONFIG;
}

void Board::engine_event(Icape3::Event event) {
  icape_event_ = Icape3::Event::kNone;
  if (event == Icape3::Event::kIdentified) image_begins();
  if (event == Icape3::Event::kDone) image_ends();
}

/// From here on the image's slot holds neither the old module nor the new one.
void Board::image_begins() {
  SinkAnswer answer{};
  answer.slot = -1;
  if (sink_) sink_(0, icape_.words().data(), icape_.words().size(), &answer);
  refused_ = answer.slot < 0;
  if (refused_) {
    icape_.report(false, true);
    return;
  }
  ConfigPort::Load load;
  load.slot = static_cast<uint32_t>(answer.slot);
  load.end = kNever;
  load.engine = true;
  slots_[load.slot].unload();
  loaded_ &= ~(1u << load.slot);
  error_.clear();
  memory_fault_ = answer.memory_fault;
  config_.start(std::move(load), now_, shell_clock_.period_fs, io_.config);
  config_.align(shell_clock_.next);
  if (answer.outcome == kLoadInterrupted) {
    io_.config.cfg_avail_i = 0;
    dirty_ |= DIRTY_CONFIG;
  }
  update_event();
}

void Board::image_ends() {
  if (refused_ || !config_.busy()) return;
  SinkAnswer answer{};
  sink_(1, icape_.words().data(), icape_.words().size(), &answer);
  if (answer.outcome == kLoadGood) {
    ConfigPort::Load load = config_.load();
    load.path = answer.path;
    load.options = answer.options;
    load.faults = answer.faults;
    config_.stop();
    update_event();
    load_module(load);
  }
  const bool ends = answer.outcome != kLoadEndless && answer.outcome != kLoadFails;
  icape_.report(ends, answer.outcome == kLoadFails || !error_.empty());
}

/// The engine is done. What it left half written stays noise; the port is at rest again.
void Board::engine_ended() {
  pending_ |= kStopConfig;
  memory_fault_ = 0;
  icape_.rest();
  if (config_.busy() && config_.load().engine) {
    config_.stop();
    update_event();
  }
  const Configuration was = io_.config;
  io_.config = ConfigPort::rest();
  // UG570: the one stays low until an image ends with DESYNC, the other high until the next image resets it.
  io_.config.cfg_prdone_i = was.cfg_prdone_i;
  io_.config.cfg_prerror_i = was.cfg_prerror_i;
  io_.config.cfg_avail_i = fabric_has_port_;
  dirty_ |= DIRTY_CONFIG;
}

void Board::lose_clock(uint32_t k, bool lost) {
  lost_[k] = lost;
  if (lost) {
    slot_clock_[k].stop();
  } else if (!slot_clock_[k].running() && lock_at_[k] == kNever && wizards_[k].period_fs()) {
    slot_clock_[k].start(now_);
  }
}

void Board::clock_changed(uint32_t k) {
  slot_clock_[k].stop();
  wizards_[k].locked(false);
  fall_at_[k] = now_ + ClockWizard::fall_fs();
  lock_at_[k] = wizards_[k].period_fs() ? now_ + ClockWizard::lock_fs() : kNever;
  update_event();
}

uint64_t Board::access(uint32_t offset) {
  const uint64_t bound = shell_clock_.edges + p_.access_bound;
  while (cpu_.busy()) {
    instant(kNever);
    if (shell_clock_.edges < bound) continue;
    cpu_.abandon(io_.cpu_down);
    dirty_ |= DIRTY_CPU;
    return static_cast<uint64_t>(kAccessNoAnswer) << 32 | offset;
  }
  return static_cast<uint64_t>(cpu_.response() ? kAccessError : kAccessOkay) << 32 | cpu_.data();
}

uint64_t Board::read32(uint32_t offset) {
  if (offset >= kWizardBase && offset < kWizardEnd) {
    const uint32_t k = (offset - kWizardBase) / kWizardStride;
    run(now_ + kBesideCycles * shell_clock_.period_fs, 0);
    if (k >= count_) return 0xDEAD0001u;
    if (offset % kWizardStride == ClockWizard::kStatus && now_ < fall_at_[k]) return 1;
    return wizards_[k].read(offset % kWizardStride);
  }
  if (offset >= kMemoryBase && offset < kMemoryEnd) {
    run(now_ + kBesideCycles * shell_clock_.period_fs, 0);
    return memory_counters_.read(dram_.users(), offset - kMemoryBase);
  }
  cpu_.read(offset, io_.cpu_down);
  dirty_ |= DIRTY_CPU;
  return access(offset);
}

uint32_t Board::write32(uint32_t offset, uint32_t value) {
  if (offset >= kWizardBase && offset < kWizardEnd) {
    const uint32_t k = (offset - kWizardBase) / kWizardStride;
    run(now_ + kBesideCycles * shell_clock_.period_fs, 0);
    if (k < count_ && wizards_[k].write(offset % kWizardStride, value)) clock_changed(k);
    return kAccessOkay;
  }
  if (offset >= kMemoryBase && offset < kMemoryEnd) {
    run(now_ + kBesideCycles * shell_clock_.period_fs, 0);
    memory_counters_.write(dram_.users(), offset - kMemoryBase, value);
    return kAccessOkay;
  }
  cpu_.write(offset, value, io_.cpu_down);
  dirty_ |= DIRTY_CPU;
  return static_cast<uint32_t>(access(offset) >> 32);
}

/// Whether no edge of any running clock would change anything but counters.
bool Board::at_rest() const {
  if (dirty_ || (running_edges() & ~fixed_) || port_clock_.running() || cpu_.busy() || !dram_.idle() || icape_.busy(io_.engine_up)) return false;
  const MemoryUp& asked = io_.memory_up;
  if (asked.m_axi_arvalid || asked.m_axi_awvalid || asked.m_axi_wvalid) return false;
  for (uint32_t k = 0; k < count_; k++) {
    if (slot_clock_[k].running() && !slots_[k].quiet(io_.down[k])) return false;
  }
  return true;
}

void Board::jump(Fs target) {
  statistics_.jumps++;
  skipped_ += shell_clock_.jump(target);
  for (uint32_t k = 0; k < count_; k++) {
    if (slot_clock_[k].running()) slot_clock_[k].jump(target);
  }
}

uint32_t Board::run(Fs deadline, uint32_t stop) {
  while (true) {
    const uint32_t reasons = pending_ & stop;
    if (reasons) {
      pending_ &= ~reasons;
      return reasons;
    }
    if (p_.skipping && !dirty_ && fixed_ && at_rest()) jump(std::min(deadline, event_));
    if (!instant(deadline)) return kStopDeadline;
  }
}
