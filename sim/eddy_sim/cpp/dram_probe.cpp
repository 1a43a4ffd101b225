// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// Drives the memory model alone, for tests: a manager that asks as fast as it may and always takes its answers.
#include <algorithm>
#include <cstring>
#include <deque>

#include "dram.h"

/// One burst to ask for; mirrored by `ProbeBurst` in Python.
struct ProbeBurst {
  uint64_t address, beats, id, write, user;
  /// First edge at which it may be asked for.
  uint64_t not_before;
  /// Filled in: edge of the last answer, and its place among all answers.
  uint64_t done, place;
};

/// Ask for `count` bursts, in order for each direction; answers the edges it took, or 0 where `bound` was not enough.
/// Write data is the burst's index in every beat.
extern "C" __attribute__((visibility("default"))) uint64_t eddy_dram_probe(const DramParameters* parameters,
                                                                           uint8_t* memory, uint64_t period_fs,
                                                                           ProbeBurst* bursts, uint64_t count,
                                                                           uint64_t bound, DramStatistics* statistics,
                                                                           DramUserCounters* users, DramServed* log) {
  Dram dram(*parameters, memory);
  dram.users().keep_log(count);
  MemoryUp up{};
  MemoryDown down{};
  std::deque<uint64_t> todo[2], asked[2], data;
  for (uint64_t i = 0; i < count; i++) todo[bursts[i].write != 0].push_back(i);
  uint64_t beat = 0, finished = 0;
  up.m_axi_rready = up.m_axi_bready = 1;

  const auto answer = [&](std::deque<uint64_t>& queue, uint64_t id, uint64_t edge) {
    for (size_t i = 0; i < queue.size(); i++) {
      ProbeBurst& burst = bursts[queue[i]];
      if (burst.id != id) continue;
      burst.done = edge;
      burst.place = finished++;
      queue.erase(queue.begin() + static_cast<long>(i));
      return;
    }
  };

  for (uint64_t edge = 1; edge <= bound; edge++) {
    // What the memory sees at this edge are the wires as they were; what changes after it follows below.
    const MemoryDown before = down;
    dram.step(static_cast<Fs>(edge) * period_fs, up, down);
    if (before.m_axi_rvalid && before.m_axi_rlast) answer(asked[0], before.m_axi_rid, edge);
    if (before.m_axi_bvalid) answer(asked[1], before.m_axi_bid, edge);
    if (finished == count) {
      *statistics = dram.statistics();
      for (uint32_t user = 0; user < kDramUsers; user++) users[user] = dram.users().counters(user);
      std::copy(dram.users().log().begin(), dram.users().log().end(), log);
      return edge;
    }
    if (up.m_axi_arvalid && before.m_axi_arready) up.m_axi_arvalid = 0;
    if (up.m_axi_awvalid && before.m_axi_awready) up.m_axi_awvalid = 0;
    if (up.m_axi_wvalid && before.m_axi_wready) {
      up.m_axi_wvalid = 0;
      if (++beat == bursts[data.front()].beats) {
        data.pop_front();
        beat = 0;
      }
    }
    if (!up.m_axi_arvalid && !todo[0].empty() && bursts[todo[0].front()].not_before <= edge) {
      const ProbeBurst& burst = bursts[todo[0].front()];
      up.m_axi_arvalid = 1;
      up.m_axi_araddr = burst.address;
      up.m_axi_arid = static_cast<uint8_t>(burst.id);
      up.m_axi_aruser = static_cast<uint8_t>(burst.user);
      up.m_axi_arlen = static_cast<uint8_t>(burst.beats - 1);
      up.m_axi_arsize = 3;
      up.m_axi_arburst = 1;
      asked[0].push_back(todo[0].front());
      todo[0].pop_front();
    }
    if (!up.m_axi_awvalid && !todo[1].empty() && bursts[todo[1].front()].not_before <= edge) {
      const ProbeBurst& burst = bursts[todo[1].front()];
      up.m_axi_awvalid = 1;
      up.m_axi_awaddr = burst.address;
      up.m_axi_awid = static_cast<uint8_t>(burst.id);
      up.m_axi_awuser = static_cast<uint8_t>(burst.user);
      up.m_axi_awlen = static_cast<uint8_t>(burst.beats - 1);
      up.m_axi_awsize = 3;
      up.m_axi_awburst = 1;
      asked[1].push_back(todo[1].front());
      data.push_back(todo[1].front());
      todo[1].pop_front();
    }
    if (!up.m_axi_wvalid && !data.empty()) {
      up.m_axi_wvalid = 1;
      up.m_axi_wdata = data.front();
      up.m_axi_wstrb = 0xFF;
      up.m_axi_wlast = beat + 1 == bursts[data.front()].beats;
    }
  }
  return 0;
}
