# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A roofline, as text in 80 columns and as SVG: operations a cycle over operations a byte, under two bounds.

Both axes are logarithmic. Pure in its numbers; nothing here asks a server.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 64, 12
"""Columns and rows of the text's plot."""
_MARKS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_SVG_WIDTH, _SVG_HEIGHT, _LEFT, _BOTTOM = 640, 360, 60, 40


@dataclass(frozen=True, slots=True)
class Point:
    """A kernel on a roofline.

    Attributes:
        intensity: Operations for each byte.
        speed: Operations a cycle.
    """

    name: str
    intensity: float
    speed: float


@dataclass(frozen=True, slots=True)
class Plane:
    """What is drawn.

    Attributes:
        points: Kernels, the first ones named by letters.
        issue_bound: Operations a cycle, at most.
        memory_slope: Bytes a cycle, at most; None where that is not known.
    """

    points: Sequence[Point]
    issue_bound: float
    memory_slope: float | None

    @property
    def low(self) -> tuple[float, float]:
        """Logarithms, to base 2, of the corner at the origin."""
        xs = [math.log2(point.intensity) for point in self.points] + self._ridge
        ys = [math.log2(point.speed) for point in self.points] + [math.log2(self.issue_bound)]
        return math.floor(min(xs)) - 1.0, math.floor(min(ys)) - 1.0

    @property
    def high(self) -> tuple[float, float]:
        """The same of the corner across."""
        xs = [math.log2(point.intensity) for point in self.points] + self._ridge
        return math.ceil(max(xs)) + 1.0, math.ceil(math.log2(self.issue_bound)) + 1.0

    @property
    def _ridge(self) -> list[float]:
        return [math.log2(self.issue_bound / self.memory_slope)] if self.memory_slope else []

    def roof(self, intensity: float) -> float:
        """The bound at an intensity."""
        return min(self.issue_bound, intensity * self.memory_slope) if self.memory_slope else self.issue_bound

    def place(self, intensity: float, speed: float) -> tuple[float, float]:
        """Where something lies, 0 to 1 from the left and from below."""
        (left, low), (right, high) = self.low, self.high
        return (math.log2(intensity) - left) / (right - left), (math.log2(speed) - low) / (high - low)

    def intensity_at(self, part: float) -> float:
        """The intensity at a part of the width."""
        return float(2.0 ** (self.low[0] + part * (self.high[0] - self.low[0])))


def draw_text(plane: Plane) -> list[str]:
    """Lines of at most 80 columns."""
    rows = [[" "] * WIDTH for _ in range(HEIGHT)]
    for column in range(WIDTH):
        intensity = plane.intensity_at((column + 0.5) / WIDTH)
        roof = plane.roof(intensity)
        row = _row(plane.place(intensity, roof)[1])
        if row is not None:
            rows[row][column] = "_" if roof >= plane.issue_bound else "/"
    for mark, point in zip(_MARKS, plane.points, strict=False):
        across, up = plane.place(point.intensity, point.speed)
        row = _row(up)
        if row is not None:
            rows[row][min(int(across * WIDTH), WIDTH - 1)] = mark
    top, bottom = 2.0 ** plane.high[1], 2.0 ** plane.low[1]
    labels = {0: f"{top:.3g}", HEIGHT - 1: f"{bottom:.3g}"}
    lines = [f"{labels.get(n, ''):>8} |{''.join(row).rstrip()}" for n, row in enumerate(rows)]
    left, right = f"{2.0 ** plane.low[0]:.3g}", f"{2.0 ** plane.high[0]:.3g}"
    axis = f"{'':>9}+{'-' * WIDTH}"
    return [
        "lane operations a cycle, of a core",
        *lines,
        axis,
        f"{'':>10}{left}{right:>{WIDTH - len(left)}}",
        *_legend(plane),
    ]


def _row(up: float) -> int | None:
    row = HEIGHT - 1 - int(up * HEIGHT)
    return row if 0 <= row < HEIGHT else None


def _legend(plane: Plane) -> Iterator[str]:
    memory = f", {plane.memory_slope:.3g} bytes a cycle (/)" if plane.memory_slope else ""
    yield f"{'':>10}lane operations a byte; bounds: {plane.issue_bound:.3g} a cycle (_){memory}"
    for mark, point in zip(_MARKS, plane.points, strict=False):
        yield f"{'':>10}{mark} {point.name}"[:80]


def draw_svg(plane: Plane) -> str:
    """The same as a picture, which follows light and dark themes."""
    roof = " ".join(
        f"{x:.1f},{y:.1f}"
        for part in range(65)
        for x, y in [_svg_place(plane, plane.intensity_at(part / 64), plane.roof(plane.intensity_at(part / 64)))]
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_SVG_WIDTH} {_SVG_HEIGHT}" font-family="sans-serif"'
        ' font-size="12" fill="currentColor" role="img" aria-label="Roofline">',
        f'<path d="M{_LEFT} 10V{_SVG_HEIGHT - _BOTTOM}H{_SVG_WIDTH - 10}" fill="none" stroke="currentColor"/>',
        f'<polyline points="{roof}" fill="none" stroke="currentColor" stroke-width="2"/>',
        *_svg_ticks(plane),
        f'<text x="{_SVG_WIDTH - 10}" y="{_SVG_HEIGHT - 4}" text-anchor="end">lane operations a byte of memory</text>',
        f'<text x="{_LEFT}" y="9">lane operations a cycle, of a core</text>',
    ]
    for point in plane.points:
        x, y = _svg_place(plane, point.intensity, point.speed)
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="#2f6fde"/>')
        parts.append(f'<text x="{x + 7:.1f}" y="{y + 4:.1f}">{escape(point.name)}</text>')
    return "\n".join([*parts, "</svg>"])


def _svg_place(plane: Plane, intensity: float, speed: float) -> tuple[float, float]:
    across, up = plane.place(intensity, speed)
    wide, tall = _SVG_WIDTH - 10 - _LEFT, _SVG_HEIGHT - _BOTTOM - 10
    return _LEFT + across * wide, 10 + (1 - up) * tall


def _svg_ticks(plane: Plane) -> Iterator[str]:
    (left, low), (right, high) = plane.low, plane.high
    bottom = _SVG_HEIGHT - _BOTTOM
    for power in range(int(left), int(right) + 1):
        x, _ = _svg_place(plane, 2.0**power, 2.0**low)
        yield f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{2.0**power:.3g}</text>'
    for power in range(int(low), int(high) + 1):
        _, y = _svg_place(plane, 2.0**left, 2.0**power)
        yield f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{2.0**power:.3g}</text>'
