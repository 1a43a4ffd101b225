// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// A step of the D3Q19 lattice-Boltzmann method with one relaxation time (BGK); distributions of one direction lie side by
// side, SPAN cells from one direction to the next, so that directions do not meet in the same sets of a cache. Cells pull
// from their neighbours; the box is periodic, and obstacles reflect. NX, NY, NZ are powers of two. Two kernels, moments
// first: nineteen numbers, their addresses and what is made of them do not fit into a lane's registers.

#define PULLED(from, q, dx, dy, dz) from[q * SPAN + (((z - (dz)) & (NZ - 1)) * NY + ((y - (dy)) & (NY - 1))) * NX + ((x - (dx)) & (NX - 1))]
#define ADD(q, dx, dy, dz) { const float f = PULLED(in, q, dx, dy, dz); density += f; u += dx * f; v += dy * f; w += dz * f; }
#define RELAX(q, dx, dy, dz) { \
    const float f = PULLED(in, q, dx, dy, dz), along = dx * u + dy * v + dz * w; \
    const float share = q == 0 ? 1.0f / 3 : q < 7 ? 1.0f / 18 : 1.0f / 36; \
    const float after = f - omega * (f - share * density * (1.0f + 3.0f * along + 4.5f * along * along - square)); \
    const int to = reflects ? (q == 0 ? 0 : q & 1 ? q + 1 : q - 1) * SPAN : q * SPAN; \
    out[to + cell] = reflects ? f : after; \
  }
#define ALL(EACH) \
  EACH(0, 0, 0, 0) EACH(1, 1, 0, 0) EACH(2, -1, 0, 0) EACH(3, 0, 1, 0) EACH(4, 0, -1, 0) EACH(5, 0, 0, 1) EACH(6, 0, 0, -1) \
  EACH(7, 1, 1, 0) EACH(8, -1, -1, 0) EACH(9, 1, -1, 0) EACH(10, -1, 1, 0) EACH(11, 1, 0, 1) EACH(12, -1, 0, -1) \
  EACH(13, 1, 0, -1) EACH(14, -1, 0, 1) EACH(15, 0, 1, 1) EACH(16, 0, -1, -1) EACH(17, 0, 1, -1) EACH(18, 0, -1, 1)

kernel void lbm_moments(global const float *in, global float *moments) {
  const int cell = get_global_id(0), x = cell & (NX - 1), y = (cell / NX) & (NY - 1), z = cell / (NX * NY);
  float density = 0.0f, u = 0.0f, v = 0.0f, w = 0.0f;
  ALL(ADD)
  moments[cell] = density;
  moments[SPAN + cell] = u / density;
  moments[2 * SPAN + cell] = v / density;
  moments[3 * SPAN + cell] = w / density;
}

kernel void lbm_collide(global const float *in, global const float *moments, global const int *solid, global float *out,
                        float omega) {
  const int cell = get_global_id(0), x = cell & (NX - 1), y = (cell / NX) & (NY - 1), z = cell / (NX * NY);
  const int reflects = solid[cell];
  const float density = moments[cell], u = moments[SPAN + cell], v = moments[2 * SPAN + cell], w = moments[3 * SPAN + cell];
  const float square = 1.5f * (u * u + v * v + w * w);
  ALL(RELAX)
}
