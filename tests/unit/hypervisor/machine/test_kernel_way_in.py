# Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
"""A kernel's way in is a line of values: request, program, arrangement, packing, plan, each made once and in order."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType

import pytest
from eddy.core.errors import InvalidRequest
from eddy.core.records import KERNEL, JobRequest
from eddy.gpu.launches.request import KernelRequest
from eddy.hypervisor.intake.kernels import KernelPlanner, available
from eddy.store import Store
from kernel_kit import ALL_MODULES, kernels

SOURCE = 'kernel void add(local int *part, int k) { part[get_local_id(0)] = k; printf("%d", part[0]); }'
MAKERS = {
    "eddy.gpu.launches.request": "from_json",
    "eddy.gpu.compilation.build": "build",
    "eddy.gpu.programs.ndrange": "arrange_ndrange",
    "eddy.gpu.launches.packing": "__init__",
}
"""The function of each module that makes the next value of the line."""


@pytest.fixture
def planner() -> KernelPlanner:
    planner = kernels()
    planner.available, planner.arena = available(ALL_MODULES, ALL_MODULES), 1 << 24
    return planner


def asked(kernel: str = "add") -> JobRequest:
    request = {
        "source": SOURCE,
        "kernel": kernel,
        "global_size": [8],
        "arguments": [{"local": 64}, {"value": 3}],
    }
    return JobRequest("ada", "", kind=KERNEL, body=KernelRequest.from_json(request).to_json())


def test_each_value_is_made_once_from_the_one_before(planner: KernelPlanner, tmp_path: Path) -> None:
    made: list[str] = []

    def seen(frame: FrameType, event: str, _: object) -> None:
        module = frame.f_globals.get("__name__", "")
        if event == "call" and frame.f_code.co_name == MAKERS.get(module):
            made.append(module)

    request, store = asked(), Store(tmp_path / "eddy.sqlite3")
    sys.setprofile(seen)
    try:
        plan = planner.prepare(request, store)
    finally:
        sys.setprofile(None)
    assert made == list(MAKERS)
    assert plan.packing.arrangement.local_bytes == 64
    assert plan.record.groups == plan.packing.arrangement.groups


def test_what_any_of_them_refuses_is_named_as_in_the_request(planner: KernelPlanner, tmp_path: Path) -> None:
    store = Store(tmp_path / "eddy.sqlite3")
    with pytest.raises(InvalidRequest, match="no kernel 'sub'") as refused:
        planner.prepare(asked("sub"), store)
    assert refused.value.details["field"] == "kernel.kernel"
    planner.arena = 16
    with pytest.raises(InvalidRequest, match="of board memory") as refused:
        planner.prepare(asked(), store)
    assert refused.value.details["field"] == "kernel.arguments"


def test_true_and_false_are_numbers() -> None:
    given = [{"value": True}, {"value": [False, True, 2.5]}]
    made = KernelRequest.from_json({"source": "", "kernel": "k", "global_size": [1], "arguments": given})
    assert made.to_json()["arguments"] == [{"value": 1}, {"value": [0, 1, 2.5]}]
    assert not any(isinstance(each, bool) for each in (made.arguments[0], *made.arguments[1]))  # type: ignore[misc]
