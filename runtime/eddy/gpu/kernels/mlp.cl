// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// A multi-layer perceptron with one hidden layer, trained by mini-batches: squared error, logistic units.

float logistic(float x) { return 1.0f / (1.0f + exp(-x)); }

// Item (j, s): hidden unit j on sample s.
kernel void hidden(global const float *x, global const float *w, global float *h, uint first, uint inputs) {
  const uint j = get_global_id(0), s = get_global_id(1), units = get_global_size(0);
  global const float *const sample = x + (first + s) * inputs;
  float sum = w[j * (inputs + 1) + inputs];
  for (uint i = 0; i < inputs; i++) sum += w[j * (inputs + 1) + i] * sample[i];
  h[s * units + j] = logistic(sum);
}

// Item s: outputs of sample s, and its errors times the slope.
kernel void output(global const float *h, global const float *v, global const float *wanted, global float *delta,
                   uint first, uint units, uint outputs) {
  const uint s = get_global_id(0);
  for (uint o = 0; o < outputs; o++) {
    float sum = v[o * (units + 1) + units];
    for (uint j = 0; j < units; j++) sum += v[o * (units + 1) + j] * h[s * units + j];
    const float y = logistic(sum);
    delta[s * outputs + o] = (y - wanted[(first + s) * outputs + o]) * y * (1.0f - y);
  }
}

// Item (j, s): what the errors say about hidden unit j.
kernel void back(global const float *h, global const float *v, global const float *delta, global float *gap,
                 uint outputs) {
  const uint j = get_global_id(0), s = get_global_id(1), units = get_global_size(0);
  const float y = h[s * units + j];
  float sum = 0.0f;
  for (uint o = 0; o < outputs; o++) sum += v[o * (units + 1) + j] * delta[s * outputs + o];
  gap[s * units + j] = sum * y * (1.0f - y);
}

// One item: steps along the gradient, sample after sample, as a host without a parallel update would.
kernel void update(global const float *values, global const float *errors, global float *weights, uint first,
                   uint samples, uint inputs, uint units, float rate) {
  for (uint s = 0; s < samples; s++) {
    for (uint j = 0; j < units; j++) {
      const float step = rate * errors[s * units + j];
      for (uint i = 0; i < inputs; i++) weights[j * (inputs + 1) + i] -= step * values[(first + s) * inputs + i];
      weights[j * (inputs + 1) + inputs] -= step;
    }
  }
}
