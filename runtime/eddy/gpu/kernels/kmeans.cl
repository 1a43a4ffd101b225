// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// k-means: K clusters, D dimensions, N points; coordinates of one dimension lie side by side, and an item takes every so
// many points, so that neighbouring lanes read neighbours.

// Labels, and sums and numbers of each work-group's points by cluster. `sum` and `number` have a row for each coordinate
// and cluster, and a column for each item of the group.
kernel void assign(global const float *points, global const float *centres, global int *label, global float *sums,
                   global int *counts, local float *sum, local int *number) {
  const uint item = get_local_id(0), items = get_local_size(0), group = get_group_id(0), groups = get_num_groups(0);
  for (uint row = 0; row < K * D; row++) sum[row * items + item] = 0.0f;
  for (uint row = 0; row < K; row++) number[row * items + item] = 0;
  for (uint i = get_global_id(0); i < N; i += get_global_size(0)) {
    float point[D], best = MAXFLOAT;
    uint nearest = 0;
    for (uint d = 0; d < D; d++) point[d] = points[d * N + i];
    for (uint k = 0; k < K; k++) {
      float distance = 0.0f;
      for (uint d = 0; d < D; d++) {
        const float gap = point[d] - centres[k * D + d];
        distance += gap * gap;
      }
      if (distance < best) {
        best = distance;
        nearest = k;
      }
    }
    label[i] = nearest;
    number[nearest * items + item] += 1;
    for (uint d = 0; d < D; d++) sum[(nearest * D + d) * items + item] += point[d];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint row = item; row < K * D; row += items) {
    float total = 0.0f;
    for (uint column = 0; column < items; column++) total += sum[row * items + column];
    sums[row * groups + group] = total;
  }
  if (item < K) {
    int total = 0;
    for (uint column = 0; column < items; column++) total += number[item * items + column];
    counts[item * groups + group] = total;
  }
}

// One item: the last sums and the new centres, as a host would make them.
kernel void centre(global const float *sums, global const int *counts, global float *centres, uint groups) {
  for (uint k = 0; k < K; k++) {
    int count = 0;
    for (uint g = 0; g < groups; g++) count += counts[k * groups + g];
    for (uint d = 0; d < D; d++) {
      float sum = 0.0f;
      for (uint g = 0; g < groups; g++) sum += sums[(k * D + d) * groups + g];
      if (count) centres[k * D + d] = sum / (float)count;
    }
  }
}
