# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Programs on grids: wavelets, diffusion against speckle, heat on a chip, the cheapest path down a wall."""

from __future__ import annotations

import numpy as np
from eddy.gpu.launches.launch import Local
from eddy.gpu.workloads.base import Array, Step, Workload, floats

from eddy_studies.hsm.workloads.common import source


def wavelet(width: int, height: int, levels: int, *, seed: int = 1) -> Workload:
    """The reversible 5/3 wavelet of an image whose sides are multiples of 2**levels."""
    image = np.random.default_rng(seed).integers(-128, 128, (height, width)).astype(np.int32)
    wanted = image.copy()
    middle = np.zeros_like(image)
    steps = []
    for level in range(levels):
        columns, rows = width >> level, height >> level
        steps.append(Step("wavelet_rows", (columns // 2, rows), ("image", "middle", width, columns)))
        steps.append(Step("wavelet_columns", (columns, rows // 2), ("middle", "image", width, rows)))
        middle[:rows, :columns] = _lifted(wanted[:rows, :columns])
        wanted[:rows, :columns] = _lifted(middle[:rows, :columns].T).T
    buffers = {"image": image, "middle": np.zeros_like(image)}
    text = f"{height} x {width}, {levels} levels"
    return Workload("DWT2D", source("wavelet.cl"), "memory", tuple(steps), buffers, {"image": wanted}, {}, 0.0, text)


def _lifted(rows: Array) -> Array:
    even, odd = rows[:, 0::2], rows[:, 1::2]
    after = np.hstack([even[:, 1:], even[:, -1:]])
    detail = odd - ((even + after) >> 1)
    before = np.hstack([detail[:, :1], detail[:, :-1]])
    return np.hstack([even + ((before + detail + 2) >> 2), detail])


def diffusion(width: int, height: int, *, seed: int = 1) -> Workload:
    """A step of SRAD; the reference is in binary64."""
    rng = np.random.default_rng(seed)
    image = np.exp(floats(rng, height, width, low=0)).astype(np.float32)
    j = image.astype(np.float64)
    q0 = float(j.var() / j.mean() ** 2)
    gradients = {
        "north": np.vstack([j[:1], j[:-1]]) - j,
        "south": np.vstack([j[1:], j[-1:]]) - j,
        "west": np.hstack([j[:, :1], j[:, :-1]]) - j,
        "east": np.hstack([j[:, 1:], j[:, -1:]]) - j,
    }
    n, s, w, e = gradients.values()
    lap = (n + s + w + e) / j
    q = (0.5 * (n * n + s * s + w * w + e * e) / j**2 - lap * lap / 16) / (1 + lap / 4) ** 2
    c = np.clip(1 / (1 + (q - q0) / (q0 * (1 + q0))), 0, 1)
    below, right = np.vstack([c[1:], c[-1:]]), np.hstack([c[:, 1:], c[:, -1:]])
    after = j + 0.25 * 0.5 * (c * n + below * s + c * w + right * e)
    names = ("north", "south", "west", "east", "coefficient")
    steps = (
        Step("srad_coefficients", (width, height), ("image", *names, q0)),
        Step("srad_step", (width, height), ("image", *names, 0.5)),
    )
    buffers = {"image": image, **{name: np.zeros_like(image) for name in names}}
    wanted = {"coefficient": c, "image": after}
    text = f"{height} x {width}"
    return Workload("SRAD", source("srad.cl"), "memory", steps, buffers, wanted, {}, 5e-3, text)


def heat(width: int, height: int, steps: int, launches: int, *, seed: int = 1) -> Workload:
    """Hotspot: `launches` times `steps` steps in pyramids; the reference is in binary64."""
    rng = np.random.default_rng(seed)
    power, start = floats(rng, height, width, low=0), floats(rng, height, width, low=320, high=340)
    cap, rx, ry, rz, ambient = 0.3, 0.1, 0.12, 0.05, 80.0
    wanted = start.astype(np.float64)
    for _ in range(steps * launches):
        rows, columns = np.pad(wanted, ((1, 1), (0, 0)), "edge"), np.pad(wanted, ((0, 0), (1, 1)), "edge")
        vertical = (rows[2:] + rows[:-2] - 2 * wanted) * ry
        horizontal = (columns[:, 2:] + columns[:, :-2] - 2 * wanted) * rx
        wanted = wanted + cap * (power + vertical + horizontal + (ambient - wanted) * rz)
    inner, sides, tile = 16 - 2 * steps, ("a", "b"), Local(4 * 256)
    groups = (16 * -(-width // inner), -(-height // inner))
    made = tuple(
        Step(
            *("hotspot", groups),
            ("power", sides[k % 2], sides[1 - k % 2], width, height, cap, rx, ry, rz, ambient, tile, tile, tile),
            (16, 1),
        )
        for k in range(launches)
    )
    buffers = {"power": power, "a": start, "b": np.zeros_like(start)}
    return Workload(
        *("HOTSPOT", source("grids.cl"), "compute", made, buffers, {sides[launches % 2]: wanted}, {"STEPS": steps}),
        *(1e-3, f"{height} x {width}, {steps * launches} steps, {steps} a launch"),
    )


def paths(width: int, launches: int, rows: int, *, tile: int = 128, seed: int = 1) -> Workload:
    """Pathfinder: `launches` times `rows` rows of a wall in pyramids."""
    rng = np.random.default_rng(seed)
    wall = rng.integers(0, 10, (launches, rows, width)).astype(np.int32)
    first = rng.integers(0, 10, width).astype(np.int32)
    wanted = first.copy()
    for row in wall.reshape(-1, width):
        left, right = np.hstack([wanted[:1], wanted[:-1]]), np.hstack([wanted[1:], wanted[-1:]])
        wanted = np.minimum(wanted, np.minimum(left, right)) + row
    groups, sides, local = -(-width // (tile - 2 * rows)), ("a", "b"), Local(4 * tile)
    steps = tuple(
        Step("pathfinder", (16 * groups,), (f"wall{k}", sides[k % 2], sides[1 - k % 2], width, local, local), (16,))
        for k in range(launches)
    )
    buffers = {**{f"wall{k}": wall[k] for k in range(launches)}, "a": first, "b": np.zeros(width, np.int32)}
    return Workload(
        *("PF", source("grids.cl"), "compute", steps, buffers, {sides[launches % 2]: wanted}),
        *({"ROWS": rows, "TILE": tile}, 0.0, f"{launches * rows} rows of {width}, {rows} a launch"),
    )
