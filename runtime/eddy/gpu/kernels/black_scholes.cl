// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Prices of European options. The normal distribution is the polynomial of Abramowitz and Stegun, 26.2.17.

float normal(float d) {
  const float k = 1.0f / (1.0f + 0.2316419f * fabs(d));
  const float poly = k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
  const float tail = 0.39894228f * exp(-0.5f * d * d) * poly;
  return d > 0.0f ? 1.0f - tail : tail;
}

kernel void black_scholes(global const float *price, global const float *strike, global const float *years,
                          global float *call, global float *put, float rate, float volatility) {
  const uint i = get_global_id(0);
  const float s = price[i], x = strike[i], t = years[i];
  const float spread = volatility * sqrt(t);
  const float d1 = (log(s / x) + (rate + 0.5f * volatility * volatility) * t) / spread, d2 = d1 - spread;
  const float discounted = x * exp(-rate * t);
  const float n1 = normal(d1), n2 = normal(d2);
  call[i] = s * n1 - discounted * n2;
  put[i] = discounted * (1.0f - n2) - s * (1.0f - n1);
}
