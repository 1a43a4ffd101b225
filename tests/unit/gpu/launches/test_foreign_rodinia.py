# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Programs in the style of Rodinia, with the work-groups such programs ship with, against numpy on a small cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from eddy.gpu.compilation.build import build
from eddy.gpu.launches.launch import Local, launch
from eddy.gpu.programs.program import Program
from eddy.gpu.programs.shape import ClusterShape
from unit.gpu_kit import cluster, compiler

FOLDER = Path(__file__).parents[2] / "foreign"
SHAPE = ClusterShape(2, 4, 4)
RNG = np.random.default_rng(7)
Floats = npt.NDArray[np.float32]


def program(name: str, options: str = "", **includes: str) -> Program:
    texts = {file.replace("_", "."): (FOLDER / text).read_text() for file, text in includes.items()}
    return build(compiler(), (FOLDER / name).read_text(), includes=texts, options=options)


def run(made: Program, kernel: str, size: tuple[int, ...], group: tuple[int, ...] | None, *arguments: object) -> None:
    launch(cluster(SHAPE), made, kernel, size, arguments, local_size=group)


def floats(*shape: int) -> Floats:
    return RNG.random(shape, dtype="f4")


def test_bfs() -> None:
    made, n, size = program("bfs.cl"), 300, 512
    degree = RNG.integers(0, 4, n)
    first = np.concatenate([[0], np.cumsum(degree)[:-1]])
    vertices = np.zeros(n, [("first", "i4"), ("degree", "i4")])
    vertices["first"], vertices["degree"] = first, degree
    edges = RNG.integers(0, n, degree.sum()).astype("i4")
    front, after, seen = (np.zeros(n, "i1") for _ in range(3))
    cost, again = np.full(n, -1, "i4"), np.ones(1, "i1")
    front[0] = seen[0] = 1
    cost[0] = 0
    while again[0]:
        again[0] = 0
        run(made, "visit", (size,), (256,), vertices, edges, front, after, seen, cost, n)
        run(made, "turn", (size,), (256,), front, after, seen, again, n)
    wanted, level = np.full(n, -1), [0]
    wanted[0] = 0
    while level:
        reached = {int(to) for v in level for to in edges[first[v] : first[v] + degree[v]] if wanted[to] < 0}
        wanted[list(reached)] = wanted[level[0]] + 1
        level = sorted(reached)
    np.testing.assert_array_equal(cost, wanted)
    assert cost.max() > 3


