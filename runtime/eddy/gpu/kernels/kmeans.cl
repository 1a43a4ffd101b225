// k-means: assignment, partial sums over chunks of points, new centres. K clusters, D dimensions, N points; coordinates of
// one dimension lie side by side, and chunks are every so many points, so that neighbouring lanes read neighbours.

kernel void assign(global const float *points, global const float *centres, global int *label) {
  const uint i = get_global_id(0);
  float best = MAXFLOAT;
  int nearest = 0;
  for (int k = 0; k < K; k++) {
    float distance = 0.0f;
    for (int d = 0; d < D; d++) {
      const float gap = points[d * N + i] - centres[k * D + d];
      distance += gap * gap;
    }
    if (distance < best) {
      best = distance;
      nearest = k;
    }
  }
  label[i] = nearest;
}

// Item (c, k): sum and number of the points of chunk c in cluster k.
kernel void partial(global const float *points, global const int *label, global float *sums, global int *counts) {
  const uint c = get_global_id(0), k = get_global_id(1), chunks = get_global_size(0);
  float sum[D];
  int count = 0;
  for (int d = 0; d < D; d++) sum[d] = 0.0f;
  for (uint i = c; i < N; i += chunks) {
    // Without a branch, so that lanes stay together: products with 0 and 1 are exact.
    const int mine = label[i] == (int)k;
    const float weight = (float)mine;
    count += mine;
    for (int d = 0; d < D; d++) sum[d] += weight * points[d * N + i];
  }
  for (int d = 0; d < D; d++) sums[(d * K + k) * chunks + c] = sum[d];
  counts[k * chunks + c] = count;
}

// One item: the last sums and the new centres, as a host would make them.
kernel void centre(global const float *sums, global const int *counts, global float *centres, uint chunks) {
  for (uint k = 0; k < K; k++) {
    int count = 0;
    for (uint c = 0; c < chunks; c++) count += counts[k * chunks + c];
    for (uint d = 0; d < D; d++) {
      float sum = 0.0f;
      for (uint c = 0; c < chunks; c++) sum += sums[(d * K + k) * chunks + c];
      if (count) centres[k * D + d] = sum / (float)count;
    }
  }
}
