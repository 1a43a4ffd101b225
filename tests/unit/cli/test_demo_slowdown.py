# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The parts of `eddy demo --slowdown` that need no board: rates, references, the report and its picture."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from eddy.cli.demo.demo_slowdown import ITEMS, LINES, TENANTS, SlowdownReport, _rate, expected
from eddy.cli.demo.demo_slowdown_picture import SharedPhase, draw

ALL = {tenant.name: 0.25 * rank for rank, tenant in enumerate(TENANTS, start=1)}


def shown(progress: float | None) -> dict[str, object]:
    return {"at_s": 1e-3, "epoch": 1, "me": {"predicted_progress": progress}}


def test_a_rate_counts_parts_of_jobs_at_both_ends() -> None:
    ends = [1.0, 2.0, 3.0, 4.0]
    assert _rate(ends, 1.0, 4.0) == pytest.approx(1.0)
    assert _rate(ends, 1.5, 3.25) == pytest.approx(1.0)


def test_references_are_what_the_kernels_compute() -> None:
    array = np.arange(LINES * 16, dtype="u4")
    hungry, mixed, steady = (expected(tenant, array) for tenant in TENANTS)
    item, steps = 7, TENANTS[0].steps
    assert hungry[item] == sum(16 * ((item * steps + k) % LINES) for k in range(steps))
    value = 1
    for k in range(TENANTS[1].steps):
        value += 16 * ((item * TENANTS[1].steps + k) % LINES)
        for _ in range(400):
            value = (value * 1664525 + 1013904223) % 2**32
    assert mixed[item] == value
    assert steady.shape == (ITEMS,)
    assert len(set(steady.tolist())) == ITEMS


def test_the_report_has_the_metrics_of_the_document_and_a_picture(tmp_path: Path) -> None:
    phase = SharedPhase("hsm_fair", ALL, {name: [shown(0.3), shown(None)] for name in ALL})
    picture = tmp_path / "out" / "slowdown.png"
    draw([SharedPhase("fcfs", ALL, {}), phase], dict.fromkeys(ALL, "works"), dict.fromkeys(ALL, 0.5), picture)
    assert picture.read_bytes()[:4] == b"\x89PNG"
    found = SlowdownReport({"hog": 1.0}, (phase,), True, picture).to_json()["policies"][0]
    assert found["fairness"] == pytest.approx(1 / 3)
    assert found["stp"] == pytest.approx(1.5)
    assert found["antt"] == pytest.approx((4 + 2 + 4 / 3) / 3)
    assert found["predicted"]["hog"] == [0.3, None]
