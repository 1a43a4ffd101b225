# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A picture of boxes and arrows as SVG: narrow enough for a phone, and right in light and dark.

A page shows it as an image, so it brings its colours for both, and a ground of its own where a page's theme is not the
system's. Sizes are in pixels. A text that does not fit into its box is an error, not a picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

WIDTH = 440
"""Of every picture: on a phone of 360 pixels its smallest letters are then still nine high."""
SIZE, SMALL = 14, 12
"""Heights of letters."""
LINE = 17
"""From one line of text to the next."""
ADVANCE = 0.54
"""Width of a letter over its height, on average, in the fonts that are asked for."""
LIGHT = {
    "ground": "#ffffff",
    "ink": "#1f2933",
    "soft": "#52606d",
    "line": "#7b8794",
    "plain": "#f1f4f7",
    "shell": "#d9e8fb",
    "tenant": "#fdeccf",
    "store": "#dbf2e0",
    "danger": "#fadadb",
}
DARK = {
    "ground": "#14181d",
    "ink": "#e8ecf0",
    "soft": "#a9b4bf",
    "line": "#7f8c99",
    "plain": "#262d35",
    "shell": "#1c3656",
    "tenant": "#4b3717",
    "store": "#1d3f29",
    "danger": "#552527",
}
"""Colours: what a box is, by the kind it is drawn with."""


class Drawing:
    """A picture that is being drawn.

    Args:
        title: What it shows, in one sentence.
        height: Of it.
    """

    def __init__(self, title: str, height: int) -> None:
        self.title, self.height = title, height
        self._parts: list[str] = []

    def box(
        self, x: int, y: int, width: int, height: int, text: str, kind: str = "plain", *, small: bool = False
    ) -> None:
        """A box with lines of text, the first one bold where there are several."""
        self._check(x, y, width, height)
        self._parts.append(
            f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="6" class="{kind}" stroke-width="1.2"/>'
        )
        lines = text.split("\n")
        if len(lines) * LINE > height + 2:
            raise ValueError(f"{len(lines)} lines do not fit into {height}: {text!r}")
        top = y + (height - len(lines) * LINE) / 2 + LINE * 0.76
        for at, line in enumerate(lines):
            bold = at == 0 and len(lines) > 1
            size = SMALL if small or (at and len(lines) > 1) else SIZE
            self._fit(line, width - 8, size, bold)
            self._text(x + width / 2, top + at * LINE, line, size, "ink", "middle", bold)

    def text(self, x: int, y: int, line: str, *, soft: bool = True, anchor: str = "start", bold: bool = False) -> None:
        """A line of text by itself."""
        room = {"start": WIDTH - x, "end": x, "middle": 2 * min(x, WIDTH - x)}[anchor]
        self._fit(line, room, SMALL, bold)
        self._text(x, y, line, SMALL, "soft" if soft else "ink", anchor, bold)

    def arrow(self, *points: tuple[int, int], label: str = "", dashed: bool = False, both: bool = False) -> None:
        """An arrow through points, with a label right of its first part."""
        path = " ".join(f"{'L' if at else 'M'}{x} {y}" for at, (x, y) in enumerate(points))
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        start = ' marker-start="url(#tip)"' if both else ""
        self._parts.append(
            f'<path d="{path}" fill="none" class="line" stroke-width="1.6" marker-end="url(#tip)"{start}{dash}/>'
        )
        if label:
            (x, y), (right, below) = points[0], points[1]
            if x == right:
                self.text(x + 7, (y + below) // 2 + 4, label)
            else:
                self.text((x + right) // 2, y - 6, label, anchor="middle")

    def frame(self, x: int, y: int, width: int, height: int, label: str) -> None:
        """A dashed frame around what belongs together, its label inside above."""
        self._check(x, y, width, height)
        self._parts.append(
            f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="8" fill="none" class="line"'
            ' stroke-dasharray="3 3"/>'
        )
        self.text(x + 10, y + 16, label)

    def cross(self, x: int, y: int) -> None:
        """Where something does not pass."""
        self._parts.append(
            f'<path d="M{x - 7} {y - 7} L{x + 7} {y + 7} M{x + 7} {y - 7} L{x - 7} {y + 7}" class="stop"'
            ' stroke-width="3" fill="none"/>'
        )

    def svg(self) -> str:
        """The file."""
        names = [name for name in LIGHT if name not in ("ink", "soft", "line", "ground")]

        def colours(palette: dict[str, str]) -> str:
            rules = [f".ground{{fill:{palette['ground']}}}", f".ink{{fill:{palette['ink']}}}"]
            rules += [f".soft{{fill:{palette['soft']}}}", f".line{{stroke:{palette['line']}}}"]
            rules += [f".tip{{fill:{palette['line']}}}", ".stop{stroke:#d64545}"]
            rules += [f".{name}{{fill:{palette[name]};stroke:{palette['line']}}}" for name in names]
            return "".join(rules)

        title = escape(self.title)
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{self.height}"'
            f' viewBox="0 0 {WIDTH} {self.height}" role="img" aria-label="{title}">'
        )
        style = (
            "<style>text{font-family:system-ui,'Segoe UI',Roboto,'DejaVu Sans',Arial,sans-serif}"
            f"{colours(LIGHT)}@media (prefers-color-scheme:dark){{{colours(DARK)}}}</style>"
        )
        tip = (
            '<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="5" markerHeight="5"'
            ' orient="auto-start-reverse"><path d="M0 0 L10 5 L0 10 z" class="tip"/></marker></defs>'
        )
        ground = f'<rect width="{WIDTH}" height="{self.height}" rx="10" class="ground"/>'
        mark = "<!-- Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0. Drawn by tools/diagrams. -->"
        parts: Sequence[str] = [mark, head, f"<title>{title}</title>", style, tip, ground, *self._parts, "</svg>"]
        return "\n".join(parts) + "\n"

    def _text(self, x: float, y: float, line: str, size: int, colour: str, anchor: str, bold: bool) -> None:
        weight = ' font-weight="600"' if bold else ""
        self._parts.append(
            f'<text x="{x:g}" y="{y:g}" font-size="{size}" class="{colour}" text-anchor="{anchor}"{weight}>'
            f"{escape(line)}</text>"
        )

    def _check(self, x: int, y: int, width: int, height: int) -> None:
        if x < 2 or y < 2 or x + width > WIDTH - 2 or y + height > self.height - 2:
            raise ValueError(f"{x}, {y}, {width} x {height} is not in the picture")

    def _fit(self, line: str, room: int, size: int, bold: bool) -> None:
        wide = len(line) * size * ADVANCE * (1.06 if bold else 1.0)
        if wide > room:
            raise ValueError(f"{line!r} is about {wide:.0f} wide, and has {room}")
