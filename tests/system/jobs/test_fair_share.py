# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A tenant that floods the slots beside one with a job now and then: over HTTP on the model board, and on RTL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bitstreams_kit import package
from eddy.api.service.server import Server, ServerSettings
from eddy.board.port.port import BoardPort
from eddy.board.remote.factory import open_board
from eddy.cli.demo.demo_plan import photograph
from eddy.client import Client
from eddy.policy.dispatch import POLICIES
from hypervisor_kit import KEY, item, model_board
from system.jobs.live_rig import Arrival, Live

US = 1e-6


def inputs(batch: int) -> dict[str, Any]:
    items = [np.frombuffer(item(number), np.uint8) for number in range(batch)]
    return {"in": np.stack(items), "key": np.frombuffer(KEY, np.uint8)}


@pytest.mark.parametrize("policy", POLICIES)
def test_single_jobs_beside_sixty_four_of_the_highest_priority(policy: str, tmp_path: Path) -> None:
    settings = ServerSettings("model", "tiny", policy, tmp_path / "data", package(tmp_path / "bitstreams"), port=0)
    with (
        Server(settings, board=model_board()).background() as server,
        Client(server.url, server.key_file.read_text().strip()) as operator,
        Client(server.url, operator.add_tenant("hog", max_priority=9)["key"]) as hog,
        Client(server.url, operator.add_tenant("small")["key"]) as small,
    ):
        lowered = small.submit("chain", inputs(1), priority=9)
        assert lowered.data["priority"] == 1, "a tenant has one priority unless the operator says otherwise"
        lowered.wait(timeout_s=60)
        alone = small.submit("chain", inputs(1))
        alone.wait(timeout_s=60)
        slots = [each["slot"] for each in operator.slots()["slots"] if each["pool"] == "pipeline"]
        for slot in slots:
            operator.drain(slot)
        flood = [hog.submit("chain", inputs(3), priority=9) for _ in range(64)]
        late = small.submit("chain", inputs(1))
        for slot in slots:
            operator.undrain(slot)
        late.wait(timeout_s=60)
        for job in flood:
            job.wait(timeout_s=60)
        shown: list[Any] = [job.refresh().data for job in (alone, late, *flood)]
        first, single, *others = shown
        took_s = single["ended_s"] - min(each["started_s"] for each in others)
        job_s = max(each["running_s"] for each in others)  # of three items, on the way through three tasks
        assert took_s <= 5 * first["response_s"] + job_s
        before = sum(each["ended_s"] <= single["ended_s"] for each in others)
        assert before <= len(others) // 4, "it does not wait for those that came before it"


@pytest.fixture(scope="module")
def board() -> Iterator[BoardPort]:
    opened = open_board("rtl", "tiny")
    yield opened
    opened.release()


@pytest.mark.rtl
@pytest.mark.xdist_group("simulated board")
@pytest.mark.parametrize("policy", POLICIES)
def test_single_jobs_beside_a_flood_on_rtl(board: BoardPort, policy: str, tmp_path: Path) -> None:
    for name in ("alone", "shared"):
        (tmp_path / name).mkdir()
    single, flood = photograph("small", 1, 0, 1), photograph("hog", 9, 1, 3)
    (alone,) = Live(board, POLICIES[policy](), tmp_path / "alone").play([Arrival(0.0, single)])
    live = Live(board, POLICIES[policy](), tmp_path / "shared")
    orders = [*[Arrival(0.0, flood)] * 6, Arrival(400 * US, single)]
    *others, late = live.play(orders)
    assert live.right(late, single)
    assert all(live.right(record, flood) for record in others)
    assert alone.response_s is not None
    assert late.response_s is not None
    items_s = [
        event.at_s - event.started_s
        for record in others
        for event in live.log(record)
        if event.item is not None and event.started_s is not None
    ]
    print(policy, alone.response_s, late.response_s, max(items_s))
    assert late.response_s <= 5 * alone.response_s + max(items_s)
