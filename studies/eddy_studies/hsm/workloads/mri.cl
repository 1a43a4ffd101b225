// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// MRI reconstruction, matrix Q: magnitudes of the samples, then for each voxel the sum over K samples of k-space.

kernel void mri_magnitude(global const float *real, global const float *imaginary, global float *magnitude) {
  const uint i = get_global_id(0);
  magnitude[i] = real[i] * real[i] + imaginary[i] * imaginary[i];
}

// The sine of an angle in turns, as good as a function unit's: to 4e-6.
float sine(float turns) {
  const float whole = turns - floor(turns + 0.5f), folded = fabs(whole) > 0.25f ? copysign(0.5f, whole) - whole : whole;
  const float x = 6.2831853f * folded, s = x * x;
  return x * (1.0f + s * (-1.6666667e-1f + s * (8.3333333e-3f + s * (-1.9841270e-4f + s * 2.7557319e-6f))));
}

kernel void mri_q(global const float *kx, global const float *ky, global const float *kz, global const float *magnitude,
                  global const float *x, global const float *y, global const float *z, global float *q_real,
                  global float *q_imaginary, uint samples) {
  const uint i = get_global_id(0);
  const float px = x[i], py = y[i], pz = z[i];
  float real = 0.0f, imaginary = 0.0f;
  for (uint k = 0; k < samples; k++) {
    const float turns = kx[k] * px + ky[k] * py + kz[k] * pz, m = magnitude[k];
    real += m * sine(turns + 0.25f);
    imaginary += m * sine(turns);
  }
  q_real[i] = real;
  q_imaginary[i] = imaginary;
}