def test_backprop() -> None:
    made, inputs, hidden = program("backprop.cl"), 32, 16
    nodes, weights = floats(inputs + 1), floats(inputs + 1, hidden + 1)
    partial, before = np.zeros((inputs // 16, hidden), "f4"), weights.copy()
    locals_ = (Local(64), Local(1024))
    run(made, "forward", (16, inputs), (16, 16), nodes, partial, weights, *locals_, hidden)
    sums = (before[1:, 1:] * nodes[1:, None]).reshape(-1, 16, hidden).sum(1)
    np.testing.assert_allclose(partial, sums, rtol=1e-5)
    delta, old, weights = floats(hidden + 1), floats(inputs + 1, hidden + 1), before.copy()
    kept = old.copy()
    run(made, "adjust", (16, inputs), (16, 16), delta, hidden, nodes, weights, old)
    change = np.float32(0.3) * delta[None, 1:] * nodes[1:, None] + np.float32(0.3) * kept[1:, 1:]
    np.testing.assert_allclose(weights[1:, 1:], before[1:, 1:] + change, rtol=1e-6)
    np.testing.assert_allclose(old[0, 1:], 0.3 * delta[1:] + 0.3 * kept[0, 1:], rtol=1e-6)


def test_hotspot() -> None:
    made, side, rounds = program("hotspot.cl", "-D BLOCK_SIZE=16"), 32, 2
    power, heat = floats(side, side), 80 + floats(side, side)
    after, groups = np.zeros_like(heat), -(-side // (16 - 2 * rounds))
    values = [0.5, 0.1, 0.2, 0.05, 0.01]
    sizes = (groups * 16, groups * 16)
    run(made, "hotspot", sizes, (16, 16), rounds, power, heat, after, side, side, rounds, *values)
    cap, rx, ry, rz, step = (np.float32(v) for v in values)
    now = heat
    for _ in range(rounds):
        wide = np.pad(now, 1, mode="edge")
        vertical = (wide[2:, 1:-1] + wide[:-2, 1:-1] - 2 * now) * ry
        across = (wide[1:-1, 2:] + wide[1:-1, :-2] - 2 * now) * rx
        now = now + step / cap * (power + vertical + across + (np.float32(80) - now) * rz)
    np.testing.assert_allclose(after, now, rtol=1e-6)


def test_kmeans() -> None:
    made, points, features, k = program("kmeans.cl"), 500, 6, 5
    data, centers, membership = floats(512, features), floats(k, features), np.zeros(points, "i4")
    swapped = np.zeros((features, 512), "f4")
    run(made, "swap", (512,), (256,), data, swapped, 512, features)
    np.testing.assert_array_equal(swapped, data.T)
    turned = np.ascontiguousarray(data[:points].T)
    run(made, "assign", (512,), (256,), turned, centers, membership, points, k, features, 0, 0)
    distance = ((data[:points, None] - centers[None]) ** 2).sum(2)
    np.testing.assert_array_equal(membership, distance.argmin(1))


def test_lud() -> None:
    made, n, block = program("lud.cl", "-DBLOCK_SIZE=16"), 48, 16
    a = floats(n, n) + np.eye(n, dtype="f4") * n
    m, tile = a.copy(), Local(16 * 16 * 4)
    for at in range(0, n - block, block):
        left = (n - at) // block - 1
        run(made, "diagonal", (block,), (block,), m, tile, n, at)
        run(made, "perimeter", (left * 2 * block,), (2 * block,), m, tile, tile, tile, n, at)
        run(made, "internal", (left * block, left * block), (block, block), m, tile, tile, n, at)
    run(made, "diagonal", (block,), (block,), m, tile, n, n - block)
    lower, upper = np.tril(m, -1) + np.eye(n), np.triu(m)
    np.testing.assert_allclose(lower @ upper, a, rtol=1e-4, atol=1e-3)


def test_nw() -> None:
    made, n, penalty = program("nw.cl", "-D BLOCK_SIZE=16"), 49, 10
    reference = RNG.integers(-4, 10, (n, n)).astype("i4")
    items = np.zeros((n, n), "i4")
    items[0], items[:, 0] = -penalty * np.arange(n), -penalty * np.arange(n)
    wanted, width = items.copy(), (n - 1) // 16
    tiles = (Local(17 * 17 * 4), Local(16 * 16 * 4))
    for lower, blocks in ((0, range(1, width + 1)), (1, range(width - 1, 0, -1))):
        for blk in blocks:
            run(made, "strip", (16 * blk,), (16,), reference, items, *tiles, n, penalty, blk, width, lower)
    for i in range(1, n):
        for j in range(1, n):
            best = wanted[i - 1, j - 1] + reference[i, j], wanted[i, j - 1] - penalty, wanted[i - 1, j] - penalty
            wanted[i, j] = max(best)
    np.testing.assert_array_equal(items, wanted)


def test_pathfinder() -> None:
    made, cols, rounds = program("pathfinder.cl"), 500, 4
    wall, start = RNG.integers(0, 10, (rounds, cols)).astype("i4"), RNG.integers(0, 10, cols).astype("i4")
    out, groups = np.zeros(cols, "i4"), -(-cols // (256 - 2 * rounds))
    tile = Local(1024)
    run(made, "walk", (256 * groups,), (256,), rounds, wall, start, out, cols, rounds, 0, rounds, tile, tile)
    now = start
    for row in wall:
        wide = np.pad(now, 1, mode="edge")
        now = row + np.minimum(np.minimum(wide[:-2], wide[1:-1]), wide[2:])
    np.testing.assert_array_equal(out, now)


def test_srad() -> None:
    made, rows, cols = program("srad.cl"), 20, 25
    n, image = rows * cols, floats(rows * cols) * 255
    groups = -(-n // 256)
    wide, wanted = (256 * groups,), np.exp(image / 255)
    run(made, "extract", wide, (256,), n, image)
    np.testing.assert_allclose(image, wanted, rtol=1e-6)
    sums, squares = np.zeros(n, "f4"), np.zeros(n, "f4")
    run(made, "prepare", wide, (256,), n, image, sums, squares)
    run(made, "reduce", wide, (256,), n, n, 1, sums, squares, groups)
    np.testing.assert_allclose(sums[::256].sum(), image.sum(), rtol=1e-5)
    np.testing.assert_allclose(squares[::256].sum(), (image**2).sum(), rtol=1e-5)
    north, south = (np.clip(np.arange(rows) + d, 0, rows - 1).astype("i4") for d in (-1, 1))
    west, east = (np.clip(np.arange(cols) + d, 0, cols - 1).astype("i4") for d in (-1, 1))
    dn, ds, de, dw, c = (np.zeros(n, "f4") for _ in range(5))
    arguments = (0.5, rows, cols, north, south, east, west, dn, ds, de, dw, 0.05, c, image)
    run(made, "diffuse", wide, (256,), *arguments)
    grid = image.reshape(cols, rows).T
    padded = np.pad(grid, 1, mode="edge")
    steps = padded[:-2, 1:-1], padded[2:, 1:-1], padded[1:-1, :-2], padded[1:-1, 2:]
    n_, s_, w_, e_ = (step - grid for step in steps)
    g2, l_ = (n_**2 + s_**2 + w_**2 + e_**2) / grid**2, (n_ + s_ + w_ + e_) / grid
    q = (0.5 * g2 - l_**2 / 16) / (1 + 0.25 * l_) ** 2
    wanted = np.clip(1 / (1 + (q - 0.05) / (0.05 * 1.05)), 0, 1)
    np.testing.assert_allclose(c.reshape(cols, rows).T, wanted, rtol=1e-4, atol=1e-5)


def test_gaussian_and_nearest() -> None:
    made, n = program("gaussian.cl"), 18
    a, b = floats(n, n) + np.eye(n, dtype="f4") * 5, floats(n)
    before, right, m = a.copy(), b.copy(), np.zeros((n, n), "f4")
    for t in range(n - 1):
        run(made, "Fan1", (512,), (512,), m, a, b, n, t)
        run(made, "Fan2", (20, 20), (4, 4), m, a, b, n, t)
    np.testing.assert_allclose(np.linalg.solve(np.triu(a), b), np.linalg.solve(before, right), rtol=1e-3, atol=1e-5)
    places = np.zeros(300, [("lat", "f4"), ("lng", "f4")])
    places["lat"], places["lng"] = floats(300), floats(300)
    found = np.zeros(300, "f4")
    run(made, "nearest", (512,), (256,), places, found, 300, 0.5, 0.25)
    np.testing.assert_allclose(found, np.hypot(places["lat"] - 0.5, places["lng"] - 0.25), rtol=1e-5)


def test_streamcluster() -> None:
    made, num, dim, k, x = program("streamcluster.cl"), 400, 8, 3, 17
    points = np.zeros(num, np.dtype([("weight", "f4"), ("assign", "i8"), ("cost", "f4")], align=True))
    points["weight"], points["assign"], points["cost"] = 1 + floats(num), RNG.integers(0, num, num), floats(num)
    coordinates, work = floats(dim, num), np.zeros((num, k + 1), "f4")
    table, switched = RNG.integers(0, k, num).astype("i4"), np.zeros(num, "i1")
    arguments = (points, coordinates, work, table, switched, Local(4 * dim), num, dim, x, k)
    run(made, "pgain", (512,), (256,), *arguments)
    cost = ((coordinates - coordinates[:, x : x + 1]) ** 2).sum(0) * points["weight"]
    better = cost < points["cost"]
    np.testing.assert_array_equal(switched, np.where(better, ord("1"), 0))
    wanted, change = np.zeros((num, k + 1)), cost - points["cost"]
    wanted[np.arange(num), np.where(better, k, table[points["assign"]])] = np.where(better, change, -change)
    np.testing.assert_allclose(work, wanted, rtol=1e-4, atol=1e-6)


def test_btree() -> None:
    made, order = program("btree.cl"), 64
    node = np.dtype(
        [("location", "i4"), ("indices", "i4", 65), ("keys", "i4", 65), ("leaf", "u1"), ("num", "i4")], align=True
    )
    nodes = np.zeros(4, node)
    nodes["keys"] = 1 << 30
    nodes["indices"] = 99
    nodes["keys"][0, :4], nodes["indices"][0, :3] = (-1, 64, 128, 1 << 20), (1, 2, 3)
    for leaf in range(3):
        nodes["keys"][leaf + 1, :64], nodes["indices"][leaf + 1, :64] = (
            leaf * 64 + np.arange(64),
            leaf * 64 + np.arange(64),
        )
    records = RNG.integers(0, 1000, 192).astype("i4")
    keys = RNG.choice(192, 6, replace=False).astype("i4")
    current, offset, answers = np.zeros(6, "i8"), np.zeros(6, "i8"), np.full(6, -1, "i4")
    run(made, "findK", (6 * order,), (order,), 1, nodes, 4, records, current, offset, keys, answers)
    np.testing.assert_array_equal(answers, records[keys])


def test_lavamd() -> None:
    made, per = program("lavamd.cl", main_h="main.h"), 100
    neighbour = np.dtype([("at", "i4", 3), ("number", "i4"), ("offset", "i8")], align=True)
    box = np.dtype(
        [("at", "i4", 3), ("number", "i4"), ("offset", "i8"), ("nn", "i4"), ("nei", neighbour, 26)], align=True
    )
    boxes = np.zeros(2, box)
    boxes["offset"], boxes["nn"] = (0, per), 1
    boxes["nei"]["number"][:, 0] = 1, 0
    places, charge, force = floats(2 * per, 4), floats(2 * per), np.zeros((2 * per, 4), "f4")
    parameters = np.array([(0.5,)], np.dtype([("alpha", "f4")]))[0]
    dimensions = np.array([(0, 2)], np.dtype([("cur", "i4"), ("boxes", "i8")], align=True))[0]
    run(made, "forces", (256,), (128,), parameters, dimensions, boxes, places, charge, force)
    r2 = places[:, None, 0] + places[None, :, 0] - places[:, 1:] @ places[:, 1:].T
    v = np.exp(-0.5 * r2) * charge[None]
    np.testing.assert_allclose(force[:, 0], v.sum(1), rtol=1e-4)
    across = places[:, None, 1:] - places[None, :, 1:]
    np.testing.assert_allclose(force[:, 1:], (2 * v[..., None] * across).sum(1), rtol=1e-2, atol=1e-3)


def test_cfd() -> None:
    made, n = program("cfd.cl"), 200
    variables, areas, factors = np.zeros((5, n), "f4"), 1 + floats(n), np.zeros(n, "f4")
    run(made, "initialize_variables", (384,), (192,), variables, n)
    wanted = np.array([1.4, 1.68, 0, 0, 3.508])[:, None] + 0.01 * (np.arange(n) % 7)
    np.testing.assert_allclose(variables, wanted, rtol=1e-6, atol=1e-7)
    run(made, "step_factor", (384,), (192,), variables, areas, factors, n)
    sqd = (wanted[1:4] ** 2).sum(0) / wanted[0] ** 2
    sound = np.sqrt(1.4 * 0.4 * (wanted[4] - 0.5 * wanted[0] * sqd) / wanted[0])
    np.testing.assert_allclose(factors, 0.5 / (np.sqrt(areas) * (np.sqrt(sqd) + sound)), rtol=1e-4)


def test_scan_sort_histogram_bytes() -> None:
    made: Any = program("scan.cl")
    data, out = RNG.integers(-50, 50, 2048).astype("i4"), np.zeros(2048, "i4")
    run(made, "scan", (1024,), (512,), out, data, Local(4 * (1024 + 64)), 1024)
    rows = data.reshape(2, 1024)
    np.testing.assert_array_equal(out.reshape(2, 1024), np.cumsum(rows, 1) - rows)
    keys = RNG.integers(0, 1 << 32, 512, dtype="u4")
    wanted = np.sort(keys)
    for stage in range(9):
        for step in range(stage + 1):
            run(made, "bitonic", (256,), (256,), keys, 512, stage, step, 1)
    np.testing.assert_array_equal(keys, wanted)
    values, bins = RNG.integers(0, 256, 32 * 64, dtype="u4"), np.zeros((2, 256), "u4")
    run(made, "histogram", (64,), (32,), values, Local(32 * 256), bins)
    halves = values.reshape(2, -1)
    np.testing.assert_array_equal(bins, [np.bincount(half, minlength=256) for half in halves])
    x, y = floats(40), np.zeros((40, 4), "u1")
    launch(cluster(SHAPE), made, "bytes", (40,), [x, y], local_size=(8,), offset=(5,))
    np.testing.assert_array_equal(y, x.view("u1").reshape(-1, 4)[:, ::-1])
    with pytest.raises(Exception, match="not a multiple"):
        run(made, "bytes", (40,), (16,), x, y)
