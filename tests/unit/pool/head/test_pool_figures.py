# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Metrics of a head: the Grafana board of pools shows each, the page names each, and neither names another."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

from eddy.pool.head.figures import PoolFigures
from eddy.pool.jetstream.store_anomalies import StoreAnomalies
from eddy.pool.placement.leader import Leader
from eddy.pool.placement.shares import WeightRounds
from eddy.pool.records.records import PoolBoard
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

DOCS = Path(__file__).parents[4] / "docs"
BOARD = json.loads((DOCS / "grafana" / "pool.json").read_text())
PAGE = (DOCS / "how-to" / "pool.md").read_text()
NAME = re.compile(r"eddy_pool_[a-z_]+")


def samples() -> dict[str, set[str]]:
    """Labels of what a head with a board answers, by name."""
    link: Any = SimpleNamespace(connected=True, reconnects=0, troubles=StoreAnomalies())
    lead = Leader(MagicMock(), "head")
    lead.mirror.boards["b1"] = PoolBoard("b1", "k", 1, 1, ("a",), True, "s")
    registry = CollectorRegistry()
    registry.register(PoolFigures(link, lead, WeightRounds(lead.mirror)))
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(generate_latest(registry).decode()):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return {name: labels for name, labels in found.items() if not name.endswith("_created")}


def test_the_grafana_board_shows_every_metric_and_no_other() -> None:
    found = samples()
    assert len(found) > 20
    shown: dict[str, set[str]] = {}
    for panel in BOARD["panels"]:
        for target in panel["targets"]:
            for name in NAME.findall(target["expr"]):
                shown.setdefault(name, set()).update(re.findall(r"{{(\w+)}}", target["legendFormat"]))
    assert shown.keys() == found.keys()
    # `instance` is what Prometheus calls a head.
    assert not [name for name, labels in shown.items() if labels - found[name] - {"instance"}]


def test_the_page_names_every_metric() -> None:
    assert samples().keys() <= set(NAME.findall(PAGE))


def test_no_two_panels_are_one_or_lie_over_each_other() -> None:
    panels, taken = BOARD["panels"], set[tuple[int, int]]()
    assert [panel["id"] for panel in panels] == list(range(1, len(panels) + 1))
    for panel in panels:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken
        assert max(x for x, _ in cells) < 24
        taken |= cells
