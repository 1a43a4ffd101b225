# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""3D rendering as Rosetta's benchmark does it ([004]): project along an axis, find covered pixels, keep the nearest.

Written from the definitions over whole frames (half planes, sorting by depth); the RTL steps edge functions along the
bounding box and keeps a depth buffer instead, and must give the same bits. The mesh is a torus from its formula.

Layouts: a triangle is 16 bytes (x, y, z of three corners, shade, six reserved), a flat one 8 (x, y of three corners,
depth, shade), the spans of one (height, 2): first and last covered pixel of each row, 255 and 0 where there is none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]

FRAME = 64
"""Side of the packaged application's frame, in pixels."""
AROUND, ACROSS = 16, 8
"""Facets of the torus around its axis and around its tube; two triangles a facet."""
TRIANGLES = 2 * AROUND * ACROSS
VIEWS = 12
"""Views of the torus, the items of a batch."""
BACKGROUND = 255
"""A depth that nothing is nearer than; also the byte that marks an empty span."""
EMPTY = (255, 0)

_DROPPED = {0: (0, 1, 2), 1: (0, 2, 1), 2: (2, 1, 0)}
"""View to the coordinates that become x, y and depth."""


def project(triangles: Bytes, view: int = 0) -> Bytes:
    """(n, 16) to (n, 8): two coordinates stay, the mean of the third, rounded down, is the depth."""
    corners = triangles[:, :9].reshape(-1, 3, 3)
    x, y, depth = (corners[:, :, axis].astype(np.int64) for axis in _DROPPED[view])
    places = np.stack([x, y], axis=-1).reshape(-1, 6)
    return np.column_stack([places, depth.sum(axis=1) // 3, triangles[:, 9]]).astype(np.uint8)


def coverage(flat: Bytes, width: int, height: int) -> npt.NDArray[np.bool_]:
    """(n, height, width): pixels on the inner side of all three edges or on them; none for a triangle without area."""
    corners = flat[:, :6].astype(np.int64).reshape(-1, 3, 2)
    y, x = np.mgrid[:height, :width]
    sides = []
    for i in range(3):
        a, b = corners[:, i, :, None, None], corners[:, (i + 1) % 3, :, None, None]
        sides.append((b[:, 0] - a[:, 0]) * (y - a[:, 1]) - (b[:, 1] - a[:, 1]) * (x - a[:, 0]))
    first, second = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    area = (first[:, 0] * second[:, 1] - first[:, 1] * second[:, 0])[:, None, None]
    inner = [np.sign(area) * side >= 0 for side in sides]
    covered: npt.NDArray[np.bool_] = (area != 0) & inner[0] & inner[1] & inner[2]
    return covered


def rasterise(flat: Bytes, width: int = FRAME, height: int = FRAME) -> Bytes:
    """(n, height, 2): first and last covered pixel of each row of each triangle."""
    covered = coverage(flat, width, height)
    first = covered.argmax(axis=2)
    last = width - 1 - covered[:, :, ::-1].argmax(axis=2)
    spans: Bytes = np.where(covered.any(axis=2)[..., None], np.stack([first, last], axis=-1), EMPTY).astype(np.uint8)
    return spans


def cull(flat: Bytes, spans: Bytes, width: int = FRAME) -> Bytes:
    """(height, width): shade of the nearest triangle of each pixel, of equal depths the first; 0 where none is."""
    frame = np.zeros((spans.shape[1], width), dtype=np.uint8)
    x = np.arange(width)
    # Painted from the farthest to the nearest, the first of equals last.
    for i in np.argsort(flat[:, 6], kind="stable")[::-1]:
        if flat[i, 6] < BACKGROUND:
            frame[(spans[i, :, :1] <= x) & (x <= spans[i, :, 1:])] = flat[i, 7]
    return frame


def render(triangles: Bytes, view: int = 0) -> dict[str, npt.NDArray[Any]]:
    """Every buffer of the packaged application for one item, by its name."""
    flat = project(triangles, view)
    spans = rasterise(flat)
    return {"triangles": triangles, "flat": flat, "spans": spans, "result": cull(flat, spans)}


def run_item(inputs: Mapping[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
    """The outputs of one item of the packaged application, given its inputs, by buffer name."""
    return {"result": render(inputs["triangles"])["result"]}


def torus(turn: float) -> Bytes:
    """(256, 16): a torus of radii 20 and 10 about (32, 32, 128), tilted and turned, lit from the viewer.

    Corners: ((20 + 10 cos v) cos u, (20 + 10 cos v) sin u, 10 sin v) for 16 angles u and 8 angles v, turned by 30
    degrees about x, then by `turn` radians about y. The shade grows from 32 to 255 with the facet's cosine towards the
    viewer.
    """
    u, v = np.meshgrid(2 * np.pi * np.arange(AROUND) / AROUND, 2 * np.pi * np.arange(ACROSS) / ACROSS, indexing="ij")
    ring = 20 + 10 * np.cos(v)
    points = np.stack([ring * np.cos(u), ring * np.sin(u), 10 * np.sin(v)], axis=-1)
    c, s, tilt = np.cos(turn), np.sin(turn), np.pi / 6
    about_x = np.array([[1, 0, 0], [0, np.cos(tilt), -np.sin(tilt)], [0, np.sin(tilt), np.cos(tilt)]])
    about_y = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
    points = points @ (about_y @ about_x).T
    a, b = points, np.roll(points, -1, axis=0)
    d, e = np.roll(a, -1, axis=1), np.roll(b, -1, axis=1)
    corners = np.stack([np.stack([a, b, d], axis=2), np.stack([e, d, b], axis=2)], axis=2).reshape(-1, 3, 3)
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    facing = np.abs(normal[:, 2]) / np.linalg.norm(normal, axis=1)
    triangles = np.zeros((TRIANGLES, 16), dtype=np.uint8)
    triangles[:, :9] = np.rint(corners + np.array([FRAME / 2, FRAME / 2, 128])).reshape(-1, 9).astype(np.uint8)
    triangles[:, 9] = np.rint(32 + 223 * facing).astype(np.uint8)
    return triangles


def views() -> list[Bytes]:
    """The torus in 12 positions of one turn: the items of a batch, each (256, 16)."""
    return [torus(2 * np.pi * i / VIEWS) for i in range(VIEWS)]
