# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Application packages: what is read, and what is refused."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from eddy.core.errors import InvalidRequest
from eddy.packages.applications import parse_application
from eddy.packages.catalogue import load_catalogue


def raw(**changes: Any) -> dict[str, Any]:
    buffers = {
        "a": {"role": "input", "dtype": "u1", "shape": [4, 8]},
        "b": {"role": "intermediate", "dtype": "<i2", "shape": [32]},
        "c": {"role": "output", "dtype": "<i2", "shape": [32]},
    }
    second = {"name": "second", "module": "m", "arguments": {"in": "b", "out": "c"}}
    first = {"name": "first", "module": "m", "arguments": {"in": "a", "out": "b", "n": 4}}
    times = {"estimate_us": 50, "time_limit_ms": 20}
    good = {
        "application": "app",
        "buffers": buffers,
        "tasks": [{**second, **times}, {**first, **times}],
        "edges": [["first", "second"]],
    }
    return {**good, **changes}


def test_tasks_get_ids_in_topological_order() -> None:
    application = parse_application(raw())
    assert [(t.id, t.name) for t in application.tasks] == [(0, "first"), (1, "second")]
    assert application.edges == ((0, 1),)
    assert application.predecessors(1) == (0,)
    assert application.tasks[0].arguments == (("in", "a"), ("out", "b"), ("n", 4))
    assert application.tasks[0].estimate_s == pytest.approx(50e-6)
    assert [b.bytes for b in application.buffers] == [32, 64, 64]


def broken_task(**changes: Any) -> dict[str, Any]:
    return {"tasks": [{**raw()["tasks"][1], **changes}], "edges": []}


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"application": "no spaces"}, "application"),
        ({"extra": 1}, "extra"),
        ({"tasks": [], "edges": []}, "tasks"),
        ({"edges": [["first", "second"], ["second", "first"]]}, "edges"),
        ({"edges": [["first", "third"]]}, "edges[0]"),
        ({"edges": [["first", "first"]]}, "edges[0]"),
        ({"max_batch": 0}, "max_batch"),
        ({"buffers": {"a": {"role": "inout", "dtype": "u1", "shape": [1]}}}, "buffers.a.role"),
        ({"buffers": {"a": {"role": "input", "dtype": ">i2", "shape": [1]}}}, "buffers.a.dtype"),
        ({"buffers": {"a": {"role": "input", "dtype": "u1", "shape": [1 << 20, 1 << 20]}}}, "buffers.a.shape"),
        ({"buffers": {"a": {"role": "input", "dtype": "i1", "shape": [8, 8], "picture": True}}}, "buffers.a.picture"),
        ({"buffers": {"a": {"role": "input", "dtype": "u1", "shape": [64], "picture": True}}}, "buffers.a.picture"),
        ({"buffers": {"a": {"role": "input", "dtype": "u1", "shape": [8, 8], "picture": "no"}}}, "buffers.a.picture"),
        (broken_task(estimate_us=0), "tasks.first.estimate_us"),
        (broken_task(time_limit_ms=None), "tasks.first.time_limit_ms"),
        (broken_task(arguments={"in": "nothing"}), "tasks.first.arguments.in"),
        (broken_task(arguments={"in": 1.5}), "tasks.first.arguments.in"),
    ],
)
def test_wrong_fields_are_named(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse_application(raw(**changes))
    assert caught.value.details["field"] == field


def test_a_name_given_twice_is_refused() -> None:
    task = raw()["tasks"][0]
    with pytest.raises(InvalidRequest, match="second occurs twice"):
        parse_application(raw(tasks=[task, task], edges=[]))


def test_a_package_ships_constants_of_their_size(tmp_path: Path) -> None:
    constants = {name: {"role": "constant", "dtype": "<i2", "shape": [2]} for name in ("weights", "labels")}
    folder = tmp_path / "applications" / "app"
    folder.mkdir(parents=True)
    package = raw(buffers={**raw()["buffers"], **constants})
    folder.with_suffix(".yaml").write_text(yaml.safe_dump(package), encoding="utf-8")
    (folder / "weights.bin").write_bytes(b"\1\2\3\4")
    (folder / "a.bin").write_bytes(b"no constant")
    catalogue = load_catalogue(tmp_path)
    assert catalogue.constants == {("app", "weights"): b"\1\2\3\4"}
    assert catalogue.shipped("app") == {"weights"}
    (folder / "weights.bin").write_bytes(b"\1\2")
    with pytest.raises(InvalidRequest, match=r"weights\.bin has 2 bytes; buffer weights takes 4 bytes"):
        load_catalogue(tmp_path)
