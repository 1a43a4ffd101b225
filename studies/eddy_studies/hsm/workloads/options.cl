// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// European calls on a binomial tree of STEPS steps, a tree a work-group of sixteen items, in local memory.

kernel void binomial(global const float *price, global const float *strike, global const float *years, global float *value,
                     float rate, float volatility, local float *call, local float *next) {
  const uint item = get_local_id(0), option = get_group_id(0);
  const float dt = years[option] / STEPS, move = volatility * sqrt(dt), up = exp(move), down = exp(-move);
  const float growth = exp(rate * dt), p = (growth - down) / (up - down), pu = p / growth, pd = (1.0f - p) / growth;
  for (uint k = item; k <= STEPS; k += 16) {
    call[k] = fmax(price[option] * exp(move * (2.0f * k - STEPS)) - strike[option], 0.0f);
  }
  for (uint left = STEPS; left > 0; left--) {
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = item; k < left; k += 16) next[k] = pu * call[k + 1] + pd * call[k];
    local float *swap = call;
    call = next;
    next = swap;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (item == 0) value[option] = call[0];
}
