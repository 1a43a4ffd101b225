// k-means: assignment, partial sums over chunks of points, new centres. K clusters, D dimensions.

kernel void assign(global const float *points, global const float *centres, global int *label) {
  const uint i = get_global_id(0);
  float best = MAXFLOAT;
  int nearest = 0;
  for (int k = 0; k < K; k++) {
    float distance = 0.0f;
    for (int d = 0; d < D; d++) {
      const float gap = points[i * D + d] - centres[k * D + d];
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
kernel void partial(global const float *points, global const int *label, global float *sums, global int *counts,
                    uint chunk) {
  const uint c = get_global_id(0), k = get_global_id(1), chunks = get_global_size(0);
  float sum[D];
  int count = 0;
  for (int d = 0; d < D; d++) sum[d] = 0.0f;
  for (uint i = c * chunk; i < (c + 1) * chunk; i++) {
    if (label[i] == (int)k) {
      count++;
      for (int d = 0; d < D; d++) sum[d] += points[i * D + d];
    }
  }
  for (int d = 0; d < D; d++) sums[(k * chunks + c) * D + d] = sum[d];
  counts[k * chunks + c] = count;
}

kernel void centre(global const float *sums, global const int *counts, global float *centres, uint chunks) {
  const uint k = get_global_id(0);
  float sum[D];
  int count = 0;
  for (int d = 0; d < D; d++) sum[d] = 0.0f;
  for (uint c = 0; c < chunks; c++) {
    count += counts[k * chunks + c];
    for (int d = 0; d < D; d++) sum[d] += sums[(k * chunks + c) * D + d];
  }
  if (count)
    for (int d = 0; d < D; d++) centres[k * D + d] = sum[d] / (float)count;
}
