# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Lattice-Boltzmann on a lattice, Euler's equations on an unstructured mesh, and the gains of streaming k-median."""

from __future__ import annotations

import numpy as np
from eddy.gpu.workloads.base import Array, Step, Workload, floats

from eddy_studies.hsm.workloads.common import source

DIRECTIONS = np.array(
    [
        *((0, 0, 0), (1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)),
        *((1, 1, 0), (-1, -1, 0), (1, -1, 0), (-1, 1, 0), (1, 0, 1), (-1, 0, -1), (1, 0, -1), (-1, 0, 1)),
        *((0, 1, 1), (0, -1, -1), (0, 1, -1), (0, -1, 1)),
    ]
)
"""Of D3Q19: x, y, z."""
SHARES = np.array([1 / 3] + [1 / 18] * 6 + [1 / 36] * 12)
PADDING = 48
"""Cells between one direction's and the next one's."""
OPPOSITE = [0] + [k + 1 if k % 2 else k - 1 for k in range(1, 19)]


def boltzmann(nx: int, ny: int, nz: int, *, steps: int = 1, seed: int = 1) -> Workload:
    """D3Q19 with one relaxation time in a periodic box with obstacles; sides are powers of two."""
    rng = np.random.default_rng(seed)
    start = (SHARES[:, None, None, None] * (1 + 0.1 * rng.uniform(-1, 1, (19, nz, ny, nx)))).astype(np.float32)
    solid = (rng.uniform(size=(nz, ny, nx)) < 0.05).astype(np.int32)
    omega = 1.2
    wanted = start.astype(np.float64)
    launches, sides, span = [], ("a", "b"), nx * ny * nz + PADDING
    for turn in range(steps):
        wanted = _relaxed(wanted, solid, omega)
        here, there = sides[turn % 2], sides[1 - turn % 2]
        launches.append(Step("lbm_moments", (nx * ny * nz,), (here, "moments")))
        launches.append(Step("lbm_collide", (nx * ny * nz,), (here, "moments", "solid", there, omega)))
    padded = np.zeros((19, span), np.float32)
    padded[:, :-PADDING] = start.reshape(19, -1)
    last = np.zeros((19, span))
    last[:, :-PADDING] = wanted.reshape(19, -1)
    buffers = {"a": padded, "solid": solid, "b": np.zeros_like(padded)}
    buffers["moments"] = np.zeros((4, span), np.float32)
    defines = {"NX": nx, "NY": ny, "NZ": nz, "SPAN": span}
    return Workload(
        *("LBM", source("lattice_boltzmann.cl"), "memory", tuple(launches), buffers, {sides[steps % 2]: last}),
        *(defines, 2e-3, f"{nx} x {ny} x {nz} cells, 19 directions, {steps} steps"),
    )


def _relaxed(f: Array, solid: Array, omega: float) -> Array:
    pulled = np.stack([np.roll(f[q], tuple(DIRECTIONS[q][::-1]), (0, 1, 2)) for q in range(19)])
    density = pulled.sum(axis=0)
    velocity = np.einsum("qd,qzyx->dzyx", DIRECTIONS, pulled) / density
    along = np.einsum("qd,dzyx->qzyx", DIRECTIONS, velocity)
    square = 1.5 * (velocity**2).sum(axis=0)
    rest = SHARES[:, None, None, None] * density * (1 + 3 * along + 4.5 * along**2 - square)
    relaxed = pulled - omega * (pulled - rest)
    return np.asarray(np.where(solid[None] != 0, pulled[OPPOSITE], relaxed))


