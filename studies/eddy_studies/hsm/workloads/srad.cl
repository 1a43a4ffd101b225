// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Speckle-reducing anisotropic diffusion: gradients and coefficients, then the step. Sides are copied outwards.

kernel void srad_coefficients(global const float *image, global float *north, global float *south, global float *west,
                              global float *east, global float *coefficient, float q0) {
  const uint x = get_global_id(0), y = get_global_id(1), w = get_global_size(0), h = get_global_size(1), at = y * w + x;
  const float here = image[at];
  const float n = image[y ? at - w : at] - here, s = image[y + 1 < h ? at + w : at] - here;
  const float l = image[x ? at - 1 : at] - here, r = image[x + 1 < w ? at + 1 : at] - here;
  const float g = (n * n + s * s + l * l + r * r) / (here * here), lap = (n + s + l + r) / here;
  const float scale = 1.0f + 0.25f * lap, q = (0.5f * g - 0.0625f * lap * lap) / (scale * scale);
  const float c = 1.0f / (1.0f + (q - q0) / (q0 * (1.0f + q0)));
  north[at] = n;
  south[at] = s;
  west[at] = l;
  east[at] = r;
  coefficient[at] = clamp(c, 0.0f, 1.0f);
}

kernel void srad_step(global float *image, global const float *north, global const float *south, global const float *west,
                      global const float *east, global const float *coefficient, float lambda) {
  const uint x = get_global_id(0), y = get_global_id(1), w = get_global_size(0), h = get_global_size(1), at = y * w + x;
  const float c = coefficient[at], down = coefficient[y + 1 < h ? at + w : at], right = coefficient[x + 1 < w ? at + 1 : at];
  image[at] += 0.25f * lambda * (c * north[at] + down * south[at] + c * west[at] + right * east[at]);
}
