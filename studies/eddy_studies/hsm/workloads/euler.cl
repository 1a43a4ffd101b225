// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Finite volumes for the three-dimensional Euler equations on an unstructured mesh: N cells of four faces each. Variables
// (density, momentum, energy) of one kind lie side by side, as do neighbours and normals of one face; -1 is a wall.

#define GAMMA 1.4f

typedef struct { float density, x, y, z, energy; } Cell;

Cell cell_of(global const float *v, uint i) {
  Cell c = {v[i], v[N + i], v[2 * N + i], v[3 * N + i], v[4 * N + i]};
  return c;
}

float pressure_of(Cell c) {
  return (GAMMA - 1.0f) * (c.energy - 0.5f * (c.x * c.x + c.y * c.y + c.z * c.z) / c.density);
}

kernel void euler_step(global const float *variables, global const float *areas, global float *factors) {
  const uint i = get_global_id(0);
  const Cell c = cell_of(variables, i);
  const float speed = sqrt(c.x * c.x + c.y * c.y + c.z * c.z) / c.density;
  const float sound = sqrt(GAMMA * pressure_of(c) / c.density);
  factors[i] = 0.5f / (sqrt(areas[i]) * (speed + sound));
}

kernel void euler_flux(global const float *variables, global const int *neighbours, global const float *normals,
                       global float *fluxes) {
  const uint i = get_global_id(0);
  const Cell a = cell_of(variables, i);
  const float pa = pressure_of(a), ua = a.x / a.density, va = a.y / a.density, wa = a.z / a.density;
  const float sa = sqrt(ua * ua + va * va + wa * wa) + sqrt(GAMMA * pa / a.density);
  float density = 0.0f, x = 0.0f, y = 0.0f, z = 0.0f, energy = 0.0f;
  for (uint face = 0; face < 4; face++) {
    const int j = neighbours[face * N + i];
    const float nx = normals[(3 * face) * N + i], ny = normals[(3 * face + 1) * N + i], nz = normals[(3 * face + 2) * N + i];
    if (j < 0) {
      x += nx * pa;
      y += ny * pa;
      z += nz * pa;
      continue;
    }
    const Cell b = cell_of(variables, j);
    const float pb = pressure_of(b), ub = b.x / b.density, vb = b.y / b.density, wb = b.z / b.density;
    const float sb = sqrt(ub * ub + vb * vb + wb * wb) + sqrt(GAMMA * pb / b.density);
    const float length = sqrt(nx * nx + ny * ny + nz * nz), damp = 0.1f * length * (sa + sb);
    const float through_a = 0.5f * (nx * ua + ny * va + nz * wa), through_b = 0.5f * (nx * ub + ny * vb + nz * wb);
    const float middle = 0.5f * (pa + pb);
    density += damp * (a.density - b.density) + through_a * a.density + through_b * b.density;
    x += damp * (a.x - b.x) + through_a * a.x + through_b * b.x + nx * middle;
    y += damp * (a.y - b.y) + through_a * a.y + through_b * b.y + ny * middle;
    z += damp * (a.z - b.z) + through_a * a.z + through_b * b.z + nz * middle;
    energy += damp * (a.energy - b.energy) + through_a * (a.energy + pa) + through_b * (b.energy + pb);
  }
  fluxes[i] = density;
  fluxes[N + i] = x;
  fluxes[2 * N + i] = y;
  fluxes[3 * N + i] = z;
  fluxes[4 * N + i] = energy;
}

kernel void euler_advance(global float *variables, global const float *fluxes, global const float *factors) {
  const uint i = get_global_id(0);
  const float factor = factors[i];
  for (uint k = 0; k < 5; k++) variables[k * N + i] -= factor * fluxes[k * N + i];
}
