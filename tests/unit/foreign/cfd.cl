// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
#define NDIM 3
#define NNB 4
#define VAR_DENSITY 0
#define VAR_MOMENTUM 1
#define VAR_DENSITY_ENERGY (VAR_MOMENTUM + NDIM)
#define NVAR (VAR_DENSITY_ENERGY + 1)
#define GAMMA 1.4f
typedef struct { float x; float y; float z; } FLOAT3;
inline void velocity(float density, FLOAT3 momentum, FLOAT3 *v) { v->x = momentum.x / density; v->y = momentum.y / density; v->z = momentum.z / density; }
inline float speed_sqd(FLOAT3 v) { return v.x * v.x + v.y * v.y + v.z * v.z; }
inline float pressure(float density, float energy, float sqd) { return ((float)(GAMMA) - (float)(1.0f)) * (energy - (float)(0.5f) * density * sqd); }
inline float speed_of_sound(float density, float p) { return sqrt((float)(GAMMA) * p / density); }
__constant float far[NVAR] = {1.4f, 1.68f, 0.0f, 0.0f, 3.508f};
__kernel void initialize_variables(__global float *variables, int nelr)
{
    const int i = get_global_id(0);
    if (i >= nelr) return;
    for (int j = 0; j < NVAR; j++) variables[i + j * nelr] = far[j] + 0.01f * (i % 7);
}
__kernel void step_factor(__global float *variables, __global float *areas, __global float *factors, int nelr)
{
    const int i = get_global_id(0);
    if (i >= nelr) return;
    float density = variables[i + VAR_DENSITY * nelr];
    FLOAT3 momentum, v;
    momentum.x = variables[i + (VAR_MOMENTUM + 0) * nelr];
    momentum.y = variables[i + (VAR_MOMENTUM + 1) * nelr];
    momentum.z = variables[i + (VAR_MOMENTUM + 2) * nelr];
    float energy = variables[i + VAR_DENSITY_ENERGY * nelr];
    velocity(density, momentum, &v);
    float sqd = speed_sqd(v), p = pressure(density, energy, sqd), c = speed_of_sound(density, p);
    factors[i] = (float)(0.5f) / (sqrt(areas[i]) * (sqrt(sqd) + c));
}
