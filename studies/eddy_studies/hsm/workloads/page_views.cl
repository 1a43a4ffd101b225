// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Page view count: how often each URL occurs in a log. Map (hash the URL), group (insert into an open table), reduce.
// A record has RECORD words, the first URL of them the address; the table has SLOTS places, a power of two.

kernel void pvc_map(global const uint *records, global uint *hashes) {
  const uint i = get_global_id(0);
  uint hash = 2166136261u;
  for (uint k = 0; k < URL; k++) hash = (hash ^ records[i * RECORD + k]) * 16777619u;
  hash ^= hash >> 15;
  hashes[i] = hash ? hash : 1u;
}

kernel void pvc_count(global const uint *hashes, global uint *keys, global uint *counts) {
  const uint hash = hashes[get_global_id(0)];
  uint slot = (hash * 2654435761u) >> (32 - SLOT_BITS);
  for (;;) {
    const uint found = atomic_cmpxchg(&keys[slot], 0u, hash);
    if (found == 0u || found == hash) break;
    slot = (slot + 1) & (SLOTS - 1);
  }
  atomic_inc(&counts[slot]);
}

kernel void pvc_emit(global const uint *hashes, global const uint *keys, global const uint *counts, global uint *views) {
  const uint i = get_global_id(0), hash = hashes[i];
  uint slot = (hash * 2654435761u) >> (32 - SLOT_BITS);
  while (keys[slot] != hash) slot = (slot + 1) & (SLOTS - 1);
  views[i] = counts[slot];
}
