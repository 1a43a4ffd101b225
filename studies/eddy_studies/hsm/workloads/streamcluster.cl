// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Streaming k-median: what opening a centre at `candidate` gains. Coordinates of one dimension lie side by side; a point
// has a row of K + 1 gains, by its own centre and, last, by the candidate.

kernel void pgain(global const float *coordinates, global const float *weights, global const float *costs,
                  global const int *assigned, global const int *table, global float *gains, global uchar *switches,
                  uint candidate) {
  const uint i = get_global_id(0);
  float distance = 0.0f;
  for (uint d = 0; d < D; d++) {
    const float gap = coordinates[d * N + i] - coordinates[d * N + candidate];
    distance += gap * gap;
  }
  const float cost = distance * weights[i], gain = cost - costs[i];
  if (gain < 0.0f) {
    switches[i] = 1;
    gains[i * (K + 1) + K] = gain;
  } else {
    gains[i * (K + 1) + table[assigned[i]]] = gain;
  }
}
