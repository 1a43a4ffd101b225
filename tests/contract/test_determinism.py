# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""The same calls give the same events at the same board times: twice, and through boardd as in process."""

from __future__ import annotations

from pathlib import Path

import pytest
from contract.conftest import RTL
from contract.harness import Harness, opened
from eddy.board.port.port import BoardEvent, SlotCounters


def scenario(harness: Harness) -> tuple[list[BoardEvent], SlotCounters, float]:
    """Loads, items, a hang, a fault, and a wait for nothing."""
    harness.load(0)
    harness.load(1, "hang")
    first, second = harness.board.allocate(8, "a"), harness.board.allocate(8, "b")
    harness.launch(second, "stuck", slot=1, limit_s=3e-3)
    for number in range(5):
        harness.launch(first, f"item-{number}")
        harness.next_event()
    harness.board.wait(harness.board.now_s() + 1e-4)
    harness.next_event()
    harness.load(1, "write-outside")
    harness.launch(first, "fault", slot=1)
    harness.next_event()
    return harness.seen, harness.board.counters(0), harness.board.now_s()


@pytest.mark.parametrize("kind", ["fake", pytest.param("rtl", marks=RTL)])
def test_runs_repeat_exactly(tmp_path: Path, kind: str) -> None:
    results = []
    for number, adapter in enumerate((kind, kind, f"socket-{kind}")):
        folder = tmp_path / str(number)
        folder.mkdir()
        with opened(adapter, folder) as harness:
            results.append(scenario(harness))
    assert results[0] == results[1]
    assert results[0] == results[2]
    assert [event.item for event in results[0][0]].count("stuck") == 1
