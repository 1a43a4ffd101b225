// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Convolutions: a square of three by three over memory, and a separable one of radius R through local memory.

kernel void conv3x3(global const float *in, global float *out, uint width) {
  const uint at = (get_global_id(1) + 1) * width + get_global_id(0) + 1;
  out[at] = 0.2f * in[at - width - 1] + 0.5f * in[at - 1] - 0.8f * in[at + width - 1] - 0.3f * in[at - width] +
            0.6f * in[at] - 0.9f * in[at + width] + 0.4f * in[at - width + 1] + 0.7f * in[at + 1] + 0.1f * in[at + width + 1];
}

#ifdef R
// Sixteen items make TILE results along a row, then down sixteen columns.
kernel void separable_rows(global const float *in, global const float *taps, global float *out, uint width, local float *line) {
  const uint item = get_local_id(0), row = get_global_id(1) * width;
  const int first = get_group_id(0) * TILE - R;
  for (int k = item; k < TILE + 2 * R; k += 16) line[k] = (first + k >= 0 && first + k < (int)width) ? in[row + first + k] : 0.0f;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint k = item; k < TILE; k += 16) {
    float sum = 0.0f;
    for (uint t = 0; t <= 2 * R; t++) sum += taps[t] * line[k + t];
    out[row + first + R + k] = sum;
  }
}

kernel void separable_columns(global const float *in, global const float *taps, global float *out, uint width, uint height,
                              local float *lines) {
  const uint item = get_local_id(0), column = get_global_id(0);
  const int first = get_group_id(1) * TILE - R;
  for (int k = 0; k < TILE + 2 * R; k++) lines[k * 16 + item] = (first + k >= 0 && first + k < (int)height) ? in[(first + k) * width + column] : 0.0f;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint k = 0; k < TILE; k++) {
    float sum = 0.0f;
    for (uint t = 0; t <= 2 * R; t++) sum += taps[t] * lines[(k + t) * 16 + item];
    out[(first + R + k) * width + column] = sum;
  }
}
#endif
