// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// What the memory model is told and what it tells; mirrored by structures in `eddy_sim.dram`.
#pragma once
#include <cstdint>

/// Most bits that choose bank and channel.
enum : uint64_t { kUnitBits = 5 };

/// Order of service.
enum : uint64_t { kFirstReady = 0, kLowestBandwidthFirst = 1 };

/// Geometry, timing and scheduling; mirrored by `DramParameters` in Python.
struct DramParameters {
  uint64_t base, bytes;
  uint64_t banks, row_bytes;
  uint64_t rcd_fs, rp_fs, cl_fs, ras_fs;
  uint64_t bytes_per_s;
  /// Refresh interval and duration; an interval of 0 means none.
  uint64_t refi_fs, rfc_fs;
  /// How many later bursts may overtake one.
  uint64_t starvation;
  /// Window in which a channel activates four rows at most; 0: no bound.
  uint64_t faw_fs;
  /// End of written data to a read's column command; end of read data to written data.
  uint64_t wtr_fs, rtw_fs;
  /// Channels, each with its banks and its part of the bandwidth.
  uint64_t channels;
  /// By bit of the unit (channel below bank): address bits, from the base, whose parity is added to it.
  uint64_t hash[kUnitBits];
  /// Bursts accepted and not answered, for each direction.
  uint64_t queue;
  /// Row hits in a row that may overtake an older burst; 0: any number.
  uint64_t hit_cap;
  uint64_t scheduling;
  /// Reads of one id may be served in any order.
  uint64_t reorders;
  /// Bytes of a beat of the shell's port, 8 or 16.
  uint64_t port_bytes;
};

/// What the memory has done so far; mirrored by `DramStatistics` in Python.
struct DramStatistics {
  uint64_t read_bytes, write_bytes, row_hits, row_misses, row_conflicts, refused, longest_bypass;
};
