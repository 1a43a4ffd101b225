// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Banks and data buses of a memory: when a burst's commands and data can be, and what serving it changes.
#pragma once
#include <algorithm>
#include <vector>

#include "dram_map.h"
#include "timebase.h"

struct DramPlan {
  Fs activate = 0, column = 0, data = 0;
  bool hit = false, conflict = false;
};

class DramBanks {
 public:
  explicit DramBanks(const DramParameters& p) : p_(p), banks_(p.banks * p.channels), buses_(p.channels) {}

  /// When a burst at `place` could have the bus, were it served next.
  DramPlan plan(const DramPlace& place, bool write, Fs now) const {
    const Bank& bank = banks_[place.unit];
    const Bus& bus = buses_[place.channel];
    DramPlan plan;
    plan.hit = bank.row == place.row;
    plan.conflict = !plan.hit && bank.row >= 0;
    if (plan.hit) {
      plan.column = std::max(now, bank.column);
    } else {
      plan.activate = std::max(now, bank.column);
      if (plan.conflict) plan.activate = std::max({now, bank.activated + p_.ras_fs, bank.busy_until}) + p_.rp_fs;
      // Later than the fourth latest by the window: three others at most share one with it.
      if (p_.faw_fs && bus.activations == 4) plan.activate = std::max(plan.activate, bus.latest[0] + p_.faw_fs);
      plan.column = plan.activate + p_.rcd_fs;
    }
    if (p_.wtr_fs && !write && bus.written) plan.column = std::max(plan.column, bus.free + p_.wtr_fs);
    plan.data = std::max(plan.column + p_.cl_fs, bus.free + (write && bus.read ? p_.rtw_fs : 0));
    return plan;
  }

  /// A burst is served as planned; its data takes `duration`. Answers when the bus is free again.
  Fs serve(const DramPlace& place, bool write, const DramPlan& plan, Fs duration) {
    Bank& bank = banks_[place.unit];
    Bus& bus = buses_[place.channel];
    bus.free = plan.data + duration;
    bus.written = write;
    bus.read = !write;
    bank.row = place.row;
    if (!plan.hit) {
      bank.activated = plan.activate;
      bus.activate(plan.activate);
    }
    bank.column = plan.column;
    bank.busy_until = bus.free - p_.cl_fs;
    return bus.free;
  }

  /// Data that no bank has: it takes the first channel's bus.
  Fs answer_nothing(Fs data, Fs duration) { return buses_[0].free = data + duration; }

  Fs free(uint32_t channel) const { return buses_[channel].free; }
  Fs first_free() const {
    Fs first = buses_[0].free;
    for (const Bus& bus : buses_) first = std::min(first, bus.free);
    return first;
  }

  /// All rows are closed, and nothing is commanded before `end`.
  void refresh(Fs end) {
    for (Bank& bank : banks_) {
      bank.row = -1;
      bank.column = std::max(bank.column, end);
    }
  }

 private:
  struct Bank {
    int64_t row = -1;
    Fs activated = 0, column = 0, busy_until = 0;
  };
  struct Bus {
    Fs free = 0;
    bool read = false, written = false;  // what its last data was
    Fs latest[4] = {};                   // the four latest activations, earliest first
    uint32_t activations = 0;

    void activate(Fs at) {
      if (activations < 4) {
        latest[activations++] = at;
      } else if (at > latest[0]) {
        latest[0] = at;
      }
      std::sort(latest, latest + activations);
    }
  };

  DramParameters p_;
  std::vector<Bank> banks_;
  std::vector<Bus> buses_;
};
