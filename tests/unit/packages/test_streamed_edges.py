# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Which buffers of an application may go from slot to slot."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from eddy.core.applications import Application, BufferRole, BufferSpec, StreamedEdge, TaskSpec
from eddy.core.errors import InvalidRequest
from eddy.core.fusion import list_forms
from eddy.packages.catalogue import load_catalogue
from eddy.packages.manifests import parse_module_manifest
from eddy.packages.streams import streamed_edges

ROOT = Path(__file__).parents[3]
REGISTERS: dict[str, dict[str, Any]] = {
    "in": {"offset": 0x10, "width": 64, "kind": "pointer", "access": "r", "streamed": True},
    "out": {"offset": 0x1C, "width": 64, "kind": "pointer", "access": "w", "streamed": True},
    "other": {"offset": 0x28, "width": 64, "kind": "pointer", "access": "r"},
    "length": {"offset": 0x34, "width": 32, "kind": "scalar"},
    "left": {"offset": 0x38, "width": 32, "kind": "result"},
}
BASE = {"module": "m", "kind": "hls", "files": "m.f", "register_map": "1.0", "clk_hz": 1e8}
MODULES = {"m": parse_module_manifest({**BASE, "registers": REGISTERS}, Path())}
SOURCE, BETWEEN, RESULT = (
    BufferSpec(name, role, 64, "u1", (64,))
    for name, role in (("a", BufferRole.INPUT), ("b", BufferRole.INTERMEDIATE), ("c", BufferRole.OUTPUT))
)
LENGTH = BufferSpec("n", BufferRole.INTERMEDIATE, 4, "<u4", (1,))


def task(number: int, **arguments: str | int) -> TaskSpec:
    given = tuple((name.removesuffix("_"), value) for name, value in arguments.items())
    return TaskSpec(number, f"t{number}", "m", given, 1e-3, 1.0)


PAIR = Application(
    "pair",
    (task(0, in_="a", out="b", length=8), task(1, in_="b", out="c", length=8)),
    ((0, 1),),
    (SOURCE, BETWEEN, RESULT),
)


def test_a_buffer_between_two_tasks_may_be_streamed() -> None:
    assert streamed_edges(PAIR, MODULES) == (StreamedEdge(0, 1, "b"),)


def test_what_others_see_too_lies_in_memory() -> None:
    """An output, a buffer with two readers, one that is read at random, and one of half a word."""
    shown = replace(PAIR, buffers=(SOURCE, replace(BETWEEN, role=BufferRole.OUTPUT), RESULT))
    two = replace(PAIR, tasks=(*PAIR.tasks, task(2, in_="b", out="d", length=8)), edges=((0, 1), (0, 2)))
    at_random = replace(PAIR, tasks=(PAIR.tasks[0], task(1, other="b", in_="a", out="c", length=8)))
    short = replace(PAIR, buffers=(SOURCE, replace(BETWEEN, bytes=60), RESULT))
    for application in (shown, two, at_random, short):
        assert streamed_edges(application, MODULES) == ()


def test_a_reader_that_needs_a_length_first_reads_from_memory() -> None:
    tasks = (task(0, in_="a", out="b", length=8, left="n"), task(1, in_="b", out="c", length="n"))
    assert streamed_edges(replace(PAIR, tasks=tasks, buffers=(*PAIR.buffers, LENGTH)), MODULES) == ()


def test_of_several_edges_to_a_task_none_is_streamed() -> None:
    """A slot has one end of each kind."""
    registers = {**REGISTERS, "second": {**REGISTERS["in"], "offset": 0x40}}
    modules = {"m": parse_module_manifest({**BASE, "registers": registers}, Path())}
    second = replace(BETWEEN, name="e")
    tasks = (
        *(task(n, in_="a", out=out, second="a", length=8) for n, out in enumerate("be")),
        task(2, in_="b", second="e", out="c"),
    )
    application = replace(PAIR, tasks=tasks, edges=((0, 2), (1, 2)), buffers=(*PAIR.buffers, second))
    assert streamed_edges(application, modules) == ()


def test_forms_have_their_own() -> None:
    """Of image compression, tasks one by one have four streams; with halves fused there is none left."""
    catalogue = load_catalogue(ROOT / "bitstreams")
    found = {
        form.form: [edge.buffer for edge in streamed_edges(form, catalogue.modules)]
        for form in list_forms(catalogue.application("image_compression"))
    }
    assert found[""] == ["shifted", "coefficients", "restored", "samples"]
    assert found["front"] == ["restored", "samples"]
    assert found["front+back"] == []


@pytest.mark.parametrize("register", [{"kind": "scalar"}, {"kind": "pointer", "access": "rw", "width": 64}])
def test_what_is_no_pointer_one_way_is_not_streamed(register: dict[str, Any]) -> None:
    registers = {"x": {"offset": 0x10, "streamed": True, **register}}
    with pytest.raises(InvalidRequest, match="streamed is True; it is true of a pointer"):
        parse_module_manifest({**BASE, "registers": registers}, Path())
