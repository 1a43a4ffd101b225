# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A tenant that asks for all it can over HTTP: every refusal says why, and its shares stay within its promise."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from eddy.api.service.server import Server, ServerSettings
from eddy.client import Client
from eddy.core.errors import Conflict, EddyError
from eddy.hypervisor.cores.market_loop import PriceSettings
from eddy.hypervisor.intake.kernels import KernelLimits
from kernel_kit import SLICE_S, STEP, kernel_board, step_arrays
from unit.gpu_kit import CACHE

ROOT = Path(__file__).parents[3]
KERNELS = 9
"""Of each tenant; each is one slice."""
WEIGHT = 3.0
"""Of the honest one, the other's being 1."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    settings = ServerSettings(
        *("model", "tiny", "fcfs", tmp_path, ROOT / "bitstreams"),
        port=0,
        price="market",
        price_settings=PriceSettings(quantum_s=SLICE_S, epoch_s=5e-3),
        kernels=KernelLimits(time_limit_s=5e-2),
        kernel_cache=CACHE,
    )
    with Server(settings, board=kernel_board()).background() as running:
        yield running


def launched(client: Client, count: int, **asked: Any) -> list[Any]:
    y, x = step_arrays(16)
    kernel = client.kernel(STEP, "step")
    return [kernel.launch(16, y, x, 2, **asked) for _ in range(count)]


def test_asking_for_more_brings_no_more(server: Server) -> None:
    with Client(server.url, server.key_file.read_text().strip()) as operator:
        weights = {"honest": WEIGHT, "greedy": 1.0}
        keys = {
            name: operator.add_tenant(name, weight=weight, max_priority=9)["key"] for name, weight in weights.items()
        }
        with Client(server.url, keys["honest"]) as honest, Client(server.url, keys["greedy"]) as greedy:
            for refused in (
                lambda: greedy.set_price_policy("max_weight"),
                lambda: greedy.change_tenant("greedy", weight=100.0),
                lambda: greedy.change_tenant("greedy", min_progress=1.0),
                lambda: greedy.add_tenant("second", weight=100.0),
            ):
                with pytest.raises(EddyError, match="needs the operator's key"):
                    refused()
            assert operator.price_policy()["policy"] == "market"
            with pytest.raises(Conflict, match="Progress is not measured here"):
                launched(greedy, 1, min_progress=0.5)
            (slot,) = [each["slot"] for each in operator.slots()["slots"] if each["pool"] == "gpu"]
            operator.drain(slot)
            jobs = launched(greedy, KERNELS, priority=9, deadline_s=SLICE_S) + launched(honest, KERNELS)
            operator.undrain(slot)
            for job in jobs:
                job.wait(timeout_s=180)
            asked, plain = ([job.refresh().data for job in of] for of in (jobs[:KERNELS], jobs[KERNELS:]))
            last_s = max(job["ended_s"] for job in plain)
            had_s = sum(job["kernel"]["core_seconds"] for job in asked if job["ended_s"] <= last_s)
            took_s = [job["kernel"]["core_seconds"] for job in plain]
            assert 0 < had_s <= sum(took_s) / WEIGHT + max(took_s) * 1.001, "its part, and a slice that was under way"
