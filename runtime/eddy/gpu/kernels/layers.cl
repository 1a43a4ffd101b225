// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Layers of convolutional networks in 8 bits: unsigned activations, signed weights, 32-bit sums, then a multiplier and a
// shift back to 8 bits. Tensors are image, channel, row, column; inputs carry their border, so that no lane tests for it.
// The third dimension of the ND-range is the image, the second the channel of the output.

uchar requantised(int sum, int multiplier, int shift, int low) {
  const int scaled = mul_hi(sum, multiplier) >> shift;
  return (uchar)clamp(scaled, low, 255);
}

// Item (pixel, channel). Border of the output: `margin` on each side. Sides of the input count its border.
kernel void convolution(global const uchar *in, global const char *weights, global const int *bias, global uchar *out,
                        uint side, uint channels, uint size, uint stride, uint out_side, uint margin, int multiplier,
                        int shift) {
  const uint pixel = get_global_id(0), to = get_global_id(1);
  const uint row = pixel / out_side, column = pixel - row * out_side, out_width = out_side + 2 * margin;
  const uint image = get_global_id(2);
  global const char *w = weights + to * channels * size * size;
  in += image * channels * side * side;
  out += image * get_global_size(1) * out_width * out_width;
  int sum = bias[to];
  for (uint c = 0; c < channels; c++) {
    global const uchar *line = in + (c * side + row * stride) * side + column * stride;
    for (uint y = 0; y < size; y++, line += side)
      for (uint x = 0; x < size; x++) sum += (int)line[x] * (int)*w++;
  }
  out[(to * out_width + row + margin) * out_width + column + margin] = requantised(sum, multiplier, shift, 0);
}

kernel void max_pool(global const uchar *in, global uchar *out, uint side, uint size, uint stride, uint out_side,
                     uint margin) {
  const uint pixel = get_global_id(0), c = get_global_id(1);
  const uint row = pixel / out_side, column = pixel - row * out_side, out_width = out_side + 2 * margin;
  in += get_global_id(2) * get_global_size(1) * side * side;
  out += get_global_id(2) * get_global_size(1) * out_width * out_width;
  uchar most = 0;
  for (uint y = 0; y < size; y++)
    for (uint x = 0; x < size; x++) most = max(most, in[(c * side + row * stride + y) * side + column * stride + x]);
  out[(c * out_width + row + margin) * out_width + column + margin] = most;
}

// Sum of a block's two branches; both without border.
kernel void residual(global const uchar *a, global const uchar *b, global uchar *out, uint side, uint margin) {
  const uint pixel = get_global_id(0), c = get_global_id(1);
  const uint row = pixel / side, column = pixel - row * side, width = side + 2 * margin;
  const uint image = get_global_id(2) * get_global_size(1) * side * side;
  a += image;
  b += image;
  out += get_global_id(2) * get_global_size(1) * width * width;
  const uint sum = (uint)a[c * side * side + pixel] + (uint)b[c * side * side + pixel];
  out[(c * width + row + margin) * width + column + margin] = (uchar)min(sum / 2, 255u);
}

// Mean of each channel of each image.
kernel void average(global const uchar *in, global uchar *out, uint pixels) {
  const uint c = get_global_id(0);
  uint sum = 0;
  for (uint i = 0; i < pixels; i++) sum += in[c * pixels + i];
  out[c] = (uchar)(sum / pixels);
}

// Weights of one input lie side by side: neighbouring lanes read neighbouring bytes.
kernel void dense(global const uchar *in, global const char *weights, global const int *bias, global uchar *out,
                  uint inputs, int multiplier, int shift) {
  const uint to = get_global_id(0), image = get_global_id(1), outputs = get_global_size(0);
  int sum = bias[to];
  in += image * inputs;
  out += image * outputs;
  for (uint i = 0; i < inputs; i++) sum += (int)in[i] * (int)weights[i * outputs + to];
  out[to] = requantised(sum, multiplier, shift, 0);
}
