# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Kernel launches and their reports cross the wire unchanged, and nothing else of their shape does."""

from __future__ import annotations

import json
from typing import Any

import pytest
from eddy.board.port import wire
from eddy.board.port.port import (
    Access,
    BoardEvent,
    Cause,
    CoreReport,
    EventKind,
    Grant,
    KernelLaunch,
    Launch,
)
from eddy.core.counters import CoreCounters
from eddy.core.errors import InvalidRequest

KERNEL = KernelLaunch(region=7, entry=0x8000_0000, argument=0x8000_1000, cores=(1, 3))
LAUNCH = Launch("k", (), (Grant(7, Access.READ_WRITE),), 0.5, kernel=KERNEL)
COUNTED = CoreCounters(1 << 40, 900, 850, (1, 2, 3, 844), (("loads", 5),))
REPORT = CoreReport(1, COUNTED, "illegal", 0x8000_0004, 0xFFFF_FFFF)


def crossed(value: Any, kind: Any) -> Any:
    """What arrives of a value at the other end."""
    return wire.from_json(kind, json.loads(json.dumps(wire.to_json(value))), "value")


@pytest.mark.parametrize("launch", [LAUNCH, Launch("plain", ((0x10, 1),), (), 1.0)])
def test_launches_cross_the_wire(launch: Launch) -> None:
    assert crossed(launch, Launch) == launch


def test_events_with_core_reports_cross_the_wire() -> None:
    event = BoardEvent(3, 1.5, EventKind.ITEM_FAILED, 2, "k", "", Cause.ILLEGAL_INSTRUCTION, "why", 1.0, (REPORT,))
    assert crossed((event,), tuple[BoardEvent, ...]) == (event,)
    bare = BoardEvent(4, 1.5, EventKind.ITEM_DONE, 2)
    assert crossed(bare, BoardEvent).cores == ()


@pytest.mark.parametrize(
    ("field", "value", "where"),
    [("cores", [1, "2"], "cores"), ("region", None, "region"), ("entry", 1.5, "entry"), ("x", 1, "x")],
)
def test_what_is_no_kernel_launch_is_refused(field: str, value: Any, where: str) -> None:
    data = wire.to_json(LAUNCH)
    data["kernel"][field] = value
    with pytest.raises(InvalidRequest) as refused:
        wire.from_json(Launch, data, "launch")
    assert str(refused.value.details["field"]).startswith(f"launch.kernel.{where}")