def euler(cells: int, mesh: int, *, seed: int = 1) -> Workload:
    """A step of the Euler equations: time steps, fluxes over four faces a cell, advance.

    The first `cells` of a mesh are computed, as a part of one that is cut for several clusters. One neighbour is near
    in the numbering, the others are anywhere: a mesh that was not renumbered.
    """
    rng = np.random.default_rng(seed)
    density, speeds = rng.uniform(1, 2, mesh), rng.uniform(-0.3, 0.3, (3, mesh))
    energy = rng.uniform(4, 6, mesh)
    variables = np.vstack([density, density * speeds, energy]).astype(np.float32)
    near = (np.arange(mesh) + rng.integers(-16, 17, (1, mesh))) % mesh
    faces = np.vstack([near, rng.integers(0, mesh, (3, mesh))]).astype(np.int32)
    faces[rng.uniform(size=faces.shape) < 0.02] = -1
    normals, areas = floats(rng, 12, mesh), floats(rng, mesh, low=0.5, high=2)
    fluxes, factors = _fluxes(variables.astype("f8"), faces, normals.astype("f8"), areas.astype("f8"))
    steps = (
        Step("euler_step", (cells,), ("variables", "areas", "factors")),
        Step("euler_flux", (cells,), ("variables", "neighbours", "normals", "fluxes")),
        Step("euler_advance", (cells,), ("variables", "fluxes", "factors")),
    )
    buffers = {"variables": variables, "areas": areas, "neighbours": faces, "normals": normals}
    buffers |= {"fluxes": np.zeros((5, mesh), np.float32), "factors": np.zeros(mesh, np.float32)}
    fluxes[:, cells:] = 0
    wanted = {"fluxes": fluxes, "variables": variables - factors * fluxes}
    return Workload(
        *(
            "EULER3D",
            source("euler.cl"),
            "memory",
            steps,
            buffers,
            wanted,
            {"N": mesh},
            5e-3,
            f"{cells} cells of {mesh}",
        )
    )


def _fluxes(v: Array, faces: Array, normals: Array, areas: Array) -> tuple[Array, Array]:
    def derived(cells: Array) -> tuple[Array, Array, Array]:
        pressure = 0.4 * (cells[4] - 0.5 * (cells[1:4] ** 2).sum(axis=0) / cells[0])
        speed = cells[1:4] / cells[0]
        return pressure, speed, np.sqrt((speed**2).sum(axis=0)) + np.sqrt(1.4 * pressure / cells[0])

    pa, ua, sa = derived(v)
    total = np.zeros_like(v)
    for face in range(4):
        n, j = normals[3 * face : 3 * face + 3], faces[face]
        b = v[:, j]
        pb, ub, sb = derived(b)
        damp = 0.1 * np.sqrt((n**2).sum(axis=0)) * (sa + sb)
        through_a, through_b = 0.5 * (n * ua).sum(axis=0), 0.5 * (n * ub).sum(axis=0)
        flux = damp * (v - b) + through_a * v + through_b * b
        flux[1:4] += n * 0.5 * (pa + pb)
        flux[4] += through_a * pa + through_b * pb
        wall = np.zeros_like(v)
        wall[1:4] = n * pa
        total += np.where(j < 0, wall, flux)
    return total, 0.5 / (np.sqrt(areas) * sa)


def clusters(points: int, dimensions: int, centres: int, candidates: int, *, seed: int = 1) -> Workload:
    """What opening a centre at each of some points would gain, by point and by centre."""
    rng = np.random.default_rng(seed)
    data, weights = floats(rng, dimensions, points), floats(rng, points, low=0.5, high=2)
    chosen = rng.choice(points, centres, replace=False)
    gaps = ((data[:, :, None].astype("f8") - data[:, chosen][:, None, :]) ** 2).sum(axis=0)
    assigned = chosen[gaps.argmin(axis=1)].astype(np.int32)
    costs = (gaps.min(axis=1) * weights).astype(np.float32)
    table = np.zeros(points, np.int32)
    table[chosen] = np.arange(centres)
    buffers: dict[str, Array] = {"coordinates": data, "weights": weights, "costs": costs}
    buffers |= {"assigned": assigned, "table": table}
    wanted: dict[str, Array] = {}
    steps = []
    for number, candidate in enumerate(rng.choice(points, candidates, replace=False)):
        names = f"gains{number}", f"switches{number}"
        gain = ((data - data[:, [candidate]]).astype("f8") ** 2).sum(axis=0) * weights - costs
        gains = np.zeros((points, centres + 1), np.float32)
        column = np.where(gain < 0, centres, table[assigned])
        gains[np.arange(points), column] = gain
        buffers |= {names[0]: np.zeros_like(gains), names[1]: np.zeros(points, np.uint8)}
        wanted |= {names[0]: gains, names[1]: (gain < 0).astype(np.uint8)}
        arguments = ("coordinates", "weights", "costs", "assigned", "table", *names, int(candidate))
        steps.append(Step("pgain", (points,), arguments))
    defines = {"N": points, "D": dimensions, "K": centres}
    text = f"{points} points of {dimensions} dimensions, {centres} centres, {candidates} candidates"
    return Workload("SC", source("streamcluster.cl"), "memory", tuple(steps), buffers, wanted, defines, 1e-2, text)
