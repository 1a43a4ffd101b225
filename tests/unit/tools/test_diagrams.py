# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The pictures that explain are as their source draws them, are shown where they help, and refuse what does not fit."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools"))
import diagram  # noqa: E402 - of the folder of tools
from diagrams.drawing import DARK, LIGHT, WIDTH, Drawing  # noqa: E402
from diagrams.pictures import PICTURES  # noqa: E402


def test_every_picture_is_as_its_source_draws_it() -> None:
    assert diagram.stale() == [], "run tools/diagram.py"


def test_a_changed_picture_and_a_missing_one_are_found(tmp_path: Path) -> None:
    for name in [*PICTURES][1:]:
        (tmp_path / f"{name}.svg").write_text((diagram.IMAGES / f"{name}.svg").read_text() + " " * (name == "lease"))
    assert diagram.stale(tmp_path) == [next(iter(PICTURES)), "lease"]


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_says_what_it_shows_and_is_on_a_page(name: str) -> None:
    svg = ElementTree.fromstring((diagram.IMAGES / f"{name}.svg").read_text(encoding="utf-8"))
    title = svg.findtext("{http://www.w3.org/2000/svg}title")
    pages = [page for page in (ROOT / "docs").rglob("*.md") if f"images/{name}.svg)" in page.read_text("utf-8")]
    assert pages, f"no page shows {name}"
    for page in pages:
        assert f"![{title}](" in page.read_text("utf-8"), page


def contrast(first: str, second: str) -> float:
    """Of two colours, as WCAG 2.1 has it."""

    def light(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((light(first), light(second)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_text_can_be_read_on_every_ground(palette: dict[str, str]) -> None:
    for name in ("ground", "plain", "shell", "tenant", "store", "danger"):
        assert contrast(palette["ink"], palette[name]) >= 7
    assert contrast(palette["soft"], palette["ground"]) >= 4.5


def test_what_does_not_fit_is_no_picture() -> None:
    drawing = Drawing("none", 100)
    calls: tuple[Callable[[], None], ...] = (
        lambda: drawing.box(10, 10, 60, 30, "far too long for its box"),
        lambda: drawing.box(10, 10, 200, 20, "two\nlines"),
        lambda: drawing.box(WIDTH - 10, 10, 60, 30, "out"),
        lambda: drawing.text(10, 20, "x" * 100),
    )
    for call in calls:
        with pytest.raises(ValueError, match=r"fit|wide|not in"):
            call()
