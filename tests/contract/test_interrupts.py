# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""Interrupts that mean nothing: they cost a bounded number of looks, and neither limits nor ends are missed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from contract import gpu_harness
from contract.fake_fabric import DONE_AFTER_S, ITEM_S, FakeLine
from contract.harness import Harness, opened
from eddy.board.port.port import Cause, EventKind
from eddy.board.pynq.interrupt_lines import FIRST_REST_S, FREE_RINGS, LONGEST_REST_S
from eddy.board.pynq.pynq import PynqBoard

RTL = [pytest.mark.rtl, pytest.mark.xdist_group("board-rtl")]
LIMIT_S = 1e-2
SLACK_S = 1e-4
"""Board time the register accesses of one look may take."""
MAX_LOOKS = FREE_RINGS + 1 + math.ceil(math.log2(LONGEST_REST_S / FIRST_REST_S)) + LIMIT_S / LONGEST_REST_S + 2


@pytest.fixture(params=["fake", pytest.param("rtl", marks=RTL)])
def harness(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Harness]:
    with opened(request.param, tmp_path) as harness:
        yield harness


def count_calls(of: Any, name: str) -> list[None]:
    """One entry for each call of a method from now on."""
    calls: list[None] = []
    inner: Callable[..., Any] = getattr(of, name)

    def counted(*args: Any) -> Any:
        calls.append(None)
        return inner(*args)

    setattr(of, name, counted)
    return calls


@pytest.mark.parametrize("behaviour", ["interrupt", "toggle"])
def test_an_interrupt_storm_ends_at_the_limit_after_few_looks(harness: Harness, behaviour: str) -> None:
    harness.load(0, behaviour)
    harness.load(1)
    looks = count_calls(cast(PynqBoard, harness.board)._slots[0].hardware.module, "finished")
    a, b = harness.board.allocate(8, "a"), harness.board.allocate(8, "b")
    harness.launch(a, "storm", slot=0, limit_s=LIMIT_S)
    harness.launch(b, "neighbour", slot=1)
    assert (harness.next_event().item, harness.next_event().item) == ("neighbour", "storm")
    event = harness.seen[-1]
    assert (event.kind, event.cause) == (EventKind.ITEM_FAILED, Cause.TIME_LIMIT)
    assert LIMIT_S <= event.at_s - event.started_s < LIMIT_S + SLACK_S
    assert FREE_RINGS < len(looks) <= MAX_LOOKS


def test_an_end_in_the_midst_of_a_storm_is_noticed_within_the_bound(tmp_path: Path) -> None:
    with opened("fake", tmp_path) as harness:
        harness.load(0, "interrupt-then-done")
        harness.launch(harness.board.allocate(8, "job"), "late", limit_s=1.0)
        event = harness.next_event()
        assert event.kind is EventKind.ITEM_DONE
        ended_s = ITEM_S + DONE_AFTER_S
        assert ended_s <= event.at_s - event.started_s <= ended_s + LONGEST_REST_S + SLACK_S
        # The next item is listened to at once.
        harness.load(0)
        harness.launch(harness.board.allocate(8, "job"), "next")
        event = harness.next_event()
        assert event.at_s - event.started_s < ITEM_S + SLACK_S


def test_a_cluster_that_holds_its_interrupt_keeps_its_kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with gpu_harness.opened("fake", tmp_path, monkeypatch) as gpu:
        hardware = cast(PynqBoard, gpu.board)._slots[gpu_harness.CLUSTER].hardware
        cast(FakeLine, hardware.done).held = True
        assert hardware.module.cluster is not None
        polls = count_calls(hardware.module.cluster, "poll")
        gpu.launch(gpu.region("spin"), item="storm", limit_s=LIMIT_S, cores=(0,))
        gpu.launch(gpu.region("mark"), item="neighbour", cores=(1,))
        ended = [gpu.next_event(), gpu.next_event()]
        assert [(event.item, event.cause) for event in ended] == [
            ("neighbour", Cause.NONE),
            ("storm", Cause.TIME_LIMIT),
        ]
        assert len(polls) <= 2 * MAX_LOOKS
