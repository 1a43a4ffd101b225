# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The catalogue: a value that is replaced, one order of tasks, and additions from many threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from eddy.core.applications import topological_order
from eddy.core.errors import Conflict, InvalidRequest
from eddy.packages.catalogue import Catalogue, CatalogueInForce, load_catalogue

SHIPPED = load_catalogue(Path(__file__).parents[3] / "bitstreams")


def package(name: str, estimate_us: float = 7) -> dict[str, Any]:
    """An application of one task."""
    roles = (("a", "input"), ("b", "output"))
    task = {"name": "one", "module": "dct", "arguments": {"in": "a", "out": "b"}}
    return {
        "application": name,
        "buffers": {buffer: {"role": role, "dtype": "u1", "shape": [8]} for buffer, role in roles},
        "tasks": [{**task, "estimate_us": estimate_us, "time_limit_ms": 1}],
    }


@pytest.fixture
def dct() -> Catalogue:
    """A catalogue with one module and no application."""
    manifest = SHIPPED.modules["dct"]
    return Catalogue({"dct": manifest}, {})


def fitting(name: str, catalogue: Catalogue, **more: Any) -> dict[str, Any]:
    """A package whose task sets every argument of the module."""
    raw = package(name, **more)
    arguments = raw["tasks"][0]["arguments"]
    for register in catalogue.modules["dct"].inputs():
        arguments.setdefault(register.name, 1)
    return raw


@pytest.mark.parametrize("mapping", ["modules", "applications", "constants", "estimates_s"])
def test_nothing_in_a_catalogue_can_be_changed(mapping: str) -> None:
    with pytest.raises(TypeError):
        getattr(SHIPPED, mapping)["x"] = 1


def test_a_catalogue_keeps_nothing_of_the_mappings_it_was_made_of(dct: Catalogue) -> None:
    applications: dict[str, Any] = {}
    made = Catalogue(dct.modules, applications)
    applications["late"] = object()
    assert dict(made.applications) == {}


def test_an_addition_is_seen_by_who_holds_the_one_in_force_and_not_by_who_took_the_value(dct: Catalogue) -> None:
    in_force = CatalogueInForce(dct)
    before, applications = in_force.now, in_force.applications
    added, new = in_force.add(fitting("more", dct))
    assert (new, in_force.add(fitting("more", dct))) == (True, (added, False))
    assert ("more" in applications, "more" in before.applications) == (True, False)
    assert in_force.estimates_s["more/one"] == pytest.approx(7e-6)
    with pytest.raises(Conflict):
        in_force.add(fitting("more", dct, estimate_us=8))
    with pytest.raises(InvalidRequest, match="does not have"):
        CatalogueInForce(Catalogue({}, {})).add(package("more"))


def test_additions_from_many_threads_are_all_kept_and_readers_see_whole_catalogues(
    dct: Catalogue, tmp_path: Path
) -> None:
    (tmp_path / "added").mkdir()
    in_force = CatalogueInForce(dct, tmp_path / "added")
    names = [f"app_{number}" for number in range(40)]

    def read(_: int) -> None:
        for name in in_force.applications:
            assert in_force.applications[name].name == name

    with ThreadPoolExecutor(8) as pool:
        added = list(pool.map(lambda name: in_force.add(fitting(name, dct))[1], names))
        list(pool.map(read, range(40)))
    assert all(added)
    assert sorted(in_force.applications) == sorted(names)
    assert sorted(load_catalogue(tmp_path, tmp_path / "added").applications) == sorted(names)


def test_the_order_is_topological_smallest_first() -> None:
    assert topological_order(4, [(3, 0), (0, 1), (3, 1), (3, 0)], "edges") == [2, 3, 0, 1]
    assert topological_order(0, [], "edges") == []
    for edges in ([(0, 1), (1, 0)], [(2, 2)], [(0, 1), (1, 2), (2, 1)]):
        with pytest.raises(InvalidRequest, match=r"x\.edges: the edges form a cycle") as refused:
            topological_order(3, edges, "x.edges")
        assert refused.value.details["field"] == "x.edges"
