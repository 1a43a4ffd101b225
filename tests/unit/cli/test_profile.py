# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Profiles for people: 80 columns, a roofline as text and as a picture, and what is not known said as that."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from typing import Any

from eddy.api.request_bodies.examples import PROFILE
from eddy.cli.support.roofline import HEIGHT, Plane, Point, draw_svg, draw_text
from eddy.cli.tenant.profile import lines_of, planes_of

PLANE = Plane([Point("slow", 0.25, 0.5), Point("fast", 16.0, 3.9)], 4.0, 8.0)


def test_a_profile_fits_80_columns_and_names_cycles_bounds_advice_and_gaps() -> None:
    lines = lines_of(PROFILE)
    assert max(map(len, lines)) <= 80
    text = "\n".join(lines)
    for said in (
        "1200 launches",
        "40.0%",
        "memory       ",
        "4 of 4 warps",
        "> 48% of its cycles",
        "A scale",
        "not known:",
    ):
        assert said in text


def test_what_was_not_counted_is_shown_as_unknown() -> None:
    bare = {**PROFILE["kernels"][0], "cycles": None, "causes": None, "roofline": None, "advice": [], "shape": None}
    profile: dict[str, Any] = {"kernels": [bare], "unknown": ["Cycles of scale: this board computes no instruction."]}
    lines = lines_of(profile)
    assert planes_of(profile["kernels"]) == []
    assert "  cycles by cause: unknown" in lines
    assert not any("0.0%" in line for line in lines)
    assert "no launch has ended yet" in lines_of({"kernels": [], "unknown": []})


def test_kernels_lie_under_both_bounds_where_their_numbers_say() -> None:
    lines = draw_text(PLANE)
    rows = lines[1 : 1 + HEIGHT]
    (slow,) = (n for n, row in enumerate(rows) if "A" in row)
    (fast,) = (n for n, row in enumerate(rows) if "B" in row)
    assert fast < slow, "the fast one is higher"
    assert rows[slow].index("A") < rows[fast].index("B"), "and has more operations a byte"
    assert PLANE.roof(0.25) == 2.0
    assert PLANE.roof(16.0) == 4.0
    assert any("/" in row for row in rows)
    flat = Plane(PLANE.points, 4.0, None)
    assert not any("/" in row for row in draw_text(flat)[1 : 1 + HEIGHT])


def test_the_picture_is_svg_with_every_kernel_and_names_are_text() -> None:
    picture = draw_svg(Plane([Point("<k>", 1.0, 1.0)], 4.0, 8.0))
    root = ElementTree.fromstring(picture)
    assert root.tag.endswith("svg")
    assert "<k>" in [element.text for element in root.iter() if element.tag.endswith("text")]
    assert len([element for element in root.iter() if element.tag.endswith("circle")]) == 1
